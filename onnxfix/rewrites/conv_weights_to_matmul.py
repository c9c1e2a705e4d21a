"""Conv whose weights are computed at run time: a Conv of every channel that lays out its windows, and a MatMul.

A kernel of one element needs no windows. Guard: one group, static channels and sizes, the shape of the weights known. The same
bits over 21 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, static_dims
from onnxfix.rewrites._kernels import kernel_of
from onnxfix.rewrites._layers import reshape
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    names = region.proto.input
    if facts.is_constant(names[1]):
        return Decline("its weights are a constant", plain=True)
    weights = facts.static_shape(names[1])
    rank = facts.rank(names[0])
    if rank != 4 or weights is None:
        return Decline("the shape of data or weights is unknown")
    shape = static_dims(facts, names[0], range(1, 4))
    if isinstance(shape, Decline):
        return shape
    kernel = kernel_of(region, weights, shape[1:])
    if isinstance(kernel, Decline):
        return kernel
    if kernel.group != 1:
        return Decline(f"it has {kernel.group} groups")
    channels, area = shape[0], int(np.prod(kernel.size))
    windows = np.zeros((channels * area, 1, *kernel.size), kind)
    for row in range(channels * area):
        windows[row].flat[row % area] = 1
    sizes = [
        (size + front + back - span) // stride + 1
        for size, front, back, span, stride in zip(shape[1:], kernel.front, kernel.back, kernel.spans, kernel.strides, strict=True)
    ]
    laid = region.layer(
        "Conv",
        "windows",
        [region.node.inputs[0], region.constant("places", windows)],
        group=channels,
        kernel_shape=list(kernel.size),
        strides=list(kernel.strides),
        dilations=list(kernel.dilations),
        pads=[*kernel.front, *kernel.back],
    )
    columns = reshape(region, "columns", laid, [0, channels * area, sizes[0] * sizes[1]])
    rows = reshape(region, "rows", region.node.inputs[1], [weights[0], channels * area])
    made = region.layer("MatMul", "product", [rows, columns])
    if len(names) > 2 and names[2]:
        bias = facts.constant(names[2])
        column: gs.Tensor = (
            region.constant("bias", bias.reshape(-1, 1))
            if bias is not None
            else reshape(region, "bias", region.node.inputs[2], [-1, 1])
        )
        made = region.layer("Add", "biased", [made, column])
    region.replace(reshape(region, "image", made, [0, weights[0], *sizes]))
    return None
