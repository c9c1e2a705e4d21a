"""CumSum as MatMul with a triangle of ones.

Guard: float data, a constant axis of static length. Sums are taken in another order: 1e-7 of the largest value over 24 cases;
an infinity or NaN reaches the sums before it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._linear import matmul_along
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

MAX_LENGTH = 2048


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    shape, where = facts.shape(region.proto.input[0]), constant_value(facts, region.proto.input[1])
    if shape is None or where is None:
        return Decline("the rank or the axis is unknown")
    kind = facts.dtype_name(region.proto.input[0])
    if kind not in ("FLOAT", "FLOAT16", "DOUBLE"):
        return Decline(f"sums of {kind} have no MatMul")
    rank, axis = len(shape), int(where.ravel()[0]) % len(shape)
    length = shape[axis]
    if isinstance(length, Poly) or length > MAX_LENGTH:
        return Decline(f"the axis has {length} elements; {MAX_LENGTH} are the most")
    dtype = onnx.helper.tensor_dtype_to_np_dtype(facts.dtype(region.proto.input[0]))
    attrs = region.node.attrs
    matrix = np.tril(np.ones((int(length), int(length)), dtype), -1 if attrs.get("exclusive", 0) else 0)
    if attrs.get("reverse", 0):
        matrix = matrix[::-1, ::-1]
    data = region.node.inputs[0]
    if rank == 1:
        row = _layers.reshape(region, "row", data, [1, int(length)])
        summed = region.layer("MatMul", "summed", [row, region.constant("ones", matrix.T)])
        region.replace(_layers.reshape(region, "flat", summed, [int(length)]))
    elif axis >= rank - 2 and rank > 2:
        region.replace(matmul_along(region, data, rank, axis, matrix))
    elif rank == 2:
        ones = region.constant("ones", matrix if axis == 0 else matrix.T)
        region.replace(region.layer("MatMul", "summed", [ones, data] if axis == 0 else [data, ones]))
    else:
        perm = [k for k in range(rank) if k != axis] + [axis]
        moved = region.layer("Transpose", "moved", [data], perm=perm)
        summed = matmul_along(region, moved, rank, rank - 1, matrix)
        region.replace(region.layer("Transpose", "back", [summed], perm=[perm.index(k) for k in range(rank)]))
    return None
