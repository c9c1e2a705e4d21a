"""BatchNormalization: the form for inference is the same from opset 7 on but for its attributes.

With training_mode (from opset 14) it normalises by the mean and the variance of the batch, and gives the running statistics
`running * momentum + batch * (1 - momentum)`, the variance divided by the number of elements; that is written out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    if region.opset >= 14 > low and _general.attribute(region, "training_mode", 0):
        return _training(region)
    used = [name for name in proto.output[1:] if name]
    if used and (region.opset >= 14 or low < 9):
        return Decline("BatchNormalization with statistics as outputs, but no training_mode")
    if not _general.attribute(region, "spatial", 1):
        return Decline("BatchNormalization has spatial=0, statistics for each position")
    kinds = {facts.dtype(name) for name in proto.input} - {0}
    if len(kinds) > 1 and low < 15:
        return Decline("scale, bias or statistics have another element type than the data")
    _general.drop_attribute(region, "training_mode")
    if low >= 9:
        _general.drop_attribute(region, "spatial")
    return None


def _training(region: Region) -> Decline | None:
    proto, facts = region.proto, region.facts
    rank = facts.rank(proto.input[0])
    dtype = facts.dtype(proto.input[0])
    kinds = {facts.dtype(name) for name in proto.input}
    if rank is None or rank < 2:
        return Decline("the rank of the data is unknown")
    if kinds not in ({onnx.TensorProto.FLOAT}, {onnx.TensorProto.DOUBLE}):
        return Decline(f"BatchNormalization in training on {facts.dtype_name(proto.input[0])}")
    region.exact = False
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    x, scale, bias, running_mean, running_variance = region.node.inputs
    axes = [0, *range(2, rank)]
    channels = [1, -1] + [1] * (rank - 2)
    mean = _layers.reduce(region, "ReduceMean", "mean", x, axes)
    centred = region.layer("Sub", "centred", [x, mean])
    square = region.layer("Mul", "square", [centred, centred])
    variance = _layers.reduce(region, "ReduceMean", "variance", square, axes)
    epsilon = region.constant("epsilon", np.array([_general.attribute(region, "epsilon", 1e-5)], kind))
    deviation = region.layer("Sqrt", "deviation", [region.layer("Add", "raised", [variance, epsilon])])
    normal = region.layer("Div", "normal", [centred, deviation])
    scaled = region.layer("Mul", "scaled", [normal, _layers.reshape(region, "scale", scale, channels)])
    shifted = region.layer("Add", "shifted", [scaled, _layers.reshape(region, "bias", bias, channels)])
    momentum = np.asarray(_general.attribute(region, "momentum", 0.9), np.float32)
    kept = region.constant("kept", momentum.astype(kind).reshape(1))
    new = region.constant("new", (np.float32(1) - momentum).astype(kind).reshape(1))
    outputs = [shifted]
    for role, batch, running in (("mean", mean, running_mean), ("variance", variance, running_variance)):
        flat = _layers.reshape(region, f"flat_{role}", batch, [-1])
        sides = (
            region.layer("Mul", f"kept_{role}", [running, kept]),
            region.layer("Mul", f"new_{role}", [flat, new]),
        )
        outputs.append(region.layer("Add", f"running_{role}", sides))
    region.replace(*(tensor if name else None for tensor, name in zip(outputs, proto.output, strict=False)))
    return None
