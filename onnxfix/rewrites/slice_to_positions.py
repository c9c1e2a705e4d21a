"""Slice of axes before the last two as a Gather with constant positions; the last two stay a Slice.

TensorRT 5.0 cuts by a layer that pads and crops height and width. Guard: constant bounds without steps, static axes, none of them
the batch. Bit-equal over 12 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites._layers import gather, slice_
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

LAST = 2


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    shape, attrs = facts.shape(region.proto.input[0]), region.node.attrs
    if shape is None or len(region.proto.input) > 1:
        return Decline("its bounds are inputs, or the rank of the data is unknown", plain=True)
    starts, ends = attrs["starts"], attrs["ends"]
    axes = [axis % len(shape) for axis in attrs.get("axes", range(len(starts)))]
    bounds = dict(zip(axes, zip(starts, ends, strict=True), strict=True))
    early = [axis for axis in axes if axis < len(shape) - LAST]
    if 0 in axes or not early:
        return Decline("it cuts the batch, or the last two axes alone", plain=True)
    made = region.node.inputs[0]
    for axis in early:
        size = shape[axis]
        if isinstance(size, Poly):
            return Decline(f"the size of axis {axis} is dynamic")
        places = np.arange(int(size))[slice(*bounds[axis])]
        if not places.size:
            return Decline(f"nothing is left along axis {axis}")
        made = gather(region, f"axis{axis}", made, places, axis)
    late = [axis for axis in axes if axis not in early]
    if late:
        made = slice_(region, "cut", made, late, *zip(*(bounds[axis] for axis in late), strict=True))
    region.replace(made)
    return None
