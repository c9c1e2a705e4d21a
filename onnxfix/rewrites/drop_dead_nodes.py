"""A node that no output needs goes, and with it those that read it; parsers import them all the same.

Only where a release refuses such a node or takes it otherwise; other dead nodes stay as they are. Bit-equal: no output depends on
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._region import Change, Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    scope = facts.scope
    if region.index not in scope.dead:
        return Decline("an output needs it", plain=True)
    found: set[int] = set()
    waiting = [region.index]
    while waiting:
        index = waiting.pop()
        if index in found:
            continue
        found.add(index)
        waiting += scope.readers(scope.nodes_by_index[index])
    return [Change(region.scope, index) for index in sorted(found, key=lambda index: index != region.index)]
