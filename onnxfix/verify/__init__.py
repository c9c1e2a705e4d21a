"""Runs a model before and after a change and compares the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxfix.verify.compare import OutputProof
    from onnxfix.verify.prove import Proof, bisect, first_difference, prove
    from onnxfix.verify.run import CannotRunError, Runner

__all__ = ["CannotRunError", "OutputProof", "Proof", "Runner", "bisect", "first_difference", "prove"]

_HOMES = {"OutputProof": "compare", "CannotRunError": "run", "Runner": "run"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'prove')}"), name)
