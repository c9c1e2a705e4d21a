"""A node in a wider element type, with Casts around it, where the older opset does not take the node's own.

Operators that only move elements, or compare them, give the same bits in any type that holds all values. Sums and products of
integers do in a wider integer type, as the Cast back keeps the low bits, which is how the narrow type wraps. Halves and bfloat16
are computed in float32 and rounded once: for one addition or multiplication those are the same bits, else an equivalence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites import _layers
from onnxfix.rewrites._forms import INTEGERS

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Decline, Region

_T = onnx.TensorProto
# The types that hold every value of a type, in order of preference.
WIDER: dict[int, tuple[int, ...]] = {
    _T.BOOL: (_T.INT32, _T.UINT8, _T.FLOAT),
    _T.INT8: (_T.INT32, _T.INT64, _T.FLOAT, _T.DOUBLE),
    _T.UINT8: (_T.INT32, _T.INT64, _T.FLOAT, _T.DOUBLE),
    _T.INT16: (_T.INT32, _T.INT64, _T.FLOAT, _T.DOUBLE),
    _T.UINT16: (_T.INT32, _T.INT64, _T.FLOAT, _T.DOUBLE),
    _T.INT32: (_T.INT64, _T.DOUBLE),
    _T.UINT32: (_T.INT64, _T.DOUBLE),
    _T.FLOAT16: (_T.FLOAT, _T.DOUBLE),
    _T.BFLOAT16: (_T.FLOAT, _T.DOUBLE),
    _T.FLOAT: (_T.DOUBLE,),
}
MOVES = frozenset(
    [
        "Compress",
        "Concat",
        "DepthToSpace",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Identity",
        "Pad",
        "Reshape",
        "ReverseSequence",
        "Scatter",
        "ScatterElements",
        "ScatterND",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Trilu",
        "Unsqueeze",
        "Where",
    ]
)
COMPARES = frozenset(
    [
        "Abs",
        "ArgMax",
        "ArgMin",
        "Clip",
        "Equal",
        "GlobalMaxPool",
        "Greater",
        "GreaterOrEqual",
        "Less",
        "LessOrEqual",
        "Max",
        "MaxPool",
        "Min",
        "NonZero",
        "OneHot",
        "ReduceMax",
        "ReduceMin",
        "Relu",
        "Sign",
        "TopK",
    ]
)
RING = frozenset(
    (
        "Add",
        "Div",
        "Mul",
        "Neg",
        "Sub",
    )
)
# bool is compared as 0 and 1, which these operators do not do with integers
_NOT_FOR_BOOL = frozenset(
    (
        "Abs",
        "Relu",
        "Sign",
    )
)
FLOATS = (_T.FLOAT16, _T.BFLOAT16, _T.FLOAT)
TYPE_WORDS = {value: onnx.helper.tensor_dtype_to_string(value).split(".")[-1].lower() for value in _T.DataType.values() if value}


def widen(region: Region, old: onnx.defs.OpSchema, why: Decline) -> Decline | None:
    """Replace the node by itself in a wider type; `why` where there is none."""
    proto, facts = region.proto, region.facts
    if any(attribute.HasField("g") for attribute in proto.attribute):
        return why
    allowed = {constraint.type_param_str: set(constraint.allowed_type_strs) for constraint in old.type_constraints}
    wanted: dict[str, tuple[int, int]] = {}
    for names, formals in ((proto.input, old.inputs), (proto.output, old.outputs)):
        for position, name in enumerate(names):
            dtype = facts.dtype(name) if name else 0
            if not dtype:
                continue
            letter = formals[min(position, len(formals) - 1)].type_str
            kinds = allowed.get(letter, {letter})
            if f"tensor({TYPE_WORDS[dtype]})" in kinds or letter in wanted:
                continue
            wide = next((item for item in WIDER.get(dtype, ()) if f"tensor({TYPE_WORDS[item]})" in kinds), None)
            if wide is None or not _holds(proto.op_type, dtype, wide):
                return why
            wanted[letter] = (dtype, wide)
    if not wanted:
        return why
    if not _exact(proto.op_type) or any(pair[0] == _T.BFLOAT16 and proto.op_type not in MOVES for pair in wanted.values()):
        region.exact = False
    region.forget_edits()
    inputs = []
    for position, tensor in enumerate(region.node.inputs):
        letter = old.inputs[min(position, len(old.inputs) - 1)].type_str
        if letter in wanted and not tensor.is_empty():
            tensor = _layers.cast(region, f"wide{position}", tensor, wanted[letter][1])
        inputs.append(tensor)
    made = region.layers(proto.op_type, [f"wide_{name}" for name in proto.output], inputs, **region.node.attrs)
    results = []
    for position, tensor in enumerate(made):
        letter = old.outputs[min(position, len(old.outputs) - 1)].type_str
        back = letter in wanted and proto.output[position]
        results.append(_layers.cast(region, f"narrow{position}", tensor, wanted[letter][0]) if back else tensor)
    region.replace(*results)
    return None


def _exact(op: str) -> bool:
    return op in MOVES or op in COMPARES or op in RING


def _holds(op: str, dtype: int, wide: int) -> bool:
    """Whether the operator in the wider type, cast back, is the operator in the narrow one."""
    if op in MOVES:
        return True
    if op in COMPARES:
        return dtype != _T.BOOL or op not in _NOT_FOR_BOOL
    if dtype in FLOATS:
        return True
    return op in RING and dtype != _T.BOOL and wide in INTEGERS
