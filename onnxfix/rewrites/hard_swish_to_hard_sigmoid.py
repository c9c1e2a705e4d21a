"""HardSwish as x * HardSigmoid(x) with alpha 1/6 and beta 1/2.

Source: the function body of HardSwish-14. The same bits over 3 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    x = region.node.inputs[0]
    share = region.layer("HardSigmoid", "share", [x], alpha=1 / 6, beta=0.5)
    region.replace(region.layer("Mul", "product", [x, share]))
    return None
