"""ScatterND, ScatterElements and Scatter at places known at run time: which update goes where as a comparison, then a reduction.

combined(data, reduce over updates j of Where(place_j == p, update_j, neutral)). With no reduction, the last of the updates of a
place where it has any, as onnxruntime does it, else the data. Nothing is multiplied by a mask, so that infinities and NaN stay.
Guard: at most MAX_ELEMENTS comparisons; the extent of the scattered axes is static; ScatterElements has updates for the whole data
beside its axis. Sums are added up in another order: 2e-7 of the largest value over 90 cases; the rest is bit-equal. What max and
min make of a NaN is left open by ONNX: it stays one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._indexing import strides
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

MAX_ELEMENTS = 1 << 22
TYPES = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.INT32, onnx.TensorProto.INT64}
# Equal compares integers, and Where exists.
WHERE = 9
REDUCTIONS = {"add": ("ReduceSum", "Add"), "mul": ("ReduceProd", "Mul"), "max": ("ReduceMax", "Max"), "min": ("ReduceMin", "Min")}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    shapes = [facts.shape(name) for name in region.proto.input[:3]]
    dtype = facts.dtype(region.proto.input[0])
    if any(shape is None for shape in shapes) or not shapes[0]:
        return Decline("the rank of the data is unknown")
    if dtype not in TYPES or facts.dtype(region.proto.input[1]) not in TYPES or region.opset < WHERE:
        return Decline(f"the data is {facts.dtype_name(region.proto.input[0])}, or opset {region.opset} has no Where")
    data, indices = ([-1 if isinstance(dim, Poly) else int(dim) for dim in shape or ()] for shape in shapes[:2])
    if region.proto.op_type == "ScatterND":
        return _nd(region, facts, data, indices)
    axis = region.node.attrs.get("axis", 0) % len(data)
    beside = [(k, a, b) for k, (a, b) in enumerate(zip(shapes[0] or (), shapes[1] or (), strict=True)) if k != axis]
    if any(a != b for _, a, b in beside):
        return Decline("the updates do not cover the data beside the axis")
    size = data[axis]
    if min(size, indices[axis]) < 0 or abs(math.prod(data) * indices[axis]) > MAX_ELEMENTS:
        return Decline(f"there would be more than {MAX_ELEMENTS} comparisons, or how many is unknown")
    places = _from_front(region, facts, region.node.inputs[1], np.array([size]))
    row = _layers.unsqueeze(region, "places", places, [axis])
    column = np.arange(size).reshape((size, 1) + (1,) * (len(data) - 1 - axis))
    hit = region.layer("Equal", "hit", [row, _like_indices(region, facts, "row", column)])
    given = _layers.unsqueeze(region, "given", region.node.inputs[2], [axis])
    numbers = np.arange(1, indices[axis] + 1).reshape((-1,) + (1,) * (len(data) - 1 - axis))
    order = _like_indices(region, facts, "numbers", numbers)
    region.replace(_combined(region, dtype, hit, given, region.node.inputs[0], axis + 1, order))
    return None


def _nd(region: Region, facts: ScopeFacts, data: list[int], indices: list[int]) -> Decline | None:
    depth = indices[-1]
    if depth < 1:
        return Decline("how many axes are indexed is unknown")
    lead, tail = data[:depth], data[depth:]
    counted = min(indices[:-1], default=1) >= 0
    count = math.prod(indices[:-1]) if counted else 1
    if not counted and region.node.attrs.get("reduction", "none") == "none":
        return Decline("how many updates there are is unknown")
    if min(data) < 0 or math.prod(data) * count > MAX_ELEMENTS:
        return Decline(f"there would be more than {MAX_ELEMENTS} comparisons, or how many is unknown")
    places = _from_front(region, facts, region.node.inputs[1], np.array(lead))
    flat = _layers.reshape(region, "indices", places, [-1, depth])
    if depth > 1:
        scaled = region.layer("Mul", "scaled", [flat, _like_indices(region, facts, "strides", np.array(strides(lead)))])
        flat = _layers.reduce(region, "ReduceSum", "row", scaled, [1])
    row = _layers.reshape(region, "places", flat, [1, -1, *[1] * len(tail)])
    column = np.arange(math.prod(lead)).reshape((-1, 1) + (1,) * len(tail))
    hit = region.layer("Equal", "hit", [row, _like_indices(region, facts, "rows", column)])
    given = _layers.reshape(region, "given", region.node.inputs[2], [1, -1, *tail])
    source = region.node.inputs[0]
    if depth > 1:
        source = _layers.reshape(region, "flat", source, [math.prod(lead), *tail])
    order = _like_indices(region, facts, "numbers", np.arange(1, count + 1).reshape((-1,) + (1,) * len(tail)))
    made = _combined(region, facts.dtype(region.proto.input[0]), hit, given, source, 1, order)
    if depth > 1:
        made = _layers.reshape(region, "shaped", made, data)
    region.replace(made)
    return None


def _combined(
    region: Region, dtype: int, hit: gs.Tensor, given: gs.Tensor, data: gs.Tensor, axis: int, order: gs.Constant
) -> gs.Variable:
    """The data with the updates, which lie along `axis` of `hit` and `given`; `order` numbers them from 1."""
    reduction = region.node.attrs.get("reduction", "none")
    kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype))
    if reduction == "none":
        none = region.constant("none", np.zeros(1, order.dtype))
        numbered = region.layer("Where", "numbered", [hit, order, none])
        last = _layers.reduce(region, "ReduceMax", "last", numbered, [axis])
        wins = region.layer("Equal", "wins", [numbered, last])
        chosen = region.layer("Where", "chosen", [wins, given, region.constant("zero", np.zeros(1, kind))])
        written = region.layer("Greater", "written", [_layers.squeeze(region, "last_number", last, [axis]), none])
        return region.layer("Where", "put", [written, _squeezed(region, "ReduceSum", "new", chosen, axis), data])
    reduce, combine = REDUCTIONS[reduction]
    low, high = (-np.inf, np.inf) if kind.kind == "f" else (np.iinfo(kind).min, np.iinfo(kind).max)
    neutral = {"add": 0, "mul": 1, "max": low, "min": high}[reduction]
    chosen = region.layer("Where", "chosen", [hit, given, region.constant("neutral", np.array([neutral], kind))])
    return region.layer(combine, "combined", [data, _squeezed(region, reduce, "reduced", chosen, axis)])


def _squeezed(region: Region, op: str, role: str, data: gs.Tensor, axis: int) -> gs.Variable:
    return _layers.reduce(region, op, role, data, [axis], keepdims=False)


def _like_indices(region: Region, facts: ScopeFacts, role: str, values: np.ndarray) -> gs.Constant:
    kind = onnx.helper.tensor_dtype_to_np_dtype(facts.dtype(region.proto.input[1]))
    return region.constant(role, values.astype(kind))


def _from_front(region: Region, facts: ScopeFacts, indices: gs.Tensor, sizes: np.ndarray) -> gs.Variable:
    """Places that count from the end, counted from the front."""
    extent = _like_indices(region, facts, "sizes", sizes)
    behind = region.layer("Less", "behind", [indices, _like_indices(region, facts, "first", np.zeros(1))])
    return region.layer("Where", "from_front", [behind, region.layer("Add", "wrapped", [indices, extent]), indices])
