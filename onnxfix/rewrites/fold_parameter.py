"""Write a computed shape, sizes, scales or bound as a constant where it is the same for every input.

From the flagged node the arithmetic is followed to the nodes that use its result; each gets a constant in its place, and what
only fed it goes. The rules hold for all values of the dynamic dimensions:

- Reshape: an entry equal to the data's dimension at the same place becomes 0, then one other unknown entry -1 (a tensor with no
  elements excepted, where -1 has no meaning).
- Resize: sizes that are the same whole multiple of the data's for every value become scales.
- Slice: an end equal to the dimension becomes "to the end", a bound `dim - k` becomes -k. Where the dimension is below k that means
  another element: `dim - k` counts from the end a second time, -k stops at the front. Up to k = 2 both stop there.
- all others: only plain numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model._arithmetic import EVALUATED
from onnxfix.model.dims import Poly, divide
from onnxfix.rewrites._interpolation import output_size
from onnxfix.rewrites._layers import TO_THE_END
from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    from onnxfix.model.dims import Number
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

# The largest k for which the bounds `dim - k` and -k are the same at every size, with a positive step.
SAFE_BEYOND = 2
# The inputs of an operator that are parameters rather than data.
PARAMETERS = {
    "BatchNormalization": (1, 2, 3, 4),
    "Clip": (1, 2),
    "ConstantOfShape": (0,),
    "Conv": (1, 2),
    "ConvTranspose": (1, 2),
    "Expand": (1,),
    "Gemm": (1, 2),
    "InstanceNormalization": (1, 2),
    "PRelu": (1,),
    "Pad": (1, 2),
    "ReduceSum": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
    "Tile": (1,),
    "TopK": (1,),
    "Upsample": (1,),
}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    ends = _consumers(region, facts)
    if isinstance(ends, Decline):
        return ends
    changes = []
    for index, slots in ends.items():
        proto = facts.scope.nodes_by_index[index].proto
        end = region.beside(proto, index)
        for slot in slots:
            declined = _fold(end, facts, slot)
            if declined is not None:
                return Decline(f"{proto.op_type} {proto.name or proto.output[0]}: {declined.reason}")
        changes.append(end.change())
    return changes


def _consumers(region: Region, facts: ScopeFacts) -> dict[int, list[int]] | Decline:
    """The nodes (by position) and slots where the arithmetic that the flagged node belongs to ends."""
    proto = region.proto
    own = [slot for slot in PARAMETERS.get(proto.op_type, ()) if _computed(facts, proto, slot)]
    if own and (proto.op_type not in EVALUATED or facts.array(proto.output[0]) is None):
        return {region.index: own}
    ends: dict[int, list[int]] = {}
    waiting, seen = [name for name in proto.output if name], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in facts.scope.outputs:
            return Decline("the result of the shape arithmetic is a graph output", plain=True)
        for node, slot in facts.scope.consumers.get(name, ()):
            if node.scope is not facts.scope:
                return Decline("a subgraph reads the result of the shape arithmetic")
            if node.op_type in EVALUATED and not (node.op_type in PARAMETERS and slot > 0):
                waiting.extend(output for output in node.outputs if output)
            elif slot in PARAMETERS.get(node.op_type, ()):
                ends.setdefault(node.index, []).append(slot)
            else:
                return Decline(f"{node.op_type} uses the result as data", plain=True)
    return ends or Decline("nothing uses the result")


def _computed(facts: ScopeFacts, proto: onnx.NodeProto, slot: int) -> bool:
    return slot < len(proto.input) and proto.input[slot] in facts.scope.producers


def _fold(end: Region, facts: ScopeFacts, slot: int) -> Decline | None:
    name = end.edited.input[slot]
    label = (
        {1: "scales", 2: "scales", 3: "sizes"}[slot]
        if end.proto.op_type in ("Resize", "Upsample")
        else _LABELS.get((end.proto.op_type, slot), f"input{slot}")
    )
    if not facts.dtype(name):
        return Decline(f"the element type of {label} is unknown")
    numbers = constant_value(facts, name) if facts.is_constant(name) else facts.numbers(name)
    if numbers is not None and label == "scales":
        numbers = _scales(end, numbers, facts.shape(end.proto.input[0]))
    if numbers is not None:
        end.set_input(slot, label, numbers.astype(onnx.helper.tensor_dtype_to_np_dtype(facts.dtype(name))))
        return None
    array, shape = facts.array(name), facts.shape(end.proto.input[0])
    if array is None or shape is None:
        return Decline(f"{label} is computed at run time")
    entries: list[Number] = list(array.ravel())
    if end.proto.op_type == "Reshape":
        return _fold_reshape(end, entries, shape)
    if end.proto.op_type == "Resize" and slot == 3:
        return _fold_sizes(end, entries, shape)
    if end.proto.op_type == "Slice" and slot in (1, 2):
        return _fold_bound(end, facts, slot, label, entries, shape)
    return Decline(f"{label} depends on dynamic dimensions: {_show(entries)}")


_LABELS = {
    ("BatchNormalization", 1): "scale",
    ("BatchNormalization", 2): "bias",
    ("BatchNormalization", 3): "mean",
    ("BatchNormalization", 4): "variance",
    ("Conv", 1): "weight",
    ("Conv", 2): "bias",
    ("ConvTranspose", 1): "weight",
    ("ConvTranspose", 2): "bias",
    ("Gemm", 1): "weight",
    ("Gemm", 2): "bias",
    ("InstanceNormalization", 1): "scale",
    ("InstanceNormalization", 2): "bias",
    ("Reshape", 1): "shape",
    ("Slice", 1): "starts",
    ("Slice", 2): "ends",
    ("Slice", 3): "axes",
    ("Slice", 4): "steps",
    ("Clip", 1): "min",
    ("Clip", 2): "max",
    ("PRelu", 1): "slope",
    ("Pad", 1): "pads",
}


def _fold_reshape(end: Region, entries: list[Number], shape: tuple[Number, ...]) -> Decline | None:
    if any(attribute.name == "allowzero" and attribute.i for attribute in end.proto.attribute):
        return Decline("allowzero=1 gives 0 another meaning")
    target = []
    for axis, entry in enumerate(entries):
        if not isinstance(entry, Poly):
            target.append(int(entry))
        elif axis < len(shape) and entry == shape[axis]:
            target.append(0)
        else:
            target.append(-1)
    if target.count(-1) > 1:
        return Decline(f"the new shape {_show(entries)} has more than one dimension that only run time tells")
    end.set_input(1, "shape", np.array(target, np.int64))
    return None


def _scales(end: Region, scales: np.ndarray, shape: tuple[Number, ...] | None) -> np.ndarray:
    """Scales as numbers that give the same sizes in float32, as runtimes compute, and in float64, as onnx's shape inference does.

    10 times 1.9 is 19 in the one and 18 in the other; the next float32 gives 19 in both. It is taken where nearest elements stay
    the same ones.
    """
    mode = next((attribute.s for attribute in end.proto.attribute if attribute.name == "mode"), b"nearest")
    if shape is None or len(shape) != scales.size or mode != b"nearest" or (end.proto.op_type == "Resize" and end.opset > 10):
        return scales
    kept = scales.astype(np.float32)
    for axis, (before, scale) in enumerate(zip(shape, kept, strict=True)):
        if not isinstance(before, int):
            continue
        size = output_size(before, scale)
        larger = np.nextafter(scale, np.float32(np.inf))
        if int(before * float(scale)) == size - 1 and output_size(before, larger) == int(before * float(larger)) == size:
            index = np.arange(size, dtype=np.float32)
            if np.array_equal(np.floor(index / scale), np.floor(index / larger)):
                kept[axis] = larger
    return kept


def _fold_sizes(end: Region, entries: list[Number], shape: tuple[Number, ...]) -> Decline | None:
    if any(attribute.name in ("axes", "keep_aspect_ratio_policy") for attribute in end.proto.attribute):
        return Decline("the sizes are of some axes only, or bounds")
    if len(entries) != len(shape):
        return Decline(f"{len(entries)} sizes for {len(shape)} axes")
    scales = []
    for after, before in zip(entries, shape, strict=True):
        ratio = divide(after, before)
        if ratio is None or not isinstance(ratio, int):
            return Decline(f"the sizes {_show(entries)} are no whole multiple of {_show(list(shape))}")
        scales.append(float(ratio))
    end.set_input(2, "scales", np.array(scales, np.float32))
    del end.edited.input[3:]
    return None


def _fold_bound(
    end: Region, facts: ScopeFacts, slot: int, label: str, entries: list[Number], shape: tuple[Number, ...]
) -> Decline | None:
    inputs = end.proto.input
    axes = facts.numbers(inputs[3]) if len(inputs) > 3 and inputs[3] else np.arange(len(entries))
    steps = facts.numbers(inputs[4]) if len(inputs) > 4 and inputs[4] else np.ones(len(entries), int)
    if axes is None or steps is None:
        return Decline("the axes or steps are computed at run time")
    bounds = []
    for entry, axis, step in zip(entries, axes, steps, strict=True):
        dim = shape[int(axis)]
        beyond = entry - dim if isinstance(entry, Poly) else None
        if not isinstance(entry, Poly):
            bounds.append(int(entry))
        elif beyond is None or isinstance(beyond, Poly) or (beyond >= 0 and slot == 1):
            return Decline(f"{label} depends on dynamic dimensions: {_show(entries)}")
        elif -beyond > max(facts.smallest(dim), SAFE_BEYOND if step > 0 else 0):
            return Decline(f"{label} {entry} is another element where the dimension is below {-beyond}")
        else:
            bounds.append(int(beyond) if beyond < 0 else TO_THE_END)
    end.set_input(slot, label, np.array(bounds, np.int64))
    return None


def _show(entries: list[Number]) -> str:
    return "[" + ", ".join(map(str, entries)) + "]"
