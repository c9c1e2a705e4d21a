"""Cast and CastLike: saturate and round_mode matter for types of 8 bits and less alone; CastLike (from opset 15) is a Cast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.model.opsets import schema_at
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

_PREFIXES = ("FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2")
_SMALL = tuple(value for name, value in onnx.TensorProto.DataType.items() if name.startswith(_PREFIXES))


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    to = _general.attribute(region, "to")
    if proto.op_type == "CastLike":
        if low >= 15:
            return _general.lower(region, low)
        to = facts.dtype(proto.input[1])
        if not to:
            return Decline("the element type that CastLike casts to is unknown")
        region.edited.op_type = "Cast"
        del region.edited.input[1:]
        _general.set_attribute(region, "to", to)
    if to in _SMALL or facts.dtype(proto.input[0]) in _SMALL:
        region.forget_edits()
        return _general.lower(region, low)
    for name in ("saturate", "round_mode"):
        if low < 24 or name == "saturate":
            _general.drop_attribute(region, name)
    return _taken(region, int(to), low)


def _taken(region: Region, to: int, low: int) -> Decline | None:
    old = schema_at("Cast", low)
    assert old is not None
    kinds = {constraint.type_param_str: constraint.allowed_type_strs for constraint in old.type_constraints}
    for letter, dtype in (("T1", region.facts.dtype(region.proto.input[0])), ("T2", to)):
        word = _general.type_word(dtype)
        if dtype and f"tensor({word})" not in kinds[letter]:
            return Decline(f"Cast does not know {word} in opset {low}")
    return None
