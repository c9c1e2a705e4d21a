"""ArgMax and ArgMin: the last of equal elements (select_last_index, from opset 12) is the first of the reversed axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._forms import FLOATS
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    if low >= 12 or not _general.attribute(region, "select_last_index", 0):
        return _general.lower(region, low)
    op = region.proto.op_type
    shape = region.facts.shape(region.proto.input[0])
    axis = _general.attribute(region, "axis", 0)
    extent = None if shape is None else shape[axis]
    if shape is None or isinstance(extent, Poly) or extent is None:
        return Decline(f"{op} takes the last of equal elements along an axis of unknown extent")
    region.exact = region.facts.dtype(region.proto.input[0]) not in FLOATS  # where NaN comes in the order is left open by ONNX
    reverse = np.arange(int(extent))[::-1].copy()
    turned = _layers.gather(region, "turned", region.node.inputs[0], reverse, axis % len(shape))
    first = region.layer(op, "first", [turned], axis=axis % len(shape), keepdims=_general.attribute(region, "keepdims", 1))
    last = region.constant("last", np.array([int(extent) - 1] if len(shape) > 1 else int(extent) - 1, np.int64))
    region.replace(region.layer("Sub", "index", [last, first]))
    return None
