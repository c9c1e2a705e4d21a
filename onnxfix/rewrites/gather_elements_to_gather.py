"""GatherElements as Gather from the data laid out flat.

Guard: static shapes. With constant indices the flat positions are a constant; where every batch element takes from itself in the
same places the batch axis stays. Run-time indices become flat positions by integer arithmetic. Bit-equal over 40 cases; an index
out of range is an error before and undefined after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites import _layers
from onnxfix.rewrites._bounds import bound
from onnxfix.rewrites._indexing import MAX_INDICES, element_rows, strides, take
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

FLOAT = 1


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    shape, places = (facts.static_shape(name) for name in region.proto.input[:2])
    if shape is None or places is None:
        return Decline("the shape of the data or of the indices is dynamic")
    if not places or int(np.prod(places)) > MAX_INDICES:
        return Decline("the indices are a scalar, or too many")
    axis = region.node.attrs.get("axis", 0) % len(shape)
    data, indices = region.node.inputs
    known = constant_value(facts, region.proto.input[1])
    if known is not None:
        region.replace(take(region, "taken", data, element_rows(known, shape, axis), shape))
        return None
    steps, grid = strides(shape), np.indices(places)
    kind = np.int32 if facts.dtype_name(region.proto.input[1]) == "INT32" else np.int64
    others = sum((grid[k] * steps[k] for k in range(len(shape)) if k != axis), np.zeros(places, np.int64))
    limit = bound(facts, region.proto.input[1])
    inside = limit is not None and limit <= shape[axis]
    position = indices if inside else wrap(region, "index", indices, np.array(shape[axis], kind))
    if steps[axis] != 1:
        position = region.layer("Mul", "step", [position, region.constant("stride", np.array(steps[axis], kind))])
    if others.any():
        position = region.layer("Add", "position", [position, region.constant("others", others.astype(kind))])
    if len(shape) > 1 and shape[0] == places[0] == 1:
        # one batch element: its axis stays, so that an implicit batch serves too
        flat = _layers.reshape(region, "flat", data, [1, int(np.prod(shape))])
        taken = region.layer("Gather", "taken", [flat, position], axis=1)
        region.replace(_layers.reshape(region, "placed", taken, list(places)))
        return None
    flat = _layers.reshape(region, "flat", data, [-1]) if len(shape) > 1 else data
    region.replace(region.layer("Gather", "taken", [flat, position], axis=0))
    return None


def wrap(region: Region, role: str, indices: gs.Tensor, size: np.ndarray) -> gs.Variable:
    """Run-time indices that count from the front: `i + size * (i < 0)`, `size` of the element type of the indices."""
    number = _layers.cast(region, f"{role}_number", indices, FLOAT)
    below = region.layer("Less", f"{role}_below", [number, region.constant(f"{role}_zero", np.zeros((), np.float32))])
    kind = 6 if size.dtype == np.int32 else 7
    turns = _layers.cast(region, f"{role}_turns", below, kind)
    offset = region.layer("Mul", f"{role}_offset", [turns, region.constant(f"{role}_size", size)])
    return region.layer("Add", role, [indices, offset])
