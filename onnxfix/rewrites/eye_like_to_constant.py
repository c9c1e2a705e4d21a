"""EyeLike of data with a static shape: the matrix, stored.

Guard: a static shape. Bit-equal over 8 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._indexing import MAX_INDICES
from onnxfix.rewrites._region import Change, Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Change | Decline:
    """See the module."""
    proto = region.proto
    shape = facts.static_shape(proto.input[0])
    if shape is None or shape[0] * shape[1] > MAX_INDICES:
        return Decline("the shape is dynamic, or too large")
    attributes = {attribute.name: attribute.i for attribute in proto.attribute}
    kind = attributes.get("dtype", facts.dtype(proto.input[0]))
    if not kind:
        return Decline("the element type is unknown")
    matrix = np.eye(shape[0], shape[1], int(attributes.get("k", 0))).astype(onnx.helper.tensor_dtype_to_np_dtype(kind))
    return region.stored({region.proto.output[0]: matrix})
