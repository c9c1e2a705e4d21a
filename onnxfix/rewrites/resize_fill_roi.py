"""A Resize whose region of interest is an empty constant: the same with the whole of every axis as the region.

The region is read in mode tf_crop_and_resize alone; elsewhere any numbers may stand there. Guard: opset 11 or later, the rank is
known, no other constant without elements. The same bits over 48 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    inputs = region.proto.input
    rank = facts.rank(inputs[0])
    if region.opset < 11 or len(inputs) < 2:
        return Decline("it has no region of interest")
    if rank is None:
        return Decline("the rank of the data is unknown")
    empty = [slot for slot, name in enumerate(inputs) if name and facts.is_constant(name) and 0 in (facts.shape(name) or ())]
    if empty != [1]:
        return Decline("its scales are empty, not its region of interest alone")
    if any(attribute.name == "coordinate_transformation_mode" and b"crop" in attribute.s for attribute in region.proto.attribute):
        return Decline("the region of interest is read")
    kind = facts.constant(inputs[1])
    region.set_input(1, "roi", np.array([0] * rank + [1] * rank, np.float32 if kind is None else kind.dtype))
    return None
