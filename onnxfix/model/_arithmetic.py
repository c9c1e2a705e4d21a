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

from onnxfix.model.dims import Names, Number, Poly, divide, plain

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
_INTEGERS: dict[int, tuple[int, int]] = {
    TensorProto.INT64: (-(2**63), 2**63 - 1),
    TensorProto.INT32: (-(2**31), 2**31 - 1),
    TensorProto.INT16: (-(2**15), 2**15 - 1),
    TensorProto.INT8: (-(2**7), 2**7 - 1),
    TensorProto.UINT8: (0, 2**8 - 1),
    TensorProto.UINT16: (0, 2**16 - 1),
    TensorProto.UINT32: (0, 2**32 - 1),
    TensorProto.UINT64: (0, 2**64 - 1),
    TensorProto.BOOL: (0, 1),
}
# Element types that hold every dimension, and small multiples of it, exactly.
_WIDE = {TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT, TensorProto.DOUBLE}
# of INT64, which ONNX keeps dimensions in
LARGEST = 2**63 - 1
KINDS: set[int] = set(_FLOATS) | set(_INTEGERS)


class _UnknownError(ValueError):
    """The result has no form in this domain."""


def from_numbers(array: np.ndarray) -> Array | None:
    """The array's elements as exact numbers, or None for infinities, NaN, strings and more than MAX_ITEMS elements."""
    if array.size > MAX_ITEMS or array.dtype.kind not in "iufb":
        return None
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            return None
        items = [plain(Fraction(float(item))) for item in array.ravel()]
    else:
        items = [int(item) for item in array.ravel()]
    return make(items, array.shape)


def make(items: Sequence[Number], shape: Sequence[int]) -> Array:
    """An object array of the given shape."""
    array: Array = np.empty(len(items), object)
    array[:] = list(items)
    return array.reshape(shape)


def to_numbers(array: Array | None, dtype: int) -> np.ndarray | None:
    """The plain array where every element is a number, and an integer below 2**63, else None."""
    if array is None or any(isinstance(item, Poly) for item in array.ravel()):
        return None
    kind: type[np.generic] = _FLOATS.get(dtype) or (np.bool_ if dtype == TensorProto.BOOL else np.int64)
    if kind is np.int64 and any(item > LARGEST for item in array.ravel()):
        return None
    return np.array([float(item) if dtype in _FLOATS else int(item) for item in array.ravel()], kind).reshape(array.shape)


def _rounded(value: Number, dtype: int, names: Names) -> Number:
    """The value as the element type holds it; a polynomial must be exact in it, an integer must not overflow."""
    if isinstance(value, Poly):
        if dtype not in _WIDE:
            raise _UnknownError
        return value if dtype in _INTEGERS else _exact(value, names)
    if dtype in _INTEGERS:
        low, high = _INTEGERS[dtype]
        if not low <= value <= high:
            raise _UnknownError
        return value
    with np.errstate(over="ignore"):
        held = float(_FLOATS[dtype](float(value)))
    if not np.isfinite(held):
        raise _UnknownError
    return plain(Fraction(held))


def _exact(value: Poly, names: Names) -> Poly:
    """The polynomial where floating point computes it without rounding: few bits, and no sum or multiple of a rounded quotient."""
    for coefficient in value.terms.values():
        exact = Fraction(coefficient)
        if exact.denominator & (exact.denominator - 1) or abs(exact.numerator) > 1024 or exact.denominator > 1024:
            raise _UnknownError
    alone = len(value.terms) == 1 and all(len(m) == 1 and m[0][1] == 1 and abs(c) == 1 for m, c in value.terms.items())
    if names.is_rounded(value) and not alone:
        raise _UnknownError
    return value


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
                if not ev.names.is_whole(value) and not ev.names.never_negative(value):
                    raise _UnknownError
                value = ev.names.floor(value)
            else:
                value = int(value)  # truncates towards zero, as ONNX's Cast does
        return _rounded(value, dtype, ev.names)

    return _each(one, _need(inputs, 0))


def _binary(operation: Callable[[Number, Number], Number]) -> Callable[..., Array]:
    def handler(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
        if node.attr("axis") is not None:
            raise _UnknownError  # broadcasting as opsets before 7 had it
        return _each(lambda a, b: _rounded(operation(a, b), dtype, ev.names), _need(inputs, 0), _need(inputs, 1))

    return handler


def _div(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    def one(a: Number, b: Number) -> Number:
        if dtype in _INTEGERS:
            return ev.names.truncated_quotient(a, b)
        quotient = divide(a, b)
        if quotient is None:
            if b == 0:
                raise _UnknownError
            positive = ev.names.never_negative(a) and ev.names.never_negative(b)
            return ev.names.opaque(f"fdiv{8 * _FLOATS[dtype]().itemsize}", a, b, whole=False, signed=not positive)
        return _rounded(quotient, dtype, ev.names)  # IEEE division of exact operands is the rounded true quotient

    return _each(one, _need(inputs, 0), _need(inputs, 1))


def _rounding(name: str) -> Callable[..., Array]:
    def handler(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
        rounded = ev.names.floor if name == "floor" else ev.names.ceil
        return _each(lambda value: _rounded(rounded(value), dtype, ev.names), _need(inputs, 0))

    return handler


def _neg(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
    return _each(lambda a: _rounded(-a, dtype, ev.names), _need(inputs, 0))


def _extreme(name: str) -> Callable[..., Array]:
    def handler(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
        result = _need(inputs, 0)
        for slot in range(1, len(inputs)):
            result = _each(lambda a, b: ev.names.extreme(name, a, b), result, _need(inputs, slot))
        return result

    return handler


def _compare(name: str) -> Callable[..., Array]:
    def handler(ev: Evaluator, node: Node, inputs: list[Array | None], dtype: int, in_dtype: int) -> Array:
        def one(a: Number, b: Number) -> Number:
            difference = a - b
            if isinstance(difference, Poly):
                # a dimension is never negative: it is not -1, and it is greater than -1
                if not isinstance(b, Poly) and b < 0 and ev.names.never_negative(a):
                    return int(name == "Greater")
                raise _UnknownError
            return int({"Equal": difference == 0, "Greater": difference > 0, "Less": difference < 0}[name])

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
    for start, end, axis, step in zip(starts, ends, axes or range(len(starts)), steps or [1] * len(starts), strict=False):
        if isinstance(start, Poly) or isinstance(end, Poly):
            raise _UnknownError
        taken = slice_elements(int(start), int(end), step, array.shape[axis])
        if taken is None:
            raise _UnknownError
        array = np.take(array, np.array(taken, np.int64), axis=axis)
    return array


def slice_elements(start: int, end: int, step: int, size: int) -> range | None:
    """The elements that Slice takes of an axis of `size`; None for "to the end" backwards, which runtimes read otherwise.

    ONNX clamps the start of a negative step to the front, Python past it: of one element, [-2:-2:-2] is that element
    (operator document of Slice 13, and onnxruntime).
    """
    if step > 0:
        return range(*slice(start, end, step).indices(size))
    if end >= 2**31 - 1:
        return None
    start = min(max(start + size if start < 0 else start, 0), size - 1)
    end = max(end + size if end < 0 else end, -1)
    return range(start, end, step)


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
        if (
            array.ndim > 1
            or (axes is not None and axes not in ([0], [-1]))
            or (axes is None and node.attr("noop_with_empty_axes", 0))
        ):
            raise _UnknownError
        result: Number = 1 if name == "ReduceProd" else 0
        for item in array.ravel():
            result = result * item if name == "ReduceProd" else result + item
            if _rounded(result, dtype, ev.names) != result:
                raise _UnknownError  # in which order a runtime rounds is its own affair
        return make([result], (1,) * array.ndim if node.attr("keepdims", 1) else ())

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
