"""LReLU_TRT, a plugin that TensorRT 11 no longer has, as LeakyRelu.

Source: TensorRT, plugin/leakyReluPlugin: x where it is positive, else negSlope * x. The same bits.
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
    slope = region.node.attrs.get("negSlope")
    if slope is None:
        return Decline("it has no negSlope")
    region.replace(region.layer("LeakyRelu", "leaky", [region.node.inputs[0]], alpha=float(slope)))
    return None
