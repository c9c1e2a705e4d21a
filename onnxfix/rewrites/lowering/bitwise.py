"""BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot (from opset 18) and BitShift (11, of signed integers 28) as integer arithmetic.

The bits of an integer below 64 bits are told apart by dividing by the powers of two in int64, along an axis of their own; And is
their product, Or their maximum, Xor their difference. Not is `-1 - x`, or `largest - x` of unsigned integers. A shift to the left
multiplies by a power of two, one to the right divides by it, rounding down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.opsets import schema_at
from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.rewrites._region import Region

_T = onnx.TensorProto
_BITS: dict[int, int] = {
    _T.INT8: 8,
    _T.UINT8: 8,
    _T.INT16: 16,
    _T.UINT16: 16,
    _T.INT32: 32,
    _T.UINT32: 32,
    _T.INT64: 64,
    _T.UINT64: 64,
}
_SIGNED = (_T.INT8, _T.INT16, _T.INT32, _T.INT64)


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    op = region.proto.op_type
    dtype = region.facts.dtype(region.proto.input[0])
    if low >= 18 or dtype not in _BITS:
        return _general.lower(region, low)
    if op == "BitwiseNot":
        kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype))
        top = np.array(-1 if dtype in _SIGNED else np.iinfo(kind).max, kind)
        region.replace(region.layer("Sub", "flipped", [region.constant("all_bits", top), region.node.inputs[0]]))
        return None
    if _BITS[dtype] == 64:
        return Decline(f"{op} on {region.facts.dtype_name(region.proto.input[0])}: no type is wide enough to take the bits apart")
    ranks = [region.facts.rank(name) for name in region.proto.input]
    if None in ranks:
        return Decline("the rank of the data is unknown")
    powers = region.constant("powers", 2 ** np.arange(_BITS[dtype], dtype=np.int64))
    sides = [_bits(region, slot, powers, rank or 0, dtype) for slot, rank in enumerate(ranks)]
    if op == "BitwiseAnd":
        bits = region.layer("Mul", "both", sides)
    else:
        difference = region.layer("Sub", "difference", sides)
        bits = region.layer("Mul", "unlike", [difference, difference])
        if op == "BitwiseOr":
            bits = region.layer("Add", "either", [bits, region.layer("Mul", "both", sides)])
    rank = max(rank or 0 for rank in ranks)
    weighted = region.layer("Mul", "weighted", [bits, powers])
    total = _layers.reduce(region, "ReduceSum", "total", weighted, [rank], keepdims=False)
    region.replace(_layers.cast(region, "narrow", total, dtype))
    return None


def _bits(region: Region, slot: int, powers: gs.Constant, rank: int, dtype: int) -> gs.Variable:
    """The bits of an input, 0 or 1 in int64, along a new last axis."""
    wide = _layers.cast(region, f"wide{slot}", region.node.inputs[slot], _T.INT64)
    if dtype in _SIGNED:  # two's complement
        zero, modulus = (
            region.constant(f"zero{slot}", np.array(0, np.int64)),
            region.constant(f"modulus{slot}", np.array(2 ** _BITS[dtype], np.int64)),
        )
        below = region.layer("Less", f"negative{slot}", [wide, zero])
        wide = region.layer("Where", f"unsigned{slot}", [below, region.layer("Add", f"wrapped{slot}", [wide, modulus]), wide])
    shifted = region.layer("Div", f"shifted{slot}", [_layers.unsqueeze(region, f"column{slot}", wide, [rank]), powers])
    two = region.constant(f"two{slot}", np.array(2, np.int64))
    half = region.layer("Div", f"half{slot}", [shifted, two])
    return region.layer("Sub", f"bits{slot}", [shifted, region.layer("Mul", f"even{slot}", [half, two])])


def shift(region: Region, low: int) -> Decline | None:
    """BitShift; amounts from 0 to the number of bits."""
    proto, facts = region.proto, region.facts
    dtype = facts.dtype(proto.input[0])
    old = schema_at("BitShift", low)
    unsigned = dtype in _BITS and dtype not in _SIGNED
    if dtype not in _BITS or (old is not None and unsigned):
        return _general.lower(region, low)
    amounts = facts.constant(proto.input[1])
    if amounts is None:
        return Decline("the amounts of BitShift are computed at run time")
    if _BITS[dtype] == 64 and dtype not in _SIGNED:
        return Decline("BitShift on UINT64: no type is wide enough")
    bits = _BITS[dtype]
    far = (amounts.astype(object) < 0) | (amounts.astype(object) >= bits)
    left = _general.attribute(region, "direction", "LEFT") == "LEFT"
    if bits == 64 and (far.any() or left or (amounts >= 63).any()):
        return Decline("BitShift on INT64 to the left, or by all bits")
    steps = np.where(far, bits, amounts).astype(np.int64)
    wide = _layers.cast(region, "wide", region.node.inputs[0], _T.INT64)
    powers = region.constant("powers", 2**steps)
    if left:
        # bits beyond the type's own are cut by the Cast back; at most 63 of them are made
        made = region.layer("Mul", "shifted", [wide, powers])
        if bits == 32 and (steps >= 32).any():
            keep = region.constant("keep", np.where(steps >= 32, 0, 1).astype(np.int64))
            made = region.layer("Mul", "kept", [made, keep])
    else:
        made = _floor_div(region, wide, powers) if dtype in _SIGNED else region.layer("Div", "shifted", [wide, powers])
    region.replace(_layers.cast(region, "narrow", made, dtype))
    return None


def _floor_div(region: Region, wide: gs.Variable, powers: gs.Constant) -> gs.Variable:
    """Division rounding down: of negative numbers -1 - ((-1 - x) / p), as Div rounds towards zero."""
    ones = region.constant("ones", np.array(-1, np.int64))
    zero = region.constant("zero", np.array(0, np.int64))
    down = region.layer("Div", "down", [region.layer("Sub", "flipped", [ones, wide]), powers])
    negative = region.layer("Less", "negative", [wide, zero])
    return region.layer(
        "Where",
        "shifted",
        [negative, region.layer("Sub", "back", [ones, down]), region.layer("Div", "plain", [wide, powers])],
    )
