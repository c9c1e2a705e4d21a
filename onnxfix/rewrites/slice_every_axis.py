"""Slice that names every axis behind the batch, in order, with bounds within it.

Importers of 6.0 hold entry i of the bounds against axis i of the data: so every axis has its entry. Guard: constant bounds, steps
of 1, static sizes but for the batch, which is not cut. The same bits over 30 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import static_dims
from onnxfix.rewrites._layers import slice_
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    attrs, names = region.node.attrs, region.proto.input
    rank = facts.rank(names[0])
    if rank is None or rank < 2:
        return Decline("the rank of the data is unknown")
    sizes = static_dims(facts, names[0], range(1, rank))
    if isinstance(sizes, Decline):
        return sizes
    if region.opset < 10:
        given = [attrs.get("starts"), attrs.get("ends"), attrs.get("axes"), None]
    else:
        found = [facts.numbers(name) if name else None for name in names[1:]]
        if any(name and value is None for name, value in zip(names[1:], found, strict=True)):
            return Decline("the bounds are computed at run time")
        given = [*found, None, None][:4]
    starts, ends, axes, steps = (None if item is None else [int(number) for number in np.ravel(item)] for item in given)
    if starts is None or ends is None:
        return Decline("it has no bounds")
    if steps is not None and any(step != 1 for step in steps):
        return Decline("it has steps")
    axes = list(range(len(starts))) if axes is None else [axis % rank for axis in axes]
    begins, stops = [0] * (rank - 1), list(sizes)
    for axis, start, end in zip(axes, starts, ends, strict=True):
        if axis == 0:
            return Decline("it cuts the batch")
        begins[axis - 1], stops[axis - 1], _ = slice(start, end).indices(sizes[axis - 1])
    if (axes, starts, ends) == (list(range(1, rank)), begins, stops):
        return Decline("it names every axis already", plain=True)
    region.replace(slice_(region, "cut", region.node.inputs[0], range(1, rank), begins, stops))
    return None
