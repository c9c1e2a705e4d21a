"""A part of a shape that is only moved, through more than one axis, as one Gather from the numbers in a row.

Reshape to rows, Slice, Transpose, Reshape is how PyTorch turns the pads of F.pad. Guard: the numbers have one axis and a known
count; up to the values of one axis all is moved by constant parameters. Bit-equal over 6 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites._values import value_among

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

MOVES = frozenset({"Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"})


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    source = region.proto.input[0]
    shape = facts.static_shape(source)
    if shape is None or len(shape) != 1:
        return Decline("how many numbers there are is unknown")
    inner: dict[str, onnx.NodeProto] = {}
    ends: list[Node] = []
    waiting = [facts.scope.nodes_by_index[region.index]]
    while waiting:
        node = waiting.pop()
        moves = node.op_type in MOVES and not node.domain and all(facts.is_constant(name) for name in node.inputs[1:] if name)
        output = node.outputs[0]
        if not moves or (output in facts.scope.outputs and facts.rank(output) != 1):
            return Decline(f"{node.op_type} reads it, which does more than move it")
        inner[output] = node.proto
        if facts.rank(output) in (0, 1):
            ends.append(node)
        else:
            waiting.extend(reader for reader, _ in facts.scope.consumers.get(output, ()))
    numbers = onnx.numpy_helper.from_array(np.arange(shape[0], dtype=np.int64), source)
    changes = []
    for node in ends:
        places = value_among(facts, node.outputs[0], inner, {source: numbers})
        if places is None:
            return Decline("where its numbers go cannot be computed")
        here = region.beside(node.proto, node.index)
        here.replace(here.layer("Gather", "moved", [here.outer(source), here.constant("places", places)], axis=0))
        changes.append(here.change())
    return changes
