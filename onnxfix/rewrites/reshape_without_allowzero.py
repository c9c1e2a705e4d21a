"""Reshape that says allowzero where no entry of its shape is 0: the attribute says nothing, and is left out.

PyTorch's newer exporter writes it on every view. Guard: every entry is known, as a number other than 0 or as a dimension, which is
at least 1. The same bits.
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
    attribute = next((item for item in region.proto.attribute if item.name == "allowzero"), None)
    if attribute is None or region.opset < 14:
        return Decline("it does not say allowzero", plain=True)
    entries = facts.array(region.proto.input[1])
    if attribute.i and entries is None:
        return Decline("the new shape is computed at run time")
    if attribute.i and entries is not None and any(facts.smallest(entry) == 0 for entry in entries.ravel()):
        return Decline("an entry of the new shape is 0")
    kept = [item for item in region.proto.attribute if item.name != "allowzero"]
    del region.edited.attribute[:]
    region.edited.attribute.extend(kept)
    return None
