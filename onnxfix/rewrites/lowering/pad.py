"""Pad: pads and value as inputs (from opset 11) become attributes; they must be constants.

axes (from opset 18) are filled up with zeros. Where opset 2 has no such Pad (integers, wrap, a value that no float32 attribute
holds), the elements of reflect, edge and wrap are gathered, and constants are concatenated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

_FLOATS = ("FLOAT", "FLOAT16", "DOUBLE")
# How numpy calls the modes that repeat elements of the data.
_MODES = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    if region.opset < 11:
        return _general.lower(region, low)
    if any(attribute.name == "pads" for attribute in proto.attribute):
        return None  # torch 1.3 writes the old form at opset 11, where it is invalid; in the old opset it is right
    mode = _general.attribute(region, "mode", "constant")
    numbers = facts.numbers(proto.input[1])
    inputs = [*proto.input, "", ""][:4]
    if low >= 11 and not inputs[3] and (mode != "wrap" or low >= 19):
        return _general.lower(region, low)
    if numbers is None:
        return Decline("pads of Pad are computed at run time")
    pads = [int(item) for item in numbers]
    if inputs[3]:
        filled = _on_all_axes(region, pads, inputs[3])
        if isinstance(filled, Decline):
            return filled
        pads = filled
    if mode == "wrap" and low < 19:
        return _gathered(region, pads, mode)
    if low >= 11:
        declined = _general.types(region, low)
        if declined is None and not region.is_replaced:
            region.set_input(1, "pads", np.array(pads, np.int64))
            del region.edited.input[3:]
        return declined
    kind = facts.dtype_name(proto.input[0])
    value = np.zeros(())
    if inputs[2]:
        given = facts.constant(inputs[2])
        if given is None:
            return Decline("value of Pad is computed at run time")
        value = np.ravel(given)[0]
    held = mode != "constant" or float(np.float32(value)) == float(value) or value != value
    if kind not in _FLOATS or not held:
        return _concatenated(region, pads, value) if mode == "constant" else _gathered(region, pads, mode)
    del region.edited.input[1:]
    _general.set_attribute(region, "pads", pads)
    if value and mode == "constant":
        _general.set_attribute(region, "value", float(value))
    return None


def _on_all_axes(region: Region, pads: list[int], name: str) -> list[int] | Decline:
    axes, rank = region.facts.numbers(name), region.facts.rank(region.proto.input[0])
    if axes is None or rank is None:
        return Decline("axes of Pad are computed at run time, or the rank of the data is unknown")
    begins, ends = [0] * rank, [0] * rank
    for position, axis in enumerate(axes):
        begins[int(axis) % rank], ends[int(axis) % rank] = pads[position], pads[position + len(axes)]
    return [*begins, *ends]


def _gathered(region: Region, pads: list[int], mode: str) -> Decline | None:
    shape = region.facts.shape(region.proto.input[0])
    data = region.node.inputs[0]
    for axis in range(len(pads) // 2):
        begin, end = pads[axis], pads[axis + len(pads) // 2]
        if not begin and not end:
            continue
        dim = None if shape is None else shape[axis]
        if dim is None or isinstance(dim, Poly):
            return Decline(f"Pad repeats elements along axis {axis}, whose extent is unknown")
        places = np.arange(int(dim))[max(-begin, 0) : int(dim) - max(-end, 0)]
        if not places.size:
            return Decline(f"axis {axis} of Pad is empty")
        places = np.pad(places, (max(begin, 0), max(end, 0)), mode=_MODES[mode])  # type: ignore[call-overload]
        data = _layers.gather(region, f"axis{axis}", data, places, axis)
    region.replace(data)
    return None


def _concatenated(region: Region, pads: list[int], value: np.ndarray) -> Decline | None:
    facts = region.facts
    shape, dtype = facts.static_shape(region.proto.input[0]), facts.dtype(region.proto.input[0])
    if shape is None or not dtype:
        return Decline(f"Pad adds constants of {facts.dtype_name(region.proto.input[0])} to data of dynamic sizes")
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    data, dims = region.node.inputs[0], list(shape)
    for axis in range(len(dims)):
        begin, end = pads[axis], pads[axis + len(dims)]
        if begin < 0 or end < 0:
            first, last = max(-begin, 0), dims[axis] - max(-end, 0)
            data = _layers.slice_(region, f"cut{axis}", data, [axis], [first], [last])
            dims[axis] = max(last - first, 0)
        sides = []
        for role, length in (("front", begin), ("back", end)):
            added = [*dims[:axis], max(length, 0), *dims[axis + 1 :]]
            sides.append(region.constant(f"{role}{axis}", np.full(added, value, kind)) if length > 0 else None)
        pieces = [piece for piece in (sides[0], data, sides[1]) if piece is not None]
        if len(pieces) > 1:
            data = region.layer("Concat", f"axis{axis}", pieces, axis=axis)
        dims[axis] += max(begin, 0) + max(end, 0)
    region.replace(data)
    return None
