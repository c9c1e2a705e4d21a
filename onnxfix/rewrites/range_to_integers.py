"""Range of floats up to a size as a Range of integers, times the step, plus the start.

Where the limit is a Cast of an integer and start and step are whole numbers, the count is a division of integers: ONNX's
max(ceil((limit - start) / step), 0). Guard: that, and a positive step. Bit-equal over 10 cases, for sizes up to 2^24.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._forms import INTEGERS, float_kind
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    start, step = (facts.constant(region.proto.input[slot]) for slot in (0, 2))
    maker = facts.scope.producers.get(region.proto.input[1])
    if start is None or step is None:
        return Decline("start or step is computed at run time")
    first, by = float(start), float(step)
    if first != int(first) or by != int(by) or by <= 0:
        return Decline("start and step are no whole numbers, or the step is not positive")
    if maker is None or maker.op_type != "Cast" or facts.dtype(maker.inputs[0]) not in INTEGERS:
        return Decline("its limit is no Cast of an integer")
    held = facts.dtype(maker.inputs[0])
    integer = onnx.helper.tensor_dtype_to_np_dtype(held)
    limit = region.outer(maker.inputs[0])
    # a limit below the start gives a count below 0, of which Range makes nothing
    count = limit
    if first != by - 1:
        count = region.layer("Add", "from_start", [limit, region.constant("offset", np.array(by - 1 - first, integer))])
    if by != 1:
        count = region.layer("Div", "count", [count, region.constant("by", np.array(by, integer))])
    ends = [region.constant(role, np.array(value, integer)) for role, value in (("zero", 0), ("one", 1))]
    numbers = region.layer("Range", "numbers", [ends[0], count, ends[1]])
    made = region.layer("Cast", "floats", [numbers], to=facts.dtype(region.proto.input[0]))
    if by != 1:
        made = region.layer("Mul", "scaled", [made, region.constant("step", np.array([by], kind))])
    if first:
        made = region.layer("Add", "moved", [made, region.constant("start", np.array([first], kind))])
    region.replace(made)
    return None
