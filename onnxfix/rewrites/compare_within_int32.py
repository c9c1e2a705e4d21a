"""A comparison with an integer beyond 32 bits, as one with the nearest bound of 32 bits that has the same answer.

The parser would cut the number to that bound, and an integer that equals the bound would then be answered wrongly. What is
true of all of them becomes Not(x > largest) or Not(x < smallest), what is true of none x > largest or x < smallest: the same answer
for every integer of 32 bits, which are all that such a release holds. Guard: all numbers of the constant lie beyond 32 bits, on one
side.
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

LOWEST, HIGHEST = -(2**31), 2**31 - 1
# The comparison with its sides exchanged.
_EXCHANGED = {
    "Equal": "Equal",
    "Greater": "Less",
    "GreaterOrEqual": "LessOrEqual",
    "Less": "Greater",
    "LessOrEqual": "GreaterOrEqual",
}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    proto = region.proto
    sides = [facts.dtype(name) == onnx.TensorProto.INT64 and facts.is_constant(name) for name in proto.input]
    if sides.count(True) != 1:
        return Decline("it does not compare INT64 data with a constant", plain=True)
    place = sides.index(True)
    value = facts.constant(proto.input[place])
    if value is None or not value.size or not ((value > HIGHEST).all() or (value < LOWEST).all()):
        return Decline("its constant has numbers within 32 bits too, or on both sides of them")
    above = int(value.flat[0]) > HIGHEST
    op = proto.op_type if place == 1 else _EXCHANGED[proto.op_type]
    data = region.node.inputs[1 - place]
    true = op.startswith("Less" if above else "Greater")
    # nothing of 32 bits is above the largest or below the smallest of them
    beyond, limit = ("Greater", HIGHEST) if above else ("Less", LOWEST)
    bound = region.constant("bound", np.full(value.shape, limit, np.int64))
    made = region.layer(beyond, "beyond", [data, bound])
    region.replace(region.layer("Not", "within", [made]) if true else made)
    return None
