"""ConvTranspose without output_padding, dilations, output_shape or auto_pad: what they mean goes into pads and weights.

A dilated kernel has zeros between its elements, more output at the end is less cut off there or a kernel with zeros behind. Guard:
constant weights; static sizes for output_shape and auto_pad. The same bits over 30 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, static_dims
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    names, attrs = region.proto.input, region.node.attrs
    weights = facts.constant(names[1])
    if weights is None:
        return Decline("the weights are computed at run time")
    axes = weights.ndim - 2
    strides, dilations = ([int(item) for item in attrs.get(name, (1,) * axes)] for name in ("strides", "dilations"))
    more = [int(item) for item in attrs.get("output_padding", (0,) * axes)]
    pads = [int(item) for item in attrs.get("pads", (0,) * 2 * axes)]
    automatic, wanted = attrs.get("auto_pad", "NOTSET"), attrs.get("output_shape")
    if automatic == "NOTSET" and wanted is None and not any(more) and all(step == 1 for step in dilations):
        return Decline("it has none of the attributes", plain=True)
    if automatic == "VALID":
        pads = [0] * 2 * axes
    elif automatic != "NOTSET" or wanted is not None:
        sizes = static_dims(facts, names[0], range(2, axes + 2))
        if isinstance(sizes, Decline):
            return sizes
        goal = (
            [int(item) for item in wanted][-axes:] if wanted is not None else [a * b for a, b in zip(sizes, strides, strict=True)]
        )
        for axis in range(axes):
            span = dilations[axis] * (weights.shape[axis + 2] - 1) + 1
            total = strides[axis] * (sizes[axis] - 1) + more[axis] + span - goal[axis]
            if total < 0 and automatic != "NOTSET":
                return Decline("the steps are larger than the kernel, and onnxruntime gives fewer elements than ONNX says")
            half = total // 2
            pads[axis], pads[axis + axes] = (half, total - half) if automatic == "SAME_UPPER" else (total - half, half)
    for axis in range(axes):
        pads[axis + axes] -= more[axis]
    spread = _spread(weights, dilations)
    # what is cut off by less than nothing is output of zeros: a kernel with zeros at that side
    room = [(max(-pads[axis], 0), max(-pads[axis + axes], 0)) for axis in range(axes)]
    spread = np.pad(spread, [(0, 0), (0, 0), *room])
    inputs = [region.node.inputs[0], region.constant("weights", spread), *region.node.inputs[2:]]
    made = region.layer(
        "ConvTranspose",
        "plain",
        inputs,
        group=int(attrs.get("group", 1)),
        kernel_shape=list(spread.shape[2:]),
        strides=strides,
        pads=[max(item, 0) for item in pads],
    )
    region.replace(made)
    return None


def _spread(weights: np.ndarray, dilations: list[int]) -> np.ndarray:
    """Weights with zeros between their elements."""
    if all(step == 1 for step in dilations):
        return weights
    sizes = [step * (length - 1) + 1 for step, length in zip(dilations, weights.shape[2:], strict=True)]
    spread = np.zeros((*weights.shape[:2], *sizes), weights.dtype)
    spread[(slice(None), slice(None), *(slice(None, None, step) for step in dilations))] = weights
    return spread
