"""What a parser does with every node, whatever its operator: names of outputs, and integers beyond 32 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx

from onnxfix.checks.limits import input_label

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node, Scope

_LOWEST, _HIGHEST = -(2**31), 2**31 - 1

# Inputs in which a number beyond 32 bits means "as far as it goes", and still does when it is cut.
_BOUNDS = {"Slice": (1, 2, 4), "Clip": (1, 2), "Loop": (0,), "NonMaxSuppression": (2,)}
# Operators that move integers on their way there, and the inputs that they move.
_MOVES: dict[str, tuple[int, ...] | None] = {
    **dict.fromkeys(("Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Unsqueeze"), (0,)),
    "Concat": None,
}


@dataclass(frozen=True, slots=True)
class Unsorted:
    """Why a parser cannot order the nodes: the node at which it fails, a clause about it, and the parser's words."""

    node: Node
    text: str
    message: str


def unsorted_names(scope: Scope) -> Unsorted | None:
    """The empty name of outputs that are left out counts as a value: one alone may have it, and empty inputs read it.

    Source: onnx-tensorrt 6.0-full-dims to 10.1, toposort.hpp.
    """
    maker: Node | None = None
    for node in scope.nodes:
        for name in node.outputs:
            if not name and maker is not None:
                what = "leaves an output unnamed, as another output is; the parser takes both for one value"
                return Unsorted(node, what, "Output name is not unique: ")
            maker = node if not name else maker
    if maker is None:
        return None
    todo, seen = [maker], set()
    while todo:
        node = todo.pop()
        if node.index in seen:
            continue
        seen.add(node.index)
        if "" in node.inputs:
            return Unsorted(
                maker,
                f"leaves an output unnamed, and {node.op_type}, on which it depends, an input; the parser takes both for one value",
                "Graph contains a cycle",
            )
        todo.extend(scope.producers[name] for name in node.inputs if name in scope.producers)
    return None


def wide_integer(node: Node, facts: ScopeFacts, *, cut: bool) -> tuple[int, str, int] | None:
    """Slot, label and value of a stored INT64 input beyond 32 bits; None where there is none, or where it bounds something.

    Where the parser cuts such numbers, `cut`, also those are left out that only move on to where they bound something, and the
    upper bounds of Min and lower ones of Max, which no integer of 32 bits passes.
    """
    for slot, name in enumerate(node.inputs):
        if not name or slot in _BOUNDS.get(node.op_type, ()) or facts.dtype(name) != onnx.TensorProto.INT64:
            continue
        if facts.value(name).tensor is None:
            continue
        array = facts.constant(name)
        if array is None or array.size == 0:
            continue
        low, high = int(array.min()), int(array.max())
        if cut and _bounds_only(node, slot, low, high):
            continue
        for value in (low, high):
            if not _LOWEST <= value <= _HIGHEST:
                return slot, input_label(node, slot), value
    return None


def _bounds_only(node: Node, slot: int, low: int, high: int) -> bool:
    if slot in _BOUNDS.get(node.op_type, ()):
        return True
    if node.op_type in ("Min", "Max"):
        return low >= _LOWEST if node.op_type == "Min" else high <= _HIGHEST
    slots = _MOVES.get(node.op_type, ())
    if node.domain or (slots is not None and slot not in slots):
        return False
    for name in filter(None, node.outputs):
        # a reader within a subgraph is listed itself, besides the node around it, whose place is -1
        readers = [(reader, place) for reader, place in node.scope.consumers.get(name, ()) if place >= 0]
        if (
            name in node.scope.outputs
            or not readers
            or not all(_bounds_only(reader, place, low, high) for reader, place in readers)
        ):
            return False
    return True
