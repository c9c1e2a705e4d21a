"""A process that may die or hang, and is made anew then."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")
# A fresh process now and then gives back what libraries keep.
CALLS = 200


class EndedError(Exception):
    """The call has no result: its process died, or was ended because it took too long."""


class Process:
    """Calls functions in one process beside this one, the same one as long as it lives.

    Args:
        timeout: seconds after which a call is given up and its process ended.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._pool: concurrent.futures.ProcessPoolExecutor | None = None

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `function` gives; whatever it raises is raised here.

        Raises:
            EndedError: it took too long, or its process died.
        """
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = concurrent.futures.ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=CALLS)
        future = self._pool.submit(function, *args, **kwargs)
        try:
            return future.result(self.timeout)
        except BrokenProcessPool:
            self.close()
            raise EndedError("its process died") from None
        except TimeoutError:
            if future.done():  # the function's own
                raise
            self.close()
            raise EndedError(f"it takes more than {self.timeout:g} s") from None

    def close(self) -> None:
        """End the process."""
        if self._pool is None:
            return
        for process in (self._pool._processes or {}).values():  # one that hangs does not end by itself
            process.kill()
        self._pool.shutdown(cancel_futures=True)
        self._pool = None
