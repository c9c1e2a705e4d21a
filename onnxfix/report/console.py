"""Writes lines of styled text: plain by default, through rich where colour is wanted."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TextIO, TypeAlias

from onnxfix.errors import escape

if TYPE_CHECKING:
    from collections.abc import Iterable

Part: TypeAlias = str | tuple[str, str]
"""A text, or a text with a style in rich's words."""
Line: TypeAlias = tuple[Part, ...]


def wants_color(stream: TextIO, choice: str) -> bool:
    """Whether `stream` gets colour; `choice` is auto, always or never, and auto honours NO_COLOR and FORCE_COLOR."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def plain(lines: Iterable[Line]) -> str:
    """The lines as text without styles, each ended by a newline; control characters are escaped."""
    return "".join("".join(escape(part if isinstance(part, str) else part[0]) for part in line) + "\n" for line in lines)


class Console:
    """Writes lines to a stream; lines are never wrapped, so that what is piped and what is seen agree."""

    def __init__(self, stream: TextIO, color: str = "auto") -> None:
        self._stream = stream
        self._color = wants_color(stream, color)

    def line(self, line: Line) -> None:
        """Write one line."""
        self.lines([line])

    def lines(self, lines: Iterable[Line]) -> None:
        """Write lines."""
        if not self._color:
            self._stream.write(plain(lines))
            return
        from rich.console import Console as RichConsole
        from rich.text import Text

        console = RichConsole(file=self._stream, force_terminal=True, color_system="standard", highlight=False, markup=False)
        for line in lines:
            parts = [escape(part) if isinstance(part, str) else (escape(part[0]), part[1]) for part in line]
            console.print(Text.assemble(*parts), soft_wrap=True)
