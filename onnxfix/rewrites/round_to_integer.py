"""Round, Floor or Ceil of a product in shape arithmetic, between Casts, in whole numbers: (2np + q - 1 + (np/q mod 2)) / 2q.

The factors become fractions p/q. Guard: Cast of sizes, none of them below 0, Mul or Div by constants, the operator, and Casts to
integers; and the formula gives the same for every size up to MOST, all of which are tried here. Bit-equal over those sizes.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._forms import INTEGERS
from onnxfix.rewrites._region import Change, Decline

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

MOST = 1 << 15
DENOMINATOR = 1000
ROUNDING = {"Round": np.rint, "Floor": np.floor, "Ceil": np.ceil}


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    op = region.proto.op_type
    readers = facts.scope.consumers.get(region.proto.output[0], ())
    if not readers or region.proto.output[0] in facts.scope.outputs or any(not _to_integer(node) for node, _ in readers):
        return Decline("what reads it is no Cast to integers")
    chain = _chain(region, facts)
    if isinstance(chain, Decline):
        return chain
    source, steps, kind = chain
    numbers = facts.array(source)
    if numbers is None or not all(map(facts.never_negative, numbers.ravel())):
        return Decline("what it starts from is no size, and may be negative")
    sizes = np.arange(MOST + 1)
    shape = np.broadcast_shapes(*(factor.shape for _, factor in steps)) or (1,)
    fractions = []
    for place in range(int(np.prod(shape))):
        values = sizes.astype(kind)
        exact = Fraction(1)
        for how, factor in steps:
            one = np.broadcast_to(factor, shape).ravel()[place]
            if not np.isfinite(one) or one <= 0:
                return Decline("a factor is not positive")
            values = values * one if how == "Mul" else values / one
            short = Fraction(float(one)).limit_denominator(DENOMINATOR)
            if not short:
                return Decline("a factor is almost 0")
            exact = exact * short if how == "Mul" else exact / short
        top, bottom = exact.numerator, exact.denominator
        if 2 * (MOST * top + bottom) >= 1 << 31 or (_in_integers(op, sizes, top, bottom) != ROUNDING[op](values)).any():
            return Decline(f"no fraction gives the same for every size up to {MOST}")
        fractions.append((top, bottom))
    tops, bottoms = (
        np.array(part, np.int64).reshape(shape if len(fractions) > 1 else (1,)) for part in zip(*fractions, strict=True)
    )
    changes = []
    for node in dict.fromkeys(node for node, _ in readers):
        here = region.beside(node.proto, node.index)
        changes.append(_integers(here, op, source, tops, bottoms, facts))
    return changes


def _to_integer(node: Node) -> bool:
    return node.op_type == "Cast" and not node.domain and node.attr("to") in INTEGERS


def _chain(region: Region, facts: ScopeFacts) -> tuple[str, list[tuple[str, np.ndarray]], np.dtype] | Decline:
    """The integers that it starts from, what they are multiplied and divided by in order, and in which type of floats."""
    kind = onnx.helper.tensor_dtype_to_np_dtype(facts.dtype(region.proto.input[0]))
    name, steps = region.proto.input[0], list[tuple[str, np.ndarray]]()
    while True:
        maker = facts.scope.producers.get(name)
        if maker is None or facts.dtype(name) != facts.dtype(region.proto.input[0]):
            return Decline("what it rounds is not computed from integers alone")
        if maker.op_type == "Cast" and facts.dtype(maker.inputs[0]) in INTEGERS:
            return (maker.inputs[0], steps[::-1], kind) if steps else Decline("it rounds whole numbers")
        if maker.op_type not in ("Mul", "Div"):
            return Decline(f"what it rounds is made by {maker.op_type}")
        slot = 1 if facts.is_constant(maker.inputs[1]) else 0
        factor = facts.constant(maker.inputs[slot])
        if factor is None or (maker.op_type == "Div" and slot == 0):
            return Decline("it rounds a quotient or product of two computed numbers")
        steps.append((maker.op_type, factor))
        name = maker.inputs[1 - slot]


def _in_integers(op: str, sizes: np.ndarray, top: int, bottom: int) -> np.ndarray:
    scaled: np.ndarray = sizes * top
    over = {"Floor": 0, "Ceil": bottom - 1}
    if op in over:
        return np.asarray((scaled + over[op]) // bottom)
    rounded: np.ndarray = (2 * scaled + bottom - 1 + scaled // bottom % 2) // (2 * bottom)
    return rounded


def _integers(region: Region, op: str, source: str, top: np.ndarray, bottom: np.ndarray, facts: ScopeFacts) -> Change:
    """The same as `_in_integers`, in nodes that take the place of the region's Cast."""
    wanted = region.node.attrs["to"]
    held = facts.dtype(source)
    kind = onnx.helper.tensor_dtype_to_np_dtype(held)
    if not facts.rank(source):
        top, bottom = top.reshape(()) if top.size == 1 else top, bottom.reshape(()) if bottom.size == 1 else bottom

    def fixed(role: str, values: np.ndarray) -> gs.Constant:
        return region.constant(role, values.astype(kind))

    number = region.outer(source)
    scaled = number if (top == 1).all() else region.layer("Mul", "scaled", [number, fixed("top", top)])
    if op == "Floor":
        made = scaled if (bottom == 1).all() else region.layer("Div", "floor", [scaled, fixed("bottom", bottom)])
    elif op == "Ceil":
        above = region.layer("Add", "above", [scaled, fixed("rest", bottom - 1)])
        made = region.layer("Div", "ceil", [above, fixed("bottom", bottom)])
    else:
        floor = region.layer("Div", "floor", [scaled, fixed("bottom", bottom)])
        two = fixed("two", np.full_like(bottom, 2))
        even = region.layer("Mul", "even", [region.layer("Div", "pairs", [floor, two]), two])
        odd = region.layer("Sub", "odd", [floor, even])
        double = region.layer("Add", "more", [region.layer("Mul", "double", [scaled, two]), fixed("rest", bottom - 1)])
        over = region.layer("Add", "over", [double, odd])
        made = region.layer("Div", "rounded", [over, fixed("twice", 2 * bottom)])
    if wanted != held:
        made = region.layer("Cast", "cast", [made], to=wanted)
    region.replace(made)
    return region.change()
