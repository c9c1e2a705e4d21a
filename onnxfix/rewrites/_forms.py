"""Operators whose form depends on the opset, written in the form of the region's own; and guards that many rewrites share.

What moved from an attribute to an input, and when: axes of ReduceSum, Squeeze and Unsqueeze in opset 13, of the other reductions in
18; bounds of Slice in 10; bounds of Clip and Pad in 11 (onnx/defs, changelog).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region

TO_THE_END = 2**31 - 1
FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)
# Element-wise operators broadcast from opset 7 on, Max, Min, Sum and Mean from 8 on.
BROADCASTS, VARIADIC_BROADCASTS = 7, 8


def float_kind(region: Region, facts: ScopeFacts, *, since: int = BROADCASTS) -> np.dtype | Decline:
    """The numpy type of the node's first input, where it is a real float and the opset has what the rewrite needs."""
    name = region.proto.input[0]
    dtype = facts.dtype(name)
    if dtype not in FLOATS:
        return Decline(f"the data is {facts.dtype_name(name)}")
    if region.opset < since:
        return Decline(f"operators do not broadcast before opset {since}")
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype))


def number(region: Region, role: str, value: float, kind: np.dtype) -> gs.Constant:
    """A constant of one element that broadcasts to the node's first input without adding an axis to it.

    It has one axis, which importers with an implicit batch read as a weight, unless the data may have none.
    """
    shape = (1,) if region.facts.rank(region.proto.input[0]) else ()
    return region.constant(role, np.full(shape, value, kind))


def integers(region: Region, role: str, values: Sequence[int] | np.ndarray) -> gs.Constant:
    """A constant of INT64."""
    return region.constant(role, np.array(values, np.int64))


def static_dims(facts: ScopeFacts, name: str, axes: Sequence[int]) -> list[int] | Decline:
    """The extents of some axes, all of which must be known numbers."""
    shape = facts.shape(name)
    if shape is None:
        return Decline("the rank of the data is unknown")
    found = [shape[axis] for axis in axes]
    if any(isinstance(dim, Poly) for dim in found):
        return Decline(f"the size of axis {next(a for a, d in zip(axes, found, strict=True) if isinstance(d, Poly))} is dynamic")
    return [int(dim) for dim in found if not isinstance(dim, Poly)]


def reduce(region: Region, op: str, role: str, data: gs.Tensor, axes: Sequence[int], *, keepdims: int = 1) -> gs.Variable:
    """A reduction over `axes`, counted from the front."""
    if region.opset >= (13 if op == "ReduceSum" else 18):
        return region.layer(op, role, [data, integers(region, f"{role}/axes", axes)], keepdims=keepdims)
    return region.layer(op, role, [data], axes=list(axes), keepdims=keepdims)


def squeeze(region: Region, role: str, data: gs.Tensor, axes: Sequence[int]) -> gs.Variable:
    """Take out axes of extent 1."""
    return _shaped(region, "Squeeze", role, data, axes)


def unsqueeze(region: Region, role: str, data: gs.Tensor, axes: Sequence[int]) -> gs.Variable:
    """Add axes of extent 1; `axes` count in the result."""
    return _shaped(region, "Unsqueeze", role, data, axes)


def _shaped(region: Region, op: str, role: str, data: gs.Tensor, axes: Sequence[int]) -> gs.Variable:
    if region.opset >= 13:
        return region.layer(op, role, [data, integers(region, f"{role}/axes", axes)])
    return region.layer(op, role, [data], axes=list(axes))


def clip(region: Region, role: str, data: gs.Tensor, low: float, high: float, kind: np.dtype) -> gs.Variable:
    """Between two finite bounds."""
    if region.opset >= 11:
        bounds = [region.constant(f"{role}/{name}", np.array(bound, kind)) for name, bound in (("min", low), ("max", high))]
        return region.layer("Clip", role, [data, *bounds])
    return region.layer("Clip", role, [data], min=float(low), max=float(high))


def slice_axis(region: Region, role: str, data: gs.Tensor, axis: int, start: int, end: int = TO_THE_END) -> gs.Variable:
    """The elements `start` to `end` along one axis."""
    if region.opset >= 10:
        numbers = [integers(region, f"{role}/{name}", [n]) for name, n in (("starts", start), ("ends", end), ("axes", axis))]
        return region.layer("Slice", role, [data, *numbers])
    return region.layer("Slice", role, [data], starts=[start], ends=[end], axes=[axis])


def pad(
    region: Region, role: str, data: gs.Tensor, begin: Sequence[int], end: Sequence[int], kind: np.dtype, value: float = 0.0
) -> gs.Variable:
    """`value` around the data: `begin` and `end` elements on every axis."""
    pads = [*begin, *end]
    if region.opset >= 11:
        fill = region.constant(f"{role}/value", np.array(value, kind))
        return region.layer("Pad", role, [data, integers(region, f"{role}/pads", pads), fill], mode="constant")
    return region.layer("Pad", role, [data], pads=pads, mode="constant", value=float(value))


def take(region: Region, role: str, data: gs.Tensor, axis: int, indices: Sequence[int] | np.ndarray) -> gs.Variable:
    """The elements at constant positions along one axis."""
    return region.layer("Gather", role, [data, integers(region, f"{role}/indices", indices)], axis=axis)


def reshape(region: Region, role: str, data: gs.Tensor, shape: Sequence[int]) -> gs.Variable:
    """A new shape; 0 keeps a dimension, -1 is what is left."""
    return region.layer("Reshape", role, [data, integers(region, f"{role}/shape", shape)])


def read_outputs(region: Region, facts: ScopeFacts) -> set[int]:
    """The numbers of the node's outputs that something reads, or that the graph gives."""
    names = enumerate(region.proto.output)
    return {number for number, name in names if name and (name in facts.scope.outputs or facts.scope.consumers.get(name))}
