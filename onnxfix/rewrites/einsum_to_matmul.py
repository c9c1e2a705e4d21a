"""Einsum in Transpose, Reshape, MatMul or Mul, and ReduceSum; of any number of operands, with diagonals and ellipses.

Two operands at a time: letters that only one has and nothing needs later are summed, the rest are laid out as batch, rows and
columns of a MatMul (a Mul where nothing is summed). Guard: static shapes but for one dynamic size; no summing over broadcast axes.
Largest error over 22 cases: 5e-07 of the largest value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from onnxfix.model.dims import Poly
from onnxfix.rewrites._layers import gather, reduce, reshape
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.dims import Number
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(slots=True)
class _Operand:
    """A tensor whose axes have letters and sizes."""

    tensor: gs.Tensor
    letters: list[str]
    sizes: list[Number]


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    shapes = [facts.shape(name) for name in region.proto.input]
    if any(shape is None for shape in shapes):
        return Decline("the rank of an operand is unknown")
    known = [list(shape) for shape in shapes if shape is not None]
    parsed = _terms(str(region.node.attrs["equation"]), [len(shape) for shape in known])
    if isinstance(parsed, Decline):
        return parsed
    terms, wanted = parsed
    builder = _Builder(region)
    operands = []
    for number, (tensor, letters, sizes) in enumerate(zip(region.node.inputs, terms, known, strict=True)):
        operand = builder.diagonals(_Operand(tensor, list(letters), sizes), number)
        if isinstance(operand, Decline):
            return operand
        operands.append(operand)
    while len(operands) > 1:
        left, right = operands[:2]
        later = set(wanted).union(*(operand.letters for operand in operands[2:]))
        product = builder.product(left, right, later)
        if isinstance(product, Decline):
            return product
        operands[:2] = [product]
    (last,) = operands
    last = builder.summed(last, [letter for letter in last.letters if letter not in wanted])
    perm = [last.letters.index(letter) for letter in wanted]
    region.replace(builder.transposed(last.tensor, perm))
    return None


def _terms(equation: str, ranks: list[int]) -> tuple[list[str], str] | Decline:
    """The letters of every operand and of the result, an ellipsis written out."""
    text = equation.replace(" ", "")
    left, arrow, wanted = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        return Decline(f"the equation {equation!r} has {len(terms)} operands")
    free = [letter for letter in LETTERS if letter not in text]
    width = max((rank - len(term) + 3 for term, rank in zip(terms, ranks, strict=True) if "..." in term), default=0)
    if width > len(free):
        return Decline("the equation has too many axes")
    dots = "".join(free[:width])
    written = []
    for term, rank in zip(terms, ranks, strict=True):
        own = rank - len(term) + 3
        written.append(term.replace("...", dots[width - own :]) if "..." in term else term)
    if not arrow:
        every = "".join(written)
        wanted = "..." * bool(width) + "".join(sorted(letter for letter in set(every) - set(dots) if every.count(letter) == 1))
    wanted = wanted.replace("...", dots)
    if any(len(term) != rank for term, rank in zip(written, ranks, strict=True)) or not set(wanted) <= set("".join(written)):
        return Decline(f"the equation {equation!r} does not fit its operands")
    return written, wanted


class _Builder:
    """Makes the layers, with a number in every name."""

    def __init__(self, region: Region) -> None:
        self.region = region
        self.count = 0

    def role(self, what: str) -> str:
        """A role that no other layer has."""
        self.count += 1
        return f"{what}{self.count}"

    def transposed(self, tensor: gs.Tensor, perm: list[int]) -> gs.Tensor:
        """Axes in another order."""
        if perm == list(range(len(perm))):
            return tensor
        return self.region.layer("Transpose", self.role("order"), [tensor], perm=perm)

    def reshaped(self, tensor: gs.Tensor, before: list[Number], after: list[Number]) -> gs.Tensor | Decline:
        """Another shape, at most one size of which is dynamic."""
        if before == after:
            return tensor
        shape = [-1 if isinstance(size, Poly) else int(size) for size in after]
        if shape.count(-1) > 1:
            return Decline("more than one size is dynamic")
        return reshape(self.region, self.role("shape"), tensor, shape)

    def diagonals(self, operand: _Operand, number: int) -> _Operand | Decline:
        """A letter that occurs twice takes the diagonal."""
        while len(set(operand.letters)) < len(operand.letters):
            letter = next(item for item in operand.letters if operand.letters.count(item) > 1)
            first = operand.letters.index(letter)
            second = operand.letters.index(letter, first + 1)
            size = operand.sizes[first]
            if isinstance(size, Poly) or size != operand.sizes[second]:
                return Decline(f"the diagonal of operand {number} is over dynamic or unequal sizes")
            rest = [axis for axis in range(len(operand.letters)) if axis not in (first, second)]
            tensor = self.transposed(operand.tensor, [*rest, first, second])
            kept = [operand.sizes[axis] for axis in rest]
            flat = self.reshaped(tensor, [*kept, size, size], [*kept, size * size])
            if isinstance(flat, Decline):
                return flat
            places = np.arange(int(size)) * (int(size) + 1)
            picked = gather(self.region, self.role("diagonal"), flat, places, len(rest))
            operand = _Operand(picked, [*(operand.letters[axis] for axis in rest), letter], [*kept, size])
        return operand

    def summed(self, operand: _Operand, letters: list[str]) -> _Operand:
        """Letters that nothing needs any more are summed."""
        if not letters:
            return operand
        axes = [operand.letters.index(letter) for letter in letters]
        tensor = reduce(self.region, "ReduceSum", self.role("sum"), operand.tensor, axes, keepdims=False)
        rest = [axis for axis in range(len(operand.letters)) if axis not in axes]
        return _Operand(tensor, [operand.letters[axis] for axis in rest], [operand.sizes[axis] for axis in rest])

    def product(self, left: _Operand, right: _Operand, later: set[str]) -> _Operand | Decline:
        """Two operands as one."""
        left = self.summed(left, [item for item in left.letters if item not in later and item not in right.letters])
        right = self.summed(right, [item for item in right.letters if item not in later and item not in left.letters])
        size_left, size_right = (dict(zip(item.letters, item.sizes, strict=True)) for item in (left, right))
        batch = [item for item in left.letters if item in right.letters and item in later]
        inner = [item for item in left.letters if item in right.letters and item not in later]
        rows = [item for item in left.letters if item not in right.letters]
        columns = [item for item in right.letters if item not in left.letters]
        if any(size_left[item] != size_right[item] for item in inner):
            return Decline("it sums over an axis that is broadcast")
        outer: list[Number] = []
        for item in batch:
            sizes = (size_left[item], size_right[item])
            if sizes[0] != sizes[1] and 1 not in sizes:
                return Decline(f"the sizes of {item} differ")
            outer.append(sizes[1] if sizes[0] == 1 else sizes[0])
        first = self.transposed(left.tensor, [left.letters.index(item) for item in [*batch, *rows, *inner]])
        second = self.transposed(right.tensor, [right.letters.index(item) for item in [*batch, *inner, *columns]])
        height, depth, width = _product(size_left, rows), _product(size_left, inner), _product(size_right, columns)
        lead_left, lead_right = [size_left[item] for item in batch], [size_right[item] for item in batch]
        flat_left = self.reshaped(first, lead_left + [size_left[item] for item in [*rows, *inner]], [*lead_left, height, depth])
        flat_right = self.reshaped(
            second, lead_right + [size_right[item] for item in [*inner, *columns]], [*lead_right, depth, width]
        )
        for answer in (flat_left, flat_right):
            if isinstance(answer, Decline):
                return answer
        made = self.region.layer("MatMul" if inner else "Mul", self.role("product"), [flat_left, flat_right])
        sizes_after = [*outer, *(size_left[item] for item in rows), *(size_right[item] for item in columns)]
        merged = self.reshaped(made, [*outer, height, width], sizes_after)
        if isinstance(merged, Decline):
            return merged
        return _Operand(merged, [*batch, *rows, *columns], sizes_after)


def _product(sizes: dict[str, Number], letters: list[str]) -> Number:
    total: Number = 1
    for letter in letters:
        total = total * sizes[letter]
    return total
