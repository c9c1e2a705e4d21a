"""Squeeze, Unsqueeze and ReduceSum: axes as an input (from opset 13) become an attribute; they must be constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    if region.opset < 13 or low >= 13:
        return _general.lower(region, low)
    noop = any(attribute.name == "noop_with_empty_axes" and attribute.i for attribute in proto.attribute)
    if len(proto.input) < 2 or not proto.input[1]:
        if noop:
            return Decline("noop_with_empty_axes without axes keeps the data as they are")
        _general.drop_attribute(region, "noop_with_empty_axes")
        return None
    numbers, rank = facts.numbers(proto.input[1]), facts.rank(proto.input[0])
    if numbers is None or rank is None:
        return Decline(f"the axes of {proto.op_type} are computed at run time")
    if not numbers.size:
        return Decline(f"the axes of {proto.op_type} are an empty list")
    numbers = numbers.ravel()  # some exporters write a scalar
    rank += numbers.size if proto.op_type == "Unsqueeze" else 0
    del region.edited.input[1:]
    _general.drop_attribute(region, "noop_with_empty_axes")
    _general.set_attribute(region, "axes", [int(axis) % rank for axis in numbers])
    return None
