"""A Loop that its body ends, as the body for every round that there can be, and Where between what a round gives and what it got.

Where the loop has ended, rounds are computed in vain and Where keeps what was there. Guard: a constant trip count, or a condition
of which one part depends on the round alone, bounds the rounds by MAX_TRIPS; the loop stacks no outputs; what it carries keeps its
shape and type; the body draws no random numbers, holds no Loop, Scan or If, and has no computed indices or integer divisors, which
a round in vain might get wrong. Bit-equal over 24 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._body import MAX_NODES, MAX_TRIPS, Unrolled, names_read, refused_body
from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites._values import constant_value
from onnxfix.rewrites.if_to_where import BARRED

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Scope
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

# Input 1 of these may be out of range, or zero, in a round that ONNX does not run.
_INDEXED = {"Gather", "GatherElements", "GatherND", "Scatter", "ScatterElements", "ScatterND", "OneHot"}
_DIVIDED = {"Div", "Mod"}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Change | Decline:
    """See the module."""
    proto = region.proto
    body = next(attribute.g for attribute in proto.attribute if attribute.name == "body")
    scope = facts.scope.nodes_by_index[region.index].subgraphs["body"]
    declined = refused_body(body) or _refused(facts, scope, proto)
    if declined is not None:
        return declined
    limit: int | None = None
    if proto.input[0]:
        trips = constant_value(facts, proto.input[0])
        if trips is None or trips.size != 1:
            return Decline("the number of rounds depends on an input")
        limit = int(trips.ravel()[0])
    if (limit is None or limit > MAX_TRIPS) and not _counts(facts, scope, scope.outputs[0]):
        return Decline("nothing bounds the number of rounds")
    running = proto.input[1] if len(proto.input) > 1 else ""
    if running and facts.is_constant(running):
        first = constant_value(facts, running)
        if first is None or not first.all():
            return Decline("the loop has no rounds, or nothing here can tell")
        running = ""
    state = list(proto.input[2:])
    names, used = [value.name for value in body.input], names_read(body)
    unrolled = Unrolled(region)
    number = 0
    while limit is None or number < limit:
        if number == MAX_TRIPS or len(unrolled.nodes) > MAX_NODES:
            return Decline(f"it has more rounds than are unrolled: {MAX_TRIPS}, or {MAX_NODES} nodes")
        bound = dict(zip(names[2:], state, strict=True))
        if names[0] in used:
            bound[names[0]] = unrolled.constant(f"{number}/{names[0]}", np.array(number, np.int64))
        if names[1] in used or body.output[0].name == names[1]:
            bound[names[1]] = unrolled.constant(f"{number}/{names[1]}", np.array(True))
        goes_on, *results = unrolled.copy(body, bound, f"{number}/")
        if running:
            state = [
                _chosen(unrolled, f"{number}/kept{position}", running, new, old, facts.dtype(proto.input[2 + position]))
                for position, (new, old) in enumerate(zip(results, state, strict=True))
            ]
        else:
            state = results
        number += 1
        if number == limit or _never(unrolled, goes_on):
            break
        running = unrolled.node("And", f"{number}/running", [running, goes_on]) if running else goes_on
    return unrolled.change(state)


def _refused(facts: ScopeFacts, scope: Scope, proto: onnx.NodeProto) -> Decline | None:
    states = len(proto.input) - 2
    if len(proto.output) > states:
        return Decline("it stacks outputs, and as many rows as there are rounds")
    inner = facts.inner(scope)
    if inner.rank(scope.outputs[0]) != 0 or (len(proto.input) > 1 and proto.input[1] and facts.rank(proto.input[1]) != 0):
        return Decline("its condition is not known to be a scalar")
    for carried, given in zip(proto.input[2:], scope.outputs[1:], strict=True):
        shape = facts.shape(carried)
        if shape is None or inner.shape(given) != shape or inner.dtype(given) != facts.dtype(carried):
            return Decline(f"what it carries from {carried} is not known to keep its shape and type")
    barred = sorted({node.op_type for node in scope.nodes} & BARRED)
    if barred:
        return Decline(f"the body holds {barred[0]}")
    for node in scope.nodes:
        other = node.input(1)
        computed = bool(other) and not inner.is_constant(other) and other != scope.inputs[0]
        if computed and (node.op_type in _INDEXED or (node.op_type in _DIVIDED and inner.dtype_name(other).find("INT") >= 0)):
            return Decline(f"{node.op_type} in the body depends on a computed value, which may be wrong in a round in vain")
    return None


def _chosen(unrolled: Unrolled, role: str, running: str, new: str, old: str, dtype: int) -> str:
    """`new` while the loop runs, else `old`; without Where for booleans, which onnxruntime and parsers lack."""
    if dtype != onnx.TensorProto.BOOL:
        return unrolled.node("Where", role, [running, new, old])
    ended = unrolled.node("Not", f"{role}_ended", [running])
    pair = [unrolled.node("And", f"{role}_{side}", inputs) for side, inputs in (("new", [running, new]), ("old", [ended, old]))]
    return unrolled.node("Or", role, pair)


def _counts(facts: ScopeFacts, scope: Scope, name: str) -> bool:
    """True where the condition, or a part of it that And joins, is made of the round's number and constants."""
    maker = scope.producers.get(name)
    if maker is None:
        return False
    if maker.op_type in ("And", "Identity"):
        return any(_counts(facts, scope, each) for each in maker.inputs)
    waiting, seen = [name], set[str]()
    while waiting:
        each = waiting.pop()
        if each in seen or not each or scope.stores(each) or each == scope.inputs[0]:
            continue
        seen.add(each)
        made = scope.producers.get(each)
        if made is None:
            if each in scope.inputs or not facts.is_constant(each):
                return False
            continue
        waiting += made.inputs
    return scope.inputs[0] in {each for one in seen if one in scope.producers for each in scope.producers[one].inputs}


def _never(unrolled: Unrolled, name: str) -> bool:
    """True where the value is false for every input: a constant, or an And of which one side is."""
    value = unrolled.value(name)
    if value is not None:
        return not value.ravel()[0]
    maker = next((node for node in reversed(unrolled.nodes) if name in node.output), None)
    return maker is not None and maker.op_type in ("And", "Identity") and any(_never(unrolled, one) for one in maker.input)
