"""Clip with bounds of run time as Min(Max(x, low), high); a bound that is left out has no node.

Where low is above high, high wins in both. Guard: opset 11 or later; integers from opset 12 on. The same bits over 5 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import FLOATS
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    if region.opset < 11:
        return Decline("its bounds are attributes")
    dtype = facts.dtype(region.proto.input[0])
    if dtype not in FLOATS and region.opset < 12:
        return Decline(f"the data is {facts.dtype_name(region.proto.input[0])}")
    names, made = region.proto.input, region.node.inputs[0]
    for slot, op in ((1, "Max"), (2, "Min")):
        if len(names) <= slot or not names[slot]:
            continue
        bound = region.node.inputs[slot]
        value = facts.constant(names[slot])
        if value is not None and facts.rank(names[0]):
            bound = region.constant(op.lower(), np.reshape(value, (1,)))
        made = region.layer(op, f"{op.lower()}imum", [made, bound])
    region.replace(made)
    return None
