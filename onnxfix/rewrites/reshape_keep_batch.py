"""A Reshape that changes the batch, and one behind it that changes it back: the first goes, and the second says its whole shape.

An importer with an implicit batch keeps the batch whatever the first entry of the new shape says. Between the two may stand
operators that treat every element alike. Guard: static shapes, and every way from the first ends in a Reshape or Flatten to the old
batch. Bit-equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._region import Change, Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

# fmt: off
_ALIKE = frozenset((
    "Abs", "Cast", "Ceil", "Clip", "Dropout", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "Identity", "LeakyRelu", "Log", "Neg",
    "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Softplus", "Softsign", "Sqrt", "Tanh", "ThresholdedRelu",
))
# fmt: on
_WITH_A_NUMBER = frozenset(("Add", "Div", "Max", "Min", "Mul", "Pow", "Sub"))


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    proto = region.proto
    shape = facts.static_shape(proto.input[0])
    if proto.op_type != "Reshape" or not shape:
        return Decline("it is no Reshape of a static shape")
    found = _followers(facts, proto.output[0], shape[0])
    if isinstance(found, Decline):
        return found
    names = {proto.output[0]: proto.input[0]}
    changes = [Change(region.scope, region.index)]
    for node in found:
        here = region.beside(node.proto, node.index)
        copy = onnx.NodeProto()
        copy.CopyFrom(node.proto)
        for place, name in enumerate(copy.input):
            copy.input[place] = names.get(name, name)
        change = Change(here.scope, here.index, [copy])
        if node.op_type in ("Reshape", "Flatten"):
            _say_all(here, copy, change, facts.static_shape(node.outputs[0]) or ())
        else:
            names[copy.output[0]] = copy.output[0] = here.free_name("kept")
        changes.append(change)
    return changes


def _say_all(region: Region, copy: onnx.NodeProto, change: Change, shape: tuple[int, ...]) -> None:
    """Make the node a Reshape to that very shape."""
    copy.op_type = "Reshape"
    del copy.attribute[:]
    del copy.input[1:]
    name = region.free_name("shape")
    copy.input.append(name)
    change.initializers.append(onnx.numpy_helper.from_array(np.array(shape, np.int64), name))


def _followers(facts: ScopeFacts, name: str, batch: int) -> list[Node] | Decline:
    """The nodes from here to those that bring the old batch back, in order; they read nothing else that is computed."""
    scope = facts.scope
    found: dict[int, Node] = {}
    waiting = [name]
    while waiting:
        value = waiting.pop()
        if value in scope.outputs:
            return Decline("an output of the graph has the changed batch")
        for node, slot in scope.consumers.get(value, ()):
            if node.scope is not scope or slot != 0 or node.domain:
                return Decline(f"{node.op_type} reads the changed batch")
            if node.op_type in ("Reshape", "Flatten"):
                after = facts.static_shape(node.outputs[0])
                if not after or after[0] != batch:
                    return Decline("no Reshape behind it brings the batch back")
            elif node.op_type in _ALIKE or (node.op_type in _WITH_A_NUMBER and _number(facts, node)):
                if len([each for each in node.outputs if each]) > 1:
                    return Decline(f"{node.op_type} has more than one output")
                waiting.append(node.outputs[0])
            else:
                return Decline(f"{node.op_type} works on the changed batch")
            found[node.index] = node
    return [found[index] for index in sorted(found)]


def _number(facts: ScopeFacts, node: Node) -> bool:
    """True where the second operand is one constant number, and does not add an axis."""
    other = node.input(1)
    shape = facts.static_shape(other)
    rank = facts.rank(node.input(0))
    return bool(other) and facts.is_constant(other) and shape is not None and set(shape) <= {1} and len(shape) <= (rank or 0)
