"""Writing one node of opset 1 to 6 in opset 7, where element-wise operators broadcast as numpy does.

Before, `broadcast` and `axis` said where the axes of the second input lie; it gets axes of extent 1 behind them. `consumed_inputs`,
which meant memory to reuse, goes. Source: changelog of onnx/defs, opsets 1 to 7.
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
    from collections.abc import Callable

    from onnxfix.rewrites._region import Region

HIGHEST = 7
_BROADCAST = ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor")
# Attributes of old that say nothing about the result: inputs to overwrite, and whether an output is wanted.
_IDLE = ("consumed_inputs", "output_sequence")


def raise_node(region: Region, high: int) -> Decline | None:
    """Edit the region's node into its form in opset `high`; untouched where it stays."""
    op = region.proto.op_type
    if _general.is_same(op, region.opset, high):
        return None
    if high > HIGHEST:
        return Decline(f"nodes are raised to opset {HIGHEST} at most")
    new = schema_at(op, high)
    if new is None:
        return Decline(f"{op} does not exist in opset {high}")
    for name in _IDLE:
        if _general.attribute(region, name, None) is not None:
            _general.drop_attribute(region, name)
    own = RAISINGS.get(op)
    declined = None if own is None else own(region)
    if declined is not None or region.is_replaced:
        return declined
    node = region.edited if region.is_edited else region.proto
    given = {attribute.name for attribute in node.attribute}
    extra = given - set(new.attributes)
    missing = [name for name, known in new.attributes.items() if known.required and name not in given]
    if extra or missing:
        return Decline(f"{op} {'has no' if extra else 'needs'} attribute {min(extra or missing)} in opset {high}")
    if not new.min_input <= len(node.input) <= new.max_input or len(node.output) > new.max_output:
        return Decline(f"{op} takes {new.min_input} to {new.max_input} inputs in opset {high}")
    return None


def _broadcast(region: Region) -> Decline | None:
    """The second input is aligned at `axis` of the first, by default at its last axes."""
    first, second = region.proto.input
    axis = _general.attribute(region, "axis", None)
    spread = _general.attribute(region, "broadcast", 0)
    for name in ("axis", "broadcast"):
        _general.drop_attribute(region, name)
    if not spread or axis is None:
        return None
    ranks = region.facts.rank(first), region.facts.rank(second)
    if ranks[0] is None or ranks[1] is None:
        return Decline("axis is given and the rank of the data unknown")
    behind = ranks[0] - axis % ranks[0] - ranks[1]
    return _with_axes(region, ranks[1], behind)


def _with_axes(region: Region, rank: int, behind: int) -> Decline | None:
    """Give the second input so many axes of extent 1 behind its own."""
    if behind < 0:
        return Decline("the second input reaches beyond the axes of the first")
    if not behind:
        return None
    array = region.facts.constant(region.proto.input[1])
    if array is not None:
        region.set_input(1, "aligned", array.reshape(*array.shape, *[1] * behind))
        return None
    kept = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in region.edited.attribute}
    region.forget_edits()
    inputs = list(region.node.inputs)
    inputs[1] = _layers.unsqueeze(region, "aligned", inputs[1], list(range(rank, rank + behind)))
    region.replace(region.layer(region.proto.op_type, "raised", inputs, **kept))
    return None


def _prelu(region: Region) -> Decline | None:
    """One slope for all, or one for each channel of axis 1."""
    ranks = [region.facts.rank(name) for name in region.proto.input]
    shape = region.facts.static_shape(region.proto.input[1])
    if ranks[0] is None or shape is None:
        return Decline("the rank of the data or the shape of the slope is unknown")
    return None if np.prod(shape) == 1 or len(shape) != 1 else _with_axes(region, 1, ranks[0] - 2)


def _inference(region: Region) -> Decline | None:
    """BatchNormalization and Dropout: is_test said that nothing is trained."""
    if not _general.attribute(region, "is_test", 0):
        return Decline(f"{region.proto.op_type} trains, as is_test is not set")
    if any(region.proto.output[1:]):
        return Decline(f"{region.proto.op_type} gives more than its first output")
    _general.drop_attribute(region, "is_test")
    del region.edited.output[1:]
    return None


def _gemm(region: Region) -> None:
    _general.drop_attribute(region, "broadcast")


def _upsample(region: Region) -> Decline | None:
    if _general.attribute(region, "scales", None) is not None:
        return None
    scales = [_general.attribute(region, f"{side}_scale", 1.0) for side in ("height", "width")]
    for side in ("height", "width"):
        _general.drop_attribute(region, f"{side}_scale")
    _general.set_attribute(region, "scales", [1.0, 1.0, *scales])
    return None


def _reshape(region: Region) -> Decline | None:
    shape = _general.attribute(region, "shape", None)
    if shape is not None:
        region.set_input(1, "shape", np.array(shape, np.int64))
        _general.drop_attribute(region, "shape")
    return None


def _concat(region: Region) -> None:
    if _general.attribute(region, "axis", None) is None:
        _general.set_attribute(region, "axis", 1)


def _cast(region: Region) -> Decline | None:
    to = _general.attribute(region, "to", None)
    if isinstance(to, str):
        known = dict(onnx.TensorProto.DataType.items())
        if to not in known:
            return Decline(f"Cast to {to!r}")
        _general.set_attribute(region, "to", known[to])
    return None


def _pad(region: Region) -> None:
    pads = _general.attribute(region, "paddings", None)
    if pads is not None:
        _general.drop_attribute(region, "paddings")
        _general.set_attribute(region, "pads", list(pads))


RAISINGS: dict[str, Callable[[Region], Decline | None]] = {
    **dict.fromkeys(_BROADCAST, _broadcast),
    "BatchNormalization": _inference,
    "Cast": _cast,
    "Concat": _concat,
    "Dropout": _inference,
    "Gemm": _gemm,
    "PRelu": _prelu,
    "Pad": _pad,
    "Reshape": _reshape,
    "Upsample": _upsample,
}
