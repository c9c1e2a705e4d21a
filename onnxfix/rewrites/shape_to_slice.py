"""Shape of some axes only as a Slice of the whole shape.

Guard: a known rank. Bit-equal over 12 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites import _layers
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
    attrs = region.node.attrs
    if not attrs:
        return Decline("it gives the whole shape", plain=True)
    start, end = attrs.get("start", 0), attrs.get("end", rank)
    start, end = (max(0, min(rank, bound + rank if bound < 0 else bound)) for bound in (start, end))
    whole = region.layer("Shape", "whole", region.node.inputs)
    if (start, end) == (0, rank):
        region.replace(whole)
    else:
        region.replace(_layers.slice_(region, "part", whole, [0], [start], [max(start, end)]))
    return None
