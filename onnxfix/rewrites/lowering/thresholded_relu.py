"""ThresholdedRelu (from opset 10): what is above alpha, and zero elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    dtype = region.facts.dtype(region.proto.input[0])
    if low >= 10:
        return _general.lower(region, low)
    if dtype not in _FLOATS or low < 9:
        return Decline(f"ThresholdedRelu does not exist in opset {low}")
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    x = region.node.inputs[0]
    alpha = region.constant("alpha", np.array(_general.attribute(region, "alpha", 1.0), kind))
    above = region.layer("Greater", "above", [x, alpha])
    region.replace(region.layer("Where", "kept", [above, x, region.constant("zero", np.array(0, kind))]))
    return None
