"""A node that leaves outputs unnamed: those at the end are left out, the others get names of their own.

Nothing reads an output without a name, so the rest computes what it did. The same bits.
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
    outputs = region.proto.output
    if all(outputs):
        return Decline("all its outputs have names")
    while region.edited.output and not region.edited.output[-1]:
        del region.edited.output[-1]
    for place, name in enumerate(region.edited.output):
        if not name:
            region.edited.output[place] = region.free_name(f"output{place}")
    return None
