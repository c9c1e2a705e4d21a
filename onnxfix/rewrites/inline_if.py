"""The branch that an If always takes, in the place of the If.

Guard: the condition is the same for every input. Bit-equal: the nodes are the branch's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.rewrites._body import Unrolled, refused_body
from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Change | Decline:
    """See the module."""
    condition = constant_value(facts, region.proto.input[0])
    if condition is None or condition.size != 1:
        return Decline("the condition depends on an input")
    wanted = "then_branch" if bool(condition.ravel()[0]) else "else_branch"
    branch = next(attribute.g for attribute in region.proto.attribute if attribute.name == wanted)
    declined = refused_body(branch)
    if declined is not None:
        return declined
    unrolled = Unrolled(region)
    return unrolled.change(unrolled.copy(branch, {}))
