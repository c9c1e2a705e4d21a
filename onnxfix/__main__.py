"""Entry point of `onnxfix` and `python -m onnxfix`: errors become one line on stderr and an exit code."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from onnxfix.cli._state import State

# Before anything imports numpy: its BLAS start-up threads cost 0.1 s CPU, and we run no BLAS.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

INTERRUPTED = 130
BROKEN_PIPE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: the arguments after the program's name, by default those of the process.

    Returns:
        The exit code: 0 clean, 1 findings, 2 usage or unreadable input, 3 proof failed, 4 the machine lacks something;
        130 when interrupted, 141 when the reader of a pipe went away.
    """
    # what starting makes lives to the end: looking for cycles in it as often as Python does costs a tenth of lint's CPU time
    gc.set_threshold(100_000, 20, 100)
    with _noting_interrupts() as interrupts:
        try:
            return _run(argv, interrupts)
        except KeyboardInterrupt:
            pass
        except Exception:
            if not interrupts:
                raise
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


@contextlib.contextmanager
def _noting_interrupts() -> Iterator[list[int]]:
    """The interrupts so far; an import that one cuts short may fail with another error than KeyboardInterrupt."""
    seen: list[int] = []

    def note(number: int, _: object) -> None:
        seen.append(number)
        raise KeyboardInterrupt

    usual = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not usual:
        yield seen
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, usual)


def _run(argv: Sequence[str] | None, interrupts: list[int]) -> int:
    import click

    from onnxfix.cli import cli
    from onnxfix.cli._state import State, internal_error, is_of_stream
    from onnxfix.errors import OnnxfixError

    state = State(interrupts=interrupts)
    closed = sys.stdout is None  # so is it in a process that was started without
    if closed:
        sys.stdout = _nowhere()
    if sys.stderr is None:
        sys.stderr = _nowhere()
    if closed:
        return _fail(state, "standard output is closed", 2)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name in the model that the terminal's encoding lacks must not end the report.
            stream.reconfigure(errors="backslashreplace")
    try:
        arguments = list(sys.argv[1:] if argv is None else argv)
        result = cli.main(arguments, prog_name="onnxfix", obj=state, standalone_mode=False)
        sys.stdout.flush()
    except OnnxfixError as error:
        return _fail(state, str(error), error.exit_code)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        hint = f" (see `{context.command_path} --help`)" if context is not None else ""
        return _fail(state, f"{error.format_message().rstrip('.')}{hint}", 2)
    except click.Abort:
        raise KeyboardInterrupt from None
    except BrokenPipeError:
        _drop_output()
        return BROKEN_PIPE
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2 * bool(stop.code)
    except Exception as error:
        if interrupts:
            raise
        if is_of_stream(error):
            _drop_output()
            return _fail(state, f"standard output cannot be written: {getattr(error, 'strerror', error)}", 2)
        return _fail(state, internal_error(error), 2)
    return result if isinstance(result, int) else 0


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _drop_output() -> None:
    """Let what is left for stdout go nowhere: Python flushes it once more at exit, which would complain again."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(state: State, text: str, code: int) -> int:
    if state.traceback:
        import traceback

        traceback.print_exc()
    state.error(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
