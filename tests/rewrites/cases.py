"""A model that a rewrite serves, with inputs; and the table of how to draw one for every rewrite."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Feeds = dict[str, np.ndarray]
Draw = Any

F32, F16, F64 = np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.float64)
I32, I64, U8, BOOL = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint8), np.dtype(bool)
# Rounding of the one form against that of the other, of the largest value: what most rewrites of floats keep.
ROUNDING = 3e-6
# What a rewrite that promises the same bits has to get right.
DELICATE = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-42, 3.4028235e38, -3.4028235e38, 0.5, -2.5]


EVERYWHERE = ("read twice", "hidden", "branch", "loop")
# A model with an operator that nothing runs: its second copy in the other branch would stay.
BUT_BRANCH = ("read twice", "hidden", "loop")


@dataclass(frozen=True)
class Case:
    """One model and one input of it.

    Attributes:
        model: its node `node` is the one to rewrite.
        feeds: an array for each input.
        bound: how far outputs may move, of their largest value; 0: the same bits. A rewrite that promises `exact` has to have 0.
        target: the release that the rewrite is asked for.
        meant: the model whose numbers the result has to give; None: `model` itself. Where consent changes what a file says, and
            where `model` cannot run.
        reference: the outputs, where no model can tell them.
        node: the name of the node; "" for a pass over the model.
        values: what a pass is asked for.
        after: the feeds of the result, where its inputs have another type.
        numbers: whether the result's numbers are held against anything here.
        places: the settings in which it is tried besides its own; empty where it goes nowhere else.
        consent: codes that `repair` is given.
        options: others of its options.
    """

    model: onnx.ModelProto
    feeds: Feeds
    bound: float = 0.0
    target: str = "trt5.1"
    meant: onnx.ModelProto | None = None
    reference: Mapping[str, np.ndarray] | None = None
    node: str = "node"
    values: Sequence[str] = ()
    after: Callable[[Feeds], Feeds] | None = None
    numbers: bool = True
    places: tuple[str, ...] = EVERYWHERE
    consent: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


Table = dict[str, st.SearchStrategy[Case]]

CASES: Table = {}
# By operator: how nodes of it get to an older opset, and those of opsets 1 to 6 to opset 7.
LOWERED: Table = {}
RAISED: Table = {}


def collect() -> tuple[Table, Table, Table]:
    """The three tables, with what every file of this folder by the name of `cases_*` adds to them."""
    for path in sorted(Path(__file__).parent.glob("cases_*.py")):
        importlib.import_module(f".{path.stem}", __package__)
    return CASES, LOWERED, RAISED


def serves(*names: str, table: Table = CASES) -> Callable[[Callable[..., Case]], Callable[..., Case]]:
    """The function draws cases for these rewrites (or operators); it is called with hypothesis's `draw` and the name."""

    def note(function: Callable[..., Case]) -> Callable[..., Case]:
        for name in names:
            assert name not in table, f"two draw cases for {name}"
            table[name] = st.composite(function)(name)
        return function

    return note


def pick(draw: Draw, *options: Any) -> Any:
    """One of them."""
    return draw(st.sampled_from(options))


def whole(draw: Draw, low: int, high: int) -> int:
    """An integer from `low` to `high`."""
    return int(draw(st.integers(low, high)))


def dims(draw: Draw, low: int = 1, high: int = 4, side: int = 4) -> tuple[int, ...]:
    """A small shape of a rank from `low` to `high`."""
    return tuple(whole(draw, 1, side) for _ in range(whole(draw, low, high)))


def array(draw: Draw, shape: Sequence[int], dtype: np.dtype = F32, *, delicate: bool = False, positive: bool = False) -> np.ndarray:
    """Numbers of one kind: noise, whole and halved ones with many ties, or large ones; some `delicate` ones among them."""
    random = np.random.default_rng(whole(draw, 0, 2**32 - 1))
    if dtype == BOOL:
        return np.asarray(random.random(tuple(shape)) < 0.5)
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" or positive else -100
        return random.integers(low, 100, tuple(shape)).astype(dtype)
    made = random.standard_normal(tuple(shape))
    kind = pick(draw, "noise", "ties", "large", "delicate" if delicate else "noise")
    if kind == "ties":
        made = np.round(made * 2) / 2
    elif kind == "large":
        made = made * 30
    made = np.abs(made) + 0.01 if positive else made
    if kind == "delicate":
        made = np.where(random.random(made.shape) < 0.4, random.choice(DELICATE, made.shape), made)
    with np.errstate(over="ignore"):
        return np.asarray(made.astype(dtype))


def model_of(
    op: str,
    inputs: Sequence[str],
    feeds: Feeds,
    *,
    opset: int,
    constants: Mapping[str, np.ndarray] | None = None,
    open_dims: Mapping[str, Sequence[object]] | None = None,
    outputs: Sequence[str] = ("y",),
    kinds: Sequence[tuple[np.dtype, int]] = (),
    domain: str = "",
    ir: int = 8,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of the one node `node`.

    `open_dims` replace the shapes of inputs; `kinds` are element type and rank of every output where onnx's inference has none.
    """
    node = onnx.helper.make_node(op, list(inputs), list(outputs), name="node", domain=domain, **attributes)
    return model_around(
        [node],
        feeds,
        opset=opset,
        constants=constants,
        open_dims=open_dims,
        outputs=[o for o in outputs if o],
        kinds=kinds,
        domains=[domain] if domain else [],
        ir=ir,
    )


def model_around(
    nodes: Sequence[onnx.NodeProto],
    feeds: Feeds,
    *,
    opset: int,
    constants: Mapping[str, np.ndarray] | None = None,
    open_dims: Mapping[str, Sequence[object]] | None = None,
    outputs: Sequence[str] = ("y",),
    kinds: Sequence[tuple[np.dtype, int]] = (),
    domains: Sequence[str] = (),
    ir: int = 8,
) -> onnx.ModelProto:
    """As `model_of`, for several nodes."""
    shapes = {name: tuple((open_dims or {}).get(name, value.shape)) for name, value in feeds.items()}
    graph = onnx.helper.make_graph(
        list(nodes),
        "g",
        [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), shapes[name])
            for name, value in feeds.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()],
    )
    imports = [onnx.helper.make_opsetid("", opset), *(onnx.helper.make_opsetid(name, 1) for name in domains)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=ir)
    known = onnx.shape_inference.infer_shapes(model).graph.output
    for place, value in enumerate(graph.output):
        if kinds:
            dtype, rank = kinds[place]
            named = onnx.helper.make_tensor_value_info(
                value.name, onnx.helper.np_dtype_to_tensor_dtype(dtype), [f"{value.name}{axis}" for axis in range(rank)]
            )
            model.graph.output[place].CopyFrom(named)
        else:
            assert known[place].type.tensor_type.elem_type, f"{value.name}: no type is inferred"
            model.graph.output[place].CopyFrom(known[place])
            # onnxruntime believes the sizes, and onnx counts windows that go over the edge otherwise
            for axis, dim in enumerate(model.graph.output[place].type.tensor_type.shape.dim):
                dim.dim_param = f"{value.name}{axis}"
    return model
