"""What is read out of a sequence of known tensors: ConcatFromSequence as Concat, SequenceAt as the tensor itself.

A sequence is known where SequenceConstruct, SplitToSequence, or SequenceEmpty with insertions at constant places made it, in this
graph. The makers go once nothing reads them. Guard: constant places and pieces. The same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import static_dims
from onnxfix.rewrites._layers import slice_, squeeze, unsqueeze
from onnxfix.rewrites._region import Change, Decline

if TYPE_CHECKING:
    import onnx
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    op, proto = region.proto.op_type, region.proto
    if op not in ("ConcatFromSequence", "SequenceAt"):
        return _readers(region, facts, target)
    items = _items(region, facts, proto.input[0])
    if isinstance(items, Decline):
        return items
    if op == "SequenceAt":
        place = facts.numbers(proto.input[1])
        if place is None or not -len(items) <= int(np.ravel(place)[0]) < len(items):
            return Decline("the place in the sequence is computed at run time, or lies outside")
        region.replace(_tensor(region, "item", items[int(np.ravel(place)[0])]))
        return [region.change()]
    if not items:
        return Decline("the sequence is empty")
    axis = int(region.node.attrs["axis"])
    parts = [_tensor(region, f"item{number}", item) for number, item in enumerate(items)]
    if region.node.attrs.get("new_axis", 0):
        name, piece = items[0]
        rank = facts.rank(name)
        if rank is None:
            return Decline("the rank of the data is unknown")
        axis %= rank + (1 if piece is None or piece[3] else 0)
        parts = [unsqueeze(region, f"layer{number}", part, [axis]) for number, part in enumerate(parts)]
    region.replace(region.layer("Concat", "joined", parts, axis=axis) if len(parts) > 1 else parts[0])
    return [region.change()]


# One tensor of a sequence: a value, and where it is a piece of it: (axis, begin, end, whether the axis is kept).
Item = tuple[str, tuple[int, int, int, bool] | None]


def _tensor(region: Region, role: str, item: Item) -> gs.Tensor:
    name, piece = item
    value = region.outer(name)
    if piece is None:
        return value
    axis, begin, end, kept = piece
    part = slice_(region, f"{role}_part", value, [axis], [begin], [end])
    return part if kept else squeeze(region, role, part, [axis])


def _items(region: Region, facts: ScopeFacts, name: str) -> list[Item] | Decline:
    """The tensors of a sequence, in order."""
    maker = facts.scope.producers.get(name)
    if maker is None or maker.domain:
        return Decline("the sequence comes from outside the graph")
    proto = maker.proto
    if maker.op_type == "SequenceConstruct":
        return [(item, None) for item in proto.input]
    if maker.op_type == "SequenceEmpty":
        return []
    if maker.op_type == "SplitToSequence":
        return _pieces(facts, proto)
    if maker.op_type not in ("SequenceInsert", "SequenceErase"):
        return Decline(f"{maker.op_type} makes the sequence")
    items = _items(region, facts, proto.input[0])
    if isinstance(items, Decline):
        return items
    slot = 2 if maker.op_type == "SequenceInsert" else 1
    place = len(items) if maker.op_type == "SequenceInsert" else len(items) - 1
    if len(proto.input) > slot and proto.input[slot]:
        numbers = facts.numbers(proto.input[slot])
        if numbers is None:
            return Decline("a place in the sequence is computed at run time")
        place = int(np.ravel(numbers)[0])
        place += len(items) if place < 0 else 0
    if maker.op_type == "SequenceInsert":
        return [*items[:place], (proto.input[1], None), *items[place:]]
    return [*items[:place], *items[place + 1 :]]


def _pieces(facts: ScopeFacts, proto: onnx.NodeProto) -> list[Item] | Decline:
    attrs = {attribute.name: attribute.i for attribute in proto.attribute}
    rank = facts.rank(proto.input[0])
    if rank is None:
        return Decline("the rank of the data is unknown")
    axis = attrs.get("axis", 0) % rank
    given = facts.numbers(proto.input[1]) if len(proto.input) > 1 and proto.input[1] else None
    if len(proto.input) > 1 and proto.input[1] and given is None:
        return Decline("the sizes of the pieces are computed at run time")
    size = static_dims(facts, proto.input[0], [axis])
    if isinstance(size, Decline):
        return size
    if given is None:
        sizes, kept = [1] * size[0], bool(attrs.get("keepdims", 1))
    else:
        kept, step = True, int(np.ravel(given)[0])
        evenly = [min(step, size[0] - begin) for begin in range(0, size[0], step)]
        sizes = [int(item) for item in given] if given.ndim else evenly
    ends = np.cumsum(sizes)
    return [(proto.input[0], (axis, int(end) - length, int(end), kept)) for end, length in zip(ends, sizes, strict=True)]


def _readers(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """A maker goes with what reads it in the end."""
    waiting, seen, readers = list(region.proto.output), set(), []
    while waiting:
        name = waiting.pop()
        if name in facts.scope.outputs:
            return Decline("a sequence is an output of the graph")
        for node, _ in facts.scope.consumers.get(name, ()):
            if node.scope is not facts.scope:
                return Decline("a subgraph reads the sequence")
            if node.index in seen:
                continue
            seen.add(node.index)
            if node.op_type in ("ConcatFromSequence", "SequenceAt"):
                readers.append(node)
            elif node.op_type in ("SequenceInsert", "SequenceErase"):
                waiting.extend(node.outputs)
            else:
                return Decline(f"{node.op_type} reads the sequence")
    changes: list[Change] = []
    for node in readers:
        answer = rewrite(region.beside(node.proto, node.index), facts, target)
        if isinstance(answer, Decline):
            return answer
        changes.extend(answer)
    return changes or Decline("nothing reads the sequence")
