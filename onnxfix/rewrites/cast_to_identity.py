"""A Cast to the type that the data has already, as Identity.

Guard: the types are known. Bit-equal over 10 types.
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
    wanted = next(attribute.i for attribute in region.proto.attribute if attribute.name == "to")
    if facts.dtype(region.proto.input[0]) != wanted:
        return Decline("it changes the element type", plain=True)
    region.replace(region.layer("Identity", "same", region.node.inputs))
    return None
