"""GridSample of images and volumes: positions in floats, a Gather of pixels for every corner, and their weighted sum.

Linear and nearest, with zeros, the border or a reflection around the image. Positions become integers by a Cast. At exact ties
nearest and reflection follow onnxruntime. Guard: rank 4 or 5, static shapes, real floats, opset 11 or later. Largest error over 48
cases: 8e-07 of the largest value.
"""

from __future__ import annotations

from itertools import product
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
    if facts.rank(names[0]) not in (4, 5) or kind == np.float16:
        return Decline("the data is no float32 or double of rank 4 or 5")
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
    """Makes the layers for one node; spatial axes go by the names z (volumes alone), y and x."""

    def __init__(
        self, region: Region, kind: np.dtype, image: tuple[int, ...], grid: tuple[int, ...], around: str, aligned: bool
    ) -> None:
        self.region, self.kind, self.around, self.aligned, self.grid = region, kind, around, aligned, grid
        self.sizes = dict(zip("zyx"[-(len(image) - 2) :], image[2:], strict=True))
        axes = len(self.sizes)
        self.back = [0, axes + 1, *range(1, axes + 1)]
        moved = region.layer("Transpose", "pixels_last", [region.node.inputs[0]], perm=[0, *range(2, axes + 2), 1])
        self.pixels = reshape(region, "pixels", moved, [image[0] * int(np.prod(image[2:])), image[1]])
        starts = np.arange(image[0]) * int(np.prod(image[2:]))
        self.first = region.constant("first", starts.reshape((-1,) + (1,) * axes).astype(kind))
        # the last coordinate of the grid counts along the first spatial axis
        self.places = {role: self.place(role, axes - 1 - number) for number, role in enumerate(self.sizes)}

    def number(self, role: str, value: float) -> gs.Constant:
        """A constant of the data's type."""
        return self.region.constant(role, np.full((1,), value, self.kind))

    def place(self, role: str, slot: int) -> gs.Variable:
        """Positions in pixels along one axis, within the image where its surroundings are no zeros."""
        region, size, axis = self.region, self.sizes[role], len(self.grid) - 1
        part = slice_(region, f"{role}_part", region.node.inputs[1], [axis], [slot], [slot + 1])
        flat = reshape(region, f"{role}_flat", part, list(self.grid[:-1]))
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

    def fetched(self, role: str, at: dict[str, gs.Variable]) -> gs.Variable:
        """The pixels at whole positions, channels last; zeros outside where those surround the image."""
        region = self.region
        flat: gs.Variable | None = None
        inside: gs.Variable | None = None
        for axis, size in self.sizes.items():
            kept = clip(region, f"{role}_{axis}", at[axis], 0.0, size - 1.0, self.kind)
            if flat is not None:
                before = region.layer("Mul", f"{role}_{axis}_before", [flat, self.number(f"{role}_{axis}_size", float(size))])
                flat = region.layer("Add", f"{role}_{axis}_flat", [before, kept])
            else:
                flat = kept
            if self.around == "zeros":
                same = self.same(f"{role}_{axis}", at[axis], kept)
                inside = same if inside is None else region.layer("Mul", f"{role}_{axis}_inside", [inside, same])
        assert flat is not None
        index = cast(region, f"{role}_index", region.layer("Add", f"{role}_place", [flat, self.first]), onnx.TensorProto.INT64)
        pixel = region.layer("Gather", f"{role}_pixel", [self.pixels, index], axis=0)
        if inside is None:
            return pixel
        mask = unsqueeze(region, f"{role}_mask", inside, [len(self.sizes) + 1])
        return region.layer("Mul", f"{role}_or_zero", [pixel, mask])

    def same(self, role: str, place: gs.Variable, clipped: gs.Variable) -> gs.Variable:
        """1 where clipping changed nothing, else 0; both are whole."""
        region = self.region
        size = region.layer("Abs", f"{role}_moved", [region.layer("Sub", f"{role}_change", [place, clipped])])
        outside = clip(region, f"{role}_outside", size, 0.0, 1.0, self.kind)
        return region.layer("Sub", f"{role}_same", [self.number(f"{role}_one", 1.0), outside])

    def nearest(self) -> gs.Variable:
        """The pixel that is nearest, half to even."""
        region = self.region
        at = {role: region.layer("Round", f"{role}_round", [place]) for role, place in self.places.items()}
        return region.layer("Transpose", "channels_first", [self.fetched("pixel", at)], perm=self.back)

    def linear(self) -> gs.Variable:
        """The pixels at all corners, weighted by how near they are."""
        region = self.region
        sides: list[list[tuple[str, gs.Variable, gs.Variable]]] = []
        for role, place in self.places.items():
            low = region.layer("Floor", f"{role}_low", [place])
            share = region.layer("Sub", f"{role}_share", [place, low])
            one = self.number(f"{role}_unit", 1.0)
            high = region.layer("Add", f"{role}_high", [low, one])
            sides.append([(role, low, region.layer("Sub", f"{role}_other", [one, share])), (role, high, share)])
        total: gs.Variable | None = None
        for number, corner in enumerate(product(*sides)):
            weight = corner[0][2]
            for role, _, factor in corner[1:]:
                weight = region.layer("Mul", f"corner{number}_{role}_weight", [weight, factor])
            column = unsqueeze(region, f"corner{number}_weight", weight, [len(self.sizes) + 1])
            pixel = self.fetched(f"corner{number}", {role: position for role, position, _ in corner})
            term = region.layer("Mul", f"corner{number}", [pixel, column])
            total = term if total is None else region.layer("Add", f"corner{number}_sum", [total, term])
        assert total is not None
        return region.layer("Transpose", "channels_first", [total], perm=self.back)
