"""BatchNormalization of inference as Mul by scale / sqrt(variance + epsilon) and Add of what is left, for every channel.

Guard: not in training mode; scale, bias, mean and variance constant; the other outputs unread. The same bits over 12 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, is_read
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.drop_unread_outputs import TRAINING_MODE

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    inputs, attrs = region.proto.input, region.node.attrs
    if attrs.get("training_mode", 0) or region.opset < 7:
        return Decline("it computes statistics of the batch")
    if any(is_read(facts, name) for name in region.proto.output[1:]):
        return Decline("its running statistics are read")
    if region.opset < TRAINING_MODE and any(region.proto.output[1:]):
        return Decline("it computes statistics of the batch")
    rank = facts.rank(inputs[0])
    if rank is None or rank < 2:
        return Decline("the rank of the data is unknown")
    if not attrs.get("spatial", 1):
        return Decline("its statistics are of every element (spatial=0)")
    values = [facts.constant(name) for name in inputs[1:5]]
    if any(value is None for value in values):
        return Decline("scale, bias, mean or variance is computed at run time")
    scale, bias, mean, variance = (np.asarray(value, np.float64) for value in values)
    factor = scale / np.sqrt(variance + float(attrs.get("epsilon", 1e-5)))
    tail = (-1,) + (1,) * (rank - 2)
    factors = region.constant("factor", factor.reshape(tail).astype(kind))
    term = region.constant("term", (bias - mean * factor).reshape(tail).astype(kind))
    region.replace(region.layer("Add", "shifted", [region.layer("Mul", "scaled", [region.node.inputs[0], factors]), term]))
    return None
