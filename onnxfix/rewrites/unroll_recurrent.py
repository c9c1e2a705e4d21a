"""LSTM, GRU and RNN as their equations, once for every step and direction.

Guard: at most MAX_STEPS steps; constant weights; no lengths but that of the whole sequence. All of ONNX's activations with their
alpha and beta, clip (of what gates and candidate take, not of the cell, as in onnxruntime), a coupled forget gate, peepholes,
linear_before_reset, both directions and layout=1 are taken. A step stays [1, N, H], or [N, 1, H] where the batch lies in front
(layout=1, or a Transpose that brought time forward), so that an implicit batch serves too. 8e-7 of the largest value over 102
cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.dims import Poly
from onnxfix.rewrites import _layers
from onnxfix.rewrites._region import Decline
from onnxfix.rewrites._values import constant_value
from onnxfix.rewrites.drop_zero_state import is_zero

if TYPE_CHECKING:
    import onnx_graphsurgeon as gs

    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DEFAULTS = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
MAX_STEPS = 256
# alpha and beta where they are left out: the operators' own. ONNX names none for Affine and ScaledTanh; onnxruntime takes these.
ALPHA = {"Affine": 1.0, "Elu": 1.0, "HardSigmoid": 0.2, "LeakyRelu": 0.01, "ScaledTanh": 1.0, "ThresholdedRelu": 1.0}
BETA = {"Affine": 0.0, "HardSigmoid": 0.5, "ScaledTanh": 1.0}
PLAIN = ("Relu", "Sigmoid", "Softplus", "Softsign", "Tanh")
KNOWN = {name.lower(): name for name in (*PLAIN, *ALPHA)}
# ThresholdedRelu became an operator of ONNX proper.
THRESHOLDED = 10


@dataclass(frozen=True, slots=True)
class Activation:
    """A function of one value, with its factors where it takes them."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0


@dataclass(slots=True)
class Cell:
    """One direction of a layer: its weights for row vectors, its activations, and where its steps are made."""

    region: Region
    op: str
    role: str
    weights: np.ndarray
    recurrent: np.ndarray
    bias: np.ndarray
    peepholes: np.ndarray | None
    activations: tuple[Activation, ...]
    hidden: int
    before_reset: bool
    coupled: bool
    clip: float
    number: int = 0

    def step(self, number: int, x: gs.Tensor, h: gs.Tensor | None, c: gs.Tensor | None) -> tuple[gs.Variable, gs.Variable | None]:
        """The next state (and cell) from an element and the state before; None is a state of zeros."""
        self.number = number
        return {"LSTM": self._lstm, "GRU": self._gru, "RNN": self._rnn}[self.op](x, h, c)

    def _do(self, op: str, role: str, *inputs: gs.Tensor) -> gs.Variable:
        return self.region.layer(op, f"{self.role}/{self.number}/{role}", list(inputs))

    def _act(self, activation: Activation, role: str, x: gs.Tensor) -> gs.Variable:
        name, alpha, beta = activation.name, activation.alpha, activation.beta
        if self.clip and role != "shown":
            place = f"{self.role}/{self.number}/{role}_clip"
            x = _layers.clip(self.region, place, x, -self.clip, self.clip, self.weights.dtype)
        if name in PLAIN:
            return self._do(name, role, x)
        if name in ("Elu", "HardSigmoid", "LeakyRelu", "ThresholdedRelu"):
            factors = {"alpha": alpha, "beta": beta} if name == "HardSigmoid" else {"alpha": alpha}
            return self.region.layer(name, f"{self.role}/{self.number}/{role}", [x], **factors)
        kind = self.weights.dtype
        first, second = (
            self._fixed(f"{role}_{what}", np.full((1, 1), value, kind)) for what, value in (("alpha", alpha), ("beta", beta))
        )
        if name == "Affine":
            return self._do("Add", role, self._do("Mul", f"{role}_scaled", x, first), second)
        return self._do("Mul", role, first, self._do("Tanh", f"{role}_tanh", self._do("Mul", f"{role}_scaled", x, second)))

    def _fixed(self, role: str, array: np.ndarray) -> gs.Constant:
        return self.region.shared(f"{self.role}/{role}", array)

    def _product(self, role: str, x: gs.Tensor, weights: np.ndarray) -> gs.Variable:
        return self._do("MatMul", role, x, self._fixed(f"{role}_weights", np.ascontiguousarray(weights.T)))

    def _part(self, role: str, gates: gs.Tensor, first: int, last: int) -> gs.Variable:
        bounds = [first * self.hidden], [last * self.hidden]
        return _layers.slice_(self.region, f"{self.role}/{self.number}/{role}", gates, [2], *bounds)

    def _sum(self, x: gs.Tensor, h: gs.Tensor | None, bias: np.ndarray) -> gs.Variable:
        """`x W + h R + bias`."""
        total = self._product("input", x, self.weights)
        if h is not None:
            total = self._do("Add", "with_state", total, self._product("state", h, self.recurrent))
        return self._do("Add", "gates", total, self._fixed("bias", bias[None]))

    def _lstm(self, x: gs.Tensor, h: gs.Tensor | None, c: gs.Tensor | None) -> tuple[gs.Variable, gs.Variable | None]:
        size = 4 * self.hidden
        gates = self._sum(x, h, self.bias[:size] + self.bias[size:])
        i, o, f, g = (self._part(role, gates, k, k + 1) for k, role in enumerate(("i", "o", "f", "c")))
        peek = None if self.peepholes is None else self.peepholes.reshape(3, 1, self.hidden)
        if peek is not None and c is not None:
            i = self._do("Add", "i_peep", i, self._do("Mul", "i_look", c, self._fixed("peep_i", peek[0])))
            f = self._do("Add", "f_peep", f, self._do("Mul", "f_look", c, self._fixed("peep_f", peek[2])))
        first, second, third = self.activations
        opened = self._act(first, "i_gate", i)
        new = self._do("Mul", "new", opened, self._act(second, "candidate", g))
        cell = new
        if c is not None:
            if self.coupled:
                kept = self._do("Sub", "f_gate", self._fixed("one", np.ones((1, 1), self.weights.dtype)), opened)
            else:
                kept = self._act(first, "f_gate", f)
            cell = self._do("Add", "cell", self._do("Mul", "kept", kept, c), new)
        if peek is not None:
            o = self._do("Add", "o_peep", o, self._do("Mul", "o_look", cell, self._fixed("peep_o", peek[1])))
        return self._do("Mul", "h", self._act(first, "o_gate", o), self._act(third, "shown", cell)), cell

    def _gru(self, x: gs.Tensor, h: gs.Tensor | None, c: gs.Tensor | None) -> tuple[gs.Variable, gs.Variable | None]:
        n = self.hidden
        ahead, behind = self.bias[: 3 * n], self.bias[3 * n :]
        first, second = self.activations
        given = self._product("input", x, self.weights)
        joint = np.concatenate([ahead[: 2 * n] + behind[: 2 * n], ahead[2 * n :]])
        given = self._do("Add", "given", given, self._fixed("bias", joint[None]))
        update = self._part("zr", given, 0, 2)
        if h is not None:
            update = self._do("Add", "zr_sum", update, self._product("state", h, self.recurrent[: 2 * n]))
        gates = self._act(first, "zr_gate", update)
        z, r = self._part("z", gates, 0, 1), self._part("r", gates, 1, 2)
        candidate = self._part("n", given, 2, 3)
        left = self._fixed("bias_h", behind[2 * n :][None])
        if self.before_reset:
            shown = left if h is None else self._do("Add", "n_biased", self._product("n_state", h, self.recurrent[2 * n :]), left)
            candidate = self._do("Add", "n_sum", candidate, self._do("Mul", "n_reset", r, shown))
        else:
            candidate = self._do("Add", "n_left", candidate, left)
            if h is not None:
                reset = self._product("n_state", self._do("Mul", "reset", r, h), self.recurrent[2 * n :])
                candidate = self._do("Add", "n_sum", candidate, reset)
        new = self._act(second, "candidate", candidate)
        if h is None:
            return self._do("Sub", "h", new, self._do("Mul", "taken", z, new)), None
        return self._do("Add", "h", new, self._do("Mul", "moved", z, self._do("Sub", "gap", h, new))), None

    def _rnn(self, x: gs.Tensor, h: gs.Tensor | None, c: gs.Tensor | None) -> tuple[gs.Variable, gs.Variable | None]:
        n = self.hidden
        return self._act(self.activations[0], "h", self._sum(x, h, self.bias[:n] + self.bias[n:])), None


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> Decline | None:
    """See the module."""
    proto = region.proto
    attributes = {item.name: onnx.helper.get_attribute_value(item) for item in proto.attribute}
    layout = attributes.get("layout", 0)
    shape = facts.shape(proto.input[0])
    if shape is None or len(shape) != 3:
        return Decline("the shape of the sequence is unknown")
    length = shape[1] if layout else shape[0]
    if isinstance(length, Poly) or length > MAX_STEPS:
        return Decline(f"the sequence has {length} steps; {MAX_STEPS} are the most")
    arrays = {slot: constant_value(facts, proto.input[slot]) for slot in (1, 2, 3, 7) if _given(proto, slot)}
    if any(array is None for array in arrays.values()):
        return Decline("the weights are computed at run time")
    declined = _other_lengths(proto, facts, int(length))
    if declined is not None:
        return declined
    weights, recurrent = arrays[1], arrays[2]
    assert weights is not None
    assert recurrent is not None
    directions, hidden = weights.shape[0], recurrent.shape[-1]
    chosen = _activations(region, attributes, directions)
    if isinstance(chosen, Decline):
        return chosen
    source, at = region.node.inputs[0], 1 if layout else 0
    before = facts.scope.producers.get(proto.input[0])
    if not layout and before is not None and before.op_type == "Transpose" and before.attr("perm") == (1, 0, 2):
        source, at = region.outer(before.inputs[0]), 1
    frame = Frame(region, at, bool(layout))
    steps = [_layers.slice_(region, f"x/{t}", source, [at], [t], [t + 1]) for t in range(int(length))]
    shown: list[list[gs.Variable]] = []
    last: list[list[gs.Variable]] = [[], []]
    for direction in range(directions):
        bias, peepholes = arrays.get(3), arrays.get(7)
        cell = Cell(
            region,
            proto.op_type,
            f"d{direction}",
            weights[direction],
            recurrent[direction],
            np.zeros(2 * GATES[proto.op_type] * hidden, weights.dtype) if bias is None else bias[direction],
            None if peepholes is None else peepholes[direction],
            chosen[direction],
            hidden,
            bool(attributes.get("linear_before_reset", 0)),
            bool(attributes.get("input_forget", 0)),
            float(attributes.get("clip", 0.0)),
        )
        h, c = (
            frame.state(slot, direction) if _given(proto, slot) and not is_zero(facts, proto.input[slot]) else None
            for slot in (5, 6)
        )
        order = range(int(length))
        back = attributes.get("direction", b"forward") == b"reverse" or direction == 1
        made: dict[int, gs.Variable] = {}
        for number, t in enumerate(reversed(order) if back else order):
            h, c = cell.step(number, steps[t], h, c)
            made[t] = h
        shown.append([made[t] for t in order])
        for kept, value in zip(last, (h, c), strict=True):
            if value is not None:
                kept.append(value)
    outputs = [
        None if not name else frame.last(slot, last[slot - 1]) if slot else frame.all(shown)
        for slot, name in enumerate(proto.output)
    ]
    region.replace(*outputs)
    return None


@dataclass(frozen=True, slots=True)
class Frame:
    """How steps lie: time is at axis `at`; `batch_first` says that the layer's own layout is so."""

    region: Region
    at: int
    batch_first: bool

    def state(self, slot: int, direction: int) -> gs.Variable:
        """The initial state of one direction, as a step."""
        axis = 1 if self.batch_first else 0
        given = self.region.node.inputs[slot]
        return self._turned(
            f"begin{slot}/{direction}",
            _layers.slice_(self.region, f"begin{slot}/{direction}", given, [axis], [direction], [direction + 1]),
        )

    def last(self, slot: int, ends: list[gs.Variable]) -> gs.Variable:
        """The last states of all directions, as the layer gives them."""
        both = ends[0] if len(ends) == 1 else self.region.layer("Concat", f"ends{slot}", ends, axis=self.at)
        return self._turned(f"end{slot}", both)

    def all(self, shown: list[list[gs.Variable]]) -> gs.Variable:
        """The states of every step and direction, as the layer gives them: [T, D, N, H] or [N, T, D, H]."""
        region, depth = self.region, 2 if self.at else 1
        rows = []
        for t in range(len(shown[0])):
            parts = [_layers.unsqueeze(region, f"row/{d}/{t}", made[t], [depth]) for d, made in enumerate(shown)]
            rows.append(parts[0] if len(parts) == 1 else region.layer("Concat", f"rows/{t}", parts, axis=depth))
        stacked = rows[0] if len(rows) == 1 else region.layer("Concat", "steps", rows, axis=self.at)
        if self.at and not self.batch_first:
            return region.layer("Transpose", "ordered", [stacked], perm=[1, 2, 0, 3])
        return stacked

    def _turned(self, role: str, value: gs.Variable) -> gs.Variable:
        """Between the layer's layout and that of the steps."""
        if self.at and not self.batch_first:
            return self.region.layer("Transpose", f"{role}/turned", [value], perm=[1, 0, 2])
        return value


def _given(proto: onnx.NodeProto, slot: int) -> bool:
    return slot < len(proto.input) and bool(proto.input[slot])


def _other_lengths(proto: onnx.NodeProto, facts: ScopeFacts, length: int) -> Decline | None:
    if _given(proto, 4):
        lengths = constant_value(facts, proto.input[4])
        if lengths is None or (lengths != length).any():
            return Decline("the lengths are not that of the whole sequence")
    return None


def _activations(region: Region, attributes: dict[str, object], directions: int) -> list[tuple[Activation, ...]] | Decline:
    """The activations of each direction; alpha and beta go in order to those that take one, as in onnxruntime."""
    op = region.proto.op_type
    count = len(DEFAULTS[op])
    given = attributes.get("activations")
    assert given is None or isinstance(given, list)
    names = [item.decode() for item in given] if given else list(DEFAULTS[op]) * directions
    if len(names) != count * directions or any(name.lower() not in KNOWN for name in names):
        return Decline(f"its activations are {', '.join(names)}")
    names = [KNOWN[name.lower()] for name in names]
    if "ThresholdedRelu" in names and region.opset < THRESHOLDED:
        return Decline(f"opset {region.opset} has no ThresholdedRelu")
    alphas, betas = (iter(_floats(attributes.get(f"activation_{what}"))) for what in ("alpha", "beta"))
    made = [
        Activation(
            name,
            next(alphas, ALPHA[name]) if name in ALPHA else 0.0,
            next(betas, BETA[name]) if name in BETA else 0.0,
        )
        for name in names
    ]
    return [tuple(made[count * d : count * (d + 1)]) for d in range(directions)]


def _floats(values: object) -> list[float]:
    return [float(value) for value in values] if isinstance(values, list) else []
