"""Gemm whose second input is computed as MatMul and Add, with a Transpose where one is asked for.

Guard: real floats. The same bits over 16 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
    attrs, inputs, names = region.node.attrs, list(region.node.inputs), region.proto.input
    if attrs.get("transA", 0):
        inputs[0] = region.layer("Transpose", "left", [inputs[0]], perm=[1, 0])
    if attrs.get("transB", 0):
        weights = facts.constant(names[1])
        inputs[1] = (
            region.layer("Transpose", "right", [inputs[1]], perm=[1, 0])
            if weights is None
            else region.constant("weights", np.ascontiguousarray(weights.T))
        )
    made = region.layer("MatMul", "product", inputs[:2])
    if float(attrs.get("alpha", 1.0)) != 1:
        made = region.layer("Mul", "scaled", [made, number(region, "alpha", float(attrs["alpha"]), kind)])
    if len(names) > 2 and names[2]:
        bias = inputs[2]
        if float(attrs.get("beta", 1.0)) != 1:
            bias = region.layer("Mul", "scaled_bias", [bias, number(region, "beta", float(attrs["beta"]), kind)])
        made = region.layer("Add", "sum", [made, bias])
    region.replace(made)
    return None
