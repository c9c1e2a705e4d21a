"""Flatten behind the last axis, or before the first, as Reshape to [-1, 1] or [1, -1].

Guard: the rank is known. The same bits over 3 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._layers import reshape
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    rank = facts.rank(region.proto.input[0])
    if rank is None:
        return Decline("the rank of the data is unknown")
    axis = int(region.node.attrs.get("axis", 1))
    axis += rank if axis < 0 else 0
    if axis not in (0, rank):
        return Decline(f"axis {axis} lies between the axes of the data")
    region.replace(reshape(region, "flat", region.node.inputs[0], [1, -1] if axis == 0 else [-1, 1]))
    return None
