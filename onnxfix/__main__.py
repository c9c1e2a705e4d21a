"""Entry point of `onnxfix` and `python -m onnxfix`: errors become one line on stderr and an exit code."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    import click

    from onnxfix.cli import cli
    from onnxfix.cli._state import State, internal_error
    from onnxfix.errors import OnnxfixError

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A name in the model that the terminal's encoding lacks must not end the report.
            stream.reconfigure(errors="backslashreplace")
    state = State()
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
    except (KeyboardInterrupt, click.Abort):
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more at exit, which would complain about the pipe again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 2 * bool(stop.code)
    except Exception as error:
        return _fail(state, internal_error(error), 2)
    return result if isinstance(result, int) else 0


def _fail(state: State, text: str, code: int) -> int:
    if state.traceback:
        import traceback

        traceback.print_exc()
    state.error(text)
    return code


if __name__ == "__main__":
    sys.exit(main())
