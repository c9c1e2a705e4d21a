"""ScatterND, ScatterElements and Scatter at constant places: Gather from the data with the updates laid behind them.

Guard: constant indices, static shapes. With a reduction the rows that are written are gathered, added to (multiplied, compared)
and put back; a place that occurs k times takes k rounds, at most MAX_ROUNDS. Nothing is multiplied by a mask, so that infinities
and NaN stay. Bit-equal over 60 cases; without a reduction a place may occur once only, as ONNX says: of several the last is taken.
What max and min make of a NaN is left open by ONNX: it stays one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites import _layers
from onnxfix.rewrites._indexing import MAX_INDICES, by_batch, element_rows, strides
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

MAX_ROUNDS = 8
REDUCTIONS = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    proto = region.proto
    shape = facts.static_shape(proto.input[0])
    indices = constant_value(facts, proto.input[1])
    if shape is None or not shape:
        return Decline("the shape of the data is dynamic")
    if indices is None:
        return Decline("the places are computed at run time")
    indices = indices.astype(np.int64)
    if proto.op_type == "ScatterND":
        depth = indices.shape[-1]
        lead, tail = list(shape[:depth]), list(shape[depth:])
        wrapped = np.where(indices < 0, indices + np.array(lead, np.int64), indices)
        rows = (wrapped * np.array(strides(lead), np.int64)).sum(-1)
    else:
        lead, tail = list(shape), []
        rows = element_rows(indices, shape, region.node.attrs.get("axis", 0) % len(shape))
    if math.prod(lead) > MAX_INDICES or rows.size > MAX_INDICES or not rows.size:
        return Decline("there are too many places, or none")
    reduction = region.node.attrs.get("reduction", "none")
    inner = by_batch(rows, lead) if len(lead) > 1 else None
    axis, lead_in, rows_in = (1, lead[1:], inner) if inner is not None else (0, lead, rows)
    before = [0] if axis else []
    data, updates = region.node.inputs[0], region.node.inputs[2]
    if len(lead_in) > 1:
        data = _layers.reshape(region, "flat", data, [*before, math.prod(lead_in), *tail])
    if rows_in.ndim != 1:
        updates = _layers.reshape(region, "updates", updates, [*before, rows_in.size, *tail])
    if reduction == "none":
        made = _put(region, "put", data, updates, rows_in.ravel(), math.prod(lead_in), axis)
    else:
        counted = _rounds(rows_in.ravel())
        if len(counted) > MAX_ROUNDS:
            return Decline(f"a place is written {len(counted)} times, more than {MAX_ROUNDS}")
        made = data
        for number, (places, sources) in enumerate(counted):
            old = _layers.gather(region, f"old{number}", made, places, axis)
            new = updates
            if len(counted) > 1:
                new = _layers.gather(region, f"update{number}", updates, sources, axis)
            reduced = region.layer(REDUCTIONS[reduction], f"new{number}", [old, new])
            made = _put(region, f"put{number}", made, reduced, places, math.prod(lead_in), axis)
    if len(lead_in) > 1:
        made = _layers.reshape(region, "shaped", made, [*before, *lead_in, *tail])
    region.replace(made)
    return None


def _put(region: Region, role: str, data: gs.Tensor, updates: gs.Tensor, rows: np.ndarray, count: int, axis: int) -> gs.Variable:
    """`data` of `count` rows along the axis, with `updates` in the places `rows`."""
    source = np.arange(count)
    source[rows] = count + np.arange(rows.size)
    both = region.layer("Concat", f"{role}_both", [data, updates], axis=axis)
    return _layers.gather(region, role, both, source, axis)


def _rounds(rows: np.ndarray) -> Sequence[tuple[np.ndarray, np.ndarray]]:
    """The places (and which update each takes) of every round, so that none occurs twice in one."""
    seen: dict[int, int] = {}
    rounds: list[tuple[list[int], list[int]]] = []
    for source, row in enumerate(rows.tolist()):
        number = seen.get(row, 0)
        seen[row] = number + 1
        if number == len(rounds):
            rounds.append(([], []))
        rounds[number][0].append(row)
        rounds[number][1].append(source)
    return [(np.array(places), np.array(sources)) for places, sources in rounds]
