"""CenterCropPad as Slice where an axis shrinks and Pad with zeros where it grows.

Source: CenterCropPad-18: half of the difference, rounded down, at the front when cutting, and when padding. Guard: a constant
shape, the named axes static. The same bits over 12 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import float_kind, static_dims
from onnxfix.rewrites._layers import pad, slice_
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    wanted, rank = facts.numbers(region.proto.input[1]), facts.rank(region.proto.input[0])
    if wanted is None or rank is None:
        return Decline("the shape is computed at run time")
    axes = [int(axis) % rank for axis in region.node.attrs.get("axes", range(rank))]
    sizes = static_dims(facts, region.proto.input[0], axes)
    if isinstance(sizes, Decline):
        return sizes
    made = region.node.inputs[0]
    cuts = [
        (axis, (size - goal) // 2, (size - goal) // 2 + goal)
        for axis, size, goal in zip(axes, sizes, map(int, wanted), strict=True)
        if goal < size
    ]
    if cuts:
        made = slice_(region, "cropped", made, *([cut[place] for cut in cuts] for place in range(3)))
    begins, ends = [0] * rank, [0] * rank
    for axis, size, goal in zip(axes, sizes, map(int, wanted), strict=True):
        if goal > size:
            begins[axis] = (goal - size) // 2
            ends[axis] = goal - size - begins[axis]
    if any(begins + ends):
        made = pad(region, "padded", made, begins, ends)
    region.replace(made)
    return None
