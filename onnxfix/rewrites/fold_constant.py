"""Store the value that a node always computes as an initializer of the same name, a graph output's in a Constant.

Guard: one output, of at most MAX_ELEMENTS elements. Bit-equal: the numbers are those that onnxruntime
computes, or exact integer arithmetic on static shapes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Change, Region
    from onnxfix.targets import Target

MAX_ELEMENTS = 1 << 22


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Change | Decline:
    """See the module."""
    names = [name for name in region.proto.output if name]
    if len(names) != 1:
        return Decline("the node has more than one output")
    if region.proto.op_type == "Constant" and names[0] in facts.scope.outputs:
        return Decline("the node is a constant already")
    if not facts.is_constant(names[0]):
        return Decline("the value depends on an input", plain=True)
    shape = facts.static_shape(names[0])
    if shape is not None and math.prod(shape) > MAX_ELEMENTS:
        return Decline(f"the value has {math.prod(shape)} elements")
    array = constant_value(facts, names[0])
    if array is None or array.size > MAX_ELEMENTS:
        return Decline("the value is too large, or nothing here can compute it")
    return region.stored(array)
