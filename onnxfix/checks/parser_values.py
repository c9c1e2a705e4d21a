"""What a parser holds for each value: weights (known numbers) or a tensor, and how many axes it gives it.

Importers up to 10.x ask `is_weights()` of an input, which is not the same as "constant": the result of Unsqueeze on an
initializer is a tensor to them. With an implicit batch a tensor has no axis 0, weights keep all axes, and a tensor that is made
of weights alone keeps them too (importer of release 5.1: convertToTensor, remove_dim in convert_dims).
"""

from __future__ import annotations

from enum import StrEnum
from math import prod
from typing import TYPE_CHECKING

from onnxfix.model.dims import Poly

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.model.dims import Number
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node, Scope
    from onnxfix.targets import Target


class Kind(StrEnum):
    """How the parser holds a value.

    `LOST` where the node that makes it is refused, so that nobody knows; `INVALID` for the tensor of a layer that has no valid
    dimensions, which the parser makes without a word and whose readers it refuses.
    """

    WEIGHTS = "weights"
    TENSOR = "tensor"
    CONSTANT_TENSOR = "constant tensor"
    LOST = "lost"
    INVALID = "invalid"


# Dims::MAX_DIMS of NvInferRuntimeCommon.h, 5.0 to 11.5.
MAX_RANK = 8


# Operators whose operands are broadcast to one shape.
# fmt: off
BROADCAST = frozenset((
    "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater", "GreaterOrEqual", "Less",
    "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "PRelu", "Pow", "Sub", "Sum", "Where", "Xor",
))
# fmt: on


def conformable(shapes: Sequence[tuple[Number, ...] | None]) -> bool:
    """False where two known sizes of an axis, counted from the back, differ and neither is 1."""
    known = [shape for shape in shapes if shape is not None]
    for axis in range(1, max(map(len, known), default=0) + 1):
        sizes = {shape[-axis] for shape in known if axis <= len(shape) and not isinstance(shape[-axis], Poly)}
        if len(sizes - {1}) > 1:
            return False
    return True


class ParserValues:
    """The kinds of one scope's values for one target; filled node by node in the order in which the parser goes."""

    def __init__(self, scope: Scope, facts: ScopeFacts, target: Target, outer: ParserValues | None = None) -> None:
        self._facts = facts
        self._target = target
        self._outer = outer
        # whether a value seen so far has no valid dimensions
        self.has_invalid: bool = outer is not None and outer.has_invalid
        self._kinds: dict[str, Kind] = dict.fromkeys(scope.inputs, Kind.TENSOR)
        self._kinds.update(dict.fromkeys((*scope.initializers, *scope.sparse_initializers), Kind.WEIGHTS))

    def kind(self, name: str) -> Kind:
        """How the parser holds `name`."""
        found = self._kinds.get(name)
        if found is None:
            found = self._outer.kind(name) if self._outer is not None else Kind.LOST
        return found

    def set(self, name: str, kind: Kind) -> None:
        """Note how the parser holds a value that it gets from a call of a function."""
        self.has_invalid = self.has_invalid or kind is Kind.INVALID
        self._kinds[name] = kind

    def add(self, node: Node, kind: Kind | None = None) -> None:
        """Note the outputs of a node that the parser has just imported; `kind` says that they are lost or invalid."""
        kind = kind or self._made_by(node)
        self.has_invalid = self.has_invalid or kind is Kind.INVALID
        for name in node.outputs:
            if name:
                self._kinds[name] = kind

    def _made_by(self, node: Node) -> Kind:
        kinds = [self.kind(name) for name in node.inputs if name]
        first = kinds[0] if kinds else Kind.WEIGHTS
        always = not node.domain and node.op_type in self._target.weights_from
        if always or (first is Kind.WEIGHTS and not node.domain and node.op_type in self._target.weights_through):
            return Kind.WEIGHTS
        if first is Kind.LOST:
            return first
        if Kind.INVALID in kinds or self._remembered_no_dims(node):
            return Kind.INVALID
        made_of_weights = kinds and all(kind in (Kind.WEIGHTS, Kind.CONSTANT_TENSOR) for kind in kinds)
        return Kind.CONSTANT_TENSOR if made_of_weights else Kind.TENSOR

    def _remembered_no_dims(self, node: Node) -> bool:
        """`_has_no_dims`, computed once for all releases; with an implicit batch it is not known."""
        if self._target.implicit_batch:
            return False
        key = ("no dims", node.index)
        known = self._facts.memo.get(key)
        if known is None:
            known = self._facts.memo[key] = self._has_no_dims(node)
        return known

    def _has_no_dims(self, node: Node) -> bool:
        """True for a layer that the network makes of a node without being able to give its dimensions."""
        if any((self._facts.rank(name) or 0) > MAX_RANK for name in node.outputs):
            return True
        if node.op_type in BROADCAST and not conformable([self._facts.shape(name) for name in node.inputs if name]):
            return True
        rank = self._facts.rank(node.input(0))
        if node.op_type == "Reshape":
            return self._changes_volume(node)
        if node.op_type == "BatchNormalization":
            return rank is not None and rank < 2
        return node.op_type == "Transpose" and rank is not None and len(node.attr("perm", ())) not in (0, rank)

    def _changes_volume(self, node: Node) -> bool:
        """True for a Reshape to another number of elements, as it comes of axes that the importer did not read before."""
        data, target = self._facts.static_shape(node.input(0)), self._facts.numbers(node.input(1))
        if data is None or target is None:
            return False
        keeps = not node.attr("allowzero", 0)
        wanted = [data[axis] if size == 0 and keeps and axis < len(data) else int(size) for axis, size in enumerate(target.ravel())]
        volume, others = prod(data), prod(size for size in wanted if size != -1)
        return volume % others != 0 if -1 in wanted and others else -1 not in wanted and volume != others

    def dims(self, name: str) -> tuple[Number, ...] | None:
        """The dimensions that the parser sees, None where they are not known; a scalar weight counts as one axis of 1."""
        shape = self._facts.shape(name)
        kind = self.kind(name)
        if shape is None or kind in (Kind.LOST, Kind.INVALID):
            return None
        if not self._target.implicit_batch:
            return shape
        # remove_dim makes a rank of 1 where nothing would be left, as convert_onnx_weights does of a scalar
        return (shape[1:] if kind is Kind.TENSOR else shape) or (1,)

    def rank(self, name: str) -> int | None:
        """How many axes the parser sees; -1 for an invalid tensor."""
        if self.kind(name) is Kind.INVALID:
            return -1
        dims = self.dims(name)
        return None if dims is None else len(dims)
