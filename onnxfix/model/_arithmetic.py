"""What shape arithmetic computes: small arrays of numbers and dimension polynomials, operator by operator.

A value is a numpy array of objects, each an int, a Fraction or a Poly. Floating-point values are kept only while they are the
numbers that IEEE arithmetic gives: results on plain numbers are rounded to the element type, and a polynomial is multiplied by
nothing but small multiples of powers of two: `7 * 0.7` is rounded as a runtime rounds it, and `0.7 * h` is no polynomial.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from onnx import TensorProto

from onnxfix.model.dims import Names, Number, Poly, divide

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from onnxfix.model.view import Node

Array: TypeAlias = "np.ndarray[Any, np.dtype[np.object_]]"

MAX_ITEMS = 256
_FLOATS: dict[int, type[np.floating[Any]]] = {
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
    TensorProto.FLOAT16: np.float16,
}
_INTEGERS: set[int] = {
    TensorProto.INT64,
    TensorProto.INT32,
    TensorProto.INT16,
    TensorProto.INT8,
    TensorProto.UINT8,
    TensorProto.UINT16,
    TensorProto.UINT32,
    TensorProto.UINT64,
    TensorProto.BOOL,
}
KINDS: set[int] = set(_FLOATS) | _INTEGERS


class _UnknownError(ValueError):
    """The result has no form in this domain."""


def from_numbers(array: np.ndarray) -> Array | None:
    """The array's elements as exact numbers, or None for infinities, NaN, strings and more than MAX_ITEMS elements."""
    if array.size > MAX_ITEMS or array.dtype.kind not in "iufb":
        return None
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            return None
        items = [_plain(Fraction(float(item))) for item in array.ravel()]
    else:
        items = [int(item) for item in array.ravel()]
    return make(items, array.shape)


def make(items: Sequence[Number], shape: Sequence[int]) -> Array:
    """An object array of the given shape."""
    array: Array = np.empty(len(items), object)
    array[:] = list(items)
    return array.reshape(shape)


def to_numbers(array: Array | None, dtype: int) -> np.ndarray | None:
    """The plain array where every element is a number, else None."""
    if array is None or any(isinstance(item, Poly) for item in array.ravel()):
        return None
    kind: type[np.generic] = _FLOATS.get(dtype) or (np.bool_ if dtype == TensorProto.BOOL else np.int64)
    return np.array([float(item) if dtype in _FLOATS else int(item) for item in array.ravel()], kind).reshape(array.shape)


def _plain(value: Fraction) -> int | Fraction:
    return value.numerator if value.denominator == 1 else value


def _rounded(value: Number, dtype: int) -> Number:
    """The value as the element type holds it; a polynomial must be exact in it."""
    kind = _FLOATS.get(dtype)
    if kind is None:
        return value
    if isinstance(value, Poly):
        for coefficient in value.terms.values():
            exact = Fraction(coefficient)
            if exact.denominator & (exact.denominator - 1) or abs(exact.numerator) > 1024 or exact.denominator > 1024:
                raise _UnknownError
        return value
    with np.errstate(over="ignore"):
        held = float(kind(float(value)))
    if not np.isfinite(held):
        raise _UnknownError
    return _plain(Fraction(held))


def _each(function: Callable[..., Number], *arrays: Array) -> Array:
    broadcast = np.broadcast_arrays(*arrays)
    items = [function(*group) for group in zip(*(array.ravel() for array in broadcast), strict=True)]
    return make(items, broadcast[0].shape)


class Evaluator:
    """Evaluates nodes on symbolic arrays; one for a model, so that equal expressions keep equal names."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def run(self, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array | None:
        """The node's first output, or None where it has no form here.

        `inputs` has None for absent inputs only; `dtype` and `in_dtype` are the element types of output and first input.
        """
        handler = _HANDLERS.get(node.op_type)
        if handler is None or dtype not in KINDS:
            return None
        try:
            result = handler(self, node, inputs, dtype, in_dtype)
        except (_UnknownError, IndexError, ValueError, ZeroDivisionError, TypeError, OverflowError):
            return None
        return result if result.size <= MAX_ITEMS else None


def _first(_: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    return _need(inputs, 0)


def _need(inputs: list[Array | None], slot: int) -> Array:
    array = inputs[slot]
    if array is None:
        raise _UnknownError
    return array


def _numbers(inputs: list[Array | None], slot: int) -> list[int] | None:
    """The numbers of an optional input as ints; None where it is absent."""
    array = inputs[slot] if slot < len(inputs) else None
    if array is None:
        return None
    if any(isinstance(item, Poly) for item in array.ravel()):
        raise _UnknownError
    return [int(item) for item in array.ravel()]


def _cast(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    def one(value: Number) -> Number:
        if dtype == TensorProto.BOOL:
            if isinstance(value, Poly):
                raise _UnknownError
            return int(value != 0)
        if dtype in _INTEGERS and in_dtype in _FLOATS:
            if isinstance(value, Poly):
                if ev.names.floor(value) != value and not _never_negative(value):
                    raise _UnknownError
                return ev.names.floor(value)
            return int(value)  # truncates towards zero, as ONNX's Cast does
        return _rounded(value, dtype)

    return _each(one, _need(inputs, 0))


def _never_negative(value: Poly) -> bool:
    """Dimensions are not negative, so neither is a sum of them with positive coefficients."""
    return all(coefficient > 0 for coefficient in value.terms.values())


def _binary(operation: Callable[[Number, Number], Number]) -> Callable[..., Array]:
    def handler(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
        return _each(lambda a, b: _rounded(operation(a, b), dtype), _need(inputs, 0), _need(inputs, 1))

    return handler


def _div(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    def one(a: Number, b: Number) -> Number:
        if dtype in _INTEGERS:
            return ev.names.truncated_quotient(a, b)
        quotient = divide(a, b)
        if quotient is None:
            if b == 0:
                raise _UnknownError
            return ev.names.opaque("fdiv", a, b)
        return _rounded(quotient, dtype)  # IEEE division of exact operands is the rounded true quotient

    return _each(one, _need(inputs, 0), _need(inputs, 1))


def _rounding(name: str) -> Callable[..., Array]:
    def handler(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
        return _each(ev.names.floor if name == "floor" else ev.names.ceil, _need(inputs, 0))

    return handler


def _neg(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    return _each(lambda a: -a, _need(inputs, 0))


def _extreme(name: str) -> Callable[..., Array]:
    def handler(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
        def one(a: Number, b: Number) -> Number:
            if a == b:
                return a
            difference = a - b
            if not isinstance(difference, Poly):
                return a if (difference < 0) == (name == "min") else b
            return ev.names.opaque(name, *sorted((a, b), key=str))

        result = _need(inputs, 0)
        for slot in range(1, len(inputs)):
            result = _each(one, result, _need(inputs, slot))
        return result

    return handler


def _compare(name: str) -> Callable[..., Array]:
    def one(a: Number, b: Number) -> Number:
        difference = a - b
        if isinstance(difference, Poly):
            # a dimension is never negative: it is not -1, and it is greater than -1
            if isinstance(a, Poly) and not isinstance(b, Poly) and b < 0 and _never_negative(a):
                return int(name == "Greater")
            raise _UnknownError
        return int({"Equal": difference == 0, "Greater": difference > 0, "Less": difference < 0}[name])

    def handler(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
        return _each(one, _need(inputs, 0), _need(inputs, 1))

    return handler


def _where(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    def one(condition: Number, a: Number, b: Number) -> Number:
        if isinstance(condition, Poly):
            raise _UnknownError
        return a if condition else b

    return _each(one, _need(inputs, 0), _need(inputs, 1), _need(inputs, 2))


def _not(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    return _each(lambda a: int(not a), _need(inputs, 0))


def _gather(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    data, indices = _need(inputs, 0), _need(inputs, 1)
    numbers = _numbers(inputs, 1) or []
    taken = np.take(data, np.array(numbers, np.int64).reshape(indices.shape), axis=int(node.attr("axis", 0)))
    return taken if isinstance(taken, np.ndarray) else make([taken], ())


def _axes(node: Node, inputs: list[Array | None], slot: int) -> list[int] | None:
    axes = node.attr("axes")
    return list(axes) if axes is not None else _numbers(inputs, slot)


def _unsqueeze(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    array = _need(inputs, 0)
    axes = _axes(node, inputs, 1)
    if axes is None:
        raise _UnknownError
    return np.expand_dims(array, tuple(axes))


def _squeeze(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    axes = _axes(node, inputs, 1)
    array = np.squeeze(_need(inputs, 0), None if axes is None else tuple(axes))
    return array if isinstance(array, np.ndarray) else make([array], ())


def _reshape(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    array, target = _need(inputs, 0), _numbers(inputs, 1)
    if target is None:
        raise _UnknownError
    if not node.attr("allowzero", 0):
        target = [array.shape[axis] if dim == 0 else dim for axis, dim in enumerate(target)]
    return array.reshape(target)


def _concat(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    return np.concatenate([_need(inputs, slot) for slot in range(len(inputs))], axis=int(node.attr("axis", 0)))


def _slice(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    array = _need(inputs, 0)
    starts, ends, axes, steps = slice_parameters(node, inputs)
    index = [slice(None)] * array.ndim
    for start, end, axis, step in zip(starts, ends, axes or range(len(starts)), steps or [1] * len(starts), strict=False):
        if isinstance(start, Poly) or isinstance(end, Poly):
            raise _UnknownError
        # a negative step that runs past the front needs None: Python reads -1 as the last element
        stop = None if step < 0 and int(end) < -array.shape[axis] else int(end)
        index[axis] = slice(int(start), stop, step)
    return array[tuple(index)]


def slice_parameters(
    node: Node, inputs: Sequence[Array | None]
) -> tuple[list[Number], list[Number], list[int] | None, list[int] | None]:
    """(starts, ends, axes, steps) of a Slice in either form; starts and ends may be symbolic."""
    if node.attr("starts") is not None:
        axes = node.attr("axes")
        return list(node.attr("starts")), list(node.attr("ends")), None if axes is None else list(axes), None
    given = list(inputs)
    starts, ends = _need(given, 1), _need(given, 2)
    return list(starts.ravel()), list(ends.ravel()), _numbers(given, 3), _numbers(given, 4)


def _reduce(name: str) -> Callable[..., Array]:
    def handler(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
        array = _need(inputs, 0)
        axes = _axes(node, inputs, 1)
        if array.ndim > 1 or (axes is not None and axes not in ([0], [-1])):
            raise _UnknownError
        result: Number = 1 if name == "ReduceProd" else 0
        for item in array.ravel():
            result = result * item if name == "ReduceProd" else result + item
        return make([_rounded(result, dtype)], (1,) * array.ndim if node.attr("keepdims", 1) else ())

    return handler


def _range(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    if dtype in _FLOATS:
        raise _UnknownError
    start, stop, step = ((_numbers(inputs, slot) or [0])[0] for slot in range(3))
    numbers = range(start, stop, step)
    if len(numbers) > MAX_ITEMS:
        raise _UnknownError
    return make(list(numbers), (len(numbers),))


def _expand(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    array, target = _need(inputs, 0), _numbers(inputs, 1) or []
    shape = np.broadcast_shapes(array.shape, tuple(target))
    if int(np.prod(shape)) > MAX_ITEMS:
        raise _UnknownError
    return np.broadcast_to(array, shape).copy()


def _transpose(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    return np.transpose(_need(inputs, 0), node.attr("perm"))


_HANDLERS: dict[str, Callable[..., Array]] = {
    "Add": _binary(lambda a, b: a + b),
    "Cast": _cast,
    "Ceil": _rounding("ceil"),
    "Concat": _concat,
    "Div": _div,
    "Equal": _compare("Equal"),
    "Expand": _expand,
    "Floor": _rounding("floor"),
    "Gather": _gather,
    "Greater": _compare("Greater"),
    "Identity": _first,
    "Less": _compare("Less"),
    "Max": _extreme("max"),
    "Min": _extreme("min"),
    "Mul": _binary(lambda a, b: a * b),
    "Neg": _neg,
    "Not": _not,
    "Range": _range,
    "ReduceProd": _reduce("ReduceProd"),
    "ReduceSum": _reduce("ReduceSum"),
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": _binary(lambda a, b: a - b),
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Where": _where,
}
EVALUATED = frozenset(_HANDLERS)
