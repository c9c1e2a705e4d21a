"""MaxPool whose indices are read: along each axis the larger of one Gather for each position of the window, and where it came from.

A later position wins only where it is larger, so that of equal ones the first is given, as ONNX has it. A position in the padding
repeats one of the same window. Places are counted in FLOAT, over the whole tensor, and cast at the end. Guard: a static shape of
fewer than 2**24 elements, every window touches the data. The same bits over 28 cases; NaN goes otherwise than through MaxPool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._forms import EXACT_FLOATS, float_kind, is_read
from onnxfix.rewrites._layers import cast, gather
from onnxfix.rewrites._pooling import windows_of
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

# Where exists, and Max and Greater broadcast.
OPSET = 9


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts, since=OPSET)
    if isinstance(kind, Decline):
        return kind
    if len(region.proto.output) < 2 or not is_read(facts, region.proto.output[1]):
        return Decline("nothing reads its indices", plain=True)
    shape = facts.static_shape(region.proto.input[0])
    windows = windows_of(region, facts)
    if isinstance(windows, Decline):
        return windows
    if shape is None or np.prod(shape) >= EXACT_FLOATS:
        return Decline("the shape is dynamic, or has too many elements to count in FLOAT")
    by_column = int(region.node.attrs.get("storage_order", 0))
    if target.implicit_batch:
        return Decline("its indices are INT64, and the importer casts to no integer")
    spatial = shape[2:]
    steps = [int(np.prod(spatial[:axis] if by_column else spatial[axis + 1 :])) for axis in range(len(spatial))]
    best: gs.Tensor = region.node.inputs[0]
    # where each image of a channel begins
    first = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *[1] * len(spatial)) * int(np.prod(spatial))
    place: np.ndarray | gs.Tensor = first.astype(np.float32)
    for axis in reversed(range(len(spatial))):
        taps = windows.taps(axis)
        inside = [[tap for tap in window if 0 <= tap < spatial[axis]] for window in taps]
        if not all(inside):
            return Decline("a window lies in the padding alone")
        filled = [
            [tap if 0 <= tap < spatial[axis] else held[0] for tap in window] for window, held in zip(taps, inside, strict=True)
        ]
        best, place = _along(region, best, place, axis + 2, np.array(filled).T, steps[axis])
    if isinstance(place, np.ndarray):
        place = region.constant("places", place)
    region.replace(best, cast(region, "indices", place, onnx.TensorProto.INT64))
    return None


def _along(
    region: Region, data: gs.Tensor, place: np.ndarray | gs.Tensor, axis: int, columns: np.ndarray, step: int
) -> tuple[gs.Tensor, np.ndarray | gs.Tensor]:
    """The largest along one axis, and its place; `columns`, of shape [kernel, windows], says what each window holds.

    A place is an array as long as it is the same for all data.
    """
    axes_behind = len(region.facts.static_shape(region.proto.input[0]) or ()) - axis - 1
    best = found = None
    for number, column in enumerate(columns):
        role = f"axis{axis}_{number}"
        offset = (column * step).astype(np.float32).reshape(-1, *[1] * axes_behind)
        here = gather(region, f"{role}_data", data, column, axis)
        if isinstance(place, np.ndarray):
            at: np.ndarray | gs.Tensor = place + offset
        else:
            moved = gather(region, f"{role}_place", place, column, axis)
            at = region.layer("Add", f"{role}_at", [moved, region.constant(f"{role}_offset", offset)])
        if best is None:
            best, found = here, at
            continue
        larger = region.layer("Greater", f"{role}_larger", [here, best])
        both = [
            region.constant(f"{role}_{n}", each) if isinstance(each, np.ndarray) else each
            for n, each in (("new", at), ("old", found))
        ]
        found = region.layer("Where", f"{role}_found", [larger, *both])
        best = region.layer("Max", f"{role}_best", [best, here])
    assert best is not None
    assert found is not None
    return best, found
