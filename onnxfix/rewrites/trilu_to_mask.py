"""Trilu by a constant mask: Where on releases that have it, else a multiplication.

Guard: a constant k, the last two axes static. With Where bit-equal over 16 cases; a multiplication makes NaN of an infinity or NaN
in the part that is cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value
from onnxfix.targets import op_support

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    proto = region.proto
    shape = facts.shape(proto.input[0])
    if shape is None or any(isinstance(dim, Poly) for dim in shape[-2:]):
        return Decline("the last two axes are dynamic")
    offset = 0
    if len(proto.input) > 1 and proto.input[1]:
        k = constant_value(facts, proto.input[1])
        if k is None:
            return Decline("k is computed at run time")
        offset = int(k.ravel()[0])
    rows, columns = (int(dim) for dim in shape[-2:] if not isinstance(dim, Poly))
    upper = region.node.attrs.get("upper", 1)
    mask = (np.triu if upper else np.tril)(np.ones((rows, columns), bool), offset)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(facts.dtype(proto.input[0]) or 1)
    data = region.node.inputs[0]
    support = op_support("", "Where", target)
    if support is not None and support.status == "yes" and dtype.kind != "b":
        zero = region.constant("zero", np.zeros((), dtype))
        region.replace(region.layer("Where", "cut", [region.constant("kept", mask), data, zero]))
    elif dtype.kind == "b":
        region.replace(region.layer("And", "cut", [data, region.constant("kept", mask)]))
    else:
        region.replace(region.layer("Mul", "cut", [data, region.constant("kept", mask.astype(dtype))]))
    return None
