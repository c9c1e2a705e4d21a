"""Runs a model with onnxruntime, as a program would: graph optimisations on, one run after the other."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxfix.errors import MissingToolError, OnnxfixError
from onnxfix.verify.run import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxfix.verify.aten import Array

HEADLINE = "hostLatencyMs"
_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


class CannotLoadError(OnnxfixError):
    """onnxruntime does not run the model, so there is nothing to measure."""

    exit_code = 3


def provider_of(device: str) -> str:
    """The execution provider for `cpu` or `cuda`.

    Raises:
        MissingToolError: this onnxruntime has it not.
    """
    import onnxruntime as ort

    provider = _PROVIDERS[device]
    if provider not in ort.get_available_providers():
        raise MissingToolError(
            f"onnxruntime {ort.__version__} has no {provider} here; pip install onnxruntime-gpu, on a machine with a GPU"
        )
    return provider


def version() -> str:
    """The runner and its version."""
    import onnxruntime as ort

    return f"onnxruntime {ort.__version__}"


def processor() -> str:
    """The CPU in words, and how many of its cores this process may use."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{name}, {cores} cores"


def load_average() -> dict[str, Any]:
    """How busy the machine is: processes that ran or waited, on average over the last minute."""
    return {"load average": round(os.getloadavg()[0], 2)} if hasattr(os, "getloadavg") else {}


class OnnxRuntimeRunner:
    """One session and its inputs.

    Args:
        path: the model's file.
        feeds: its inputs by name.
        device: `cpu` or `cuda`.
        threads: of one run.

    Raises:
        CannotLoadError: onnxruntime does not run it.
        MissingToolError: there is no such device for it here.
    """

    def __init__(self, path: Path, feeds: Mapping[str, Array], *, device: str = "cpu", threads: int = 1) -> None:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        # Threads that wait by spinning would slow the other variants down.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        providers = [provider_of(device)]
        try:
            self._session = ort.InferenceSession(str(path), options, providers=providers, enable_fallback=0)
            known = {value.name for value in self._session.get_inputs()}
            self._feeds = {name: value for name, value in feeds.items() if name in known}
            self._outputs = [value.name for value in self._session.get_outputs()]
            self._session.run(self._outputs, self._feeds)
        except Exception as error:  # onnxruntime's errors share no base class but Exception
            raise CannotLoadError(f"onnxruntime does not run it: {one_line(error)}") from None

    def run(self) -> dict[str, float]:
        """Run once: `hostLatencyMs`."""
        begin = time.perf_counter_ns()
        self._session.run(self._outputs, self._feeds)
        return {HEADLINE: (time.perf_counter_ns() - begin) / 1e6}

    def outputs(self) -> dict[str, Any]:
        """The outputs by name."""
        return dict(zip(self._outputs, self._session.run(self._outputs, self._feeds), strict=True))

    def close(self) -> None:
        """Let the session go."""
        del self._session
