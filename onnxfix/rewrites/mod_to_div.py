"""Mod of integers by a division that truncates: a - a / b * b, and once more on that plus b, whose sign is then that of b.

With fmod=1 the first remainder is the result. Guard: INT32 or INT64, opset 7 or later; a divisor of 0 has no result in either
form. The same bits over 4 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import INTEGERS
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    dtype = facts.dtype(region.proto.input[0])
    if dtype not in INTEGERS:
        return Decline(f"the data is {facts.dtype_name(region.proto.input[0])}")
    divisor = region.node.inputs[1]
    first = _remainder(region, "first", region.node.inputs[0], divisor)
    if not region.node.attrs.get("fmod", 0):
        first = _remainder(region, "second", region.layer("Add", "raised", [first, divisor]), divisor)
    region.replace(first)
    return None


def _remainder(region: Region, role: str, value: gs.Tensor, divisor: gs.Tensor) -> gs.Variable:
    quotient = region.layer("Div", f"{role}_quotient", [value, divisor])
    return region.layer("Sub", f"{role}_rest", [value, region.layer("Mul", f"{role}_multiple", [quotient, divisor])])
