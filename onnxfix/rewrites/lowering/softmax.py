"""Softmax, LogSoftmax, Hardmax: from opset 13 over one axis, before over all axes from `axis` on; the same for the last axis.

Over another axis the data are transposed, so that it is the last.
"""

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
    op = region.proto.op_type
    rank = region.facts.rank(region.proto.input[0])
    axis = _general.attribute(region, "axis", -1)
    if not rank:
        return Decline(f"the rank of the data is {'unknown' if rank is None else 0}, and {op} took all axes from one on")
    axis %= rank
    if axis == rank - 1:
        declined = _general.types(region, low)
        if declined is None and not region.is_replaced:
            _general.set_attribute(region, "axis", axis)
        return declined
    region.exact = op == "Hardmax"
    perm = list(range(rank))
    perm[axis], perm[-1] = perm[-1], perm[axis]
    turned = region.layer("Transpose", "turned", [region.node.inputs[0]], perm=perm)
    over_last = region.layer(op, "over_last", [turned], axis=rank - 1)
    region.replace(region.layer("Transpose", "back", [over_last], perm=perm))
    return None
