"""PRelu as Relu(x) + slope * Min(x, 0).

Guard: floating-point data, opset 8 or later (Min broadcasts from there on). The slope may have any shape that broadcasts.
Infinite input with slope 0 gives NaN in both forms. Largest error over 16 cases: 0.
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
    dtype = facts.dtype(region.proto.input[0])
    if region.opset < 8:
        return Decline("Min does not broadcast before opset 8")
    if dtype not in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE):
        return Decline(f"the data is {facts.dtype_name(region.proto.input[0])}")
    x, slope = region.node.inputs
    zero = region.constant("zero", np.zeros(1, onnx.helper.tensor_dtype_to_np_dtype(dtype)))
    positive = region.layer("Relu", "relu", [x])
    negative = region.layer("Min", "negative", [x, zero])
    scaled = region.layer("Mul", "scaled", [slope, negative])
    region.replace(region.layer("Add", "sum", [positive, scaled]))
    return None
