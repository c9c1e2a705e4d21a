"""A node without the attributes that say what the operator's schema says of itself.

For importers that refuse an attribute by its name. The same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.model.opsets import schema_of
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    schema = schema_of(region.proto.op_type, region.opset, region.proto.domain)
    if schema is None:
        return Decline("the operator has no schema")
    defaults = {name: known.default_value for name, known in schema.attributes.items() if known.default_value.name}
    value = onnx.helper.get_attribute_value
    kept = [
        attribute
        for attribute in region.proto.attribute
        if attribute.name not in defaults or value(attribute) != value(defaults[attribute.name])
    ]
    if len(kept) == len(region.proto.attribute):
        return Decline("none of its attributes is the default", plain=True)
    del region.edited.attribute[:]
    region.edited.attribute.extend(kept)
    return None
