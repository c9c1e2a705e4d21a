"""Max, Min, Mean and Sum broadcast from opset 8 on.

Integers in Max and Min (from opset 12): those of 32 bits as doubles, those of 64 by comparing and choosing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    op = region.proto.op_type
    if low < 8 <= region.opset:
        shapes = [region.facts.shape(name) for name in region.proto.input]
        if None in shapes or any(shape != shapes[0] for shape in shapes):
            return Decline(f"{op} does not broadcast before opset 8")
    dtype = region.facts.dtype(region.proto.input[0])
    if op in ("Mean", "Sum") or low >= 12 or dtype not in (onnx.TensorProto.INT64, onnx.TensorProto.UINT64):
        return _general.lower(region, low)
    if low < 9:
        return Decline(f"{op} does not take {_general.type_word(dtype)} in opset {low}, and Where came with opset 9")
    first, *rest = region.node.inputs
    for number, other in enumerate(rest):
        better = region.layer("Greater" if op == "Max" else "Less", f"better{number}", [first, other])
        first = region.layer("Where", f"best{number}", [better, first, other])
    region.replace(first)
    return None
