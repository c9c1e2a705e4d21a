"""QuantizeLinear and the DequantizeLinear nodes behind it as arithmetic on floats: the levels are whole numbers in a FLOAT tensor.

Guard: FLOAT data; constant scales and zero points of 8 or 16 bits, for the whole tensor or an axis; only DequantizeLinear reads the
levels. Bit-equal over 36 cases. The numbers of the quantized model stay, its integer speed goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites._values import constant_value

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

LEVELS = {"INT8": (-128, 127), "UINT8": (0, 255), "INT16": (-32768, 32767), "UINT16": (0, 65535)}


@dataclass(frozen=True, slots=True)
class Grid:
    """The scale and the zero point of a node, as float32 arrays that its data broadcast with."""

    scale: np.ndarray
    zero: np.ndarray


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    start = region
    if region.proto.op_type == "DequantizeLinear":
        maker = facts.scope.producers.get(region.proto.input[0])
        if maker is None or maker.op_type != "QuantizeLinear":
            return Decline("no QuantizeLinear makes what it reads", plain=True)
        start = region.beside(maker.proto, maker.index)
    name = start.proto.output[0]
    readers = [node for node, _ in facts.scope.consumers.get(name, ())]
    others = [reader for reader in readers if reader.op_type != "DequantizeLinear" or reader.scope is not facts.scope]
    if name in facts.scope.outputs or others or not readers:
        return Decline("others than DequantizeLinear read the levels")
    if region.opset < 11:
        return Decline("before opset 11 there is no Round")
    kinds = facts.dtype_name(name), facts.dtype_name(start.proto.input[0])
    if kinds[0] not in LEVELS or kinds[1] != "FLOAT":
        return Decline(f"levels of {kinds[0]} for data of {kinds[1]} have no form in floats")
    grid = _grid(start, facts)
    if isinstance(grid, Decline):
        return grid
    lowest, highest = LEVELS[kinds[0]]
    divided = start.layer("Div", "divided", [start.node.inputs[0], start.constant("scale", grid.scale)])
    level: gs.Variable = start.layer("Round", "rounded", [divided])
    if grid.zero.any():
        level = start.layer("Add", "moved", [level, start.constant("zero", grid.zero)])
    level = _layers.clip(start, "levels", level, lowest, highest, np.dtype(np.float32))
    levels = level.name
    start.drop(level)
    changes = [start.change()]
    for reader in readers:
        end = region.beside(reader.proto, reader.index)
        grid = _grid(end, facts)
        if isinstance(grid, Decline):
            return grid
        value: gs.Tensor = end.outer(levels)
        if grid.zero.any():
            value = end.layer("Sub", "centred", [value, end.constant("zero", grid.zero)])
        end.replace(end.layer("Mul", "scaled", [value, end.constant("scale", grid.scale)]))
        changes.append(end.change())
    return changes


def _grid(region: Region, facts: ScopeFacts) -> Grid | Decline:
    proto = region.proto
    rank = facts.rank(proto.input[0])
    scale = constant_value(facts, proto.input[1])
    zero = constant_value(facts, proto.input[2]) if len(proto.input) > 2 and proto.input[2] else None
    if scale is None or rank is None or (zero is None and len(proto.input) > 2 and proto.input[2]):
        return Decline("the scale or the zero point is computed at run time, or the rank is unknown")
    attributes = {item.name: onnx.helper.get_attribute_value(item) for item in proto.attribute}
    if attributes.get("block_size", 0) or scale.ndim > 1 or scale.dtype != np.float32:
        return Decline("it is quantized by blocks, or its scale is not FLOAT")
    levels = np.zeros(scale.shape, np.float32) if zero is None else zero.astype(np.float32)
    if scale.size > 1:
        axis = attributes.get("axis", 1) % rank
        shape = (-1,) + (1,) * (rank - 1 - axis)
        return Grid(scale.reshape(shape), levels.reshape(shape))
    return Grid(scale.reshape(()), levels.reshape(()))
