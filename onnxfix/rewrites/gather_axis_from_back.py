"""Gather from a constant with its axis counted from the back, which an implicit batch reads as it stands: lookups in a table.

Guard: constant data, axis counted from the front. Bit-equal: the same operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering._general import attribute, set_attribute

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    data, axis = region.proto.input[0], attribute(region, "axis", 0)
    rank = facts.rank(data)
    if rank is None or not facts.is_constant(data):
        return Decline("its data is no constant", plain=True)
    if axis < 0:
        return Decline("its axis counts from the back already", plain=True)
    set_attribute(region, "axis", axis - rank)
    return None
