"""A linear or cubic Resize as a nearest one: another picture, so only with `--allow approximate`, and the report shows how far off.

Guard: the sizes grow, or stay, on every axis, by whole ratios; then nearest repeats each element, which every release reads alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.model.dims import divide
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

NEAREST = {"mode": b"nearest", "coordinate_transformation_mode": b"asymmetric", "nearest_mode": b"floor"}
# What has a meaning for the other modes only.
OTHERS = ("cubic_coeff_a", "exclude_outside", "extrapolation_value", "antialias", *NEAREST)


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    proto = region.proto
    mode = next((attribute.s for attribute in proto.attribute if attribute.name == "mode"), b"nearest")
    if mode == b"nearest":
        return Decline("it is nearest already", plain=True)
    before, after = facts.shape(proto.input[0]), facts.shape(proto.output[0])
    if before is None or after is None or len(before) != len(after):
        return Decline("the sizes are unknown")
    ratios = [divide(new, old) for new, old in zip(after, before, strict=True)]
    if not all(isinstance(ratio, int) for ratio in ratios):
        return Decline("an axis is not resized by a whole ratio")
    kept = [attribute for attribute in proto.attribute if attribute.name not in OTHERS]
    del region.edited.attribute[:]
    region.edited.attribute.extend(kept)
    named = NEAREST if region.opset >= 11 and proto.op_type == "Resize" else {"mode": b"nearest"}
    for name, value in named.items():
        region.edited.attribute.add(name=name, type=3, s=value)
    return None
