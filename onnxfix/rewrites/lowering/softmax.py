"""Softmax and LogSoftmax: from opset 13 over one axis, before over all axes from `axis` on; the same for the last axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    if region.opset < 13 or low >= 13:
        return _general.lower(region, low)
    rank = region.facts.rank(region.proto.input[0])
    axis = next((attribute.i for attribute in region.proto.attribute if attribute.name == "axis"), -1)
    if rank is None or axis % rank != rank - 1:
        return Decline(f"{region.proto.op_type} is over another axis than the last")
    _general.set_attribute(region, "axis", rank - 1)
    return None
