"""Erf as x * P(x*x) / Q(x*x) with x clipped to -4..4, P of degree 6 and Q of degree 4.

For importers without Erf (5.x, 6.0). The form keeps relative precision near 0, unlike the ones that start from 1 - exp(-x*x), and
needs no exponential; beyond 4 the function is 1 in float32. Coefficients: Eigen 3.3, generic_fast_erf_float.

FLOAT16 has no room for these: there it is Tanh(x * R(x*x)), R of degree 2, fitted to the smallest relative error (6e-05 before
rounding). Guard: float32 or float16. Largest error over 6 cases: 2e-07 of the largest value; in FLOAT16 9e-04, not two units in the
last place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._forms import float_kind, number
from onnxfix.rewrites._layers import clip
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


P = (
    -2.72614225801306e-10,
    2.77068142495902e-08,
    -2.10102402082508e-06,
    -5.69250639462346e-05,
    -7.34990630326855e-04,
    -2.95459980854025e-03,
    -1.60960333262415e-02,
)
Q = (-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02)
# of Tanh's argument over x, in FLOAT16; lowest power last, as above
R = (-0.00161514, 0.10364078, 1.12831393)


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    if kind not in (np.float32, np.float16):
        return Decline(f"the coefficients are for FLOAT, the data is {facts.dtype_name(region.proto.input[0])}")
    near = clip(region, "near", region.node.inputs[0], -4.0, 4.0, kind)
    square = region.layer("Mul", "square", [near, near])
    if kind == np.float16:
        curve = _polynomial(region, "r", square, R, kind)
        region.replace(region.layer("Tanh", "erf", [region.layer("Mul", "bent", [near, curve])]))
        return None
    above, below = (_polynomial(region, role, square, terms, kind) for role, terms in (("p", P), ("q", Q)))
    region.replace(region.layer("Div", "erf", [region.layer("Mul", "above", [near, above]), below]))
    return None


def _polynomial(region: Region, role: str, variable: gs.Variable, terms: tuple[float, ...], kind: np.dtype) -> gs.Variable:
    """Horner's scheme, highest power first."""
    total = region.layer("Mul", f"{role}_first", [variable, number(region, f"{role}_highest", terms[0], kind)])
    for power, term in enumerate(terms[1:-1], 1):
        plus = region.layer("Add", f"{role}{power}_plus", [total, number(region, f"{role}{power}", term, kind)])
        total = region.layer("Mul", f"{role}{power}_times", [plus, variable])
    return region.layer("Add", role, [total, number(region, f"{role}_lowest", terms[-1], kind)])
