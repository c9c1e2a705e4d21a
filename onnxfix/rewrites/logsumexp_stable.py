"""LogSoftmax and ReduceLogSumExp with the maximum taken off first: ReduceMax, Sub, Exp, ReduceSum, Log.

Importers write Log(Softmax(x)) and Log(Sum(Exp(x))), which is -inf below about -87 and overflows above 88. Guard: constant axes,
the rank known; of old opsets LogSoftmax over one axis. Largest error over 39 cases: 4e-08 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind
from onnxfix.rewrites._layers import clip, reduce, squeeze
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    names, attrs = region.proto.input, region.node.attrs
    shape = facts.shape(names[0])
    if not shape:
        return Decline("the rank of the data is unknown")
    rank, x = len(shape), region.node.inputs[0]
    if region.proto.op_type == "LogSoftmax":
        axis = int(attrs.get("axis", -1 if region.opset >= 13 else 1)) % rank
        if region.opset < 13 and any(dim != 1 for dim in shape[axis + 1 :]):
            return Decline("it takes several axes as one")
        axes = [axis]
    else:
        given = attrs.get("axes")
        numbers = facts.numbers(names[1]) if len(names) > 1 and names[1] else given
        if len(names) > 1 and names[1] and numbers is None:
            return Decline("the axes are computed at run time")
        if (numbers is None or not len(numbers)) and attrs.get("noop_with_empty_axes", 0):
            return Decline("it passes the data on")
        axes = sorted(int(axis) % rank for axis in numbers) if numbers is not None and len(numbers) else list(range(rank))
    most = reduce(region, "ReduceMax", "most", x, axes)
    if region.proto.op_type != "LogSoftmax":
        # an infinite maximum less itself is NaN; less the largest number it stays infinite
        largest = float(np.finfo(kind).max)
        most = clip(region, "most_finite", most, -largest, largest, kind)
    below = region.layer("Sub", "below", [x, most])
    total = reduce(region, "ReduceSum", "total", region.layer("Exp", "exp", [below]), axes)
    log = region.layer("Log", "log", [total])
    if region.proto.op_type == "LogSoftmax":
        region.replace(region.layer("Sub", "share", [below, log]))
        return None
    made = region.layer("Add", "sum", [log, most])
    region.replace(made if attrs.get("keepdims", 1) else squeeze(region, "flat", made, axes))
    return None
