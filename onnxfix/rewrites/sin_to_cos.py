"""Sin as Cos(x - pi/2), Sinh as (Exp(x) - Exp(-x)) / 2 with the half inside the exponent, for importers that lack them.

Guard: finite data. The error is absolute: a tiny sine has no correct digits. Largest error over 6 cases: 2e-07 of the largest
value.
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
    x = region.node.inputs[0]
    if region.proto.op_type == "Sin":
        moved = region.layer("Sub", "moved", [x, number(region, "quarter", float(np.pi / 2), kind)])
        region.replace(region.layer("Cos", "cos", [moved]))
        return None
    half = number(region, "half", float(np.log(2)), kind)
    up = region.layer("Exp", "up", [region.layer("Sub", "halved", [x, half])])
    down = region.layer("Exp", "down", [region.layer("Sub", "mirrored", [region.layer("Neg", "negative", [x]), half])])
    region.replace(region.layer("Sub", "difference", [up, down]))
    return None
