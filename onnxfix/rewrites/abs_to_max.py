"""Abs of integers as Max(x, 0 - x); Neg of integers as 0 - x.

The same bits, the smallest integer included, which has no opposite. Before opset 12 Max takes no integers: there it is Where(x <
0, 0 - x, x). Guard: opset 9 or later. The same bits over 12 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._forms import INTEGERS, number
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    name, op = region.proto.input[0], region.proto.op_type
    dtype = facts.dtype(name)
    if dtype not in INTEGERS:
        return Decline(f"the data is {facts.dtype_name(name)}")
    if region.opset < 9:
        return Decline("Less takes no integers before opset 9")
    zero = number(region, "zero", 0, np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype)))
    opposite = region.layer("Sub", "opposite", [zero, region.node.inputs[0]])
    if op == "Neg":
        region.replace(opposite)
        return None
    if region.opset >= 12:
        region.replace(region.layer("Max", "larger", [region.node.inputs[0], opposite]))
        return None
    below = region.layer("Less", "below", [region.node.inputs[0], zero])
    region.replace(region.layer("Where", "chosen", [below, opposite, region.node.inputs[0]]))
    return None
