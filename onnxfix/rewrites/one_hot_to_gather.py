"""OneHot as rows gathered from a constant table.

Guard: constant depth and values. Indices out of range give the off value: they are clipped to rows of the table that hold nothing
else, in float32, which is exact below 2**24; positions that ArgMax or
TopK gives are in range and need none of it. Bit-equal over 24 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites import _layers
from onnxfix.rewrites._bounds import bound
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

FLOAT, INT32, INT64 = 1, 6, 7
MAX_DEPTH = 2048


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    depth, values = (constant_value(facts, name) for name in region.proto.input[1:3])
    rank = facts.rank(region.proto.input[0])
    if depth is None or values is None:
        return Decline("the depth or the values are computed at run time")
    if rank is None:
        return Decline("the rank of the indices is unknown")
    size = int(depth.ravel()[0])
    if not 0 < size <= MAX_DEPTH:
        return Decline(f"the depth is {size}; tables have at most {MAX_DEPTH} rows")
    off, on = values.ravel()
    limit = bound(facts, region.proto.input[0])
    if limit is not None and limit <= size:
        rows = region.node.inputs[0]
        table = np.full((size, size), off, values.dtype)
        np.fill_diagonal(table, on)
        region.replace(_placed(region, region.layer("Gather", "gathered", [region.constant("table", table), rows], axis=0), rank))
        return None
    table = np.full((2 * size + 2, size), off, values.dtype)
    for row in range(size):
        table[1 + row, row] = table[1 + size + row, row] = on
    indices = region.node.inputs[0]
    if facts.dtype_name(region.proto.input[0]) not in ("INT32", "INT64"):
        indices = _layers.cast(region, "whole", indices, INT32)
    number = _layers.cast(region, "number", indices, FLOAT)
    shifted = region.layer("Add", "shifted", [number, region.constant("shift", np.array(size + 1, np.float32))])
    inside = _layers.clip(region, "inside", shifted, 0, 2 * size + 1, np.dtype(np.float32))
    rows = _layers.cast(region, "rows", inside, INT32)
    region.replace(_placed(region, region.layer("Gather", "gathered", [region.constant("table", table), rows], axis=0), rank))
    return None


def _placed(region: Region, made: gs.Variable, rank: int) -> gs.Variable:
    """The new axis, which is the last, where the node wants it."""
    axis = region.node.attrs.get("axis", -1) % (rank + 1)
    if axis == rank:
        return made
    perm = list(range(rank))
    perm.insert(axis, rank)
    return region.layer("Transpose", "moved", [made], perm=perm)
