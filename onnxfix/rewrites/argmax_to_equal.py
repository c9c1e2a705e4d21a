"""ArgMax or ArgMin of integers as that of floats which are 1 where the integer equals the largest or smallest along the axis.

Exact for every integer, unlike a Cast of the data itself, and equal values keep their order. Guard: opset 11 or later, the rank
known. The same bits over 8 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites._forms import INTEGERS
from onnxfix.rewrites._layers import cast, reduce
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    name = region.proto.input[0]
    rank, attrs = facts.rank(name), dict(region.node.attrs)
    if facts.dtype(name) not in INTEGERS:
        return Decline(f"the data is {facts.dtype_name(name)}")
    if rank is None or region.opset < 11:
        return Decline("the rank of the data is unknown, or Equal takes other integers than it")
    x, op = region.node.inputs[0], region.proto.op_type
    best = reduce(region, "ReduceMax" if op == "ArgMax" else "ReduceMin", "best", x, [int(attrs.get("axis", 0)) % max(rank, 1)])
    same = cast(region, "places", region.layer("Equal", "same", [x, best]), onnx.TensorProto.FLOAT)
    region.replace(region.layer("ArgMax", "place", [same], **attrs))
    return None
