"""GridSample of images: positions in floats, up to four Gathers of pixels, and their weighted sum.

Linear and nearest, with zeros, the border or a reflection around the image. Positions become integers by a Cast. At exact ties
nearest and reflection follow onnxruntime. Guard: rank 4, static shapes, real floats, opset 11 or later. Largest error over 48
cases: 8e-07 of the largest value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._forms import float_kind
from onnxfix.rewrites._layers import cast, clip, reshape, slice_, unsqueeze
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    kind = float_kind(region, facts)
    if isinstance(kind, Decline):
        return kind
    attrs, names = region.node.attrs, region.proto.input
    if facts.rank(names[0]) != 4 or kind == np.float16:
        return Decline("the data is no float32 or double of rank 4")
    image, grid = facts.static_shape(names[0]), facts.static_shape(names[1])
    if image is None or grid is None:
        return Decline("a shape is dynamic")
    mode, around = str(attrs.get("mode", "linear")), str(attrs.get("padding_mode", "zeros"))
    if region.proto.op_type == "grid_sampler":
        # numbers as in PyTorch's grid_sampler, which mmdeploy hands on
        mode = ("linear", "nearest", "cubic")[int(attrs.get("interpolation_mode", 0))]
        around = ("zeros", "border", "reflection")[int(attrs.get("padding_mode", 0))]
    mode = "linear" if mode == "bilinear" else mode
    if mode not in ("linear", "nearest"):
        return Decline(f"mode {mode} is not covered")
    sampler = _Sampler(region, kind, image, grid, around, bool(attrs.get("align_corners", 0)))
    region.replace(sampler.nearest() if mode == "nearest" else sampler.linear())
    return None


class _Sampler:
    """Makes the layers for one node."""

    def __init__(
        self, region: Region, kind: np.dtype, image: tuple[int, ...], grid: tuple[int, ...], around: str, aligned: bool
    ) -> None:
        self.region, self.kind, self.around, self.aligned = region, kind, around, aligned
        self.batch, self.channels, self.height, self.width = image
        moved = region.layer("Transpose", "pixels_last", [region.node.inputs[0]], perm=[0, 2, 3, 1])
        self.pixels = reshape(region, "pixels", moved, [self.batch * self.height * self.width, self.channels])
        self.first = region.constant("first", (np.arange(image[0]) * image[2] * image[3]).reshape(-1, 1, 1).astype(kind))
        self.grid = grid
        self.x, self.y = self.place("x", 0, self.width), self.place("y", 1, self.height)

    def number(self, role: str, value: float) -> gs.Constant:
        """A constant of the data's type."""
        return self.region.constant(role, np.full((1,), value, self.kind))

    def place(self, role: str, slot: int, size: int) -> gs.Variable:
        """Positions in pixels along one axis, within the image where its surroundings are no zeros."""
        region = self.region
        part = slice_(region, f"{role}_part", region.node.inputs[1], [3], [slot], [slot + 1])
        flat = reshape(region, f"{role}_flat", part, list(self.grid[:3]))
        scale, shift = ((size - 1) / 2, (size - 1) / 2) if self.aligned else (size / 2, (size - 1) / 2)
        scaled = region.layer("Mul", f"{role}_scaled", [flat, self.number(f"{role}_scale", scale)])
        place = region.layer("Add", f"{role}_place", [scaled, self.number(f"{role}_shift", shift)])
        if self.around == "border":
            return clip(region, f"{role}_inside", place, 0.0, size - 1.0, self.kind)
        return self.reflected(role, place, size) if self.around == "reflection" else place

    def reflected(self, role: str, place: gs.Variable, size: int) -> gs.Variable:
        """Positions mirrored at the centres or the edges of the outermost pixels."""
        region = self.region
        low, span = (0.0, size - 1.0) if self.aligned else (-0.5, float(size))
        if span == 0:
            return region.layer("Mul", f"{role}_only", [place, self.number(f"{role}_zero", 0.0)])
        off = region.layer("Abs", f"{role}_off", [region.layer("Sub", f"{role}_low", [place, self.number(f"{role}_edge", low)])])
        length = self.number(f"{role}_span", span)
        turns = region.layer("Floor", f"{role}_turns", [region.layer("Div", f"{role}_ratio", [off, length])])
        rest = region.layer("Sub", f"{role}_rest", [off, region.layer("Mul", f"{role}_whole", [turns, length])])
        halves = region.layer("Mul", f"{role}_halves", [turns, self.number(f"{role}_half", 0.5)])
        pairs = region.layer("Floor", f"{role}_pairs", [halves])
        two = self.number(f"{role}_two", 2.0)
        odd = region.layer("Sub", f"{role}_odd", [turns, region.layer("Mul", f"{role}_even", [pairs, two])])
        back = region.layer("Sub", f"{role}_back", [length, region.layer("Mul", f"{role}_twice", [rest, two])])
        mirrored = region.layer("Add", f"{role}_mirrored", [rest, region.layer("Mul", f"{role}_turned", [odd, back])])
        moved = region.layer("Add", f"{role}_moved", [mirrored, self.number(f"{role}_start", low)])
        return clip(region, f"{role}_inside", moved, 0.0, size - 1.0, self.kind)

    def fetched(self, role: str, y: gs.Variable, x: gs.Variable) -> gs.Variable:
        """The pixels at whole positions, shape [batch, height, width, channels]; zeros outside where those surround the image."""
        region = self.region
        row = clip(region, f"{role}_row", y, 0.0, self.height - 1.0, self.kind)
        column = clip(region, f"{role}_column", x, 0.0, self.width - 1.0, self.kind)
        before = region.layer("Mul", f"{role}_before", [row, self.number(f"{role}_width", float(self.width))])
        flat = region.layer("Add", f"{role}_flat", [region.layer("Add", f"{role}_in_image", [before, column]), self.first])
        index = cast(region, f"{role}_index", flat, onnx.TensorProto.INT64)
        pixel = region.layer("Gather", f"{role}_pixel", [self.pixels, index], axis=0)
        if self.around != "zeros":
            return pixel
        inside = region.layer("Mul", f"{role}_inside", [self.same(f"{role}_y", y, row), self.same(f"{role}_x", x, column)])
        return region.layer("Mul", f"{role}_or_zero", [pixel, unsqueeze(region, f"{role}_mask", inside, [3])])

    def same(self, role: str, place: gs.Variable, clipped: gs.Variable) -> gs.Variable:
        """1 where clipping changed nothing, else 0; both are whole."""
        region = self.region
        size = region.layer("Abs", f"{role}_moved", [region.layer("Sub", f"{role}_change", [place, clipped])])
        outside = clip(region, f"{role}_outside", size, 0.0, 1.0, self.kind)
        return region.layer("Sub", f"{role}_same", [self.number(f"{role}_one", 1.0), outside])

    def nearest(self) -> gs.Variable:
        """The pixel that is nearest, half to even."""
        region = self.region
        y, x = (region.layer("Round", f"{role}_round", [place]) for role, place in (("y", self.y), ("x", self.x)))
        return region.layer("Transpose", "channels_first", [self.fetched("pixel", y, x)], perm=[0, 3, 1, 2])

    def linear(self) -> gs.Variable:
        """Four pixels, weighted by how near they are."""
        region = self.region
        sides: dict[str, list[tuple[gs.Variable, gs.Variable]]] = {}
        for role, place in (("y", self.y), ("x", self.x)):
            low = region.layer("Floor", f"{role}_low", [place])
            share = region.layer("Sub", f"{role}_share", [place, low])
            one = self.number(f"{role}_unit", 1.0)
            high = region.layer("Add", f"{role}_high", [low, one])
            sides[role] = [(low, region.layer("Sub", f"{role}_other", [one, share])), (high, share)]
        total: gs.Variable | None = None
        for down, (y, weight_y) in enumerate(sides["y"]):
            for right, (x, weight_x) in enumerate(sides["x"]):
                role = f"corner{down}{right}"
                weight = unsqueeze(region, f"{role}_weight", region.layer("Mul", f"{role}_area", [weight_y, weight_x]), [3])
                term = region.layer("Mul", role, [self.fetched(role, y, x), weight])
                total = term if total is None else region.layer("Add", f"{role}_sum", [total, term])
        assert total is not None
        return region.layer("Transpose", "channels_first", [total], perm=[0, 3, 1, 2])
