"""ConvTranspose without padding, and a Slice that cuts off what the padding would.

For importers that refuse padding of other extent at the end than in front. What output_padding leaves at the end is not cut.
Guard: output_padding is at most the padding at the end; pads are written out. The same bits over 20 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._layers import TO_THE_END, slice_
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    attrs, rank = dict(region.node.attrs), facts.rank(region.proto.input[0])
    if rank is None or rank < 3:
        return Decline("the rank of the data is unknown")
    if attrs.get("auto_pad", "NOTSET") != "NOTSET" or "output_shape" in attrs:
        return Decline("its padding is automatic")
    axes = rank - 2
    pads = [int(item) for item in attrs.pop("pads", (0,) * 2 * axes)]
    more = [int(item) for item in attrs.pop("output_padding", (0,) * axes)]
    behind = [back - extra for back, extra in zip(pads[axes:], more, strict=True)]
    if not any(pads):
        return Decline("it has no padding")
    if min(behind) < 0:
        return Decline("output_padding is more than the padding at the end")
    whole = region.layer("ConvTranspose", "whole", list(region.node.inputs), **attrs)
    cut = [axis for axis in range(axes) if pads[axis] or behind[axis]]
    if not cut:
        region.replace(whole)
        return None
    ends = [-behind[axis] if behind[axis] else TO_THE_END for axis in cut]
    region.replace(slice_(region, "cut", whole, [axis + 2 for axis in cut], [pads[axis] for axis in cut], ends))
    return None
