"""Celu as alpha * Elu(x / alpha).

Source: Max(0, x) + Min(0, alpha * (exp(x / alpha) - 1)), Celu-12. Guard: alpha is positive. Largest error over 6 cases: 6e-08 of
the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    alpha = float(region.node.attrs.get("alpha", 1.0))
    if alpha <= 0:
        return Decline(f"alpha is {alpha:g}")
    x = region.node.inputs[0]
    if alpha == 1:
        region.replace(region.layer("Elu", "elu", [x], alpha=1.0))
        return None
    narrow = region.layer("Mul", "narrow", [x, number(region, "inverse", 1 / alpha, kind)])
    elu = region.layer("Elu", "elu", [narrow], alpha=1.0)
    region.replace(region.layer("Mul", "wide", [elu, number(region, "alpha", alpha, kind)]))
    return None
