"""Forms of operators on data that has one more axis, of size 1, before all others.

Each form takes a `Lifted` and returns a tensor for every output of the node, with the axis; the elements are those that the node
computes. A value of rank 0 is lifted to two axes, so that an importer with an implicit batch still has one to see.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._layers import reduce, reshape, slice_, split
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region

# fmt: off
SAME = frozenset((
    "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cast", "Ceil", "Clip", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor",
    "HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu",
    "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu",
))
BROADCAST = frozenset((
    "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mul", "Or", "PRelu",
    "Pow", "Sub", "Sum", "Where", "Xor",
))
REDUCTIONS = frozenset((
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare",
))
# fmt: on
SOFTMAXES = ("Hardmax", "LogSoftmax", "Softmax")


def lifted_shape(shape: Sequence[int]) -> list[int]:
    """The shape that a value of this shape has with the axis."""
    return [1, *(shape or (1,))]


@dataclass(slots=True)
class Lifted:
    """One node whose data is lifted.

    Attributes:
        region: of the node.
        facts: of its scope; every shape is static.
        made: names of lifted values by the names of the values.
    """

    region: Region
    facts: ScopeFacts
    made: dict[str, str]
    _here: dict[str, gs.Tensor] = field(default_factory=dict)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a value without the axis."""
        shape = self.facts.static_shape(name)
        assert shape is not None
        return shape

    def axis(self, value: int, rank: int | None = None) -> int:
        """An axis of input 0 as one of the lifted data."""
        return value % (rank or len(self.shape(self.region.proto.input[0])) or 1) + 1

    def attribute(self, name: str, default: int) -> int:
        """An integer attribute."""
        value = self.region.node.attrs.get(name)
        return default if value is None else int(value)

    def source(self, slot: int) -> gs.Tensor:
        """Input `slot`, with the axis only where it has been made: what only its elements matter of."""
        name = self.region.proto.input[slot]
        return self.region.outer(self.made[name]) if name in self.made else self.region.node.inputs[slot]

    def operand(self, slot: int, rank: int = 0) -> gs.Tensor:
        """Input `slot` with the axis, and ones behind it up to `rank` axes besides; a constant as it is."""
        name = self.region.proto.input[slot]
        if not name or self.facts.is_constant(name):
            return self.region.node.inputs[slot]
        shape = self.shape(name)
        wanted = [1] * (1 + max(rank - len(shape), 0)) + list(shape) if rank else lifted_shape(shape)
        if len(wanted) == len(lifted_shape(shape)):
            if name in self._here:
                return self._here[name]
            if name in self.made:
                return self.region.outer(self.made[name])
        tensor = reshape(self.region, f"lifted_{slot}", self.source(slot), wanted)
        if len(wanted) == len(lifted_shape(shape)):
            self._here[name] = tensor
            self.made[name] = tensor.name
        return tensor


def _layer(node: Lifted, inputs: Sequence[gs.Tensor], **changed: object) -> list[gs.Variable]:
    """The node itself on other inputs, with some attributes changed."""
    attrs = {**node.region.node.attrs, **changed}
    roles = [f"lifted_output_{number}" if number else "lifted" for number in range(len(node.region.proto.output))]
    return node.region.layers(node.region.proto.op_type, roles, inputs, **attrs)


def _same(node: Lifted) -> list[gs.Variable] | Decline:
    if not all(node.facts.is_constant(name) for name in node.region.proto.input[1:] if name):
        return Decline(f"the bounds of {node.region.proto.op_type} are computed at run time")
    return _layer(node, [node.operand(0), *node.region.node.inputs[1:]])


def _broadcast(node: Lifted) -> list[gs.Variable]:
    rank = len(node.shape(node.region.proto.output[0])) or 1
    return _layer(node, [node.operand(slot, rank) for slot in range(len(node.region.proto.input))])


def _matmul(node: Lifted) -> list[gs.Variable] | Decline:
    """A constant gets as many axes as the data has without the new one: beside an implicit batch any other number is misread."""
    names = node.region.proto.input
    ranks = [len(node.shape(name)) for name in names]
    if min(ranks) < 2:
        return Decline("a factor of MatMul has less than two axes")
    factors = []
    for slot, name in enumerate(names):
        if not node.facts.is_constant(name) or ranks[slot] == max(ranks):
            factors.append(node.operand(slot, max(ranks)))
            continue
        array = node.facts.constant(name)
        if array is None:
            return Decline("a factor of MatMul cannot be read")
        shape = [1] * (max(ranks) - array.ndim) + list(array.shape)
        factors.append(node.region.constant(f"factor_{slot}", array.reshape(shape)))
    return _layer(node, factors)


def _gemm(node: Lifted) -> list[gs.Variable] | Decline:
    region, facts = node.region, node.facts
    proto = region.proto
    factors: list[gs.Tensor] = []
    for slot, attribute in enumerate(("transA", "transB")):
        turned = bool(node.attribute(attribute, 0))
        if not facts.is_constant(proto.input[slot]):
            tensor = node.operand(slot)
            factors.append(region.layer("Transpose", f"turned_{slot}", [tensor], perm=[0, 2, 1]) if turned else tensor)
            continue
        array = facts.constant(proto.input[slot])
        if array is None:
            return Decline("a factor of Gemm cannot be read")
        factors.append(region.constant(f"factor_{slot}", array.T if turned else array))
    made = region.layer("MatMul", "product", factors)
    kind = np.dtype(node.region.node.inputs[0].dtype or np.float32)
    for name, value in (("alpha", region.node.attrs.get("alpha")), ("beta", region.node.attrs.get("beta"))):
        if value is not None and float(value) != 1 and (name == "alpha" or len(proto.input) > 2):
            if name == "beta":
                return Decline("Gemm scales its bias")
            made = region.layer("Mul", "scaled", [made, region.constant("alpha", np.array([value], kind))])
    if len(proto.input) > 2 and proto.input[2]:
        made = region.layer("Add", "lifted", [made, node.operand(2, 2)])
    return [made]


def _batch_norm(node: Lifted) -> list[gs.Variable] | Decline:
    region, proto = node.region, node.region.proto
    values = [node.facts.constant(name) for name in proto.input[1:5]]
    if len(proto.output) > 1 or node.attribute("training_mode", 0) or any(value is None for value in values):
        return Decline("BatchNormalization takes its statistics from the data, or gives them")
    kind = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(node.facts.dtype(proto.input[0])))
    gamma, beta, mean, variance = (np.asarray(value, np.float64) for value in values)
    epsilon = region.node.attrs.get("epsilon")
    scale = gamma / np.sqrt(variance + (1e-5 if epsilon is None else float(epsilon)))
    shape = (-1, *[1] * max(len(node.shape(proto.input[0])) - 2, 0))
    factor, shift = (array.astype(kind).reshape(shape) for array in (scale, beta - mean * scale))
    scaled = region.layer("Mul", "scaled", [node.operand(0), region.constant("scale", factor)])
    return [region.layer("Add", "lifted", [scaled, region.constant("shift", shift)])]


def _transpose(node: Lifted) -> list[gs.Variable]:
    rank = len(node.shape(node.region.proto.input[0]))
    perm = node.region.node.attrs.get("perm")
    axes = list(reversed(range(rank))) if perm is None else list(perm)
    return _layer(node, [node.operand(0)], perm=[0, *(axis + 1 for axis in axes)])


def _reshape(node: Lifted) -> list[gs.Variable]:
    return [reshape(node.region, "lifted", node.source(0), lifted_shape(node.shape(node.region.proto.output[0])))]


def _along(node: Lifted) -> list[gs.Variable] | Decline:
    proto = node.region.proto
    if proto.op_type == "Concat":
        parts: list[gs.Tensor] = []
        for slot, name in enumerate(proto.input):
            array = node.facts.constant(name) if node.facts.is_constant(name) else None
            if array is None and node.facts.is_constant(name):
                return Decline("a constant that is joined with data cannot be read")
            given = None if array is None else array.reshape(lifted_shape(array.shape))
            parts.append(node.operand(slot) if given is None else node.region.constant(f"joined_{slot}", given))
        return _layer(node, parts, axis=node.axis(node.attribute("axis", 1)))
    default = -1 if proto.op_type in SOFTMAXES and node.region.opset >= 13 else _DEFAULTS[proto.op_type]
    axis = node.axis(node.attribute("axis", default))
    if proto.op_type in ("ArgMax", "ArgMin"):
        made = _layer(node, [node.operand(0), *node.region.node.inputs[1:]], axis=axis, keepdims=1)
        return made if node.attribute("keepdims", 1) else _as_output(node, made)
    if proto.op_type != "Split":
        return _layer(node, [node.operand(0), *node.region.node.inputs[1:]], axis=axis)
    sizes = [node.shape(name)[axis - 1] for name in proto.output]
    return split(node.region, [f"lifted_{number}" for number in range(len(sizes))], node.operand(0), axis, sizes)


def _as_output(node: Lifted, made: Sequence[gs.Variable]) -> list[gs.Variable]:
    return [reshape(node.region, "lifted_shape", made[0], lifted_shape(node.shape(node.region.proto.output[0])))]


def _reduction(node: Lifted) -> list[gs.Variable] | Decline:
    region, proto = node.region, node.region.proto
    rank = len(node.shape(proto.input[0]))
    given: Sequence[int] | None = region.node.attrs.get("axes")
    if len(proto.input) > 1 and proto.input[1]:
        numbers = node.facts.numbers(proto.input[1])
        if numbers is None:
            return Decline("the axes are computed at run time")
        given = [int(item) for item in numbers]
    if not given and node.attribute("noop_with_empty_axes", 0):
        return Decline("the reduction leaves its data as it is")
    axes = [node.axis(item) for item in given or range(rank)]
    made = reduce(region, proto.op_type, "lifted", node.operand(0), sorted(axes))
    return [made] if node.attribute("keepdims", 1) else _as_output(node, [made])


def _gather(node: Lifted) -> list[gs.Variable] | Decline:
    proto, facts = node.region.proto, node.facts
    if facts.is_constant(proto.input[0]) or facts.constant(proto.input[1]) is None:
        return Decline("the positions of Gather are computed at run time")
    return _layer(node, [node.operand(0), node.region.node.inputs[1]], axis=node.axis(node.attribute("axis", 0)))


def _slice(node: Lifted) -> list[gs.Variable] | Decline:
    region, proto, facts = node.region, node.region.proto, node.facts
    shape = node.shape(proto.input[0])
    parts: dict[str, list[int] | None] = {}
    for slot, name in enumerate(("starts", "ends", "axes", "steps"), 1):
        given = region.node.attrs.get(name)
        if len(proto.input) > slot and proto.input[slot]:
            given = facts.numbers(proto.input[slot])
            if given is None:
                return Decline("the bounds of Slice are computed at run time")
        parts[name] = None if given is None else [int(item) for item in given]
    starts, ends = parts["starts"], parts["ends"]
    if starts is None or ends is None or any(step != 1 for step in parts["steps"] or ()):
        return Decline("Slice takes other steps than 1")
    axes = [item % len(shape) for item in (parts["axes"] if parts["axes"] is not None else range(len(starts)))]
    bounds = [
        [min(max(bound + shape[axis] if bound < 0 else bound, 0), shape[axis]) for bound, axis in zip(which, axes, strict=True)]
        for which in (starts, ends)
    ]
    return [slice_(region, "lifted", node.operand(0), [axis + 1 for axis in axes], *bounds)]


def works_on_batch(facts: ScopeFacts, proto: onnx.NodeProto) -> bool:
    """Whether a node that has a form does something along axis 0 of its data, or changes it."""
    attrs = {item.name: onnx.helper.get_attribute_value(item) for item in proto.attribute}
    rank = len(facts.shape(proto.input[0]) or ()) or 1
    if proto.op_type in SHAPES:
        after = facts.static_shape(proto.output[0]) or ()
        target = facts.numbers(proto.input[1]) if proto.op_type == "Reshape" else None
        return target is None or after[:1] != (1,) or tuple(map(int, target)) != after
    if proto.op_type == "Transpose":
        return bool(attrs.get("perm", range(rank)[::-1])[0] != 0)
    slot = 3 if proto.op_type == "Slice" else 1
    if proto.op_type in REDUCTIONS or proto.op_type == "Slice":
        given = attrs.get("axes")
        if len(proto.input) > slot and proto.input[slot]:
            given = facts.numbers(proto.input[slot])
        return given is None or any(int(axis) % rank == 0 for axis in given)
    return proto.op_type in (*_ALONG, "Gather") and int(attrs.get("axis", _DEFAULTS.get(proto.op_type, 0))) % rank == 0


_DEFAULTS = {"TopK": -1, "ArgMax": 0, "ArgMin": 0, "Split": 0, "LogSoftmax": 1, "Softmax": 1, "Hardmax": 1}
_ALONG = ("ArgMax", "ArgMin", "Concat", "Hardmax", "LogSoftmax", "Softmax", "Split", "TopK")
SHAPES = ("Flatten", "Reshape", "Squeeze", "Unsqueeze")

FORMS: dict[str, Callable[[Lifted], list[gs.Variable] | Decline]] = {
    **dict.fromkeys(SAME, _same),
    **dict.fromkeys(BROADCAST, _broadcast),
    **dict.fromkeys(REDUCTIONS, _reduction),
    **dict.fromkeys(_ALONG, _along),
    **dict.fromkeys(SHAPES, _reshape),
    "BatchNormalization": _batch_norm,
    "Gather": _gather,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Slice": _slice,
    "Transpose": _transpose,
}
