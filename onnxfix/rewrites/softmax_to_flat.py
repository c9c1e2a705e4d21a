"""Softmax, LogSoftmax or Hardmax of an old opset over several axes, as Reshape, the same over one axis, Reshape.

Before opset 13 they take all axes from `axis` on as one. Guard: the rank known, at most one dynamic size behind the batch, where a
batch of 0 has no form. The same bits over 6 cases.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnxfix.model.dims import Poly
from onnxfix.rewrites._layers import reshape
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    shape = facts.shape(region.proto.input[0])
    if region.opset >= 13:
        return Decline("it works along one axis", plain=True)
    if shape is None:
        return Decline("the rank of the data is unknown")
    axis = int(region.node.attrs.get("axis", 1)) % max(len(shape), 1)
    if len(shape) == 2 and axis == 1:
        return Decline("it takes one axis", plain=True)
    if axis != 1:
        return Decline(f"axis {axis} is not the first behind the batch")
    if sum(isinstance(dim, Poly) for dim in shape[1:]) > 1:
        return Decline("more than one size is dynamic")
    sizes = [-1 if isinstance(dim, Poly) else int(dim) for dim in shape[1:]]
    if 0 in shape:
        return Decline("the data has no elements", plain=True)
    # no -1 where the product is known: of a batch of 0 nothing tells it
    flat = reshape(region, "flat", region.node.inputs[0], [0, -1 if -1 in sizes else math.prod(sizes)])
    made = region.layer(region.proto.op_type, "rows", [flat], axis=1)
    # the leading 0 keeps the batch, whatever its size
    region.replace(reshape(region, "merged", made, [0, *sizes]))
    return None
