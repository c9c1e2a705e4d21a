"""Slice with the axes and steps that it leaves out: the first axes in order, and 1.

The importer of 6.0 looks all five inputs up. Guard: opset 10 or later, the number of entries known. The same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    names = list(region.proto.input)
    entries = facts.static_shape(names[1]) if len(names) > 1 else None
    if region.opset < 10 or not entries:
        return Decline("the number of its entries is unknown")
    for slot, role, values in ((3, "axes", np.arange(entries[0])), (4, "steps", np.ones(entries[0]))):
        if len(names) <= slot or not names[slot]:
            region.set_input(slot, role, values.astype(np.int64))
    if not region.is_edited:
        return Decline("it leaves nothing out", plain=True)
    return None
