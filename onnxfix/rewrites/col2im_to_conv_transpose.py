"""Col2Im as a ConvTranspose of every channel whose kernels have a single 1 each.

Guard: constant shapes, two spatial axes, static channels. The same bits over 40 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, static_dims
from onnxfix.rewrites._layers import reshape
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
    image, block = facts.numbers(names[1]), facts.numbers(names[2])
    rows = static_dims(facts, names[0], [1]) if facts.rank(names[0]) == 3 else Decline("the data is not known to have rank 3")
    if isinstance(rows, Decline):
        return rows
    if image is None or block is None or len(image) != 2:
        return Decline("image or block are computed at run time, or have other than two axes")
    kernel, sizes = [int(item) for item in block], [int(item) for item in image]
    strides, dilations = ([int(item) for item in attrs.get(name, (1, 1))] for name in ("strides", "dilations"))
    pads = [int(item) for item in attrs.get("pads", (0, 0, 0, 0))]
    area = kernel[0] * kernel[1]
    channels = rows[0] // area
    spans = [step * (length - 1) + 1 for step, length in zip(dilations, kernel, strict=True)]
    steps = [(sizes[axis] + pads[axis] + pads[axis + 2] - spans[axis]) // strides[axis] + 1 for axis in (0, 1)]
    weights = np.zeros((channels * area, 1, *spans), kind)
    for row in range(channels * area):
        down, right = np.unravel_index(row % area, kernel)
        weights[row, 0, down * dilations[0], right * dilations[1]] = 1
    back = list(pads[2:])
    extra = [sizes[axis] - (strides[axis] * (steps[axis] - 1) + spans[axis] - pads[axis] - back[axis]) for axis in (0, 1)]
    for axis in (0, 1):
        back[axis] -= extra[axis]
    if min(back) < 0:
        weights = np.pad(weights, [(0, 0), (0, 0), *((0, max(-item, 0)) for item in back)])
    blocks = reshape(region, "blocks", region.node.inputs[0], [0, rows[0], *steps])
    made = region.layer(
        "ConvTranspose",
        "image",
        [blocks, region.constant("weights", weights)],
        group=channels,
        kernel_shape=list(weights.shape[2:]),
        strides=strides,
        pads=[*pads[:2], *(max(item, 0) for item in back)],
    )
    region.replace(made)
    return None
