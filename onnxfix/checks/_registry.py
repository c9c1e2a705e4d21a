"""The register of checks and what one is given."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from onnxfix.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onnxfix.checks.parser_values import ParserValues
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node
    from onnxfix.targets import Target


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a node does not meet a limit: a clause that goes after the operator's name, and its parameters."""

    text: str
    slots: tuple[int, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """What a check may look at; `args` are those of the limit in the operator's record."""

    node: Node
    facts: ScopeFacts
    values: ParserValues
    target: Target
    args: Mapping[str, Any]


_CHECKS: dict[str, Callable[[Context], Problem | None]] = {}
_FAMILIES = (
    "attention",
    "attributes",
    "batch_axis",
    "build",
    "control_flow",
    "conv",
    "elementwise",
    "full_dims",
    "inputs",
    "outputs",
    "pad",
    "pool",
    "quantization",
    "recurrent",
    "reduce",
    "resize",
    "shapes",
    "slice",
    "split",
)


def check(name: str) -> Callable[[Callable[[Context], Problem | None]], Callable[[Context], Problem | None]]:
    """Register a predicate under `family.name`; it returns what is wrong, or None."""

    def register(function: Callable[[Context], Problem | None]) -> Callable[[Context], Problem | None]:
        if name in _CHECKS:
            raise ValueError(f"check {name!r} is registered twice")
        _CHECKS[name] = function
        return function

    return register


@cache
def _load_all() -> None:
    for family in _FAMILIES:
        importlib.import_module(f"onnxfix.checks.{family}")


def find_check(name: str) -> Callable[[Context], Problem | None]:
    """The predicate of that name.

    Raises:
        UsageError: there is none.
    """
    _load_all()
    try:
        return _CHECKS[name]
    except KeyError:
        raise UsageError(f"rules/ops: unknown check {name!r}; known: {', '.join(sorted(_CHECKS))}") from None
