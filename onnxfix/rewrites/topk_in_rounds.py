"""TopK of more than 3840 elements in rounds of 3840: what a round took becomes the worst of all by ScatterElements, then the next.

Guard: real floats, a constant k, and ScatterElements (opset 11). The same bits over 8 cases, for finite data: an infinity that is
the worst value itself may be taken twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, is_read
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

MOST, MAX_ROUNDS = 3840, 16
SCATTER = 11


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    proto = region.proto
    kind = float_kind(region, facts, since=SCATTER)
    if isinstance(kind, Decline):
        return kind
    count = facts.numbers(proto.input[1])
    if count is None:
        return Decline("how many it takes is computed at run time")
    wanted = int(np.ravel(count)[0])
    if wanted <= MOST:
        return Decline(f"it takes at most {MOST}", plain=True)
    if wanted > MOST * MAX_ROUNDS:
        return Decline(f"it takes {wanted}, more than {MAX_ROUNDS} rounds of {MOST}")
    attrs = dict(region.node.attrs)
    axis = attrs.get("axis", -1)
    data = region.node.inputs[0]
    worst = region.constant("worst", np.array([-np.inf if attrs.get("largest", 1) else np.inf], kind))
    values, indices = [], []
    for first in range(0, wanted, MOST):
        size = min(MOST, wanted - first)
        taken = region.constant(f"k{first}", np.array([size], np.int64))
        made = region.layers("TopK", (f"values{first}", f"indices{first}"), [data, taken], **attrs)
        values.append(made[0])
        indices.append(made[1])
        if first + size < wanted:
            shape = region.layer("Shape", f"shape{first}", [made[1]])
            fill = region.layer("Expand", f"worst{first}", [worst, shape])
            data = region.layer("ScatterElements", f"left{first}", [data, made[1], fill], axis=axis)
    outputs = [
        region.layer("Concat", role, parts, axis=axis) if is_read(facts, name) else None
        for role, parts, name in zip(("values", "indices"), (values, indices), [*proto.output, ""], strict=False)
    ]
    region.replace(*outputs)
    return None
