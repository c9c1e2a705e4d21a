"""Rounding, signs, remainders, comparisons and selections in operators of older releases, against onnxruntime."""

from typing import Any

import numpy as np
import onnx
import pytest

from .harness import ask, noise, one_node, rewrite, run
from .properties import holds

BOOL, INT32, INT64 = onnx.TensorProto.BOOL, onnx.TensorProto.INT32, onnx.TensorProto.INT64
HALVES = np.array([-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5, 0.49999997, -0.4999, 8388609, 1e10, 0, -0.0, 2, -7], np.float32)


@pytest.mark.parametrize("shape", [(16,), (2, 8), (1, 2, 2, 4)])
def test_halves_go_to_the_even_side(shape: tuple[int, ...]) -> None:
    model = one_node("Round", ["x"], {"x": shape}, opset=11)
    holds(model, "round_to_floor", [{"x": HALVES.reshape(shape)}, {"x": noise(shape) * np.float32(100)}])


@pytest.mark.parametrize("dtype", [onnx.TensorProto.FLOAT, INT32, INT64])
def test_signs(dtype: int) -> None:
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    model = one_node("Sign", ["x"], {"x": (2, 6)}, opset=13, dtype=dtype)
    x = np.array([-7, -1, 0, 1, 3, 9, 100, -100, 2, 0, -3, 5]).astype(kind).reshape(2, 6)
    holds(model, "sign_to_clip", [{"x": x}] + ([{"x": np.float32(1e-40) * x}] if dtype == 1 else []))


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("dtype", [INT32, INT64])
def test_remainders_of_integers(fmod: int, dtype: int) -> None:
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    model = one_node("Mod", ["x", "z"], {"x": (6,), "z": (6,)}, opset=11, dtype=dtype, fmod=fmod)
    holds(model, "mod_to_div", {"x": np.array([7, -7, 7, -7, 6, 0], kind), "z": np.array([3, 3, -3, -3, 3, -5], kind)})


def test_remainders_of_floats() -> None:
    model = one_node("Mod", ["x", "z"], {"x": (6,), "z": (6,)}, opset=11, fmod=1)
    feeds = {"x": np.array([7, -7.5, 7.25, -7, 0.5, 100], np.float32), "z": np.array([3, 3, -3, -3, 2, 7], np.float32)}
    holds(model, "mod_to_floor", feeds, bound=1e-6)


@pytest.mark.parametrize("opset", [9, 10, 13])
def test_what_is_no_number(opset: int) -> None:
    x = np.array([np.nan, np.inf, -np.inf, 0, 1, -2], np.float32)
    holds(one_node("IsNaN", ["x"], {"x": (6,)}, opset=opset, out_dtype=BOOL), "is_nan_to_equal", {"x": x})
    if opset >= 10:
        for sides in ({}, {"detect_positive": 0}, {"detect_negative": 0}):
            model = one_node("IsInf", ["x"], {"x": (6,)}, opset=opset, out_dtype=BOOL, **sides)
            holds(model, "is_inf_to_greater", {"x": x})


@pytest.mark.parametrize("op", ["GreaterOrEqual", "LessOrEqual"])
def test_orders_with_equality(op: str) -> None:
    model = one_node(op, ["x", "z"], {"x": (2, 3), "z": (3,)}, opset=12, out_dtype=BOOL)
    x = np.array([[1, 2, np.nan], [-1, 0, 3]], np.float32)
    holds(model, "greater_or_equal_to_or", {"x": x, "z": np.array([1, 1, 3], np.float32)})


def test_either_but_not_both() -> None:
    model = one_node("Xor", ["x", "z"], {"x": (2, 2), "z": (2, 2)}, opset=9, dtype=BOOL)
    holds(model, "greater_or_equal_to_or", {"x": np.array([[0, 0], [1, 1]], bool), "z": np.array([[0, 1], [0, 1]], bool)})


@pytest.mark.parametrize("axis", [-1, 1])
def test_the_smallest(axis: int) -> None:
    model = one_node(
        "TopK", ["x", "k"], {"x": (2, 5, 6)}, opset=11, constants={"k": np.array([3])}, outputs=("y", "i"), axis=axis, largest=0
    )
    model.graph.output[1].type.tensor_type.elem_type = INT64
    holds(model, "topk_to_largest", {"x": noise((2, 5, 6))})
    assert ask(one_node("TopK", ["x", "k"], {"x": (4,)}, opset=11, outputs=("y", "")), "topk_to_largest") == "it takes the largest"


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_the_last_of_equal_values(op: str, keepdims: int) -> None:
    x = np.array([[1, 3, 3, 0], [0, 0, 2, 2]], np.float32)
    more: dict[str, Any] = {"out_dtype": INT64, "out_rank": 1 + keepdims}
    model = one_node(op, ["x"], {"x": (2, 4)}, opset=12, axis=1, keepdims=keepdims, select_last_index=1, **more)
    holds(model, "argmax_to_first", {"x": x})


@pytest.mark.parametrize(("opset", "axis"), [(13, -1), (13, 1), (13, 0), (11, 2), (9, 2)])
def test_one_at_the_first_maximum(opset: int, axis: int) -> None:
    model = one_node("Hardmax", ["x"], {"x": (2, 3, 4)}, opset=opset, axis=axis)
    x = np.round(noise((2, 3, 4)))  # ties
    holds(model, "hardmax_to_gather", {"x": x})


def test_exponents_of_another_type() -> None:
    model = one_node("Pow", ["x", "e"], {"x": (2, 3)}, opset=12, constants={"e": np.array([2, 3, -1])})
    holds(model, "pow_exponent_to_float", {"x": noise((2, 3))}, bound=1e-6)
    computed = one_node("Pow", ["x", "e"], {"x": (2, 3), "e": (3,)}, opset=12)
    computed.graph.input[1].type.tensor_type.elem_type = INT32
    holds(computed, "pow_exponent_to_float", {"x": noise((2, 3)), "e": np.array([2, 3, 1], np.int32)}, bound=1e-6)


@pytest.mark.parametrize("names", [["x", "a", "b"], ["x", "", "b"], ["x", "a"], ["x", "a", ""]])
def test_bounds_of_run_time(names: list[str]) -> None:
    model = one_node("Clip", names, {"x": (2, 3), **{name: () for name in names[1:] if name}}, opset=12)
    feeds = {"x": noise((2, 3)), "a": np.array(0.25, np.float32), "b": np.array(-0.5, np.float32)}  # high wins over low
    holds(model, "clip_to_max_min", {name: feeds[name] for name in names if name})


def test_integers_are_clipped_from_opset_12_on() -> None:
    model = one_node("Clip", ["x", "a"], {"x": (3,), "a": ()}, opset=12, dtype=INT32)
    holds(model, "clip_to_max_min", {"x": np.array([1, 5, 9], np.int32), "a": np.array(4, np.int32)})


@pytest.mark.parametrize("op", ["LogSoftmax", "Softmax"])
@pytest.mark.parametrize("dims", [(2, 3, 4), ("n", 3, "w"), (2, 3, 2, 2), ("none", 3, 4)])
def test_several_axes_as_one(op: str, dims: tuple[object, ...]) -> None:
    shape = tuple(size if isinstance(size, int) else 0 if size == "none" else 5 for size in dims)
    holds(one_node(op, ["x"], {"x": dims}, opset=11, axis=1), "softmax_to_flat", {"x": noise(shape)}, bound=1e-6)


@pytest.mark.parametrize(("opset", "axis"), [(13, -1), (13, 1), (18, 1), (11, 2), (9, 2)])
def test_logarithms_of_shares(opset: int, axis: int) -> None:
    model = one_node("LogSoftmax", ["x"], {"x": (2, 3, 4)}, opset=opset, axis=axis)
    for factor in (1, 30, 1000):
        holds(model, "logsumexp_stable", {"x": noise((2, 3, 4)) * np.float32(factor)}, bound=1e-6)


@pytest.mark.parametrize("axes", [None, [1], [1, 2], [-1]])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [11, 13, 18])
def test_logarithms_of_sums(axes: list[int] | None, keepdims: int, opset: int) -> None:
    names, values, more = ["x"], {}, {}
    if axes is not None and opset >= 18:
        names, values = ["x", "axes"], {"axes": np.array(axes)}
    elif axes is not None:
        more = {"axes": axes}
    rank = 3 if keepdims else 0 if axes is None else 3 - len(axes)
    model = one_node(
        "ReduceLogSumExp", names, {"x": (2, 3, 4)}, opset=opset, constants=values, keepdims=keepdims, out_rank=rank, **more
    )
    holds(model, "logsumexp_stable", {"x": noise((2, 3, 4)) * np.float32(200)}, bound=1e-6)


@pytest.mark.parametrize("opset", [9, 13])
def test_logarithms_of_sums_of_infinities(opset: int) -> None:
    model = one_node("ReduceLogSumExp", ["x"], {"x": (4, 2)}, opset=opset, axes=[1])
    x = np.array([[np.inf, 1], [-np.inf, -np.inf], [-np.inf, 2], [np.inf, -np.inf]], np.float32)
    got = run(rewrite(model, "logsumexp_stable"), {"x": x})["y"]
    np.testing.assert_array_equal(got, np.array([[np.inf], [-np.inf], [2], [np.inf]], np.float32))


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceL1", "ReduceSumSquare", "ReduceMax", "ReduceL2"])
@pytest.mark.parametrize("axes", [[], [1]])
def test_reductions_of_nothing(op: str, axes: list[int]) -> None:
    model = one_node(
        op, ["x", "axes"], {"x": (2, 3)}, opset=18, constants={"axes": np.array(axes, np.int64)}, noop_with_empty_axes=1
    )
    holds(model, "drop_noop_reduction", {"x": noise((2, 3))}, bound=1e-6)


@pytest.mark.parametrize("axis", [0, 3, -3])
def test_flattening_at_the_ends(axis: int) -> None:
    model = one_node("Flatten", ["x"], {"x": (2, 3, 4)}, opset=11, axis=axis, out_rank=2)
    holds(model, "flatten_to_reshape", {"x": noise((2, 3, 4))})
    inside = one_node("Flatten", ["x"], {"x": (2, 3, 4)}, opset=11, axis=2, out_rank=2)
    assert ask(inside, "flatten_to_reshape") == "axis 2 lies between the axes of the data"


def test_a_rewrite_of_what_importers_take_is_declined() -> None:
    assert ask(one_node("Clip", ["x"], {"x": (2,)}, opset=9, min=0.0), "clip_to_max_min") == "its bounds are attributes"
    assert ask(one_node("ReduceMax", ["x"], {"x": (2,)}, opset=9), "drop_noop_reduction") == "it says nothing of empty axes"


def test_a_scalar_stays_one() -> None:
    result = rewrite(one_node("Round", ["x"], {"x": ()}, opset=11), "round_to_floor")
    assert run(result, {"x": np.array(2.5, np.float32)})["y"].shape == ()


@pytest.mark.parametrize("op", ["LogSoftmax", "Softmax", "Hardmax"])
@pytest.mark.parametrize("axis", [None, -1, 1, 0, -2])
@pytest.mark.parametrize("dims", [(2, 3, 4), ("n", 3, "w", 2)])
def test_shares_along_the_last_axis(op: str, axis: int | None, dims: tuple[object, ...]) -> None:
    more = {} if axis is None else {"axis": axis}
    shape = tuple(size if isinstance(size, int) else 5 for size in dims)
    holds(one_node(op, ["x"], {"x": dims}, opset=13, **more), "softmax_to_last", {"x": noise(shape)}, bound=1e-6)
