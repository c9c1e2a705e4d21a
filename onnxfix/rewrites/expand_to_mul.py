"""Expand as Mul by a constant of ones; nothing where every dimension stays as it is.

Inf * 1, NaN * 1 and -0 * 1 keep their values. Guard: numbers, not booleans; the axes that grow, and the new shape there, are
static. The same bits over 6 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites._forms import FLOATS
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


NUMBERS = (*FLOATS, onnx.TensorProto.INT32, onnx.TensorProto.INT64)
# Ones of more elements than this are no repair.
MAX_ELEMENTS = 1 << 24


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    before, after = facts.shape(region.proto.input[0]), facts.shape(region.proto.output[0])
    if before is None or after is None:
        return Decline("the new shape is computed at run time")
    padded = [1] * (len(after) - len(before)) + list(before)
    ones = [1] * len(after)
    for axis, (old, new) in enumerate(zip(padded, after, strict=True)):
        if old == new:
            continue
        if isinstance(new, Poly) or isinstance(old, Poly):
            return Decline(f"whether axis {axis} grows is known at run time alone")
        ones[axis] = int(new)
    if len(before) == len(after) and all(one == 1 for one in ones):
        region.replace(region.node.inputs[0])
        return None
    dtype = facts.dtype(region.proto.input[0])
    if dtype not in NUMBERS:
        return Decline(f"the data is {facts.dtype_name(region.proto.input[0])}")
    if np.prod(ones, dtype=float) > MAX_ELEMENTS:
        return Decline(f"the ones would have shape {ones}")
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    region.replace(region.layer("Mul", "expanded", [region.node.inputs[0], region.constant("ones", np.ones(ones, kind))]))
    return None
