"""Parses with, and builds engines by, TensorRT or TensorRT-RTX, whichever can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxfix.engines.ask import build, parse
    from onnxfix.engines.options import BuildOptions, ShapeRange
    from onnxfix.engines.result import (
        BuildResult,
        BuildVerdict,
        NetworkTensor,
        ParserError,
        ParseResult,
        ParseVerdict,
    )

_HOMES = {"build": "ask", "parse": "ask", "BuildOptions": "options", "ShapeRange": "options"}
__all__ = [
    "BuildOptions",
    "BuildResult",
    "BuildVerdict",
    "NetworkTensor",
    "ParseResult",
    "ParseVerdict",
    "ParserError",
    "ShapeRange",
    "build",
    "parse",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'result')}"), name)
