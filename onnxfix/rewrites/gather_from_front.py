"""Gather whose constant positions count from the end gets positions that count from the front.

Guard: constant positions; the axis is static. The same bits over 3 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import static_dims
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    places, rank = facts.constant(region.proto.input[1]), facts.rank(region.proto.input[0])
    if places is None:
        return Decline("the positions are computed at run time")
    if rank is None:
        return Decline("the rank of the data is unknown")
    if not (places < 0).any():
        return Decline("no position counts from the end")
    size = static_dims(facts, region.proto.input[0], [int(region.node.attrs.get("axis", 0)) % rank])
    if isinstance(size, Decline):
        return size
    region.set_input(1, "indices", np.where(places < 0, places + size[0], places).astype(places.dtype))
    return None
