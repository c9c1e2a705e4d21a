"""ArgMax or ArgMin of the last of equal values, as that of the first over reversed data.

Guard: the axis is static. Of NaN runtimes take the first, or the last, as it comes. The same bits over 4 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import static_dims
from onnxfix.rewrites._layers import gather
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    if not region.node.attrs.get("select_last_index", 0):
        return Decline("it takes the first of equal values", plain=True)
    rank = facts.rank(region.proto.input[0])
    if not rank:
        return Decline("the rank of the data is unknown")
    axis = int(region.node.attrs.get("axis", 0)) % rank
    size = static_dims(facts, region.proto.input[0], [axis])
    if isinstance(size, Decline):
        return size
    back = gather(region, "reversed", region.node.inputs[0], np.arange(size[0])[::-1], axis)
    keep = int(region.node.attrs.get("keepdims", 1))
    place = region.layer(region.proto.op_type, "place", [back], axis=axis, keepdims=keep)
    last = region.constant("last", np.array([size[0] - 1] if keep or rank > 1 else size[0] - 1, np.int64))
    region.replace(region.layer("Sub", "counted", [last, place]))
    return None
