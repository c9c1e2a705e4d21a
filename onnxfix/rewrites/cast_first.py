"""A node that only moves its data, and the Cast behind it, in the other order: importers take few types, and images are UINT8.

Guard: nothing but one Cast reads the result. The same bits for every type.
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
    proto, scope = region.proto, facts.scope
    readers = [node for node, _ in scope.consumers.get(proto.output[0], ())]
    if proto.output[0] in scope.outputs or len(readers) != 1 or readers[0].scope is not scope:
        return Decline("others than one Cast read it", plain=True)
    cast = readers[0]
    if cast.domain or cast.op_type != "Cast":
        return Decline("others than one Cast read it", plain=True)
    region.edited.input[0] = region.free_name("first")
    region.edited.output[0] = cast.proto.output[0]
    changed = region.change()
    before = type(proto)()
    before.CopyFrom(cast.proto)
    before.input[0], before.output[0] = proto.input[0], region.edited.input[0]
    changed.nodes.insert(0, before)
    return [changed, Change(region.scope, cast.index)]
