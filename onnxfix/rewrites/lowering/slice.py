"""Slice: bounds as inputs (from opset 10) become attributes; they must be constants, and steps other than 1 gather positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.model._arithmetic import slice_elements
from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
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
        given[name] = [int(item) for item in numbers.ravel()]
    starts, ends, axes = given["starts"] or [], given["ends"] or [], given["axes"]
    if axes is not None and min(axes, default=0) < 0:
        rank = facts.rank(proto.input[0])
        if rank is None:
            return Decline("axes of Slice are negative and the rank of the data unknown")
        axes = [axis % rank for axis in axes]
    steps = given["steps"] or [1] * len(starts)
    if any(step != 1 for step in steps):
        return _gathered(region, starts, ends, list(range(len(starts))) if axes is None else axes, steps)
    del region.edited.input[1:]
    _general.set_attribute(region, "starts", [max(LOWEST, min(item, HIGHEST)) for item in starts])
    _general.set_attribute(region, "ends", [max(LOWEST, min(item, HIGHEST)) for item in ends])
    if axes is not None:
        _general.set_attribute(region, "axes", axes)
    return None


def _gathered(region: Region, starts: list[int], ends: list[int], axes: list[int], steps: list[int]) -> Decline | None:
    shape = region.facts.shape(region.proto.input[0])
    data = region.node.inputs[0]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step == 1:
            data = _layers.slice_(region, f"axis{axis}", data, [axis], [start], [end])
            continue
        dim = None if shape is None else shape[axis]
        if dim is None or isinstance(dim, Poly):
            return Decline(f"Slice steps by {step} over axis {axis}, whose extent is unknown")
        taken = slice_elements(start, end, step, int(dim))
        if taken is None:
            return Decline("Slice goes backwards from the end, which runtimes read otherwise")
        data = _layers.gather(region, f"axis{axis}", data, list(taken), axis)
    region.replace(data)
    return None
