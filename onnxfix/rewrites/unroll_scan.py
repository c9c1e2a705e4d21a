"""A Scan as its body, once for every element of the scanned axis.

Guard: opset 9 on; the scanned axes have one static length of at most MAX_TRIPS. Bit-equal: the nodes are the body's own; elements
are taken with Gather and stacked with Unsqueeze and Concat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites._body import MAX_NODES, MAX_TRIPS, Unrolled, refused_body
from onnxfix.rewrites._region import Change, Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Change | Decline:
    """See the module."""
    proto = region.proto
    if region.opset < 9:
        return Decline("Scan of opset 8 runs over a batch, with lengths of its own")
    attributes = {item.name: onnx.helper.get_attribute_value(item) for item in proto.attribute}
    body = attributes["body"]
    declined = refused_body(body)
    if declined is not None:
        return declined
    states = len(proto.input) - attributes["num_scan_inputs"]
    scanned, stacked = list(proto.input[states:]), len(proto.output) - states
    axes = list(attributes.get("scan_input_axes", [0] * len(scanned)))
    backwards = attributes.get("scan_input_directions", [0] * len(scanned))
    lengths = set()
    for position, name in enumerate(scanned):
        shape = facts.shape(name)
        if shape is None:
            return Decline("the rank of a scanned input is unknown")
        axes[position] %= len(shape)
        length = shape[axes[position]]
        if isinstance(length, Poly):
            return Decline(f"the scanned axis has {length} elements")
        lengths.add(int(length))
    rounds = lengths.pop()
    if lengths or rounds > MAX_TRIPS or rounds * len(body.node) > MAX_NODES:
        return Decline(f"the scan has more rounds than are unrolled: {MAX_TRIPS}, or {MAX_NODES} nodes")
    if not rounds and stacked:
        return Decline("the scan has no rounds, and its stacked outputs no shape")
    unrolled = Unrolled(region)
    state = list(proto.input[:states])
    stacks: list[list[str]] = [[] for _ in range(stacked)]
    out_axes = _output_axes(region, facts, attributes, states, stacked)
    if isinstance(out_axes, Decline):
        return out_axes
    indices: dict[int, str] = {}
    for number in range(rounds):
        rows = []
        for position, name in enumerate(scanned):
            at = rounds - 1 - number if backwards[position] else number
            if at not in indices:
                indices[at] = unrolled.constant(f"index{at}", np.array(at, np.int64))
            rows.append(unrolled.node("Gather", f"{number}/in{position}", [name, indices[at]], axis=axes[position]))
        bound = dict(zip((value.name for value in body.input), [*state, *rows], strict=True))
        results = unrolled.copy(body, bound, f"{number}/")
        state = results[:states]
        for position, result in enumerate(results[states:]):
            stacks[position].append(unrolled.unsqueeze(f"{number}/row{position}", result, out_axes[position]))
    reverse = attributes.get("scan_output_directions", [0] * stacked)
    ends = [
        unrolled.node("Concat", f"stack{position}", made[::-1] if reverse[position] else made, axis=out_axes[position])
        for position, made in enumerate(stacks)
    ]
    return unrolled.change([*state, *ends])


def _output_axes(
    region: Region, facts: ScopeFacts, attributes: dict[str, object], states: int, stacked: int
) -> list[int] | Decline:
    """The axis that each stacked output grows along, from the front."""
    axes = []
    given = attributes.get("scan_output_axes") or [0] * stacked
    assert isinstance(given, list)
    for position, axis in enumerate(given):
        if axis < 0:
            rank = facts.rank(region.proto.output[states + position])
            if rank is None:
                return Decline("the rank of a stacked output is unknown")
            axis += rank
        axes.append(int(axis))
    return axes
