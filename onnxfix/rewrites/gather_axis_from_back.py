"""Gather of rows of a constant names its axis from the back: with an implicit batch axis 0 is taken for the batch.

The importer counts a negative axis from the back of the axes that it sees, and of a constant it sees all; what it makes has the
axes of the positions in front, as the batch of the positions needs. Guard: constant data, its first axis. The same bits.

Source: onnx-tensorrt branches v5.0 to 6.0, onnx2trt_utils.hpp, convert_axis, and builtin_op_importers.cpp, Gather.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    data, positions = region.proto.input
    rank = facts.rank(data)
    if not facts.is_constant(data) or not rank:
        return Decline("the data is no constant", plain=True)
    if facts.is_constant(positions):
        return Decline("the positions are constant too", plain=True)
    axes = [attribute for attribute in region.proto.attribute if attribute.name == "axis"]
    if axes and axes[0].i:
        return Decline("it works along another axis than the first", plain=True)
    node = region.edited
    for index, attribute in enumerate(node.attribute):
        if attribute.name == "axis":
            del node.attribute[index]
            break
    node.attribute.append(onnx.helper.make_attribute("axis", -rank))
    return None
