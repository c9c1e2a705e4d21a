"""Sign as Ceil(Clip(x, 0, 1)) + Floor(Clip(x, -1, 0)); of integers Min(Max(x, -1), 1).

The same bits for every number; the sign of NaN is NaN. Guard: real floats, or integers from opset 12 on. The same bits over 3
cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._forms import INTEGERS, float_kind, number
from onnxfix.rewrites._layers import clip
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    x = region.node.inputs[0]
    dtype = facts.dtype(region.proto.input[0])
    if dtype in INTEGERS and region.opset >= 12:
        whole = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype))
        raised = region.layer("Max", "raised", [x, number(region, "least", -1, whole)])
        region.replace(region.layer("Min", "sign", [raised, number(region, "most", 1, whole)]))
        return None
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    positive = region.layer("Ceil", "positive", [clip(region, "positive01", x, 0.0, 1.0, kind)])
    negative = region.layer("Floor", "negative", [clip(region, "negative01", x, -1.0, 0.0, kind)])
    region.replace(region.layer("Add", "sign", [positive, negative]))
    return None
