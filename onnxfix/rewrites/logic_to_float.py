"""Booleans as floats of 0 and 1, for importers that have none: every node that makes or reads one of them at a time.

Greater is Ceil(Clip(a - b, 0, 1)): a difference of two floats is 0 only where they are equal. Less is that the other way round,
the orders with equality and Equal are 1 less the opposite, And a product, Or a maximum, Xor the size of a difference, Not 1 - x,
and Where c * x + (1 - c) * y; where y is one infinity, as in a mask of attention, x + log(c) or x - log(c), whose addend is 0 or y.
Guard: finite float32 data, nothing that is compared with infinity or, as IsNaN is, with itself; or whole numbers of a known range,
which a table makes floats; no boolean is an input or an output of the graph. The same bits over 28 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._bounds import WHOLE, bound
from onnxfix.rewrites._forms import EXACT_FLOATS, MOVES, number
from onnxfix.rewrites._layers import clip
from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites.integers_to_table import MAX_TABLE, lookup, table_of

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


FLOAT, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL
MAKERS = ("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal")
GATES = ("And", "Or", "Xor", "Not")


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    if not any(facts.dtype(name) == BOOL for name in (*region.proto.input, *region.proto.output) if name):
        return Decline("it has no boolean", plain=True)
    if region.opset < 8:
        return Decline("Max does not broadcast before opset 8")
    members = _members(region, facts)
    if isinstance(members, Decline):
        return members
    renamed: dict[str, str] = {}
    changes = []
    for index in members:
        proto = facts.scope.nodes_by_index[index].proto
        here = region if index == region.index else region.beside(proto, index)
        declined = _write(here, facts)
        if declined is not None:
            return declined
        change = here.change()
        for node in change.nodes:
            for names in (node.input, node.output):
                for place, name in enumerate(names):
                    if facts.dtype(name) == BOOL:
                        names[place] = renamed.setdefault(name, region.free_name(f"{name}_as_float"))
        changes.append(change)
    return changes


def _members(region: Region, facts: ScopeFacts) -> list[int] | Decline:
    """The positions of all nodes that share booleans with the flagged one."""
    scope = facts.scope
    found: dict[int, None] = {}
    waiting = [region.index]
    while waiting:
        index = waiting.pop()
        if index in found:
            continue
        found[index] = None
        proto = scope.nodes_by_index[index].proto
        for name in (*proto.input, *proto.output):
            if not name or facts.dtype(name) != BOOL or facts.is_constant(name):
                continue
            if name in scope.outputs:
                return Decline("a boolean is an output of the graph")
            maker = scope.producers.get(name)
            if maker is None:
                return Decline("a boolean is an input of the graph")
            waiting.append(maker.index)
            for node, slot in scope.consumers.get(name, ()):
                if node.scope is not scope or slot < 0:
                    return Decline("a subgraph reads a boolean")
                waiting.append(node.index)
    return list(found)


def _write(region: Region, facts: ScopeFacts) -> Decline | None:
    """One node, with floats where it had booleans."""
    op, names = region.proto.op_type, region.proto.input
    inputs = [_as_float(region, facts, slot) for slot in range(len(names))]
    if op in MAKERS:
        return _compare(region, facts, op, inputs)
    one = number(region, "one", 1.0, np.dtype(np.float32))
    if op in GATES:
        if op == "Xor":
            region.replace(region.layer("Abs", "either", [region.layer("Sub", "difference", inputs)]))
        else:
            made = {"And": "Mul", "Or": "Max", "Not": "Sub"}[op]
            region.replace(region.layer(made, "logic", [one, *inputs] if op == "Not" else inputs))
        return None
    if op == "Where":
        if facts.dtype(names[1]) not in (FLOAT, BOOL):
            return Decline(f"it chooses between {facts.dtype_name(names[1])} data")
        rest = region.layer("Sub", "rest", [one, inputs[0]])
        for slot, part in ((2, inputs[0]), (1, rest)):
            infinity = _infinity(facts, names[slot])
            if infinity:
                if _infinite(facts, names[3 - slot]) or _adds_axes(facts, names[slot], (names[0], names[3 - slot])):
                    return Decline("it chooses between infinities, or the constant has more axes than what it is chosen from")
                log = region.layer("Log", "masked", [part])
                region.replace(region.layer("Add" if infinity < 0 else "Sub", "chosen", [inputs[3 - slot], log]))
                return None
        if any(_infinite(facts, name) for name in names[1:]):
            return Decline("a constant that it chooses from has infinities and numbers")
        yes = region.layer("Mul", "yes", [inputs[0], inputs[1]])
        region.replace(region.layer("Add", "chosen", [yes, region.layer("Mul", "no", [rest, inputs[2]])]))
        return None
    if op == "Cast":
        if facts.dtype(names[0]) == BOOL:
            if region.node.attrs["to"] not in (FLOAT, BOOL):
                return Decline(f"a boolean is cast to {onnx.TensorProto.DataType.Name(region.node.attrs['to'])}")
            region.replace(inputs[0])
            return None
        if region.node.attrs["to"] != BOOL:
            return Decline("it casts no boolean", plain=True)
        if facts.dtype(names[0]) in WHOLE:
            table = table_of(region, facts)
            if not isinstance(table, Decline):
                region.replace(lookup(region, "some", table[0], table[1].astype(np.float32)))
                return None
        if facts.dtype(names[0]) != FLOAT:
            return Decline(f"a boolean is cast from {facts.dtype_name(names[0])}")
        region.replace(_nonzero(region, inputs[0]))
        return None
    if op in MOVES or op in ("Concat", "Split"):
        outputs = list(region.proto.output)
        attrs = dict(region.node.attrs)
        region.replace(*region.layers(op, [f"out{place}" for place in range(len(outputs))], inputs, **attrs))
        return None
    return Decline(f"{op} works on booleans")


def _infinity(facts: ScopeFacts, name: str) -> float:
    """The infinity of which a constant consists; 0 where it is something else."""
    value = facts.constant(name) if facts.dtype(name) == FLOAT and facts.is_constant(name) else None
    if value is None or not value.size or not (np.isinf(value).all() and (value == value.flat[0]).all()):
        return 0.0
    return float(value.flat[0])


def _adds_axes(facts: ScopeFacts, name: str, others: tuple[str, str]) -> bool:
    """Whether the shape of what is chosen is not that of the others alone, but has something from the constant."""
    shape, shapes = facts.static_shape(name) or (), [facts.static_shape(other) for other in others]
    known = [item for item in shapes if item is not None]
    if len(known) == len(shapes):
        return np.broadcast_shapes(shape, *known) != np.broadcast_shapes(*known)
    return any(size != 1 for size in shape) or len(shape) > max(facts.rank(other) or 0 for other in others)


def _as_float(region: Region, facts: ScopeFacts, slot: int) -> gs.Tensor:
    """An input; a constant one as finite floats."""
    name = region.proto.input[slot]
    value = facts.constant(name) if name and facts.dtype(name) in (BOOL, FLOAT) and facts.is_constant(name) else None
    if value is None:
        return region.node.inputs[slot]
    if value.dtype == bool:
        return region.constant(f"input{slot}", value.astype(np.float32))
    if np.isfinite(value).all():
        return region.node.inputs[slot]
    return region.constant(f"input{slot}", np.nan_to_num(value, nan=np.nan).astype(np.float32))


def _compare(region: Region, facts: ScopeFacts, op: str, inputs: list[gs.Tensor]) -> Decline | None:
    dtypes = {facts.dtype(name) for name in region.proto.input}
    table = table_of(region, facts) if dtypes <= WHOLE else None
    if table is not None and not isinstance(table, Decline):
        region.replace(lookup(region, "compared", table[0], table[1].astype(np.float32)))
        return None
    if dtypes <= WHOLE:
        floats = [_bounded(region, facts, slot) for slot in range(2)]
        inputs = [tensor for tensor in floats if tensor is not None]
    if len(inputs) < 2 or (dtypes != {FLOAT} and not dtypes <= WHOLE and not (op == "Equal" and dtypes == {BOOL})):
        return Decline(f"{op} compares {facts.dtype_name(region.proto.input[0])} data")
    if region.proto.input[0] == region.proto.input[1] or any(_infinite(facts, name) for name in region.proto.input):
        return Decline("it tells NaN or an infinity from numbers, and differences are right for finite data alone")
    a, b = inputs
    if op == "Equal":
        different = _nonzero(region, region.layer("Sub", "difference", [a, b]))
        region.replace(_negated(region, different))
        return None
    first, second = (a, b) if op in ("Greater", "LessOrEqual") else (b, a)
    over = region.layer("Sub", "over", [first, second])
    above = region.layer("Ceil", "above", [clip(region, "over01", over, 0.0, 1.0, np.dtype(np.float32))])
    region.replace(_negated(region, above) if "Or" in op else above)
    return None


def _bounded(region: Region, facts: ScopeFacts, slot: int) -> gs.Tensor | None:
    """A whole number as a float that holds it; None where its range is not known, or too wide."""
    name = region.proto.input[slot]
    if facts.is_constant(name):
        array = facts.constant(name)
        fits = array is not None and np.abs(array.astype(np.float64)).max(initial=0) <= EXACT_FLOATS
        return region.constant(f"input{slot}", array.astype(np.float32)) if fits and array is not None else None
    limit = bound(facts, name)
    if limit is None or limit > MAX_TABLE:
        return None
    return lookup(region, f"input{slot}", region.node.inputs[slot], np.arange(limit, dtype=np.float32))


def _infinite(facts: ScopeFacts, name: str) -> bool:
    value = facts.constant(name) if facts.dtype(name) == FLOAT and facts.is_constant(name) else None
    return value is not None and not np.isfinite(value).all()


def _nonzero(region: Region, value: gs.Tensor) -> gs.Variable:
    size = region.layer("Abs", "size", [value])
    return region.layer("Ceil", "some", [clip(region, "size01", size, 0.0, 1.0, np.dtype(np.float32))])


def _negated(region: Region, value: gs.Tensor) -> gs.Variable:
    return region.layer("Sub", "not", [number(region, "one", 1.0, np.dtype(np.float32)), value])
