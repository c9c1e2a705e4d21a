"""Output shapes with polynomial dimensions, for the operators whose shape onnx's own inference leaves open."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from onnxfix.model._arithmetic import slice_parameters
from onnxfix.model.dims import Names, Number, Poly, divide

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnxfix.model._arithmetic import Array
    from onnxfix.model.view import Node

Shape: TypeAlias = "tuple[Number, ...]"
# Slice ends from here on mean "to the end": exporters write INT32_MAX or INT64_MAX.
TO_THE_END = 2**31 - 1


def output_shape(
    node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names
) -> tuple[Number | None, ...] | None:
    """The first output's shape, None for dimensions (or a rank) that are not known.

    `shapes` and `values` hold what is known of each input.
    """
    handler = _HANDLERS.get(node.op_type)
    if handler is None or not shapes or shapes[0] is None:
        return None
    try:
        return handler(node, shapes, values, names)
    except (IndexError, TypeError, ValueError, ZeroDivisionError):
        return None


def product(dims: Shape) -> Number:
    """The number of elements."""
    total: Number = 1
    for dim in dims:
        total = total * dim
    return total


def _windows(node: Node, shape: Shape, kernel: list[Number], names: Names) -> list[Number | None]:
    """Output extents of a convolution or pool along the spatial axes."""
    rank = len(kernel)
    strides = list(node.attr("strides") or [1] * rank)
    dilations = list(node.attr("dilations") or [1] * rank)
    pads = list(node.attr("pads") or [0] * 2 * rank)
    auto_pad = node.attr("auto_pad", "NOTSET")
    rounded = names.ceil if node.attr("ceil_mode", 0) else names.floor
    extents: list[Number | None] = []
    for axis in range(rank):
        size = shape[2 + axis]
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            extents.append(names.ceil(size * Fraction(1, strides[axis])))
            continue
        if auto_pad == "VALID":
            pads[axis] = pads[axis + rank] = 0
        span = (kernel[axis] - 1) * dilations[axis] + 1
        if node.attr("ceil_mode", 0) and isinstance(size, Poly):
            extents.append(None)  # the last window may be dropped, which depends on the size
            continue
        extents.append(rounded((size + pads[axis] + pads[axis + rank] - span) * Fraction(1, strides[axis])) + 1)
    return extents


def _conv(node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names) -> tuple[Number | None, ...]:
    data, weight = shapes[0], shapes[1]
    assert data is not None
    if weight is None:
        raise ValueError
    return (data[0], weight[0], *_windows(node, data, list(weight[2:]), names))


def _pool(node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names) -> tuple[Number | None, ...]:
    data = shapes[0]
    assert data is not None
    return (*data[:2], *_windows(node, data, list(node.attr("kernel_shape")), names))


def _concat(node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names) -> tuple[Number | None, ...]:
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        raise ValueError
    axis = node.attr("axis", 1) % len(known[0])
    total: Number = 0
    for shape in known:
        total = total + shape[axis]
    dims = [next((s[k] for s in known if not isinstance(s[k], Poly)), known[0][k]) for k in range(len(known[0]))]
    return (*dims[:axis], total, *dims[axis + 1 :])


def _reshape(node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names) -> tuple[Number | None, ...]:
    data = shapes[0]
    assert data is not None
    target = values[1] if len(values) > 1 else None
    entries = list(target.ravel()) if target is not None else list(node.attr("shape"))
    out: list[Number | None] = [
        data[axis] if entry == 0 and not node.attr("allowzero", 0) else entry for axis, entry in enumerate(entries)
    ]
    if -1 in out:
        open_axis = out.index(-1)
        rest: Number = 1
        for axis, dim in enumerate(out):
            if axis != open_axis and dim is not None:
                rest = rest * dim
        out[open_axis] = divide(product(data), rest)
    return tuple(out)


def _constant_of_shape(
    node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names
) -> tuple[Number | None, ...]:
    return _sizes(values[0])


def _expand(node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names) -> tuple[Number | None, ...]:
    data, wanted = shapes[0], _sizes(values[1])
    assert data is not None
    rank = max(len(wanted), len(data))
    pairs = zip((1,) * (rank - len(data)) + data, (1,) * (rank - len(wanted)) + wanted, strict=True)
    return tuple(_broadcast(*pair) for pair in pairs)


def _sizes(entries: Array | None) -> Shape:
    if entries is None or any(not isinstance(entry, Poly) and entry < 0 for entry in entries.ravel()):
        raise ValueError("the sizes are computed at run time, or are none")
    return tuple(entries.ravel())


def _broadcast(one: Number, other: Number) -> Number | None:
    """The dimension that two make together, None where either may be 1."""
    if one in (1, other):
        return other
    if other == 1 or not isinstance(one, Poly):
        return one
    return None if isinstance(other, Poly) else other


def _flatten(node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names) -> tuple[Number | None, ...]:
    data = shapes[0]
    assert data is not None
    axis = node.attr("axis", 1)
    axis += len(data) if axis < 0 else 0
    return (product(data[:axis]), product(data[axis:]))


def _resize(node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names) -> tuple[Number | None, ...]:
    data = shapes[0]
    assert data is not None
    opset = node.opset or 0
    if node.attr("axes") is not None or node.attr("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise ValueError
    if len(values) > 3 and values[3] is not None:
        return tuple(values[3].ravel())
    scales = node.attr("scales")
    if scales is None:
        slot = 1 if node.op_type == "Upsample" or opset <= 10 else 2
        array = values[slot] if slot < len(values) else None
        if array is None:
            raise ValueError
        scales = list(array.ravel())
    out: list[Number | None] = []
    for dim, scale in zip(data, scales, strict=True):
        if isinstance(dim, Poly) or isinstance(scale, Poly):
            whole = not isinstance(scale, Poly) and Fraction(scale).denominator == 1
            out.append(dim * scale if whole else None)
        else:
            # the product is taken in float32, as onnxruntime does
            out.append(int(np.floor(np.float32(float(dim)) * np.float32(float(scale)))))
    return tuple(out)


def _slice(node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names) -> tuple[Number | None, ...]:
    data = shapes[0]
    assert data is not None
    starts, ends, axes, steps = slice_parameters(node, values)
    out: list[Number | None] = list(data)
    for position, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = (axes[position] if axes is not None else position) % len(data)
        step = steps[position] if steps is not None else 1
        out[axis] = _sliced(data[axis], start, end, step, names)
    return tuple(out)


def _sliced(dim: Number, start: Number, end: Number, step: int, names: Names) -> Number | None:
    if step != 1:
        return None
    low, high = _bound(dim, start, names), _bound(dim, end, names)
    if low is None or high is None:
        return None
    length = high - low
    return length if isinstance(length, Poly) or length > 0 else 0


def _bound(dim: Number, bound: Number, names: Names) -> Number | None:
    """A Slice start or end, counted from the front and clamped to the dimension; None where that depends on its size."""
    if not isinstance(dim, Poly):
        if isinstance(bound, Poly):
            return None
        return min(max(bound + dim if bound < 0 else bound, 0), dim)
    if not isinstance(bound, Poly):
        if bound >= TO_THE_END:
            return dim
        if not -names.smallest(dim) <= bound <= names.smallest(dim):
            return None
        return dim + bound if bound < 0 else bound
    beyond = bound - dim
    if isinstance(beyond, Poly):
        return None
    if beyond >= 0:
        return dim
    return bound if names.smallest(dim) >= -beyond else None


def _global_pool(node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names) -> tuple[Number | None, ...]:
    data = shapes[0]
    assert data is not None
    return (*data[:2], *(1 for _ in data[2:]))


def _adaptive_pool(node: Node, shapes: list[Shape | None], values: list[Array | None], names: Names) -> tuple[Number | None, ...]:
    data = shapes[0]
    assert data is not None
    size = values[1] if len(values) > 1 else None
    out = list(size.ravel()) if size is not None else list(node.attr("output_size"))
    return (*data[: len(data) - len(out)], *out)


_HANDLERS: dict[str, Callable[..., tuple[Number | None, ...]]] = {
    "AveragePool": _pool,
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "Conv": _conv,
    "Expand": _expand,
    "Flatten": _flatten,
    "GlobalAveragePool": _global_pool,
    "GlobalMaxPool": _global_pool,
    "MaxPool": _pool,
    "Reshape": _reshape,
    "Resize": _resize,
    "Slice": _slice,
    "Upsample": _resize,
    "adaptive_avg_pool2d": _adaptive_pool,
    "adaptive_max_pool2d": _adaptive_pool,
}
