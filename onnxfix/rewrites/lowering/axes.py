"""Squeeze, Unsqueeze (13) and reductions (ReduceSum 13, all others 18): axes as an input become an attribute.

They must be constants. An empty list means all axes, or none with noop_with_empty_axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

# Reductions of one element that give the element; the others square it or take its logarithm, of which ONNX does not say
# whether noop_with_empty_axes leaves it out.
_SAME_OF_ONE = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum")


def since(op: str) -> int:
    """The opset from which on the operator's axes are an input."""
    return 18 if op.startswith("Reduce") and op != "ReduceSum" else 13


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    op = proto.op_type
    if region.opset < since(op) or low >= since(op):
        return _general.lower(region, low)
    numbers = None
    if len(proto.input) > 1 and proto.input[1]:
        numbers = facts.numbers(proto.input[1])
        if numbers is None:
            return Decline(f"the axes of {op} are computed at run time")
        numbers = numbers.ravel()  # some exporters write a scalar
    if numbers is None or not numbers.size:
        if op == "Unsqueeze":
            return Decline("the axes of Unsqueeze are an empty list")
        if _general.attribute(region, "noop_with_empty_axes", 0):
            if op not in _SAME_OF_ONE:
                return Decline(f"{op} with noop_with_empty_axes and no axes is not defined clearly")
            _same(region)
            return None
        if op == "Squeeze" and numbers is not None:
            _same(region)
            return None
        del region.edited.input[1:]
        _general.drop_attribute(region, "noop_with_empty_axes")
        return _general.types(region, low)
    rank = facts.rank(proto.input[0])
    if rank is None and numbers.min() < 0:
        return Decline(f"the axes of {op} are negative and the rank of the data unknown")
    rank = (rank or 0) + (numbers.size if op == "Unsqueeze" else 0)
    declined = _general.types(region, low)
    if declined is not None or region.is_replaced:
        return declined
    del region.edited.input[1:]
    _general.drop_attribute(region, "noop_with_empty_axes")
    _general.set_attribute(region, "axes", [int(axis) + rank if axis < 0 else int(axis) for axis in numbers])
    return None


def _same(region: Region) -> None:
    region.edited.op_type = "Identity"
    del region.edited.input[1:]
    del region.edited.attribute[:]
