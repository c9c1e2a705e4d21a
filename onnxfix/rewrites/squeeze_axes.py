"""Squeeze of every axis of size 1, with those axes written down; importers look the attribute up unasked.

Guard: opset below 13, where axes are an attribute (a newer model gets it when it moves), and static sizes. Bit-equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering.axes import axes_of_one

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    if "axes" in region.node.attrs or region.opset >= 13:
        return Decline("its axes are given, or no attribute in this opset", plain=True)
    axes = axes_of_one(facts, region.proto.input[0])
    if axes is None:
        return Decline("the size of an axis is dynamic, so that it is not known which axes go")
    region.edited.attribute.append(onnx.helper.make_attribute("axes", axes, attr_type=onnx.AttributeProto.INTS))
    return None
