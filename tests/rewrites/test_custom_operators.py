"""Operators that are none of ONNX and of known meaning, against onnxruntime where it has them, else against the references."""

from typing import Any

import numpy as np
import onnx
import pytest

from onnxfix.verify.aten import evaluate_node, mish

from .harness import applied, ask, noise, one_node, repair, rewrite, run
from .properties import holds

MICROSOFT = "com.microsoft"


@pytest.mark.parametrize(
    ("activation", "numbers"),
    [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]), ("HardSigmoid", [0.3, 0.4]), ("Clip", [-0.5, 0.5])],
)
@pytest.mark.parametrize("biased", [True, False])
def test_a_convolution_with_its_activation(activation: str, numbers: list[float], biased: bool) -> None:
    values = {"w": noise((3, 2, 3, 3), seed=1), "b": noise((3,), seed=2)}
    more: dict[str, Any] = {"activation_params": numbers} if numbers else {}
    model = one_node(
        "FusedConv",
        ["x", "w", "b"] if biased else ["x", "w"],
        {"x": (1, 2, 5, 5)},
        opset=12,
        domain=MICROSOFT,
        constants=values if biased else {"w": values["w"]},
        activation=activation,
        kernel_shape=[3, 3],
        pads=[1, 1, 1, 1],
        **more,
    )
    holds(model, "fused_conv_to_conv", {"x": noise((1, 2, 5, 5))}, bound=1e-6)


def test_an_unknown_activation_stays() -> None:
    model = one_node(
        "FusedConv", ["x", "w"], {"x": (1, 1, 3, 3), "w": (1, 1, 1, 1)}, opset=12, domain=MICROSOFT, activation="Swish"
    )
    assert ask(model, "fused_conv_to_conv") == "its activation is Swish"


@pytest.mark.parametrize("inputs", [["x", "s", "g"], ["x", "s", "g", "b"], ["x", "s", "g", "b", "i"]])
@pytest.mark.parametrize("opset", [12, 18])
def test_a_sum_and_its_normalisation(inputs: list[str], opset: int) -> None:
    values = {name: noise((8,), seed=number) for number, name in enumerate("gbi") if name in inputs}
    shapes: dict[str, tuple[object, ...]] = {"x": (2, 3, 8), "s": (2, 3, 8)}
    more: dict[str, Any] = {"domain": MICROSOFT, "epsilon": 1e-5, "outputs": ("y", "", "", "t")}
    model = one_node("SkipLayerNormalization", inputs, shapes, opset=opset, constants=values, **more)
    holds(model, "skip_layer_norm_to_mean", {"x": noise((2, 3, 8)), "s": noise((2, 3, 8), seed=9)}, bound=2e-6)


def computed(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    """What the reference says of the model's one node."""
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    node = model.graph.node[0]
    return evaluate_node(node, [feeds.get(name, stored.get(name)) for name in node.input])[0]


@pytest.mark.parametrize(("padding", "around"), [(0, "zeros"), (1, "border"), (2, "reflection")])
@pytest.mark.parametrize(("mode", "name"), [(0, "bilinear"), (1, "nearest")])
def test_the_reference_of_the_sampler_is_onnxs(padding: int, around: str, mode: int, name: str) -> None:
    shapes: dict[str, tuple[object, ...]] = {"x": (1, 2, 4, 5), "g": (1, 3, 3, 2)}
    feeds = {"x": noise((1, 2, 4, 5)), "g": noise((1, 3, 3, 2), seed=1)}
    attributes = {"interpolation_mode": mode, "padding_mode": padding, "align_corners": 0}
    model = one_node("grid_sampler", ["x", "g"], shapes, opset=11, domain="mmdeploy", **attributes)
    standard = one_node("GridSample", ["x", "g"], shapes, opset=16, mode=name, padding_mode=around)
    expected = run(standard, feeds)["y"]
    np.testing.assert_allclose(computed(model, feeds), expected, atol=1e-6)
    np.testing.assert_allclose(run(rewrite(model, "grid_sample_to_gather"), feeds)["y"], expected, atol=1e-6)


@pytest.mark.parametrize("swish", [0, 1])
def test_the_plugin_of_groups(swish: int) -> None:
    values = {"g": noise((64,), seed=1), "b": noise((64,), seed=2)}
    model = one_node("GroupNorm", ["x", "g", "b"], {"x": (2, 64, 3, 2)}, opset=17, constants=values, epsilon=1e-5, bSwish=swish)
    feeds = {"x": noise((2, 64, 3, 2))}
    got = run(rewrite(model, "group_norm_to_mean"), feeds)["y"]
    np.testing.assert_allclose(got, computed(model, feeds), atol=2e-6)


def test_the_plugin_of_slopes_and_the_alias() -> None:
    x = {"x": noise((2, 5))}
    slope = one_node("LReLU_TRT", ["x"], {"x": (2, 5)}, opset=13, negSlope=0.1)
    np.testing.assert_array_equal(run(rewrite(slope, "leaky_relu_plugin"), x)["y"], computed(slope, x))
    alias = one_node("AliasWithName", ["x"], {"x": (2, 5)}, opset=9, is_backward=0)
    np.testing.assert_array_equal(run(rewrite(alias, "alias_to_identity"), x)["y"], x["x"])


def test_the_reference_of_mish_is_onnxs() -> None:
    x = np.concatenate([noise((50,)) * np.float32(5), np.array([100, -100, 0], np.float32)])
    expected = run(one_node("Mish", ["x"], {"x": (53,)}, opset=18), {"x": x})["y"]
    np.testing.assert_allclose(mish(x), expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "target", "name"),
    [
        (one_node("Mish", ["x"], {"x": (2, 5)}, opset=9), "trt7.1", "mish_to_tanh"),
        (one_node("LReLU_TRT", ["x"], {"x": (2, 5)}, opset=13, negSlope=0.1), "trt11.0", "leaky_relu_plugin"),
        (one_node("AliasWithName", ["x"], {"x": (2, 5)}, opset=9), "trt8.4", "alias_to_identity"),
    ],
)
def test_they_are_repaired_and_proven(model: onnx.ModelProto, target: str, name: str) -> None:
    report, result = repair(model, target)
    assert report.status == "repaired"
    assert applied(report) == [name]
    assert report.proof is not None
    assert report.proof.passed
    assert result is not None
