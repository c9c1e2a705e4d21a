"""Slice: bounds as inputs (from opset 10) become attributes; they must be constants and the steps 1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

# Slice-1 reads bounds as int64, but importers of old releases keep them in 32 bits.
LOWEST, HIGHEST = -(2**31), 2**31 - 1


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    if low >= 10 or region.opset < 10:
        return _general.lower(region, low)
    given: dict[str, list[int] | None] = {}
    for slot, name in enumerate(("starts", "ends", "axes", "steps"), 1):
        if slot >= len(proto.input) or not proto.input[slot]:
            given[name] = None
            continue
        numbers = facts.numbers(proto.input[slot])
        if numbers is None:
            return Decline(f"{name} of Slice is computed at run time")
        given[name] = [int(item) for item in numbers]
    if any(step != 1 for step in given["steps"] or ()):
        return Decline("Slice has steps other than 1")
    axes = given["axes"]
    if axes is not None and min(axes, default=0) < 0:
        rank = facts.rank(proto.input[0])
        if rank is None:
            return Decline("axes of Slice are negative and the rank of the data unknown")
        axes = [axis % rank for axis in axes]
    del region.edited.input[1:]
    _general.set_attribute(region, "starts", [max(LOWEST, min(item, HIGHEST)) for item in given["starts"] or ()])
    _general.set_attribute(region, "ends", [max(LOWEST, min(item, HIGHEST)) for item in given["ends"] or ()])
    if axes is not None:
        _general.set_attribute(region, "axes", axes)
    return None
