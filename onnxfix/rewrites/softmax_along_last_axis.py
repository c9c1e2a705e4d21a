"""Softmax, LogSoftmax or Hardmax of opset 13 on as Transpose, the same along the last axis, Transpose back.

An importer that goes on taking all axes from `axis` on as one means the same where nothing is behind it. The axis is written out,
since the default differs too. Guard: the rank known. The same bits over 15 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    if region.opset < 13:
        return Decline("before opset 13 it works along all axes from its axis on")
    rank = facts.rank(region.proto.input[0])
    if not rank:
        return Decline("the rank of the data is unknown")
    axis = int(region.node.attrs.get("axis", -1)) % rank
    (data,) = region.node.inputs
    if axis == rank - 1:
        region.replace(region.layer(region.proto.op_type, "rows", [data], axis=axis))
        return None
    swap = list(range(rank))
    swap[axis], swap[-1] = swap[-1], axis
    turned = region.layer("Transpose", "turned", [data], perm=swap)
    rows = region.layer(region.proto.op_type, "rows", [turned], axis=rank - 1)
    region.replace(region.layer("Transpose", "back", [rows], perm=swap))
    return None
