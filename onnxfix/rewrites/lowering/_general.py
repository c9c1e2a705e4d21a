"""The general rule: which nodes may stay as they are in an older opset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx

from onnxfix.model.opsets import schema_at, schema_of
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _types

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region

# Versions at which an operator began to mean something else for the same attributes and inputs (changelog of onnx/defs).
# Crossing one of them downwards needs a file of its own in this package, or declines.
CHANGED_MEANING: dict[str, tuple[int, ...]] = {
    "BatchNormalization": (7, 9, 14, 15),
    "Dropout": (7, 12),
    "GroupNormalization": (21,),
    "Hardmax": (13,),
    "LogSoftmax": (13,),
    "Reshape": (14,),
    "Resize": (11, 13, 18, 19),
    "RoiAlign": (16,),
    "Scan": (9,),
    "Softmax": (13,),
    "Split": (18,),
    "TopK": (10, 11),
    "Upsample": (7, 9, 10),
}


def foreign_attribute(region: Region) -> Decline | None:
    """The region's node has an attribute that its operator has not, such as one of an older form: what it means is a guess."""
    proto = region.proto
    schema = None if proto.domain else schema_of(proto.op_type, region.opset)
    if schema is None:
        return None
    extra = next((item.name for item in proto.attribute if item.name not in schema.attributes), None)
    return None if extra is None else Decline(f"{proto.op_type} has no attribute {extra} in opset {region.opset}")


def is_same(op: str, high: int, low: int) -> bool:
    """True where nothing about the operator changed between the two opsets."""
    new, old = schema_at(op, high), schema_at(op, low)
    return new is not None and old is not None and new.since_version == old.since_version


def means_the_same(node: onnx.NodeProto, low: int, high: int) -> bool:
    """True where a node that is right in opset `low` is so in the newer `high`, and nothing about it changed."""
    if is_same(node.op_type, low, high):
        return True
    old, new = schema_at(node.op_type, low), schema_at(node.op_type, high)
    if old is None or new is None:
        return False
    legal = all(attribute.name in new.attributes for attribute in node.attribute)
    legal = legal and new.min_input <= len(node.input) <= new.max_input and len(node.output) <= new.max_output
    # Reshape of opset 14 means something else only where it says allowzero, which no older node does
    changed = () if node.op_type == "Reshape" else CHANGED_MEANING.get(node.op_type, ())
    return legal and not any(old.since_version < version <= new.since_version for version in changed)


def lower(region: Region, low: int) -> Decline | None:
    """Check, and edit where a default must be dropped or an axis counted from the front."""
    op = region.proto.op_type
    new, old = schema_at(op, region.opset), schema_at(op, low)
    if new is None:
        return Decline(f"{op} does not exist in the model's own opset {region.opset}")
    if old is None:
        return Decline(f"{op} does not exist in opset {low}")
    if any(old.since_version < version <= new.since_version for version in CHANGED_MEANING.get(op, ())):
        return Decline(f"{op} means something else in opset {low}")
    given = max((slot for slot, name in enumerate(region.proto.input, 1) if name), default=0)
    if given < len(region.proto.input) and len(region.proto.input) > old.max_input:
        del region.edited.input[given:]
    if not old.min_input <= given <= old.max_input:
        return Decline(f"{op} takes {old.min_input} to {old.max_input} inputs in opset {low}, not {given}")
    if len(region.proto.output) > old.max_output:
        return Decline(f"{op} gives {old.max_output} outputs in opset {low}")
    declined = _attributes(region, new, old, low) or _axes(region, low)
    if declined is not None:
        return declined
    wrong_type = _wrong_type(region, old, low)
    return None if wrong_type is None else _types.widen(region, old, wrong_type)


def types(region: Region, low: int) -> Decline | None:
    """Put Casts around the node where the older opset takes other element types alone."""
    old = schema_at(region.proto.op_type, low)
    if old is None:
        return Decline(f"{region.proto.op_type} does not exist in opset {low}")
    wrong_type = _wrong_type(region, old, low)
    return None if wrong_type is None else _types.widen(region, old, wrong_type)


def _attributes(region: Region, new: onnx.defs.OpSchema, old: onnx.defs.OpSchema, low: int) -> Decline | None:
    given = list(region.proto.attribute)
    for item in given:
        if item.name in old.attributes:
            continue
        known = new.attributes.get(item.name)
        default = known.default_value if known is not None else None
        # the schema gives no default where its length depends on the rank
        neutral = item.name == "dilations" and all(entry == 1 for entry in item.ints)
        if not neutral and (default is None or not default.name or not _equal(item, default)):
            return Decline(f"{region.proto.op_type} has no attribute {item.name} in opset {low}")
        drop_attribute(region, item.name)
    for name, known in old.attributes.items():
        if known.required and not any(item.name == name for item in given):
            return Decline(f"{region.proto.op_type} needs attribute {name} in opset {low}")
    return None


def _equal(left: onnx.AttributeProto, right: onnx.AttributeProto) -> bool:
    return bool(onnx.helper.get_attribute_value(left) == onnx.helper.get_attribute_value(right))


def attribute(region: Region, name: str, default: Any = None) -> Any:
    """The value of an attribute of the node (strings decoded, lists as lists), or `default`."""
    for item in region.proto.attribute:
        if item.name == name:
            value = onnx.helper.get_attribute_value(item)
            return value.decode() if isinstance(value, bytes) else value
    return default


def drop_attribute(region: Region, name: str) -> None:
    """Remove an attribute from the edited node."""
    for index, attribute in enumerate(region.edited.attribute):
        if attribute.name == name:
            del region.edited.attribute[index]
            return


def set_attribute(region: Region, name: str, value: object) -> None:
    """Set an attribute of the edited node; an empty list is one of integers."""
    drop_attribute(region, name)
    kind = onnx.AttributeProto.INTS if value == [] else None
    region.edited.attribute.append(onnx.helper.make_attribute(name, value, attr_type=kind))


def _axes(region: Region, low: int) -> Decline | None:
    """Axes may be negative from opset 11 on; below they count from the front.

    Gather takes negative axes in every opset, and of a constant they tell an importer with an implicit batch which axis is meant.
    """
    if low >= 11 or region.opset < 11:
        return None
    if region.proto.op_type == "Gather" and region.facts.is_constant(region.proto.input[0]):
        return None
    for attribute in region.proto.attribute:
        if attribute.name not in ("axis", "axes"):
            continue
        given = list(attribute.ints) if attribute.name == "axes" else [attribute.i]
        if min(given, default=0) >= 0:
            continue
        rank = region.facts.rank(region.proto.input[0])
        if region.proto.op_type in ("Unsqueeze", "OneHot") and rank is not None:
            rank += len(given)  # they count in the result
        if rank is None:
            return Decline(f"{attribute.name} is negative and the rank of the data unknown")
        counted = [axis % rank for axis in given]
        set_attribute(region, attribute.name, counted if attribute.name == "axes" else counted[0])
    return None


def type_word(dtype: int) -> str:
    """A TensorProto.DataType as schemas write it, such as `float`."""
    return _types.TYPE_WORDS.get(dtype, "?")


def _wrong_type(region: Region, old: onnx.defs.OpSchema, low: int) -> Decline | None:
    allowed = {constraint.type_param_str: set(constraint.allowed_type_strs) for constraint in old.type_constraints}
    for verb, names, formals in (("take", region.proto.input, old.inputs), ("give", region.proto.output, old.outputs)):
        for position, name in enumerate(names):
            dtype = region.facts.dtype(name) if name else 0
            if not dtype or not formals:
                continue
            formal = formals[min(position, len(formals) - 1)]
            kinds = allowed.get(formal.type_str, {formal.type_str})
            word = type_word(dtype)
            if f"tensor({word})" not in kinds:
                return Decline(f"{region.proto.op_type} does not {verb} {word} in opset {low}")
    return None
