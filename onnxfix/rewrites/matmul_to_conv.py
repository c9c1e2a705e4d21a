"""MatMul by a constant matrix as a Conv of one element, for data of more than two axes.

TensorRT 5.0 multiplies by a constant in a fully connected layer, which takes the whole sample for one row. Guard: a constant matrix
on the right; axes between the first and the last are static. 2e-7 of the largest value over 10 cases.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._forms import float_kind
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
    shape, matrix = facts.shape(region.proto.input[0]), facts.constant(region.proto.input[1])
    if shape is None or len(shape) < 3 or matrix is None or math.prod(matrix.shape[:-2]) != 1 or matrix.ndim < 2:
        return Decline("it is no product of data with more than two axes and a constant matrix", plain=True)
    if matrix.ndim > len(shape) or any(isinstance(dim, Poly) for dim in shape[1:-1]):
        return Decline("axes between the first and the last are dynamic")
    between = [int(dim) for dim in shape[1:-1] if not isinstance(dim, Poly)]
    wide, narrow = matrix.shape[-2:]
    kernel = matrix.reshape(wide, narrow).T.reshape(narrow, wide, 1, 1).astype(kind)
    image = _layers.reshape(region, "image", region.node.inputs[0], [0, math.prod(between), wide, 1])
    channels = region.layer("Transpose", "channels", [image], perm=[0, 2, 1, 3])
    weights = region.constant("kernel", np.ascontiguousarray(kernel))
    product = region.layer("Conv", "product", [channels, weights], kernel_shape=[1, 1])
    back = region.layer("Transpose", "back", [product], perm=[0, 2, 1, 3])
    region.replace(_layers.reshape(region, "shaped", back, [0, *between, narrow]))
    return None
