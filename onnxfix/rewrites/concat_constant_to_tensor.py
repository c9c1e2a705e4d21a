"""Concat whose constant operands are added to zeros that the data make, so that an implicit batch takes them for tensors.

The zeros are the smallest value of every batch element less itself. Guard: finite data of real floats, a batch of 1. The same bits
over 1 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import FLOATS
from onnxfix.rewrites._layers import reduce
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    names = region.proto.input
    values = [facts.constant(name) if facts.is_constant(name) else None for name in names]
    slots = [slot for slot, value in enumerate(values) if value is not None]
    tensors = [slot for slot in range(len(names)) if slot not in slots]
    if not slots or not tensors:
        return Decline("it does not join constants with data")
    first = names[tensors[0]]
    rank = facts.rank(first)
    if facts.dtype(first) not in FLOATS or rank is None or rank < 2:
        return Decline(f"the data is {facts.dtype_name(first)}, or its rank unknown")
    if any(value is not None and (value.ndim != rank or value.shape[0] != 1) for value in values):
        return Decline("a constant has a batch other than 1")
    least = reduce(region, "ReduceMin", "least", region.node.inputs[tensors[0]], range(1, rank))
    zero = region.layer("Sub", "zero", [least, least])
    inputs = list(region.node.inputs)
    for slot in slots:
        value = values[slot]
        assert value is not None
        inputs[slot] = region.layer("Add", f"tensor{slot}", [zero, region.constant(f"constant{slot}", value)])
    region.replace(region.layer("Concat", "joined", inputs, axis=int(region.node.attrs["axis"])))
    return None
