"""Store the values that a node always computes as initializers of the same names, a graph output's in a Constant.

Guard: at most MAX_ELEMENTS elements. Bit-equal: the numbers are those that onnxruntime
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
    if region.proto.op_type == "Constant" and names[0] in facts.scope.outputs:
        return Decline("the node is a constant already")
    if not all(facts.is_constant(name) for name in names):
        return Decline("the value depends on an input", plain=True)
    shapes = [facts.static_shape(name) for name in names]
    known = sum(math.prod(shape) for shape in shapes if shape is not None)
    if known > MAX_ELEMENTS:
        return Decline(f"the value has {known} elements")
    arrays = [constant_value(facts, name) for name in names]
    if any(array is None or array.size > MAX_ELEMENTS for array in arrays):
        return Decline("the value is too large, or nothing here can compute it")
    return region.stored({name: array for name, array in zip(names, arrays, strict=True) if array is not None})
