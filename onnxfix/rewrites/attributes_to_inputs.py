"""Write a node that has an older opset's attributes in the form of the model's own opset, where they are inputs.

The model is invalid as it stands, so this changes what the file says and needs consent; the older form has one meaning only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._region import Decline
from onnxfix.rewrites.lowering._general import drop_attribute

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

# operator: its attributes of old in the order of the inputs that replace them (changelog of onnx/defs, opsets 10 to 13).
INPUTS = {
    "Clip": ("min", "max"),
    "Pad": ("pads", "value"),
    "ReduceSum": ("axes",),
    "Slice": ("starts", "ends", "axes"),
    "Split": ("split",),
    "Squeeze": ("axes",),
    "TopK": ("k",),
    "Unsqueeze": ("axes",),
}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    names = INPUTS[region.proto.op_type]
    attributes = {attribute.name: attribute for attribute in region.proto.attribute}
    if len(region.proto.input) > 1:
        return Decline("it has inputs and the attributes that they replaced")
    dtype = facts.dtype(region.proto.input[0])
    for slot, name in enumerate(names, 1):
        attribute = attributes.get(name)
        if attribute is None:
            continue
        value = onnx.helper.get_attribute_value(attribute)
        if attribute.type == onnx.AttributeProto.FLOAT:
            if not dtype:
                return Decline("the element type of the data is not known")
            array = np.array(value, onnx.helper.tensor_dtype_to_np_dtype(dtype))
        else:
            array = np.array([value] if name == "k" else value, np.int64)
        region.set_input(slot, name, array)
        drop_attribute(region, name)
    return None
