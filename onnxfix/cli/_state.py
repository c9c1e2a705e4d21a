"""What the global options say, and how a command writes to the terminal."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from onnxfix.errors import escape
from onnxfix.report.console import Console

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxfix.config import Config


@dataclass(slots=True)
class State:
    """The global options of one run; they may stand before or after the command's name."""

    quiet: bool = False
    verbose: int = 0
    color: str = "auto"
    config: tuple[str, ...] = ()
    isolated: bool = False
    traceback: bool = False
    interrupts: list[int] = field(default_factory=list)

    def out(self) -> Console:
        """Where reports go."""
        return Console(sys.stdout, self.color)

    def note(self, text: str) -> None:
        """Say something that is no result, unless --quiet."""
        if not self.quiet:
            self._say(text)

    def error(self, text: str) -> None:
        """Say what failed, in one line."""
        self._say((("error:", "bold red"), f" {text}"))

    def settings(self) -> Config:
        """The configuration files and variables that apply.

        Raises:
            UsageError: a file that cannot be read, or a key or value that is wrong.
        """
        from onnxfix.config import load_config

        return load_config(self.config, isolated=self.isolated)

    def progress(self) -> Callable[[str], None] | None:
        """A function that shows one line of progress on stderr, or None where nobody watches."""
        if self.quiet or not sys.stderr.isatty():
            return None

        def show(text: str) -> None:
            sys.stderr.write(f"\r\x1b[K{escape(text)[:100]}" if text else "\r\x1b[K")
            sys.stderr.flush()

        return show

    def _say(self, line: str | tuple[str | tuple[str, str], ...]) -> None:
        sys.stdout.flush()
        Console(sys.stderr, self.color).line((line,) if isinstance(line, str) else line)


def internal_error(error: Exception) -> str:
    """The one line for an error that is ours."""
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    return f"internal error in onnxfix: {what}; please report it, with --traceback to see where"


def is_of_stream(error: Exception) -> bool:
    """Whether it comes from writing to a stream, such as one to a full disk, and not from a file by name."""
    return isinstance(error, OSError) and error.filename is None


def current_state() -> State:
    """The state of the running command."""
    return click.get_current_context().find_root().ensure_object(State)


def _store(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    state = ctx.find_root().ensure_object(State)
    if not value or param.name is None:
        return
    if param.name in ("config", "verbose"):
        value = getattr(state, param.name) + value
    setattr(state, param.name, value)


def global_options(*, hidden: bool) -> list[click.Option]:
    """The options that every command takes; they write to the run's State."""

    def option(*declarations: str, **attributes: Any) -> click.Option:
        return click.Option([*declarations], expose_value=False, callback=_store, hidden=hidden, **attributes)

    return [
        option("-q", "--quiet", is_flag=True, help="Print results only: no notes, no hints."),
        option("-v", "--verbose", count=True, help="Print more: every place, all evidence."),
        option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            help="Colour the output; auto (the default) honours NO_COLOR and FORCE_COLOR.",
        ),
        option(
            "--config",
            metavar="FILE|KEY=VALUE",
            multiple=True,
            help="A configuration file instead of the one found, or one setting as TOML (repeatable).",
        ),
        option("--isolated", is_flag=True, help="Read no configuration file."),
        option("--traceback", is_flag=True, help="Show where an error was raised."),
    ]
