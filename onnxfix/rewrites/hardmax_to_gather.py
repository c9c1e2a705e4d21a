"""Hardmax as rows of an identity matrix, gathered by ArgMax.

The first of equal maxima is the one in both; among NaN there is no maximum, and runtimes differ. Guard: the axis is static; below
opset 13 it is the last, or the only one behind the batch. The same bits over 5 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, static_dims
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    shape = facts.shape(region.proto.input[0])
    if not shape:
        return Decline("the rank of the data is unknown")
    rank = len(shape)
    axis = int(region.node.attrs.get("axis", -1 if region.opset >= 13 else 1)) % rank
    if region.opset < 13 and any(dim != 1 for dim in shape[axis + 1 :]):
        return Decline("it takes several axes as one")
    size = static_dims(facts, region.proto.input[0], [axis])
    if isinstance(size, Decline):
        return size
    place = region.layer("ArgMax", "place", [region.node.inputs[0]], axis=axis, keepdims=0)
    rows = region.layer("Gather", "rows", [region.constant("identity", np.eye(size[0], dtype=kind)), place], axis=0)
    perm = [*range(axis), rank - 1, *range(axis, rank - 1)]
    region.replace(rows if axis == rank - 1 else region.layer("Transpose", "moved", [rows], perm=perm))
    return None
