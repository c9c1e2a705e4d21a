"""A Cast between others: each Cast behind it reads what it reads, where it loses nothing; through integers and back it truncates.

Guard: only Casts read its result, and it is no graph output. A type that holds every value of the first (FLOAT in DOUBLE, INT32 in
INT64) is passed over. A float that becomes an integer and a float again loses its fraction: Abs(Floor(Relu(x))) - Floor(Relu(-x)).
Bit-equal over 30 cases; NaN and numbers beyond the integer's range have no integer, and each runtime makes another of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites._region import Change, Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

_T = onnx.TensorProto
FLOATS: set[int] = {_T.FLOAT, _T.DOUBLE, _T.FLOAT16, _T.BFLOAT16}
# The types that hold every value of a type.
HOLDS: dict[int, set[int]] = {
    _T.BOOL: {_T.UINT8, _T.INT8, _T.UINT16, _T.INT16, _T.INT32, _T.UINT32, _T.INT64, _T.UINT64} | FLOATS,
    _T.UINT8: {_T.UINT16, _T.INT16, _T.INT32, _T.UINT32, _T.INT64, _T.UINT64} | FLOATS - {_T.BFLOAT16},
    _T.INT8: {_T.INT16, _T.INT32, _T.INT64} | FLOATS - {_T.BFLOAT16},
    _T.UINT16: {_T.INT32, _T.UINT32, _T.INT64, _T.UINT64, _T.FLOAT, _T.DOUBLE},
    _T.INT16: {_T.INT32, _T.INT64, _T.FLOAT, _T.DOUBLE},
    _T.INT32: {_T.INT64, _T.DOUBLE},
    _T.UINT32: {_T.INT64, _T.UINT64, _T.DOUBLE},
    _T.FLOAT16: {_T.FLOAT, _T.DOUBLE},
    _T.BFLOAT16: {_T.FLOAT, _T.DOUBLE},
    _T.FLOAT: {_T.DOUBLE},
}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    source, name = region.proto.input[0], region.proto.output[0]
    before, between = facts.dtype(source), facts.dtype(name)
    readers = [node for node, _ in facts.scope.consumers.get(name, ())]
    if name in facts.scope.outputs or not readers or any(n.op_type != "Cast" or n.scope is not facts.scope for n in readers):
        return Decline("others than Casts read it", plain=True)
    changes = []
    for reader in readers:
        after = facts.dtype(reader.outputs[0])
        end = region.beside(reader.proto, reader.index)
        if between in HOLDS.get(before, ()):
            end.edited.input[0] = source
        elif before in (_T.FLOAT, _T.FLOAT16) and after == before and between in (_T.INT32, _T.INT64):
            x = end.node.inputs[0]
            x.name = source
            # Abs makes 0 of the -0.0 that Relu leaves: integers have one zero only
            above = end.layer("Abs", "above", [end.layer("Floor", "floor", [end.layer("Relu", "positive", [x])])])
            below = end.layer("Floor", "below", [end.layer("Relu", "negative", [end.layer("Neg", "opposite", [x])])])
            end.replace(end.layer("Sub", "whole", [above, below]))
        else:
            kinds = [onnx.TensorProto.DataType.Name(kind) for kind in (before, between, after)]
            return Decline(f"a Cast from {kinds[0]} to {kinds[1]} to {kinds[2]} is no shorter", plain=True)
        changes.append(end.change())
    return changes
