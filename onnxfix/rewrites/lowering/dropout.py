"""Dropout: ratio and training_mode as inputs (from opset 12); outside of training the data pass and the mask is all true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering import _general

if TYPE_CHECKING:
    from onnxfix.rewrites._region import Region


def lower(region: Region, low: int) -> Decline | None:
    """See the module."""
    proto, facts = region.proto, region.facts
    if low >= 12 or (region.opset < 12 and (low >= 10 or len(proto.output) < 2)):
        return _general.lower(region, low)
    inputs = [*proto.input, "", ""]
    ratio = facts.constant(inputs[1]) if inputs[1] else None
    if region.opset >= 12 and inputs[2]:
        training = facts.constant(inputs[2])
        if training is None:
            return Decline("training_mode of Dropout is computed at run time")
        if np.any(training) and (not inputs[1] or ratio is None or np.any(ratio)):
            return Decline("Dropout drops at random: training_mode is set")
    if len(proto.output) < 2 or not proto.output[1]:
        del region.edited.input[1:]
        del region.edited.output[1:]
        del region.edited.attribute[:]
        if ratio is not None and ratio.size == 1:
            _general.set_attribute(region, "ratio", float(np.ravel(ratio)[0]))
        return None
    if region.opset < 9:
        return Decline("ConstantOfShape came with opset 9")
    data = region.node.inputs[0]
    shape = region.layer("Shape", "shape", [data])
    mask = region.layer("ConstantOfShape", "mask", [shape], value=region.constant("true", np.ones(1, np.bool_)))
    region.replace(data, mask)
    return None
