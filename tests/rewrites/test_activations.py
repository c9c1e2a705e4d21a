"""Activations in operators that older importers have, against onnxruntime and against exact values."""

import math
from typing import Any

import numpy as np
import onnx
import pytest

from .harness import ask, noise, one_node, ops, rewrite, run
from .properties import holds

# Around 0, where the pieces meet, at the ends of what is not saturated, and large.
NEAR = [0, 1e-30, -1e-30, 1e-7, 0.5, -0.5, 1, -1, 1.5, -1.5, 2.9999, 3, -3, 4, -4]
PLACES = np.array([*NEAR, 5, 20, -20, 90, -90, 1e3, -1e3])
# 1 + Tanh and Sigmoid of onnxruntime end where their float32 does, and Softplus far below 0 flushes.
LOST = {"Gelu": 1e-6, "Swish": 1e-7, "Mish": 1e-35}
CASES: list[tuple[str, str, int, dict[str, Any]]] = [
    ("gelu_to_erf", "Gelu", 20, {}),
    ("gelu_to_erf", "Gelu", 20, {"approximate": "tanh"}),
    ("erf_to_rational", "Erf", 9, {}),
    ("erf_to_rational", "Erf", 13, {}),
    ("hard_swish_to_hard_sigmoid", "HardSwish", 14, {}),
    ("mish_to_tanh", "Mish", 18, {}),
    ("swish_to_sigmoid", "Swish", 24, {}),
    ("swish_to_sigmoid", "Swish", 24, {"alpha": 1.702}),
    ("celu_to_elu", "Celu", 12, {}),
    ("celu_to_elu", "Celu", 12, {"alpha": 2.5}),
    ("shrink_to_ceil", "Shrink", 9, {}),
    ("shrink_to_ceil", "Shrink", 9, {"lambd": 1.5, "bias": 1.5}),
    ("shrink_to_ceil", "Shrink", 9, {"lambd": 0.5, "bias": -0.25}),
    ("sin_to_cos", "Sin", 9, {}),
    ("sin_to_cos", "Sinh", 9, {}),
]


def reference(op: str, x: np.ndarray, attributes: dict[str, Any]) -> np.ndarray | None:
    """Exact values where onnxruntime has no kernel."""
    if op == "Swish":
        scaled = attributes.get("alpha", 1.0) * x.astype(np.float64)
        return (x * (1 + np.tanh(scaled / 2)) / 2).astype(x.dtype)
    return None


@pytest.mark.parametrize(("name", "op", "opset", "attributes"), CASES)
@pytest.mark.parametrize("shape", [(2, 3, 4), (6,), (1, 2, 3, 4, 2)])
def test_noise_of_any_rank(name: str, op: str, opset: int, attributes: dict[str, Any], shape: tuple[int, ...]) -> None:
    model = one_node(op, ["x"], {"x": shape}, opset=opset, **attributes)
    x = noise(shape) * np.float32(3)
    exact = reference(op, x, attributes)
    holds(model, name, {"x": x}, bound=1e-6, expected=None if exact is None else {"y": exact})


@pytest.mark.parametrize(("name", "op", "opset", "attributes"), CASES)
def test_every_place_by_itself(name: str, op: str, opset: int, attributes: dict[str, Any]) -> None:
    """One value at a time, so that no large value hides the error of a small one."""
    result = rewrite(one_node(op, ["x"], {"x": (1,)}, opset=opset, **attributes), name)
    for place in PLACES.astype(np.float32):
        if op in ("Sin", "Sinh") and (abs(place) < 0.1 or abs(place) > 80):
            continue  # the difference has an absolute error there
        x = np.array([place], np.float32)
        exact = reference(op, x, attributes)
        want = exact if exact is not None else run(one_node(op, ["x"], {"x": (1,)}, opset=opset, **attributes), {"x": x})["y"]
        got = run(result, {"x": x})["y"]
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=LOST.get(op, 0), err_msg=f"{op} at {place}")


def test_erf_keeps_its_digits_near_zero() -> None:
    result = rewrite(one_node("Erf", ["x"], {"x": (4001,)}, opset=9), "erf_to_rational")
    x = np.concatenate([np.linspace(-5, 5, 2001), np.logspace(-30, 0, 2000)]).astype(np.float32)
    exact = np.array([math.erf(float(value)) for value in x])
    np.testing.assert_allclose(run(result, {"x": x})["y"], exact, rtol=6e-7, atol=0)


@pytest.mark.parametrize("opset", [9, 13])
def test_erf_of_halves_keeps_what_they_can_hold(opset: int) -> None:
    """Every finite half, the infinities and NaN: relative error of two units in the last place."""
    result = rewrite(one_node("Erf", ["x"], {"x": (65536,)}, opset=opset, dtype=onnx.TensorProto.FLOAT16), "erf_to_rational")
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    got = run(result, {"x": x})["y"].astype(np.float64)
    exact = np.array([math.erf(float(value)) for value in x])
    known = np.isfinite(exact) & (np.abs(exact) > 1e-4)
    np.testing.assert_allclose(got[known], exact[known], rtol=2e-3, atol=0)
    small = np.isfinite(exact) & ~known
    np.testing.assert_allclose(got[small], exact[small], rtol=0, atol=2e-7)


@pytest.mark.parametrize("opset", [9, 13])
def test_half_precision(opset: int) -> None:
    model = one_node("Shrink", ["x"], {"x": (2, 5)}, opset=opset, dtype=onnx.TensorProto.FLOAT16)
    holds(model, "shrink_to_ceil", {"x": noise((2, 5), np.float16)}, bound=1e-3)


def test_a_scalar_stays_one() -> None:
    model = one_node("Shrink", ["x"], {"x": ()}, opset=9)
    assert run(rewrite(model, "shrink_to_ceil"), {"x": np.array(2, np.float32)})["y"].shape == ()


def test_they_decline_with_the_reason() -> None:
    assert ask(one_node("Celu", ["x"], {"x": (2,)}, opset=12, alpha=-1.0), "celu_to_elu") == "alpha is -1"
    double = one_node("Erf", ["x"], {"x": (2,)}, opset=13, dtype=onnx.TensorProto.DOUBLE)
    assert ask(double, "erf_to_rational") == "the coefficients are for FLOAT, the data is DOUBLE"
    integers = one_node("Sin", ["x"], {"x": (2,)}, opset=9, dtype=onnx.TensorProto.INT32)
    assert ask(integers, "sin_to_cos") == "the data is INT32"


def test_no_operator_is_made_that_5_1_lacks() -> None:
    for name, op, opset, attributes in CASES:
        made = ops(rewrite(one_node(op, ["x"], {"x": (2, 3)}, opset=opset, **attributes), name))
        assert not {"Erf", "Where", "Greater", "Cast"} & set(made) or name == "gelu_to_erf"
