"""LSTM, GRU and RNN as their equations: what onnxruntime makes of the layer, within rounding."""

from typing import Any

import numpy as np
import onnx
import pytest

from .harness import ask, error, noise, one_node, ops, repair, rewrite, run

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, WIDTH, HIDDEN = 4, 2, 5, 3
WORST = 1e-6


def layer(op: str, *, state: bool = False, bias: bool = True, peepholes: bool = False, **more: Any) -> onnx.ModelProto:
    random = np.random.default_rng(3)
    directions = 2 if more.get("direction") == "bidirectional" else 1
    gates, batch_first = GATES[op] * HIDDEN, more.get("layout", 0)
    constants = {
        "w": random.standard_normal((directions, gates, WIDTH)),
        "r": random.standard_normal((directions, gates, HIDDEN)),
        "b": random.standard_normal((directions, 2 * gates)),
        "p": random.standard_normal((directions, 3 * HIDDEN)),
    }
    inputs = ["x", "w", "r", "b" if bias else "", "", "h" if state else "", "c" if state else "", "p" if peepholes else ""]
    inputs = inputs if op == "LSTM" else inputs[:6]
    shapes: dict[str, tuple[object, ...]] = {"x": (BATCH, STEPS, WIDTH) if batch_first else (STEPS, BATCH, WIDTH)}
    for name in ("h", "c"):
        if name in inputs:
            shapes[name] = (BATCH, directions, HIDDEN) if batch_first else (directions, BATCH, HIDDEN)
    outputs = ("y", "yh", "yc") if op == "LSTM" else ("y", "yh")
    model = one_node(
        op,
        inputs,
        shapes,
        opset=14,
        constants={name: array.astype(np.float32) for name, array in constants.items() if name in inputs},
        outputs=outputs,
        out_rank=3,
        hidden_size=HIDDEN,
        **more,
    )
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", 1, ["a", "b", "c", "d"]))
    return model


def feeds(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    stored = {tensor.name for tensor in model.graph.initializer}
    return {
        value.name: noise([dim.dim_value for dim in value.type.tensor_type.shape.dim], seed=number)
        for number, value in enumerate(model.graph.input)
        if value.name not in stored
    }


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("state", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_every_layer_in_every_direction(op: str, direction: str, state: bool, bias: bool) -> None:
    model = layer(op, direction=direction, state=state, bias=bias)
    result = rewrite(model, "unroll_recurrent", target="trt6.0-fulldims")
    assert op not in ops(result)
    given = feeds(model)
    assert error(run(model, given), run(result, given)) < WORST


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_peepholes(direction: str) -> None:
    for state in (False, True):
        model = layer("LSTM", peepholes=True, state=state, direction=direction)
        given = feeds(model)
        assert error(run(model, given), run(rewrite(model, "unroll_recurrent"), given)) < WORST


@pytest.mark.parametrize("state", [False, True])
def test_a_reset_gate_behind_the_product(state: bool) -> None:
    model = layer("GRU", linear_before_reset=1, state=state)
    given = feeds(model)
    assert error(run(model, given), run(rewrite(model, "unroll_recurrent"), given)) < WORST


@pytest.mark.parametrize(("op", "names"), [("LSTM", ["Sigmoid", "Relu", "Tanh"]), ("GRU", ["Sigmoid", "Relu"]), ("RNN", ["Relu"])])
def test_other_activations(op: str, names: list[str]) -> None:
    model = layer(op, activations=names)
    given = feeds(model)
    assert error(run(model, given), run(rewrite(model, "unroll_recurrent"), given)) < WORST
    assert "its activations are" in str(ask(layer("RNN", activations=["Step"]), "unroll_recurrent"))


@pytest.mark.parametrize(
    "name", ["Affine", "Elu", "HardSigmoid", "LeakyRelu", "ScaledTanh", "Softplus", "Softsign", "ThresholdedRelu"]
)
@pytest.mark.parametrize("factors", ["none", "given"])
def test_every_activation_with_and_without_its_factors(name: str, factors: str) -> None:
    more: dict[str, Any] = {}
    if factors == "given":
        more = {"activation_alpha": [0.3, 0.6], "activation_beta": [0.4, 0.7]}
    elif name in ("Affine", "ScaledTanh", "ThresholdedRelu"):
        pytest.skip("ONNX names no default, or onnxruntime has another than ONNX")
    for op, names in (("LSTM", [name, "Tanh", "Tanh", name, "Tanh", "Tanh"]), ("GRU", ["Sigmoid", name] * 2), ("RNN", [name] * 2)):
        model = layer(op, direction="bidirectional", activations=names, **more)
        given = feeds(model)
        assert error(run(model, given), run(rewrite(model, "unroll_recurrent"), given)) < WORST, op


def test_a_forget_gate_that_is_coupled() -> None:
    for state in (False, True):
        model = layer("LSTM", input_forget=1, state=state)
        given = feeds(model)
        assert error(run(model, given), run(rewrite(model, "unroll_recurrent"), given)) < WORST


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_a_batch_in_front(op: str, direction: str) -> None:
    """onnxruntime has no layout=1, so the original is turned by hand."""
    model = layer(op, layout=1, state=True, direction=direction)
    plain = layer(op, state=True, direction=direction)
    result = rewrite(model, "unroll_recurrent")
    given = feeds(model)
    right = run(plain, {name: array.transpose(1, 0, 2) for name, array in given.items()})
    turned = {name: array.transpose((2, 0, 1, 3) if name == "y" else (1, 0, 2)) for name, array in right.items()}
    assert error(turned, run(result, given)) < WORST


def test_a_transpose_in_front_is_passed_by() -> None:
    model = layer("LSTM", state=True)
    model.graph.node[0].input[0] = "t"
    model.graph.node.insert(0, onnx.helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]))
    model.graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info("x", 1, [BATCH, STEPS, WIDTH]))
    result = rewrite(model, "unroll_recurrent")
    given = feeds(model)
    assert error(run(model, given), run(result, given)) < WORST


def test_a_dynamic_batch_stays_and_a_dynamic_length_is_declined() -> None:
    model = layer("GRU")
    model.graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info("x", 1, [STEPS, "n", WIDTH]))
    result = rewrite(model, "unroll_recurrent")
    for batch in (1, 3):
        given = {"x": noise((STEPS, batch, WIDTH))}
        assert error(run(model, given), run(result, given)) < WORST
    model.graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info("x", 1, ["t", BATCH, WIDTH]))
    assert ask(model, "unroll_recurrent") == "the sequence has t steps; 256 are the most"


@pytest.mark.parametrize("clip", [0.3, 0.5, 1.0])
@pytest.mark.parametrize(
    ("op", "more"),
    [
        ("LSTM", {}),
        ("LSTM", {"peepholes": True, "state": True}),
        ("LSTM", {"input_forget": 1}),
        ("GRU", {"linear_before_reset": 1}),
        ("GRU", {"state": True}),
        ("RNN", {"direction": "bidirectional"}),
    ],
)
def test_clip(op: str, more: dict[str, Any], clip: float) -> None:
    model = layer(op, clip=clip, **more)
    given = feeds(model)
    assert error(run(model, given), run(rewrite(model, "unroll_recurrent"), given)) < WORST


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("count", [1, 2])
def test_factors_are_written_out_where_one_value_serves_all(op: str, count: int) -> None:
    names = {"LSTM": ["HardSigmoid", "Tanh", "Tanh"], "GRU": ["HardSigmoid", "Tanh"], "RNN": ["HardSigmoid"]}[op] * 2
    given = {"activation_alpha": [0.3] * count, "activation_beta": [0.6] * count}
    model = layer(op, direction="bidirectional", activations=names, **given)
    answer = ask(model, "recurrent_factors_written_out")
    if count == 1:  # the second has the default
        assert "not all that its activations take" in str(answer)
        return
    if op == "RNN":
        assert answer == "they are written out already"
        return
    assert not isinstance(answer, str)
    assert len(next(item for item in answer.graph.node[0].attribute if item.name == "activation_beta").floats) == len(names)
    assert error(run(model, feeds(model)), run(answer, feeds(model))) == 0


def test_factors_that_differ_are_not_written_out() -> None:
    model = layer("RNN", direction="bidirectional", activations=["HardSigmoid", "HardSigmoid"], activation_alpha=[0.3, 0.4])
    assert "several values" in str(ask(model, "recurrent_factors_written_out"))
    model = layer("RNN", direction="bidirectional", activations=["HardSigmoid", "Tanh"], activation_alpha=[0.3])
    assert "other activations" in str(ask(model, "recurrent_factors_written_out"))


def test_weights_are_stored_once() -> None:
    result = rewrite(layer("LSTM", direction="bidirectional"), "unroll_recurrent")
    large = [list(tensor.dims) for tensor in result.graph.initializer if np.prod(tensor.dims) > 4 * HIDDEN]
    assert sorted(large) == 2 * [[HIDDEN, 4 * HIDDEN]] + 2 * [[WIDTH, 4 * HIDDEN]]


def test_the_whole_repair_of_a_sequence_with_the_batch_in_front() -> None:
    """A GRU on a release that has none, as PyTorch exports batch_first=True."""
    model = layer("GRU")
    model.graph.node[0].input[0] = "t"
    model.graph.node[0].output[1] = ""
    del model.graph.output[1]
    model.graph.node.insert(0, onnx.helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]))
    model.graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info("x", 1, ["n", STEPS, WIDTH]))
    report, result = repair(model, "trt6.0-fulldims")
    assert report.status == "repaired"
    assert result is not None
    assert "GRU" not in ops(result)
