"""CumSum as MatMul with a triangle of ones.

Guard: float data, a constant axis of static length. A long axis is cut into rows: sums within each, and of the rows before.
Sums are taken in another order: 1e-7 of the largest value over 24 cases; an infinity or NaN reaches the sums before it too.
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
    import onnx_graphsurgeon as gs

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
    if isinstance(length, Poly):
        return Decline(f"the axis has {length} elements")
    rows = 1 if length <= MAX_LENGTH else _rows(int(length))
    if rows is None:
        return Decline(f"the axis has {length} elements, which cannot be cut into rows of at most {MAX_LENGTH}")
    dtype = onnx.helper.tensor_dtype_to_np_dtype(facts.dtype(region.proto.input[0]))
    exclusive, backwards = bool(region.node.attrs.get("exclusive", 0)), bool(region.node.attrs.get("reverse", 0))
    data = region.node.inputs[0]
    if rows > 1:
        perm = [k for k in range(rank) if k != axis] + [axis]
        if axis != rank - 1:
            data = region.layer("Transpose", "moved", [data], perm=perm)
        made = _long(region, data, rank, int(length), rows, dtype, exclusive=exclusive, backwards=backwards)
        if axis != rank - 1:
            made = region.layer("Transpose", "back", [made], perm=[perm.index(k) for k in range(rank)])
        region.replace(made)
        return None
    matrix = _triangle(int(length), dtype, exclusive=exclusive, backwards=backwards)
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


def _triangle(length: int, dtype: np.dtype, *, exclusive: bool, backwards: bool) -> np.ndarray:
    """[out, in]: which elements each sum takes."""
    matrix = np.tril(np.ones((length, length), dtype), -1 if exclusive else 0)
    return matrix[::-1, ::-1] if backwards else matrix


def _rows(length: int) -> int | None:
    """Into how many rows of one length an axis is cut so that both are short."""
    pairs = [
        (rows + length // rows, rows) for rows in range(2, MAX_LENGTH + 1) if length % rows == 0 and length // rows <= MAX_LENGTH
    ]
    return min(pairs)[1] if pairs else None


def _long(
    region: Region, data: gs.Tensor, rank: int, length: int, rows: int, dtype: np.dtype, *, exclusive: bool, backwards: bool
) -> gs.Variable:
    """Sums along the last axis: within rows of it, and those of whole rows before."""
    lead = [0] * (rank - 1)
    table = _layers.reshape(region, "rows", data, [*lead, rows, length // rows])
    if rank == 1:
        table = _layers.unsqueeze(region, "one", table, [0])
    axes = max(rank, 2) + 1
    within = matmul_along(region, table, axes, axes - 1, _triangle(length // rows, dtype, exclusive=exclusive, backwards=backwards))
    totals = _layers.reduce(region, "ReduceSum", "totals", table, [axes - 1])
    before = matmul_along(region, totals, axes, axes - 2, _triangle(rows, dtype, exclusive=True, backwards=backwards))
    return _layers.reshape(region, "flat", region.layer("Add", "both", [within, before]), [*lead, length])
