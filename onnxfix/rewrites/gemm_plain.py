"""Gemm with alpha and beta of 1 and a third input: factors go into constants, or a Mul before; a missing bias is zeros.

Guard: real floats; without a bias the second input's shape is known. The same bits over 14 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites._forms import float_kind, number
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
    attrs, inputs = dict(region.node.attrs), list(region.node.inputs)
    names = region.proto.input
    alpha, beta = float(attrs.pop("alpha", 1.0)), float(attrs.pop("beta", 1.0))
    if alpha == 1 and beta == 1 and len(names) > 2 and names[2]:
        return Decline("its factors are 1 and it has a bias", plain=True)
    if alpha != 1:
        weights = facts.constant(names[1])
        if weights is not None:
            inputs[1] = region.constant("weights", (weights * weights.dtype.type(alpha)).astype(kind))
        else:
            inputs[0] = region.layer("Mul", "scaled", [inputs[0], number(region, "alpha", alpha, kind)])
    if len(names) < 3 or not names[2]:
        shape = facts.shape(names[1])
        width = None if shape is None or len(shape) != 2 else shape[0 if attrs.get("transB", 0) else 1]
        if width is None or isinstance(width, Poly):
            return Decline("it has no bias, and how long one would be is unknown")
        inputs[2:] = [region.constant("bias", np.zeros(int(width), kind))]
    elif beta != 1:
        bias = facts.constant(names[2])
        if bias is not None:
            inputs[2] = region.constant("bias", (bias * bias.dtype.type(beta)).astype(kind))
        else:
            inputs[2] = region.layer("Mul", "scaled_bias", [inputs[2], number(region, "beta", beta, kind)])
    region.replace(region.layer("Gemm", "plain", inputs, **attrs))
    return None
