"""ReverseSequence with constant lengths as Gather.

Guard: constant lengths, static time and batch axes, which are the first two. Bit-equal over 16 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._indexing import take
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    shape, lengths = facts.shape(region.proto.input[0]), constant_value(facts, region.proto.input[1])
    if lengths is None:
        return Decline("the lengths are computed at run time")
    time, batch = region.node.attrs.get("time_axis", 0), region.node.attrs.get("batch_axis", 1)
    if shape is None or {time, batch} != {0, 1}:
        return Decline("time and batch are not the first two axes")
    lead = [int(dim) for dim in shape[:2] if not isinstance(dim, Poly)]
    tail = [-1 if isinstance(dim, Poly) else int(dim) for dim in shape[2:]]
    if len(lead) < 2 or tail.count(-1) > 1:
        return Decline("the time or the batch axis is dynamic")
    places = np.arange(lead[0] * lead[1]).reshape(lead)
    by_time = places if time == 0 else places.T
    for column, length in enumerate(lengths.ravel()):
        by_time[: int(length), column] = by_time[: int(length), column][::-1].copy()
    if (lengths == lengths.ravel()[0]).all():  # all alike: the axis is reversed in place
        region.replace(
            _layers.gather(region, "reversed", region.node.inputs[0], by_time[:, 0] // (lead[1] if time == 0 else 1), time)
        )
        return None
    region.replace(take(region, "reversed", region.node.inputs[0], places, lead, tail))
    return None
