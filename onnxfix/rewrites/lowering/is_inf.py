"""IsInf (from opset 10): beyond the largest finite number, on the sides that count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    if low >= 10:
        return _general.lower(region, low)
    x, dtype = region.node.inputs[0], region.facts.dtype(region.proto.input[0])
    if dtype in (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16):
        x, dtype = _layers.cast(region, "wide", x, onnx.TensorProto.FLOAT), onnx.TensorProto.FLOAT
    if dtype not in _FLOATS:
        return Decline(f"IsInf on {region.facts.dtype_name(region.proto.input[0])}")
    if dtype == onnx.TensorProto.DOUBLE and low < 9:
        return Decline(f"Greater does not take double in opset {low}")
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    largest = region.constant("largest", np.array(np.finfo(kind).max, kind))
    up, down = (_general.attribute(region, f"detect_{name}", 1) for name in ("positive", "negative"))
    if up and down:
        made = region.layer("Greater", "infinite", [region.layer("Abs", "magnitude", [x]), largest])
    elif up:
        made = region.layer("Greater", "infinite", [x, largest])
    elif down:
        made = region.layer("Less", "infinite", [x, region.constant("smallest", np.array(np.finfo(kind).min, kind))])
    else:
        made = region.layer("Less", "never", [x, x])
    region.replace(made)
    return None
