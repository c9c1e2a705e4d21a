"""LSTM, GRU and RNN without the inputs that say what holds anyway: states of zeros, lengths that are the whole sequence.

An importer that looks every input up by name refuses the empty one between the bias and the initial state, which exporters write
although that state is zeros. Guard: what is dropped is zeros (or the full length) for every input. Where something behind has to
stay, absent lengths are written out, which needs a static batch and length. Bit-equal over 24 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites._forms import MOVES
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

LENGTHS, HIDDEN, CELL = 4, 5, 6
# Operators that make zeros of zeros.
KEEP_ZERO = MOVES | {"Cast"}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    proto = region.proto
    shape = facts.shape(proto.input[0])
    if shape is None or len(shape) != 3:
        return Decline("the shape of the sequence is unknown")
    layout = next((attribute.i for attribute in proto.attribute if attribute.name == "layout"), 0)
    length, batch = (shape[1], shape[0]) if layout else shape[:2]
    inputs = list(proto.input)
    for slot in (HIDDEN, CELL):
        if slot < len(inputs) and inputs[slot] and is_zero(facts, inputs[slot]):
            inputs[slot] = ""
    if len(inputs) > LENGTHS and inputs[LENGTHS]:
        lengths = constant_value(facts, inputs[LENGTHS])
        if lengths is not None and not isinstance(length, Poly) and (lengths == length).all():
            inputs[LENGTHS] = ""
    while inputs and not inputs[-1]:
        inputs.pop()
    del region.edited.input[:]
    region.edited.input.extend(inputs)
    if "" not in inputs:
        return None if inputs != list(proto.input) else Decline("it leaves out no input")
    if isinstance(length, Poly) or isinstance(batch, Poly):
        return Decline("the length or the batch is dynamic, and the state is not zeros")
    hidden = facts.static_shape(proto.input[2])
    dtype = np.float16 if facts.dtype_name(proto.input[0]) == "FLOAT16" else np.float32
    if hidden is None:
        return Decline("the shape of the weights is unknown")
    state = np.zeros((int(batch), hidden[0], hidden[2]) if layout else (hidden[0], int(batch), hidden[2]), dtype)
    missing = {
        3: ("bias", np.zeros((hidden[0], 2 * hidden[1]), dtype)),
        LENGTHS: ("lengths", np.full(int(batch), int(length), np.int32)),
        HIDDEN: ("state", state),
        CELL: ("cell", state),
    }
    for slot, name in enumerate(inputs):
        if not name:
            region.set_input(slot, *missing[slot])
    return None


def is_zero(facts: ScopeFacts, name: str) -> bool:
    """True where every element is 0 for every input, whatever its shape."""
    waiting, seen = [name], set()
    while waiting:
        wanted = waiting.pop()
        if wanted in seen:
            continue
        seen.add(wanted)
        if facts.is_constant(wanted):
            array = constant_value(facts, wanted)
            if array is not None and not array.any():
                continue
        owner = facts.scope.owner(wanted)
        maker = owner.producers.get(wanted) if owner is not None else None
        if maker is None or maker.domain:
            return False
        if maker.op_type == "ConstantOfShape":
            fill = maker.attr("value")
            if fill is not None and any(fill.raw_data or (*fill.float_data, *fill.int32_data, *fill.int64_data, *fill.double_data)):
                return False
        elif maker.op_type == "Concat":
            waiting.extend(maker.inputs)
        elif maker.op_type in KEEP_ZERO:
            waiting.append(maker.inputs[0])
        else:
            return False
    return True
