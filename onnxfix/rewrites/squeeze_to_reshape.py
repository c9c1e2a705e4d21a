"""Squeeze without axes, which takes out every axis of one element, as Reshape to the shape that is left.

Guard: the shape is known, without an axis of no elements, which Reshape would copy from another place;
with an implicit batch an axis is left. The same bits over 6 cases.
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
    if "axes" in region.node.attrs or (len(region.proto.input) > 1 and region.proto.input[1]):
        return Decline("it names its axes", plain=True)
    shape = facts.static_shape(region.proto.input[0])
    if shape is None:
        return Decline("which axes have one element is known at run time alone")
    if 0 in shape:
        return Decline("the data has no elements")
    if target.implicit_batch and all(size == 1 for size in shape):
        return Decline("nothing but a number is left, and the importer reads no shape without entries")
    region.replace(reshape(region, "squeezed", region.node.inputs[0], [size for size in shape if size != 1]))
    return None
