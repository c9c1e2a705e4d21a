"""Random programs of shape arithmetic, run by onnxruntime and compared with what the facts say symbolically."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import TensorProto, helper

from onnxfix.model.dims import Poly
from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxfix.model.dims import Names, Number

DIMS = ("h", "w", "n")
LARGEST = 40
# Dimensions times coefficients stay far below what float32 holds exactly.
LIMIT = 2**21


@dataclass(frozen=True)
class Value:
    """A value of a program: its name, element type, shape, a bound of its size, and whether it is never below 1."""

    name: str
    dtype: int
    shape: tuple[int, ...]
    bound: int
    positive: bool = False

    @property
    def is_int(self) -> bool:
        return self.dtype in (TensorProto.INT64, TensorProto.INT32)


@dataclass(repr=False)
class Program:
    """A graph under construction; `x` is float[h, w, 3, n]."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    tensors: list[onnx.TensorProto] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def constant(self, numbers: Any, dtype: int) -> str:
        name = f"c{len(self.tensors)}"
        array = np.array(numbers, helper.tensor_dtype_to_np_dtype(dtype))
        self.tensors.append(onnx.numpy_helper.from_array(array, name))
        return name

    def add(
        self, op: str, inputs: list[str], dtype: int, shape: tuple[int, ...], bound: int, positive: bool = False, **attrs: Any
    ) -> Value:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attrs))
        value = Value(name, dtype, shape, bound, positive)
        self.values.append(value)
        return value

    def __repr__(self) -> str:
        return str(onnx.printer.to_text(self.model()))

    def model(self) -> onnx.ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["h", "w", 3, "n"])
        outputs = [onnx.ValueInfoProto(name=value.name) for value in self.values]
        for value, info in zip(self.values, outputs, strict=True):
            info.type.tensor_type.elem_type = value.dtype
        graph = helper.make_graph(self.nodes, "program", [x], outputs, self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def sliced_length(size: int, start: int, end: int, step: int) -> int:
    """The length of a Slice's result, as ONNX's specification clamps starts and ends."""
    low, high = (0, size) if step > 0 else (0, size - 1)
    start = min(max(start + size if start < 0 else start, low), high)
    end = end + size if end < 0 else end
    end = min(max(end, 0), size) if step > 0 else min(max(end, -1), size - 1)
    return max(0, -((start - end) // step) if step > 0 else -((end - start) // -step))


def _pick(draw: Any, program: Program, allowed: Callable[[Value], bool]) -> Value | None:
    found = [value for value in program.values if allowed(value)]
    return draw(st.sampled_from(found)) if found else None


def _broadcast(a: Value, b: Value) -> tuple[int, ...] | None:
    try:
        return tuple(np.broadcast_shapes(a.shape, b.shape))
    except ValueError:
        return None


def step(draw: Any, program: Program) -> None:
    """Add one random node; where the draw does not fit what is there, add nothing."""
    kind = draw(st.sampled_from(sorted(_STEPS)))
    _STEPS[kind](draw, program)


def _gather(draw: Any, program: Program) -> None:
    data = _pick(draw, program, lambda value: value.is_int and len(value.shape) == 1 and value.shape[0] > 0)
    if data is None:
        return
    size = data.shape[0]
    index = st.integers(-size, size - 1)
    numbers = draw(st.one_of(index, st.lists(index, min_size=1, max_size=3)))
    indices = program.constant(numbers, TensorProto.INT64)
    program.add("Gather", [data.name, indices], data.dtype, np.shape(numbers), data.bound, data.positive, axis=0)


def _slice(draw: Any, program: Program) -> None:
    data = _pick(draw, program, lambda value: value.is_int and len(value.shape) == 1)
    if data is None:
        return
    size = data.shape[0]
    bound = st.integers(-size - 2, size + 2) | st.sampled_from([2**31 - 1, 2**63 - 1, -(2**31), -(2**63) + 1])
    start, end, by = draw(bound), draw(bound), draw(st.sampled_from([1, 1, 2, -1, -2]))
    if size == 0 or (by < 0 and end >= 2**31 - 1):  # backwards "to the end" is read in two ways
        return
    names = [program.constant([number], TensorProto.INT64) for number in (start, end, 0, by)]
    length = sliced_length(size, start, end, by)
    program.add("Slice", [data.name, *names], data.dtype, (length,), data.bound, data.positive)


def _arithmetic(op: str) -> Callable[[Any, Program], None]:
    def add(draw: Any, program: Program) -> None:
        a = _pick(draw, program, lambda value: value.dtype in (TensorProto.INT64, TensorProto.FLOAT))
        if a is None:
            return
        if draw(st.booleans()):
            number = draw(st.integers(-9, 9)) if a.is_int else draw(st.sampled_from([0.5, 2.0, 8.0, -1.0, 0.7, 3.0, -0.25, 1e-3]))
            b: Value | None = Value(program.constant(number, a.dtype), a.dtype, (), 9)
        else:
            b = _pick(draw, program, lambda value: value.dtype == a.dtype)
        assert b is not None
        shape = _broadcast(a, b)
        bound = a.bound * b.bound if op == "Mul" else a.bound + b.bound
        if shape is None or bound > LIMIT:
            return
        pair = [a.name, b.name] if draw(st.booleans()) else [b.name, a.name]
        program.add(op, pair, a.dtype, shape, bound, op != "Sub" and a.positive and b.positive)

    return add


def _divide(draw: Any, program: Program) -> None:
    a = _pick(draw, program, lambda value: value.dtype in (TensorProto.INT64, TensorProto.FLOAT))
    if a is None:
        return
    if draw(st.booleans()):
        choices = [1, 2, 3, 8, -2, -3] if a.is_int else [2.0, 3.0, 0.5, -4.0, 0.3]
        b: Value | None = Value(program.constant(draw(st.sampled_from(choices)), a.dtype), a.dtype, (), 9)
    else:
        b = _pick(draw, program, lambda value: value.dtype == a.dtype and value.positive)
    if b is None or (shape := _broadcast(a, b)) is None or a.bound * 4 > LIMIT:
        return
    program.add("Div", [a.name, b.name], a.dtype, shape, a.bound * 4)


def _cast(draw: Any, program: Program) -> None:
    data = _pick(draw, program, lambda value: True)
    if data is None:
        return
    to = draw(st.sampled_from([TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT, TensorProto.BOOL]))
    keeps = data.positive and data.is_int and to != TensorProto.BOOL
    program.add("Cast", [data.name], to, data.shape, data.bound, keeps, to=to)


def _unary(op: str, *dtypes: int) -> Callable[[Any, Program], None]:
    def add(draw: Any, program: Program) -> None:
        data = _pick(draw, program, lambda value: value.dtype in dtypes)
        if data is not None:
            program.add(op, [data.name], data.dtype, data.shape, data.bound)

    return add


def _extreme(op: str) -> Callable[[Any, Program], None]:
    def add(draw: Any, program: Program) -> None:
        a = _pick(draw, program, lambda value: value.dtype in (TensorProto.INT64, TensorProto.FLOAT))
        if a is None:
            return
        b = _pick(draw, program, lambda value: value.dtype == a.dtype)
        assert b is not None
        shape = _broadcast(a, b)
        if shape is not None:
            program.add(op, [a.name, b.name], a.dtype, shape, max(a.bound, b.bound), a.positive and b.positive)

    return add


def _compare(op: str) -> Callable[[Any, Program], None]:
    def add(draw: Any, program: Program) -> None:
        a = _pick(draw, program, lambda value: value.dtype == TensorProto.INT64)
        if a is None:
            return
        if draw(st.booleans()):
            b: Value | None = Value(program.constant(draw(st.integers(-2, 6)), a.dtype), a.dtype, (), 9)
        else:
            b = _pick(draw, program, lambda value: value.dtype == a.dtype)
        assert b is not None
        shape = _broadcast(a, b)
        if shape is not None:
            program.add(op, [a.name, b.name], TensorProto.BOOL, shape, 1)

    return add


def _where(draw: Any, program: Program) -> None:
    condition = _pick(draw, program, lambda value: value.dtype == TensorProto.BOOL)
    a = _pick(draw, program, lambda value: value.dtype == TensorProto.INT64)
    b = _pick(draw, program, lambda value: value.dtype == TensorProto.INT64)
    if condition is None or a is None or b is None:
        return
    try:
        shape = tuple(np.broadcast_shapes(condition.shape, a.shape, b.shape))
    except ValueError:
        return
    program.add("Where", [condition.name, a.name, b.name], a.dtype, shape, max(a.bound, b.bound), a.positive and b.positive)


def _unsqueeze(draw: Any, program: Program) -> None:
    data = _pick(draw, program, lambda value: value.is_int and not value.shape)
    if data is not None:
        axes = program.constant([draw(st.sampled_from([0, -1]))], TensorProto.INT64)
        program.add("Unsqueeze", [data.name, axes], data.dtype, (1,), data.bound, data.positive)


def _squeeze(draw: Any, program: Program) -> None:
    data = _pick(draw, program, lambda value: value.is_int and value.shape == (1,))
    if data is not None:
        axes = [program.constant([0], TensorProto.INT64)] if draw(st.booleans()) else []
        program.add("Squeeze", [data.name, *axes], data.dtype, (), data.bound, data.positive)


def _concat(draw: Any, program: Program) -> None:
    parts = [_pick(draw, program, lambda value: value.dtype == TensorProto.INT64 and len(value.shape) == 1) for _ in range(2)]
    if parts[0] is None or parts[1] is None:
        return
    shape = (parts[0].shape[0] + parts[1].shape[0],)
    if shape[0] <= 8:
        positive = all(part is not None and part.positive for part in parts)
        names = [part.name for part in parts if part is not None]
        program.add("Concat", names, TensorProto.INT64, shape, max(parts[0].bound, parts[1].bound), positive, axis=0)


def _reduce(op: str) -> Callable[[Any, Program], None]:
    def add(draw: Any, program: Program) -> None:
        data = _pick(draw, program, lambda value: value.dtype == TensorProto.INT64 and len(value.shape) == 1 and value.shape[0] > 0)
        if data is None:
            return
        bound = data.bound * data.shape[0] if op == "ReduceSum" else data.bound ** data.shape[0]
        if bound > LIMIT:
            return
        keep = draw(st.integers(0, 1))
        if op == "ReduceSum":
            axes = [program.constant([0], TensorProto.INT64)] if draw(st.booleans()) else []
            program.add(op, [data.name, *axes], data.dtype, (1,) * keep, bound, data.positive, keepdims=keep)
        else:
            program.add(op, [data.name], data.dtype, (1,) * keep, bound, data.positive, keepdims=keep)

    return add


def _reshape(draw: Any, program: Program) -> None:
    data = _pick(draw, program, lambda value: value.is_int and len(value.shape) == 1 and value.shape[0] > 0)
    if data is not None:
        shape = draw(st.sampled_from([(-1,), (0,), (1, -1), (-1, 1)]))
        target = program.constant(shape, TensorProto.INT64)
        flat = len(shape) == 1
        first = program.add("Reshape", [data.name, target], data.dtype, data.shape if flat else (), data.bound, data.positive)
        if not flat:
            program.values.pop()
            size = data.shape[0]
            program.values.append(
                Value(first.name, data.dtype, (1, size) if shape[0] == 1 else (size, 1), data.bound, data.positive)
            )


_NUMERIC = (TensorProto.INT64, TensorProto.FLOAT)
_STEPS: dict[str, Callable[[Any, Program], None]] = {
    "Add": _arithmetic("Add"),
    "Cast": _cast,
    "Ceil": _unary("Ceil", TensorProto.FLOAT),
    "Concat": _concat,
    "Div": _divide,
    "Equal": _compare("Equal"),
    "Floor": _unary("Floor", TensorProto.FLOAT),
    "Gather": _gather,
    "Greater": _compare("Greater"),
    "Less": _compare("Less"),
    "Max": _extreme("Max"),
    "Min": _extreme("Min"),
    "Mul": _arithmetic("Mul"),
    "Neg": _unary("Neg", *_NUMERIC),
    "Not": _unary("Not", TensorProto.BOOL),
    "ReduceProd": _reduce("ReduceProd"),
    "ReduceSum": _reduce("ReduceSum"),
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _arithmetic("Sub"),
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}


@st.composite
def programs(draw: Any) -> Program:
    """A program of up to 14 nodes behind `Shape(x)` and one Gather for each dimension."""
    program = Program()
    program.add("Shape", ["x"], TensorProto.INT64, (4,), LARGEST, positive=True)
    for axis in (0, 1, 3):
        index = program.constant(axis, TensorProto.INT64)
        program.add("Gather", ["v0", index], TensorProto.INT64, (), LARGEST, positive=True, axis=0)
    if draw(st.booleans()):
        program.add("Cast", ["v1"], TensorProto.FLOAT, (), LARGEST, positive=True, to=TensorProto.FLOAT)
        program.add("Cast", ["v2"], TensorProto.FLOAT, (), LARGEST, positive=True, to=TensorProto.FLOAT)
    for _ in range(draw(st.integers(1, 14))):
        step(draw, program)
    return program


def facts_of(model: onnx.ModelProto) -> tuple[Facts, Any]:
    view = ModelView(model)
    facts = Facts(view)
    return facts, facts.of(view.main)


def value_at(number: Number, binding: dict[str, int], names: Names) -> Fraction:
    """What a symbolic number is where the dimensions have the sizes of `binding`."""
    if not isinstance(number, Poly):
        return Fraction(number)
    made = {name: key for key, name in names._known.items()}
    total = Fraction(0)
    for monomial, coefficient in number.terms.items():
        term = Fraction(coefficient)
        for name, power in monomial:
            base = Fraction(binding[name]) if name in binding else _opaque_at(made[name], binding, names)
            term *= base**power
        total += term
    return total


def _opaque_at(key: tuple[Any, ...], binding: dict[str, int], names: Names) -> Fraction:
    kind, *args = key
    given = [value_at(arg, binding, names) for arg in args]
    if kind == "floor":
        return Fraction(given[0].numerator // given[0].denominator)
    if kind == "min":
        return min(given)
    if kind == "max":
        return max(given)
    if kind == "div":
        quotient = abs(given[0]) // abs(given[1])
        return Fraction(quotient if (given[0] < 0) == (given[1] < 0) else -quotient)
    assert kind == "fdiv32", kind
    return Fraction(float(np.float32(float(given[0])) / np.float32(float(given[1]))))
