"""Split: sizes as an input (from opset 13) become an attribute; num_outputs (from opset 18) becomes sizes.

num_outputs that does not divide the axis makes the last piece smaller, so it wants a known extent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    shape = facts.shape(proto.input[0])
    axis = _general.attribute(region, "axis", 0)
    sizes: list[int] | None = None
    if region.opset >= 13 and len(proto.input) > 1 and proto.input[1]:
        if low >= 13:
            return None
        numbers = facts.numbers(proto.input[1])
        if numbers is None:
            return Decline("the sizes of Split are computed at run time")
        sizes = [int(item) for item in numbers.ravel()]
    elif region.opset >= 18 > low:
        pieces = len(proto.output)
        extent = None if shape is None else shape[axis]
        if extent is None or isinstance(extent, Poly):
            return Decline(f"Split makes {pieces} pieces of an axis of unknown extent")
        chunk = -(-int(extent) // pieces)
        last = int(extent) - chunk * (pieces - 1)
        if last < 0:
            return Decline(f"Split makes {pieces} pieces of {extent}")
        if last != chunk:
            sizes = [chunk] * (pieces - 1) + [last]
    if axis < 0 and low < 11:
        if shape is None:
            return Decline("axis is negative and the rank of the data unknown")
        axis += len(shape)
        _general.set_attribute(region, "axis", axis)
    _general.drop_attribute(region, "num_outputs")
    if sizes is None:
        return None
    if low >= 13:
        region.set_input(1, "sizes", np.array(sizes, np.int64))
        return None
    del region.edited.input[1:]
    _general.set_attribute(region, "split", sizes)
    return None
