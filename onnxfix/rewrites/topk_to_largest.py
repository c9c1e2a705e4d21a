"""TopK of the smallest as TopK of the largest of negative data, and back.

The same bits; where values are equal the order of their indices is that of the runtime. Guard: real floats. The same bits over 2
cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._forms import float_kind, is_read
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
    if region.node.attrs.get("largest", 1):
        return Decline("it takes the largest", plain=True)
    negative = region.layer("Neg", "negative", [region.node.inputs[0]])
    attrs = {key: value for key, value in region.node.attrs.items() if key != "largest"}
    values, indices = region.layers("TopK", ("largest", "indices"), [negative, *region.node.inputs[1:]], **attrs)
    read = [is_read(facts, name) for name in region.proto.output]
    region.replace(region.layer("Neg", "smallest", [values]) if read[0] else None, indices if read[1] else None)
    return None
