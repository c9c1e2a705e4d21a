"""Tile as a Concat of copies for every axis that repeats.

Guard: constant repeats; with more than 64 copies along an axis it is static, and a Gather. The same bits over 14
cases.
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


MAX_COPIES = 64


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    if region.opset < 6:
        return Decline("before opset 6 Tile has another meaning")
    repeats = facts.numbers(region.proto.input[1])
    if repeats is None:
        return Decline("the repeats are computed at run time")
    made = region.node.inputs[0]
    for axis, copies in enumerate(int(item) for item in repeats):
        if copies == 1:
            continue
        if 1 < copies <= MAX_COPIES:
            made = region.layer("Concat", f"axis{axis}", [made] * copies, axis=axis)
            continue
        size = static_dims(facts, region.proto.input[0], [axis])
        if isinstance(size, Decline) or not copies:
            return Decline(f"axis {axis} is repeated {copies} times")
        made = gather(region, f"axis{axis}", made, np.tile(np.arange(size[0]), copies), axis)
    region.replace(made)
    return None
