"""Mish as x * Tanh(Softplus(x)); a node of that name in an older opset, which some exporters write, is meant the same.

Source: the function body of Mish-18. Guard: one input and no attributes. The same bits over 3 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    if len(region.proto.input) != 1 or region.proto.attribute:
        return Decline("it has other inputs or attributes than Mish")
    x = region.node.inputs[0]
    share = region.layer("Tanh", "share", [region.layer("Softplus", "softplus", [x])])
    region.replace(region.layer("Mul", "product", [x, share]))
    return None
