"""Casts, booleans that are only moved, and Shape of some axes: the same bits as onnxruntime gives the original."""

from typing import Any

import numpy as np
import onnx
import pytest

from .harness import ask, noise, one_node, ops, parse, repair, rewrite, run, same_bits

T = onnx.TensorProto


@pytest.mark.parametrize("kind", [T.FLOAT, T.FLOAT16, T.DOUBLE, T.INT32, T.INT64, T.BOOL, T.UINT8])
def test_a_cast_to_the_own_type_is_an_identity(kind: int) -> None:
    model = one_node("Cast", ["x"], {"x": ("n", 3)}, opset=13, dtype=kind, to=kind)
    result = rewrite(model, "cast_to_identity")
    assert ops(result) == ["Identity"]
    x = noise((2, 3)).astype(onnx.helper.tensor_dtype_to_np_dtype(kind))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))
    other = one_node("Cast", ["x"], {"x": ("n", 3)}, opset=13, dtype=kind, out_dtype=T.INT16, to=T.INT16)
    assert ask(other, "cast_to_identity") == "it changes the element type"


def chain(*kinds: int) -> onnx.ModelProto:
    """Casts one behind the other, then two readers of the last."""
    names = ["x", *(f"c{k}" for k in range(1, len(kinds)))]
    nodes = [
        onnx.helper.make_node("Cast", [before], [after], name="node" if after == "c1" else after, to=kind)
        for before, after, kind in zip(names, names[1:], kinds[1:], strict=False)
    ]
    nodes += [onnx.helper.make_node("Identity", [names[-1]], ["y"]), onnx.helper.make_node("Identity", [names[-1]], ["z"])]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "g", [value("x", kinds[0], [4])], [value(n, kinds[-1], [4]) for n in "yz"])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize(
    "kinds",
    [(T.FLOAT, T.DOUBLE, T.FLOAT), (T.INT32, T.INT64, T.FLOAT), (T.UINT8, T.FLOAT16, T.FLOAT), (T.BOOL, T.INT64, T.FLOAT)],
)
def test_a_wider_type_between_others_is_passed_over(kinds: tuple[int, ...]) -> None:
    model = chain(*kinds)
    result = rewrite(model, "cast_chain")
    assert ops(result) == ["Cast", "Identity", "Identity"]
    x = np.array([0, 1, 3, 200]).astype(onnx.helper.tensor_dtype_to_np_dtype(kinds[0]))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


@pytest.mark.parametrize("between", [T.INT32, T.INT64])
def test_through_an_integer_and_back_the_fraction_goes(between: int) -> None:
    model = chain(T.FLOAT, between, T.FLOAT)
    result = rewrite(model, "cast_chain")
    assert "Cast" not in ops(result)
    for x in ([0.5, -0.5, 1.999, -1.999], [-3.0, 7.0, 2.0**30, -(2.0**30)], [-0.0, 1e-30, -1e-30, 16777217.0]):
        feed = {"x": np.array(x, np.float32)}
        same_bits(run(model, feed), run(result, feed))


@pytest.mark.parametrize("kinds", [(T.FLOAT, T.BOOL, T.FLOAT), (T.FLOAT, T.UINT8, T.FLOAT), (T.DOUBLE, T.FLOAT, T.DOUBLE)])
def test_what_a_cast_loses_stays_lost(kinds: tuple[int, ...]) -> None:
    assert "no shorter" in str(ask(chain(*kinds), "cast_chain"))


def test_casts_that_others_read_stay() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[3] x) => (float[3] y, double[3] z) { [node] d = Cast <to = 11> (x)  y = Cast <to = 1> (d)  z = Neg (d) }
    """)
    assert ask(model, "cast_chain") == "others than Casts read it"


@pytest.mark.parametrize(
    ("op", "inputs", "constants", "more"),
    [
        ("Gather", ["x", "i"], {"i": np.array([1, 0])}, {"axis": 1}),
        ("Slice", ["x", "b", "e"], {"b": np.array([0]), "e": np.array([1])}, {}),
        ("Concat", ["x", "k", "x"], {"k": np.array([[True, False, True]])}, {"axis": 0}),
        ("Expand", ["x", "s"], {"s": np.array([4, 2, 3])}, {}),
        ("Tile", ["x", "s"], {"s": np.array([2, 2])}, {}),
        ("Transpose", ["x"], {}, {"perm": [1, 0]}),
        ("Reshape", ["x", "s"], {"s": np.array([3, 2])}, {}),
        ("Unsqueeze", ["x", "s"], {"s": np.array([0])}, {}),
    ],
)
def test_booleans_are_moved_as_integers(op: str, inputs: list[str], constants: dict[str, Any], more: dict[str, Any]) -> None:
    rank = 3 if op in ("Expand", "Unsqueeze") else 2
    model = one_node(op, inputs, {"x": (2, 3)}, opset=13, constants=constants, dtype=T.BOOL, out_rank=rank, **more)
    result = rewrite(model, "bool_through_int32", target="trt7.1")
    assert set(ops(result)) == {"Cast", op}
    x = noise((2, 3)) > 0
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


def test_every_output_of_a_split_is_a_boolean_again() -> None:
    model = one_node("Split", ["x"], {"x": (4, 3)}, opset=11, dtype=T.BOOL, outputs=("y", "z"), axis=0, split=[1, 3])
    result = rewrite(model, "bool_through_int32", target="trt7.1")
    x = noise((4, 3)) > 0
    same_bits(run(model, {"x": x}), run(result, {"x": x}))
    assert (
        ask(one_node("Split", ["x"], {"x": (4, 3)}, opset=11, outputs=("y", "z")), "bool_through_int32") == "its data is not BOOL"
    )


@pytest.mark.parametrize("bounds", [{"start": 1}, {"start": -2}, {"start": 1, "end": 3}, {"end": -1}, {"start": 3, "end": 2}])
def test_shape_of_some_axes(bounds: dict[str, int]) -> None:
    model = one_node("Shape", ["x"], {"x": ("n", 3, 4, 5)}, opset=15, out_dtype=T.INT64, out_rank=1, **bounds)
    result = rewrite(model, "shape_to_slice", target="trt8.6")
    assert ops(result) == ["Shape", "Slice"]
    x = noise((2, 3, 4, 5))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))
    assert ask(one_node("Shape", ["x"], {"x": (2, 3)}, opset=15, out_dtype=T.INT64), "shape_to_slice") == "it gives the whole shape"


def recurrent(op: str, gates: int, *, state: str = "", lengths: str = "", batch: object = 2) -> onnx.ModelProto:
    """A forward layer of 3 units over 4 steps of 5 numbers; `state` and `lengths` are names of values, given below or absent."""
    random = np.random.default_rng(0)
    inputs = ["x", "w", "r", "b", lengths, state] + (["z"] if op == "LSTM" and state else [])
    constants = {
        "w": random.standard_normal((1, gates * 3, 5)).astype(np.float32),
        "r": random.standard_normal((1, gates * 3, 3)).astype(np.float32),
        "b": random.standard_normal((1, gates * 6)).astype(np.float32),
    }
    named = {
        "z": np.zeros((1, 2, 3), np.float32),
        "full": np.array([4, 4], np.int32),
        "part": np.array([4, 3], np.int32),
        "h": np.ones((1, 2, 3), np.float32),
    }
    constants |= {name: named[name] for name in inputs if name in named}
    return one_node(op, inputs, {"x": (4, batch, 5)}, opset=13, constants=constants, outputs=("", "y"), out_rank=3, hidden_size=3)


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_states_of_zeros_and_full_lengths_are_left_out(op: str, gates: int) -> None:
    for lengths in ("", "full"):
        model = recurrent(op, gates, state="z", lengths=lengths)
        result = rewrite(model, "drop_zero_state", target="trt7.0")
        assert len(result.graph.node[0].input) == 4
        x = {"x": noise((4, 2, 5))}
        same_bits(run(model, x), run(result, x))


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_before_another_state_the_lengths_are_written_out(op: str, gates: int) -> None:
    model = recurrent(op, gates, state="h")
    result = rewrite(model, "drop_zero_state", target="trt7.0")
    assert "" not in result.graph.node[0].input
    x = {"x": noise((4, 2, 5))}
    same_bits(run(model, x), run(result, x))


def test_other_lengths_stay_and_a_dynamic_batch_has_none_to_write() -> None:
    part = rewrite(recurrent("GRU", 3, state="z", lengths="part"), "drop_zero_state")
    assert list(part.graph.node[0].input) == ["x", "w", "r", "b", "part"]
    assert "dynamic" in str(ask(recurrent("GRU", 3, state="h", batch="n"), "drop_zero_state"))


def test_a_state_of_zeros_that_run_time_shapes() -> None:
    """What PyTorch writes for a state that is not given, at a dynamic batch."""
    model = recurrent("LSTM", 4, state="e", batch="n")
    head = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[4,n,5] x) => (float[1,n,3] e) <int64 one = {1}, int64[1] first = {1}, int64[1] last = {3}, int64[1] axis = {0}> {
      s = Shape (x)  d = Gather <axis = 0> (s, one)  u = Unsqueeze (d, axis)  t = Concat <axis = 0> (first, u, last)
      c = ConstantOfShape <value = float[1] {0}> (t)  e = Identity (c)
    }
    """)
    del model.graph.initializer[[tensor.name for tensor in model.graph.initializer].index("z")]
    model.graph.node[0].input[6] = "e"
    model.graph.initializer.extend(head.graph.initializer)
    nodes = [*head.graph.node, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    report, result = repair(model, "trt6.0-fulldims")
    assert report.status == "repaired"
    assert result is not None
    assert ops(result) == ["LSTM"]
