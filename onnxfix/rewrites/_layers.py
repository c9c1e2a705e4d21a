"""Nodes whose form depends on the opset, written in that of the region's own model.

What became an input of an operator was an attribute before: axes of reductions (ReduceSum in opset 13, the others in 18), of
Squeeze and Unsqueeze (13), bounds of Slice (10) and Clip (11), pads (11), sizes of Split (13), the k of TopK (10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_graphsurgeon as gs

    from onnxfix.rewrites._region import Region

# An end of Slice beyond every size.
TO_THE_END = 2**31 - 1


def _integers(region: Region, role: str, values: Sequence[int]) -> gs.Constant:
    return region.constant(role, np.array(values, np.int64))


def reduce(region: Region, op: str, role: str, data: gs.Tensor, axes: Sequence[int], *, keepdims: bool = True) -> gs.Variable:
    """A reduction over some axes, counted from the front."""
    if region.opset >= (13 if op == "ReduceSum" else 18):
        return region.layer(op, role, [data, _integers(region, f"{role}_axes", axes)], keepdims=int(keepdims))
    return region.layer(op, role, [data], axes=list(axes), keepdims=int(keepdims))


def squeeze(region: Region, role: str, data: gs.Tensor, axes: Sequence[int]) -> gs.Variable:
    """Squeeze of the given axes, counted from the front."""
    return _axes(region, "Squeeze", role, data, axes)


def unsqueeze(region: Region, role: str, data: gs.Tensor, axes: Sequence[int]) -> gs.Variable:
    """Unsqueeze at the given axes of the result, counted from the front."""
    return _axes(region, "Unsqueeze", role, data, axes)


def _axes(region: Region, op: str, role: str, data: gs.Tensor, axes: Sequence[int]) -> gs.Variable:
    if region.opset >= 13:
        return region.layer(op, role, [data, _integers(region, f"{role}_axes", axes)])
    return region.layer(op, role, [data], axes=list(axes))


def reshape(region: Region, role: str, data: gs.Tensor, shape: Sequence[int]) -> gs.Variable:
    """Reshape to a constant shape; 0 keeps the dimension at that place, one entry may be -1."""
    return region.layer("Reshape", role, [data, _integers(region, f"{role}_shape", shape)])


def slice_(
    region: Region, role: str, data: gs.Tensor, axes: Sequence[int], starts: Sequence[int], ends: Sequence[int]
) -> gs.Variable:
    """Slice with step 1."""
    if region.opset < 10:
        return region.layer("Slice", role, [data], axes=list(axes), starts=list(starts), ends=list(ends))
    bounds = [_integers(region, f"{role}_{what}", values) for what, values in (("starts", starts), ("ends", ends), ("axes", axes))]
    return region.layer("Slice", role, [data, *bounds])


def gather(region: Region, role: str, data: gs.Tensor, indices: Sequence[int] | np.ndarray, axis: int) -> gs.Variable:
    """Gather with constant indices."""
    return region.layer("Gather", role, [data, region.constant(f"{role}_indices", np.asarray(indices, np.int64))], axis=axis)


def clip(region: Region, role: str, data: gs.Tensor, low: float | None, high: float | None, dtype: np.dtype) -> gs.Variable:
    """Clip with constant bounds of the data's element type; None leaves a bound out."""
    if region.opset < 11:
        bounds = {name: float(value) for name, value in (("min", low), ("max", high)) if value is not None}
        return region.layer("Clip", role, [data], **bounds)
    given = [
        region.absent if value is None else region.constant(f"{role}_{name}", np.array(value, dtype))
        for name, value in (("min", low), ("max", high))
    ]
    return region.layer("Clip", role, [data, *given])


def pad(region: Region, role: str, data: gs.Tensor, begins: Sequence[int], ends: Sequence[int]) -> gs.Variable:
    """Pad with zeros at the front and the end of every axis."""
    pads = [*begins, *ends]
    if region.opset < 11:
        return region.layer("Pad", role, [data], pads=pads, mode="constant")
    return region.layer("Pad", role, [data, _integers(region, f"{role}_pads", pads)])


def split(region: Region, roles: Sequence[str], data: gs.Tensor, axis: int, sizes: Sequence[int]) -> list[gs.Variable]:
    """Split into pieces of the given sizes."""
    if region.opset >= 13:
        return region.layers("Split", roles, [data, _integers(region, f"{roles[0]}_sizes", sizes)], axis=axis)
    return region.layers("Split", roles, [data], axis=axis, split=list(sizes))


def cast(region: Region, role: str, data: gs.Tensor, dtype: int) -> gs.Variable:
    """Cast to a TensorProto.DataType."""
    return region.layer("Cast", role, [data], to=int(dtype))
