"""ReverseSequence as Gather.

With constant lengths the places are constant: guard: static time and batch axes, which are the first two. With lengths known at run
time the place of an element is length - 1 - t before the length, t after it, and the Gather is from the two axes laid out as one;
before opset 11, which has no Range for an open batch, one Where for each of at most MAX_STEPS times. Bit-equal over 34 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._indexing import take
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


MAX_STEPS = 64
RANGE, WHERE = 11, 9


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    shape, lengths = facts.shape(region.proto.input[0]), constant_value(facts, region.proto.input[1])
    time, batch = region.node.attrs.get("time_axis", 0), region.node.attrs.get("batch_axis", 1)
    if shape is None or {time, batch} != {0, 1}:
        return Decline("time and batch are not the first two axes")
    if lengths is None:
        return _at_run_time(region, facts, time)
    lead = [int(dim) for dim in shape[:2] if not isinstance(dim, Poly)]
    tail = [-1 if isinstance(dim, Poly) else int(dim) for dim in shape[2:]]
    if len(lead) < 2 or tail.count(-1) > 1:
        return Decline("the time or the batch axis is dynamic")
    places = np.arange(lead[0] * lead[1]).reshape(lead)
    by_time = places if time == 0 else places.T
    for column, length in enumerate(lengths.ravel()):
        by_time[: int(length), column] = by_time[: int(length), column][::-1].copy()
    if (lengths == lengths.ravel()[0]).all():  # all alike: the axis is reversed in place
        region.replace(
            _layers.gather(region, "reversed", region.node.inputs[0], by_time[:, 0] // (lead[1] if time == 0 else 1), time)
        )
        return None
    region.replace(take(region, "reversed", region.node.inputs[0], places, lead, tail))
    return None


def _at_run_time(region: Region, facts: ScopeFacts, time: int) -> Decline | None:
    data, lengths = region.node.inputs[:2]
    shape = facts.shape(region.proto.input[0]) or ()
    dims = [-1 if isinstance(dim, Poly) else int(dim) for dim in shape]
    steps, count, tail = dims[time], dims[1 - time], dims[2:]
    if region.opset < WHERE:
        return Decline(f"the lengths are computed at run time, and opset {region.opset} has no Where")
    if steps < 0 or tail.count(-1) + (count < 0) > 1:
        return Decline("the lengths are computed at run time, and another axis than that of the batch is dynamic")
    kind = onnx.helper.tensor_dtype_to_np_dtype(facts.dtype(region.proto.input[1]))

    def fixed(role: str, values: np.ndarray) -> gs.Constant:
        return region.constant(role, values.astype(kind))

    along = fixed("times", np.arange(steps).reshape((-1, 1) if time == 0 else (1, -1)))
    ends = _layers.unsqueeze(region, "lengths", lengths, [time])
    last = region.layer("Sub", "last", [ends, fixed("one", np.ones(1))])
    mirrored = region.layer("Sub", "mirrored", [last, along])
    place = region.layer("Where", "place", [region.layer("Less", "before", [along, ends]), mirrored, along])
    if count < 0 and region.opset < RANGE:
        return _by_choice(region, data, place, time, steps, len(dims), fixed)
    if count < 0:
        whole = region.layer("Shape", "shape", [lengths])
        size = _layers.squeeze(region, "count", whole, [0])
        ends_at = [region.constant(role, np.array(value, np.int64)) for role, value in (("zero", 0), ("step", 1))]
        across: gs.Tensor = region.layer("Range", "across", [ends_at[0], size, ends_at[1]])
        width: gs.Tensor = whole
        if kind != np.int64:
            across, width = (
                region.layer("Cast", f"{role}_cast", [value], to=facts.dtype(region.proto.input[1]))
                for role, value in (("across", across), ("width", whole))
            )
    else:
        across, width = fixed("across", np.arange(count)), fixed("width", np.array([count]))
    if time == 0:  # laid out as one: place * count + number
        flat = region.layer("Add", "flat_place", [region.layer("Mul", "row", [place, width]), across])
    else:
        column = _layers.unsqueeze(region, "column", across, [1])
        row = region.layer("Mul", "row", [column, fixed("steps", np.array([steps]))])
        flat = region.layer("Add", "flat_place", [row, place])
    total = -1 if count < 0 else steps * count
    rows = _layers.reshape(region, "flat", data, [total, *tail])
    region.replace(region.layer("Gather", "reversed", [rows, flat], axis=0))
    return None


def _by_choice(
    region: Region,
    data: gs.Tensor,
    place: gs.Tensor,
    time: int,
    steps: int,
    rank: int,
    fixed: Callable[[str, np.ndarray], gs.Constant],
) -> Decline | None:
    """Of the slabs of all times, for each place the one that it names."""
    if steps > MAX_STEPS:
        return Decline(f"the lengths are computed at run time, and the sequence has {steps} steps; {MAX_STEPS} are the most")
    if rank > 2:
        place = _layers.unsqueeze(region, "place_axes", place, list(range(2, rank)))
    made = _layers.slice_(region, "time0", data, [time], [0], [1])
    if steps == 1:
        region.replace(region.layer("Identity", "same", [data]))
        return None
    for step in range(1, steps):
        here = _layers.slice_(region, f"time{step}", data, [time], [step], [step + 1])
        chosen = region.layer("Equal", f"is{step}", [place, fixed(f"step{step}", np.array([step]))])
        made = region.layer("Where", f"up_to{step}", [chosen, here, made])
    region.replace(made)
    return None
