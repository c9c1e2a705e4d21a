"""Nearest-neighbour resizing as one Gather with constant indices per resized axis.

Guard: sizes of the resized axes static, axis 0 kept. Bit-equal over 128 cases (four roundings, five coordinate modes, ranks 3
to 5). Where a position lies exactly half-way between two elements runtimes do not agree with one another: float32 decides here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._interpolation import interpolation_of, nearest_indices
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    how = interpolation_of(region)
    if isinstance(how, Decline):
        return how
    if how.mode != "nearest":
        return Decline(f"mode {how.mode} needs weights, not indices")
    resized = [number for number, axis in enumerate(how.axes) if not axis.kept]
    if 0 in resized:
        return Decline("the batch axis is resized")
    if any(how.axes[number].before is None for number in resized):
        return Decline("the size of a resized axis is dynamic")
    made = region.node.inputs[0]
    for number in resized:
        indices = nearest_indices(how.axes[number], how.coordinates, how.nearest)
        made = region.layer("Gather", f"axis{number}", [made, region.constant(f"indices{number}", indices)], axis=number)
    region.replace(made if resized else region.layer("Identity", "same", [made]))
    return None
