"""Slice with steps as a Gather with constant positions along every axis that it steps over; other axes stay a Slice of step 1.

Guard: constant bounds; axes with a step are static. The same bits over 60 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model._arithmetic import slice_elements
from onnxfix.model.dims import Poly
from onnxfix.rewrites._layers import gather, slice_
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    names = region.proto.input
    if region.opset < 10:
        return Decline("it has no steps")
    shape = facts.shape(names[0])
    given = [facts.numbers(name) if name else None for name in names[1:]]
    if shape is None or any(name and value is None for name, value in zip(names[1:], given, strict=True)):
        return Decline("the bounds are computed at run time, or the rank of the data is unknown")
    starts, ends, axes, steps = (None if value is None else [int(item) for item in np.ravel(value)] for value in _four(given))
    if starts is None or ends is None:
        return Decline("it has no bounds")
    axes = [axis % len(shape) for axis in axes] if axes is not None else list(range(len(starts)))
    steps = steps if steps is not None else [1] * len(starts)
    if all(step == 1 for step in steps):
        return Decline("it steps over nothing", plain=True)
    made = region.node.inputs[0]
    plain = [number for number, step in enumerate(steps) if step == 1]
    if plain:
        bounds = [[values[number] for number in plain] for values in (axes, starts, ends)]
        made = slice_(region, "cut", made, *bounds)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if step == 1:
            continue
        size = shape[axis]
        if isinstance(size, Poly):
            return Decline(f"the size of axis {axis} is dynamic")
        taken = slice_elements(start, end, step, int(size))
        if taken is None:
            return Decline("it goes backwards from the end, which runtimes read otherwise")
        places = np.array(taken, np.int64)
        if not places.size:
            return Decline(f"nothing is left along axis {axis}")
        made = gather(region, f"axis{axis}", made, places, axis)
    region.replace(made)
    return None


def _four(given: list[np.ndarray | None]) -> list[np.ndarray | None]:
    """Starts, ends, axes and steps; None where one is left out."""
    return [*given, None, None][:4]
