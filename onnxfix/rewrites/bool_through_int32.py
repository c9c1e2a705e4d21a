"""An operator that only moves its data, on INT32 instead of BOOL: Cast, the operator, Cast.

Guard: the data is BOOL. Bit-equal over 18 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

INT32, BOOL = 6, 9
# The inputs that hold data; None: all.
DATA: dict[str, tuple[int, ...] | None] = {
    "Concat": None,
    "Expand": (0,),
    "Flatten": (0,),
    "Gather": (0,),
    "GatherElements": (0,),
    "GatherND": (0,),
    "Pad": (0, 2),
    "Reshape": (0,),
    "ScatterElements": (0, 2),
    "ScatterND": (0, 2),
    "Slice": (0,),
    "Split": (0,),
    "Squeeze": (0,),
    "Tile": (0,),
    "Transpose": (0,),
    "Unsqueeze": (0,),
    "Where": (1, 2),
}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    proto = region.proto
    slots = DATA[proto.op_type]
    data = range(len(proto.input)) if slots is None else [slot for slot in slots if slot < len(proto.input)]
    if any(facts.dtype_name(proto.input[slot]) != "BOOL" for slot in data if proto.input[slot]):
        return Decline("its data is not BOOL", plain=True)
    inputs = list(region.node.inputs)
    made: dict[str, gs.Tensor] = {}
    for slot in data:
        name = proto.input[slot]
        if not name:
            continue
        known = facts.constant(name) if facts.is_constant(name) else None
        if name not in made and known is not None:
            made[name] = region.constant(f"whole{slot}", known.astype(np.int32))
        elif name not in made:
            made[name] = _layers.cast(region, f"whole{slot}", inputs[slot], INT32)
        inputs[slot] = made[name]
    roles = [f"moved{number}" for number in range(len(proto.output))]
    moved = region.layers(proto.op_type, roles, inputs, **region.node.attrs)
    region.replace(*(_layers.cast(region, f"back{number}", tensor, BOOL) for number, tensor in enumerate(moved)))
    return None
