"""Makes seeded inputs in the ranges that the graph implies: indices that exist, masks of 0 and 1, edges of the number line."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import onnx
from onnx import helper

from onnxfix.verify.graph import all_nodes, initializer_names, real_inputs
from onnxfix.verify.run import CannotRunError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from onnxfix.verify.aten import Array
    from onnxfix.verify.bindings import Binding

# Operators whose output holds the same numbers as their first input: what holds for one holds for the other.
_PASS_ON = frozenset({"Identity", "Cast", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Expand", "Slice"})
_SMALL = 4
# 2 GiB of the float64 that random numbers are drawn in.
MAX_ELEMENTS = 1 << 28


@dataclass(frozen=True, slots=True)
class _Range:
    """The integers `low <= i < high`."""

    low: int
    high: int


_ZERO, _ONE, _POSITIVE = _Range(0, 1), _Range(1, 2), _Range(1, _SMALL + 1)
# What is legal at an input of an operator, whatever the operator's other inputs hold.
_LEGAL: Mapping[tuple[str, int], _Range] = {
    ("Reshape", 1): _ONE,
    ("Expand", 1): _ONE,
    ("Tile", 1): _ONE,
    ("TopK", 1): _ONE,
    ("ConstantOfShape", 0): _ONE,
    ("NonMaxSuppression", 2): _ONE,
    ("Resize", 3): _ONE,
    ("Slice", 1): _ZERO,
    ("Slice", 2): _ONE,
    ("Slice", 4): _ONE,
    ("CumSum", 1): _ZERO,
    ("CumProd", 1): _ZERO,
    ("Div", 1): _POSITIVE,
    ("Mod", 1): _POSITIVE,
}
# Lists of axes: each may occur once.
_AXES = frozenset({("Slice", 3), ("Squeeze", 1), ("Unsqueeze", 1), ("Pad", 3)})
# Lengths of the sequences in a batch: the operator, the input that holds them, the axis of input 0 that they count along.
_LENGTHS: Mapping[str, tuple[int, int]] = {"RNN": (4, 0), "GRU": (4, 0), "LSTM": (4, 0), "ReverseSequence": (1, 0)}

Style = Literal["normal", "ramp", "edges", "uniform", "wide"]
_STYLES: tuple[Style, ...] = ("normal", "ramp", "edges", "uniform", "wide")


def style_of(sample: int) -> Style:
    """How sample number `sample` fills floating-point inputs."""
    return _STYLES[sample % len(_STYLES)]


def check_size(name: str, shape: Sequence[int]) -> None:
    """Raise CannotRunError where values of that shape are more than a proof can hold."""
    if math.prod(shape) > MAX_ELEMENTS:
        raise CannotRunError(f"{name} of shape {'x'.join(map(str, shape))} is too large to make values for")


def make_inputs(model: onnx.ModelProto, binding: Binding, seed: int, sample: int) -> dict[str, Array]:
    """Values for every input that is no initializer.

    Each input has a generator of its own, seeded by `seed`, `sample` and its name: the same input of a rewritten model
    gets the same values.

    Args:
        model: the model whose consumers of an integer input say what range it has.
        binding: the input's shapes.
        seed: any integer from 0 on.
        sample: the number of the sample; floats are standard normal, a ramp, edge cases (zeros, large and small
            magnitudes), uniform in [0, 1), and normal of standard deviation 10, in turn.

    Raises:
        CannotRunError: an input is too large.
    """
    ranges = _Ranges(model, binding)
    feeds: dict[str, Array] = {}
    for value in real_inputs(model.graph):
        rng = np.random.default_rng([seed, sample, zlib.crc32(value.name.encode())])
        elem_type = value.type.tensor_type.elem_type
        shape = binding.shapes[value.name]
        check_size(value.name, shape)
        if elem_type == onnx.TensorProto.STRING:
            feeds[value.name] = rng.integers(0, _SMALL, shape).astype(str).astype(object)
            continue
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(elem_type))
        if elem_type == onnx.TensorProto.BOOL:
            feeds[value.name] = rng.integers(0, 2, shape).astype(bool)
        elif dtype.kind in "iu" and ranges.are_axes(value.name):
            feeds[value.name] = np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
        elif dtype.kind in "iu" or elem_type in (onnx.TensorProto.INT4, onnx.TensorProto.UINT4):
            bounds = ranges.of(value.name, dtype)
            feeds[value.name] = rng.integers(bounds.low, bounds.high, shape, np.int64).astype(dtype)
        elif dtype.kind == "c":
            parts = [_floats(rng, shape, style_of(sample), 1e3) for _ in range(2)]
            feeds[value.name] = (parts[0] + 1j * parts[1]).astype(dtype)
        else:
            # Squares of the edge values stay finite in half precision.
            edge = 1e3 if dtype.itemsize >= 4 else 16.0
            feeds[value.name] = _floats(rng, shape, style_of(sample), edge).astype(dtype)
    return feeds


def _floats(rng: np.random.Generator, shape: tuple[int, ...], style: Style, edge: float) -> Array:
    values = rng.standard_normal(shape)
    if style == "ramp":
        size = int(np.prod(shape))
        return np.linspace(-2.0, 2.0, size).reshape(shape) if size > 1 else np.full(shape, 0.5)
    if style == "uniform":
        return rng.random(shape)
    if style == "wide":
        return np.asarray(values * (10.0 if edge > 100 else 2.0))
    if style == "edges":
        special = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, edge, -edge, 1 / edge, -1 / edge, 1e-6, -1e-6])
        picked = special[rng.integers(0, len(special), shape)]
        return np.where(rng.random(shape) < 0.5, picked, values)
    return np.asarray(values)


class _Ranges:
    """What the consumers of an integer input say of its values."""

    def __init__(self, model: onnx.ModelProto, binding: Binding) -> None:
        self._model = model
        self._binding = binding
        self._consumers: dict[str, list[tuple[onnx.NodeProto, int]]] = {}
        for node in all_nodes(model.graph.node):
            for index, name in enumerate(node.input):
                self._consumers.setdefault(name, []).append((node, index))
        self._constants = {tensor.name: tensor for tensor in model.graph.initializer}
        for node in model.graph.node:
            if node.op_type == "Constant":
                self._constants.update((node.output[0], a.t) for a in node.attribute if a.name == "value")
        self._shapes: dict[str, list[int | None]] | None = None

    def of(self, name: str, dtype: np.dtype[Any]) -> _Range:
        found = list(self._said_of(name, set()))
        if found:
            low = max(r.low for r in found)
            return _Range(low, max(min(r.high for r in found), low + 1))
        if "mask" in name.lower():
            return _Range(0, 2)
        if dtype.itemsize == 1 and dtype.kind in "iu":
            # Bytes are pixels or quantized values: every value is legal.
            info = np.iinfo(dtype)
            return _Range(int(info.min), int(info.max) + 1)
        return _Range(0, _SMALL)

    def are_axes(self, name: str) -> bool:
        """True where an operator reads the input as a list of axes."""
        return any(
            (node.op_type, index) in _AXES or (node.op_type.startswith("Reduce") and index == 1)
            for node, index in self._consumers.get(name, [])
        )

    def _said_of(self, name: str, seen: set[str]) -> Iterator[_Range]:
        if name in seen:
            return
        seen.add(name)
        for node, index in self._consumers.get(name, []):
            legal = _LEGAL.get((node.op_type, index))
            if legal is not None:
                yield legal
                continue
            if node.op_type in _LENGTHS and index == _LENGTHS[node.op_type][0]:
                time_axis = _attribute(node, "time_axis", _LENGTHS[node.op_type][1])
                size = self._size(node.input[0], time_axis)
                yield _Range(1, (size or 1) + 1)
                continue
            size = self._indexed_size(node, index)
            if size is not None:
                yield _Range(0, size)
            elif node.op_type == "Cast" and _attribute(node, "to", 0) == onnx.TensorProto.BOOL:
                yield _Range(0, 2)
            elif node.op_type in _PASS_ON and index == 0:
                yield from self._said_of(node.output[0], seen)

    def _indexed_size(self, node: onnx.NodeProto, index: int) -> int | None:
        """The size of the axis that input `index` of `node` counts along, None where it holds no indices.

        An axis of unknown size counts as 1: index 0 exists in every tensor that is not empty.
        """
        if node.op_type in ("Gather", "GatherElements", "ScatterElements", "Scatter") and index == 1:
            return self._size(node.input[0], _attribute(node, "axis", 0)) or 1
        if node.op_type in ("GatherND", "ScatterND") and index == 1:
            shape = self._shape(node.input[0])[_attribute(node, "batch_dims", 0) :]
            return min((size or 1 for size in shape), default=1)
        if node.op_type == "OneHot" and index == 0:
            depth = self._constants.get(node.input[1])
            return int(np.asarray(onnx.numpy_helper.to_array(depth)).reshape(-1)[0]) if depth is not None else 1
        return None

    def _size(self, name: str, axis: int) -> int | None:
        shape = self._shape(name)
        return shape[axis] if -len(shape) <= axis < len(shape) else None

    def _shape(self, name: str) -> list[int | None]:
        if name in self._binding.shapes:
            return list(self._binding.shapes[name])
        if name in self._constants:
            return list(self._constants[name].dims)
        if self._shapes is None:
            self._shapes = self._inferred()
        return self._shapes.get(name, [])

    def _inferred(self) -> dict[str, list[int | None]]:
        model = onnx.ModelProto()
        model.CopyFrom(self._model)
        constant = initializer_names(model.graph)
        for value in model.graph.input:
            if value.name not in constant and value.name in self._binding.shapes:
                shape = self._binding.shapes[value.name]
                value.CopyFrom(helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, shape))
        try:
            model = onnx.shape_inference.infer_shapes(model, data_prop=True)
        except Exception:  # whatever it says, there is no more to know here
            model = self._model
        values = [*model.graph.value_info, *model.graph.output]
        return {
            value.name: [d.dim_value if d.HasField("dim_value") else None for d in value.type.tensor_type.shape.dim]
            for value in values
        }


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    return next((int(a.i) for a in node.attribute if a.name == name), default)
