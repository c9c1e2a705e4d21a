"""GridSample over two axes as arithmetic on the grid and one Gather for every corner of a pixel.

nearest takes one corner, linear four with their weights, in all modes of padding. Guard: data and grid of static shape, float32 or
double, opset 9 or later. Of positions that lie on a half or an integer to the last bit, runtimes round otherwise than each other.
Largest error over 36 cases: 2e-07 absolute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

_KINDS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE)


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    data, grid = region.proto.input
    shape, wanted, dtype = facts.static_shape(data), facts.static_shape(grid), facts.dtype(data)
    if shape is None or wanted is None:
        return Decline("data or grid have dynamic sizes")
    if len(shape) != 4:
        return Decline(f"the data have rank {len(shape)}, not 4")
    if dtype not in _KINDS or facts.dtype(grid) != dtype:
        return Decline(f"the data are {facts.dtype_name(data)}")
    if region.opset < 9 or target.implicit_batch:
        return Decline("indices cannot be computed")
    if 0 in (*shape, *wanted):
        return Decline("data or grid are empty")
    attrs = region.node.attrs
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(attrs.get("mode", "linear"), attrs.get("mode", "linear"))
    if mode == "cubic":
        return Decline("cubic interpolation is not covered")
    sampler = _Sampler(region, shape, np.dtype(onnx.helper.tensor_dtype_to_np_dtype(dtype)))
    x, y = (sampler.positions(axis, extent) for axis, extent in ((0, shape[3]), (1, shape[2])))
    if mode == "nearest":
        made = sampler.pixel("near", sampler.rounded("near_y", y), sampler.rounded("near_x", x))
    else:
        made = sampler.linear(y, x)
    region.replace(region.layer("Transpose", "sampled", [made], perm=[0, 3, 1, 2]))
    return None


class _Sampler:
    """Layers that take pixels of one GridSample's data; positions have shape [N, H', W'], pixels [N, H', W', C]."""

    def __init__(self, region: Region, shape: tuple[int, ...], kind: np.dtype) -> None:
        self.region = region
        self.kind = kind
        self.batch, self.channels, self.height, self.width = shape
        attrs = region.node.attrs
        self.padding: str = attrs.get("padding_mode", "zeros")
        self.corners = bool(attrs.get("align_corners", 0))
        last = region.layer("Transpose", "channels_last", [region.node.inputs[0]], perm=[0, 2, 3, 1])
        self.rows = _layers.reshape(region, "rows", last, [self.batch * self.height * self.width, self.channels])
        first = np.arange(self.batch).reshape(-1, 1, 1) * (self.height * self.width)
        self.first = region.constant("first", first.astype(np.int64))

    def number(self, role: str, value: float) -> gs.Constant:
        """A constant of the data's type."""
        return self.region.constant(role, np.array(value, self.kind))

    def op(self, op: str, role: str, *inputs: gs.Tensor) -> gs.Variable:
        """A layer without attributes."""
        return self.region.layer(op, role, inputs)

    def positions(self, axis: int, extent: int) -> gs.Variable:
        """Where the grid points to along an axis (0: width, 1: height), in pixels; within the data where padding wants that."""
        role = "xy"[axis]
        part = _layers.slice_(self.region, f"{role}_part", self.region.node.inputs[1], [3], [axis], [axis + 1])
        plain = _layers.squeeze(self.region, f"{role}_grid", part, [3])
        moved = self.op("Add", f"{role}_moved", plain, self.number(f"{role}_one", 1))
        if self.corners:
            half = self.op("Div", f"{role}_half", moved, self.number(f"{role}_two", 2))
            place = self.op("Mul", f"{role}_place", half, self.number(f"{role}_extent", extent - 1))
        else:
            scaled = self.op("Mul", f"{role}_scaled", moved, self.number(f"{role}_extent", extent))
            less = self.op("Sub", f"{role}_less", scaled, self.number(f"{role}_unit", 1))
            place = self.op("Div", f"{role}_place", less, self.number(f"{role}_two", 2))
        if self.padding == "border":
            return _layers.clip(self.region, f"{role}_border", place, 0, extent - 1, self.kind)
        return self._reflected(role, place, extent) if self.padding == "reflection" else place

    def _reflected(self, role: str, place: gs.Variable, extent: int) -> gs.Variable:
        low, span = (0.0, extent - 1.0) if self.corners else (-0.5, float(extent))
        if not span:
            return self.op("Mul", f"{role}_only", place, self.number(f"{role}_zero", 0))
        bottom, width, two = (self.number(f"{role}_{name}", value) for name, value in (("low", low), ("span", span), ("turn", 2)))
        away = self.op("Abs", f"{role}_away", self.op("Sub", f"{role}_from", place, bottom))
        turns = self.op("Floor", f"{role}_turns", self.op("Div", f"{role}_ratio", away, width))
        rest = self.op("Sub", f"{role}_rest", away, self.op("Mul", f"{role}_whole", turns, width))
        pairs = self.op("Floor", f"{role}_pairs", self.op("Div", f"{role}_halved", turns, two))
        odd = self.op("Sub", f"{role}_odd", turns, self.op("Mul", f"{role}_even", pairs, two))
        back = self.op("Sub", f"{role}_back", width, self.op("Mul", f"{role}_twice", rest, two))
        inside = self.op("Add", f"{role}_inside", rest, self.op("Mul", f"{role}_turned", odd, back))
        shifted = self.op("Add", f"{role}_shifted", inside, bottom)
        return _layers.clip(self.region, f"{role}_kept", shifted, 0, extent - 1, self.kind)

    def rounded(self, role: str, place: gs.Variable) -> gs.Variable:
        """The nearest pixel, halves to the even one."""
        if self.region.opset >= 11:
            return self.op("Round", role, place)
        up = self.op("Floor", f"{role}_up", self.op("Add", f"{role}_half", place, self.number(f"{role}_a_half", 0.5)))
        tie = self.op("Sub", f"{role}_tie", up, place)  # one half exactly on a tie, below otherwise
        two = self.number(f"{role}_two", 2)
        even = self.op("Mul", f"{role}_even", self.op("Floor", f"{role}_pairs", self.op("Div", f"{role}_halved", up, two)), two)
        odd = self.op("Sub", f"{role}_odd", up, even)
        is_tie = self.op("Floor", f"{role}_is_tie", self.op("Mul", f"{role}_doubled", tie, two))
        positive = _layers.clip(self.region, f"{role}_tied", is_tie, 0, 1, self.kind)
        return self.op("Sub", role, up, self.op("Mul", f"{role}_down", odd, positive))

    def pixel(self, role: str, row: gs.Variable, column: gs.Variable) -> gs.Variable:
        """The pixels at whole positions; with padding by zeros, zeros outside."""
        places = []
        for name, place, extent in (("y", row, self.height), ("x", column, self.width)):
            inside = _layers.clip(self.region, f"{role}_{name}_in", place, 0, extent - 1, self.kind)
            places.append((place, inside, _layers.cast(self.region, f"{role}_{name}_index", inside, onnx.TensorProto.INT64)))
        width = self.region.constant(f"{role}_width", np.array(self.width, np.int64))
        line = self.op("Mul", f"{role}_line", places[0][2], width)
        index = self.op("Add", f"{role}_index", self.op("Add", f"{role}_flat", line, places[1][2]), self.first)
        taken = self.region.layer("Gather", f"{role}_taken", [self.rows, index], axis=0)
        if self.padding != "zeros":
            return taken
        out = [
            self.op("Abs", f"{role}_out{number}", self.op("Sub", f"{role}_off{number}", place, inside))
            for number, (place, inside, _) in enumerate(places)
        ]
        outside = self.op("Greater", f"{role}_outside", self.op("Add", f"{role}_out", *out), self.number(f"{role}_none", 0))
        mask = _layers.unsqueeze(self.region, f"{role}_mask", outside, [3])
        return self.op("Where", role, mask, self.number(f"{role}_zero", 0), taken)

    def linear(self, y: gs.Variable, x: gs.Variable) -> gs.Variable:
        """Four pixels around the position, by their distance."""
        one = self.number("one", 1)
        corners: dict[str, tuple[list[gs.Variable], list[gs.Variable]]] = {}
        for name, place in (("y", y), ("x", x)):
            low = self.op("Floor", f"{name}_low", place)
            high = self.op("Add", f"{name}_high", low, one)
            far = self.op("Sub", f"{name}_far", place, low)
            corners[name] = ([low, high], [self.op("Sub", f"{name}_near", one, far), far])
        total: gs.Variable | None = None
        for row in (0, 1):
            for column in (0, 1):
                role = f"corner{row}{column}"
                weight = self.op("Mul", f"{role}_weight", corners["y"][1][row], corners["x"][1][column])
                spread = _layers.unsqueeze(self.region, f"{role}_spread", weight, [3])
                pixel = self.pixel(role, corners["y"][0][row], corners["x"][0][column])
                part = self.op("Mul", f"{role}_part", pixel, spread)
                total = part if total is None else self.op("Add", f"{role}_sum", total, part)
        assert total is not None
        return total
