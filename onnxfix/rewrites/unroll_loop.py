"""A Loop as its body, once for every round.

Guard: the number of rounds is the same for every input, at most MAX_TRIPS: by a constant trip count, by a condition that the body
computes from constants and the round's number, or by both. Bit-equal: the nodes are the body's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._body import MAX_NODES, MAX_TRIPS, Unrolled, names_read, refused_body
from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Change | Decline:
    """See the module."""
    proto = region.proto
    body = next(attribute.g for attribute in proto.attribute if attribute.name == "body")
    declined = refused_body(body)
    if declined is not None:
        return declined
    limit: int | None = None
    if proto.input[0]:
        trips = constant_value(facts, proto.input[0])
        if trips is None or trips.size != 1:
            return Decline("the number of rounds depends on an input")
        limit = int(trips.ravel()[0])
    running = True
    if len(proto.input) > 1 and proto.input[1]:
        first = constant_value(facts, proto.input[1])
        if first is None or first.size != 1:
            return Decline("whether the loop begins depends on an input")
        running = bool(first.ravel()[0])
    state = list(proto.input[2:])
    names = [value.name for value in body.input]
    used = names_read(body)
    unrolled = Unrolled(region)
    stacks: list[list[str]] = [[] for _ in proto.output[len(state) :]]
    number = 0
    while running and (limit is None or number < limit):
        if number == MAX_TRIPS or len(unrolled.nodes) > MAX_NODES:
            rounds = f"{limit} rounds" if limit is not None and limit < 2**31 else "more rounds"
            return Decline(f"the loop has {rounds} than are unrolled: {MAX_TRIPS}, or {MAX_NODES} nodes")
        bound = dict(zip(names[2:], state, strict=True))
        if names[0] in used:
            bound[names[0]] = unrolled.constant(f"{number}/{names[0]}", np.array(number, np.int64))
        if names[1] in used:
            bound[names[1]] = unrolled.constant(f"{number}/{names[1]}", np.array(True))
        results = unrolled.copy(body, bound, f"{number}/")
        if body.output[0].name != names[1]:
            goes_on = unrolled.value(results[0])
            if goes_on is None or goes_on.size != 1:
                return Decline("the body decides at run time whether the loop goes on")
            running = bool(goes_on.ravel()[0])
        state = results[1 : 1 + len(state)]
        for position, result in enumerate(results[1 + len(state) :]):
            stacks[position].append(unrolled.unsqueeze(f"{number}/row{position}", result, 0))
        number += 1
    if stacks and not number:
        return Decline("the loop has no rounds, and its stacked outputs no shape")
    ends = [unrolled.node("Concat", f"stack{position}", rows, axis=0) for position, rows in enumerate(stacks)]
    return unrolled.change([*state, *ends])
