"""BatchNormalization in training mode: statistics of the batch in ReduceMean, Sub, Mul, Sqrt and Div.

The running statistics, where they are read, are input * momentum + batch * (1 - momentum). Source: BatchNormalization-15, and -9,
where more than one output means training. Guard: the rank known, no half precision; before opset 14 only the first output is read.
Largest error over 2 cases: 8e-08 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import is_read, number
from onnxfix.rewrites._layers import reduce, reshape
from onnxfix.rewrites._normal import HALF, normal_kind
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.drop_unread_outputs import TRAINING_MODE

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = normal_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    inputs, attrs = region.proto.input, region.node.attrs
    old_form = region.opset < TRAINING_MODE
    if not (len(region.proto.output) > 1 if old_form else attrs.get("training_mode", 0)):
        return Decline("it computes no statistics of the batch", plain=True)
    if old_form and any(is_read(facts, name) for name in region.proto.output[1:]):
        return Decline("before opset 14 ONNX does not say how it computes the statistics that are read")
    rank = facts.rank(inputs[0])
    if rank is None or rank < 2:
        return Decline("the rank of the data is unknown")
    if facts.dtype(inputs[0]) == HALF:
        return Decline("running statistics of half precision may be of another type")
    axes = [0, *range(2, rank)]
    tail = (-1,) + (1,) * (rank - 2)
    x, scale, bias, running_mean, running_variance = region.node.inputs[:5]
    mean = reduce(region, "ReduceMean", "mean", x, axes)
    centred = region.layer("Sub", "centred", [x, mean])
    variance = reduce(region, "ReduceMean", "variance", region.layer("Mul", "square", [centred, centred]), axes)
    raised = region.layer("Add", "raised", [variance, number(region, "epsilon", float(attrs.get("epsilon", 1e-5)), kind)])
    normal = region.layer("Div", "normal", [centred, region.layer("Sqrt", "deviation", [raised])])
    scaled = region.layer("Mul", "scaled", [normal, reshape(region, "scale", scale, tail)])
    made: list[gs.Variable | None] = [region.layer("Add", "shifted", [scaled, reshape(region, "bias", bias, tail)])]
    momentum = float(attrs.get("momentum", 0.9))
    outputs = region.proto.output
    for slot, role, old, new in ((1, "running_mean", running_mean, mean), (2, "running_var", running_variance, variance)):
        if slot >= len(outputs) or not is_read(facts, outputs[slot]):
            made.append(None)
            continue
        share = region.constant(f"{role}_momentum", np.array([momentum], kind))
        rest = region.constant(f"{role}_rest", np.array([1 - momentum], kind))
        kept = region.layer("Mul", f"{role}_kept", [old, share])
        added = region.layer("Mul", f"{role}_added", [reshape(region, f"{role}_flat", new, [-1]), rest])
        made.append(region.layer("Add", role, [kept, added]))
    region.replace(*made)
    return None
