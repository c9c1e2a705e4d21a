"""PRelu with a slope of one axis that is meant for channels, in the shape that says so: [C] becomes [C, 1, 1].

MXNet writes it so. By ONNX's rule such a slope belongs to the last axis, which it does not fit: the file has no meaning as it
stands. Guard: a constant slope of one axis, as long as axis 1 of the data, that does not fit the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.model.dims import Poly
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    shape, slope = facts.shape(region.proto.input[0]), facts.constant(region.proto.input[1])
    if shape is None or len(shape) < 3 or slope is None or slope.ndim != 1:
        return Decline("the slope has other axes than one, or is computed", plain=True)
    if slope.size == 1 or isinstance(shape[-1], Poly) or shape[-1] == slope.size or shape[1] != slope.size:
        return Decline("the slope fits the last axis, or not the channels", plain=True)
    region.set_input(1, "slope", slope.reshape(-1, *[1] * (len(shape) - 2)))
    return None
