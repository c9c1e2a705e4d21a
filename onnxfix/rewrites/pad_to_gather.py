"""Pad as a Gather with constant positions for every axis: reflected, repeated or wrapped; negative pads cut.

A constant fill repeats the edge, times a mask of 0 and 1, plus the fill where the mask is 0: for that the data must be finite.
Zeros around height and width of rank 4 stay a Pad. Guard: constant pads, padded axes static. The same bits over 65 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, static_dims
from onnxfix.rewrites._layers import gather
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


SPATIAL = (2, 3)


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    pads, fill = _pads(region, facts), _fill(region, facts)
    rank = facts.rank(region.proto.input[0])
    if pads is None or fill is None:
        return Decline("the pads or the fill are computed at run time")
    if rank is None or len(pads) != 2 * rank:
        return Decline("the rank of the data is unknown")
    mode = region.node.attrs.get("mode", "constant")
    kind = float_kind(region, facts)
    if mode == "constant" and isinstance(kind, Decline):
        return kind
    begins, ends = pads[:rank], pads[rank:]
    made = region.node.inputs[0]
    changed = [axis for axis in range(rank) if begins[axis] or ends[axis]]
    sizes = static_dims(facts, region.proto.input[0], changed)
    if isinstance(sizes, Decline):
        return sizes
    plain = mode == "constant" and not fill and rank == 4 and all(axis in SPATIAL for axis in changed) and min(pads) >= 0
    if plain:
        return Decline("it puts zeros around height and width, which importers take")
    for axis, size in zip(changed, sizes, strict=True):
        places = np.arange(-begins[axis], size + ends[axis])
        if not size or not places.size:
            return Decline(f"axis {axis} is empty")
        if mode == "reflect":
            period = max(2 * (size - 1), 1)
            folded = places % period
            taken = np.where(folded >= size, period - folded, folded)
        elif mode == "wrap":
            taken = places % size
        else:
            taken = np.clip(places, 0, size - 1)
        made = gather(region, f"axis{axis}", made, taken, axis)
        if mode == "constant" and (begins[axis] > 0 or ends[axis] > 0):
            assert not isinstance(kind, Decline)
            inside = ((places >= 0) & (places < size)).reshape((-1,) + (1,) * (rank - 1 - axis))
            made = region.layer("Mul", f"axis{axis}_masked", [made, region.constant(f"axis{axis}_mask", inside.astype(kind))])
            if fill:
                rim = region.constant(f"axis{axis}_rim", np.where(inside, 0, fill).astype(kind))
                made = region.layer("Add", f"axis{axis}_filled", [made, rim])
    region.replace(made)
    return None


def _pads(region: Region, facts: ScopeFacts) -> list[int] | None:
    """Begins, then ends, of every axis."""
    given = region.node.attrs.get("pads", region.node.attrs.get("paddings"))
    names = region.proto.input
    if given is not None:
        return [int(item) for item in given]
    numbers, rank = facts.numbers(names[1]), facts.rank(names[0])
    if numbers is None or rank is None:
        return None
    axes = np.arange(rank)
    if len(names) > 3 and names[3]:
        named = facts.numbers(names[3])
        if named is None:
            return None
        axes = named % rank
    pads = [0] * 2 * rank
    for place, axis in enumerate(axes):
        pads[axis], pads[axis + rank] = int(numbers[place]), int(numbers[place + len(axes)])
    return pads


def _fill(region: Region, facts: ScopeFacts) -> float | None:
    names = region.proto.input
    if len(names) < 3 or not names[2]:
        return float(region.node.attrs.get("value", 0.0))
    value = facts.constant(names[2])
    return None if value is None else float(np.ravel(value)[0]) if value.size else 0.0
