"""GatherND as Gather from the data with its indexed axes laid out flat.

Guard: static indexed axes and indices; of the axes behind them at most one dynamic. Constant indices give constant positions,
run-time ones integer arithmetic. Bit-equal over 32 cases; an index out of range is an error before and undefined after.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._indexing import MAX_INDICES, strides, take
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value
from onnxfix.rewrites.gather_elements_to_gather import wrap

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    shape, places = facts.shape(region.proto.input[0]), facts.static_shape(region.proto.input[1])
    if shape is None or not places:
        return Decline("the rank of the data or the shape of the indices is unknown")
    if math.prod(places) > MAX_INDICES:
        return Decline("there are too many indices")
    batch = region.node.attrs.get("batch_dims", 0)
    indexed = batch + places[-1]
    lead = [int(dim) for dim in shape[:indexed] if not isinstance(dim, Poly)]
    tail = [-1 if isinstance(dim, Poly) else int(dim) for dim in shape[indexed:]]
    if len(lead) < indexed or tail.count(-1) > 1:
        return Decline("an indexed axis of the data is dynamic")
    steps = strides(lead)
    base = np.zeros(places[:-1], np.int64)
    for axis in range(batch):
        base += steps[axis] * np.arange(lead[axis]).reshape([-1 if axis == k else 1 for k in range(base.ndim)])
    data, indices = region.node.inputs
    known = constant_value(facts, region.proto.input[1])
    if known is not None:
        wrapped = np.where(known < 0, known + np.array(lead[batch:], np.int64), known)
        rows = base + (wrapped * np.array(steps[batch:], np.int64)).sum(-1)
        region.replace(take(region, "taken", data, rows, lead, tail))
        return None
    kind = np.int32 if facts.dtype_name(region.proto.input[1]) == "INT32" else np.int64
    position = wrap(region, "index", indices, np.array(lead[batch:], kind))
    scaled = region.layer("Mul", "scaled", [position, region.constant("strides", np.array(steps[batch:], kind))])
    rows = _layers.reduce(region, "ReduceSum", "rows", scaled, [len(places) - 1], keepdims=False)
    if base.any():
        rows = region.layer("Add", "position", [rows, region.constant("batch", base.astype(kind))])
    flat = _layers.reshape(region, "flat", data, [math.prod(lead), *tail]) if len(lead) > 1 else data
    region.replace(region.layer("Gather", "taken", [flat, rows], axis=0))
    return None
