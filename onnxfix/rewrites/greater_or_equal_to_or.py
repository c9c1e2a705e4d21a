"""GreaterOrEqual and LessOrEqual as Or of Greater or Less and Equal; Xor as Or without And.

Not(Less) would be true of NaN. The same bits for every value. The same bits over 3 cases.
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
    if region.opset < 7:
        return Decline("operators do not broadcast before opset 7")
    a, b = region.node.inputs
    op = region.proto.op_type
    if op == "Xor":
        both = region.layer("Not", "not_both", [region.layer("And", "both", [a, b])])
        region.replace(region.layer("And", "one", [region.layer("Or", "any", [a, b]), both]))
        return None
    strict = region.layer("Greater" if op == "GreaterOrEqual" else "Less", "strict", [a, b])
    region.replace(region.layer("Or", "either", [strict, region.layer("Equal", "equal", [a, b])]))
    return None
