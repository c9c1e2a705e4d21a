"""Scatter, MaxUnpool and ReverseSequence with places or lengths that are inputs: what onnxruntime makes of them."""

from typing import Any

import numpy as np
import onnx
import pytest

from .harness import ask, error, noise, ops, rewrite, run, same_bits

TYPES = {np.dtype(np.float32): 1, np.dtype(np.float16): 10, np.dtype(np.int32): 6, np.dtype(np.int64): 7}
ROUNDING = 3e-7


def one(
    op: str,
    feeds: dict[str, np.ndarray],
    *,
    opset: int,
    free: dict[str, list[Any]] | None = None,
    constants: dict[str, np.ndarray] | None = None,
    rank: int | None = None,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node whose inputs are `feeds`, some with shapes of their own (`free`), and then `constants`."""
    inputs = [
        onnx.helper.make_tensor_value_info(name, TYPES[array.dtype], (free or {}).get(name, list(array.shape)))
        for name, array in feeds.items()
    ]
    first = next(iter(feeds.values()))
    count = first.ndim if rank is None else rank
    output = onnx.helper.make_tensor_value_info("y", TYPES[first.dtype], [f"y{axis}" for axis in range(count)])
    stored = [onnx.numpy_helper.from_array(array, name) for name, array in (constants or {}).items()]
    node = onnx.helper.make_node(op, [*feeds, *(constants or {})], ["y"], name="node", **attributes)
    graph = onnx.helper.make_graph([node], "g", inputs, [output], stored)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)


def scatter_feeds(dtype: Any, indices: tuple[int, ...], updates: tuple[int, ...], low: int, high: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    return {
        "x": (10 * noise((4, 5, 3))).astype(dtype),
        "i": random.integers(low, high, indices),
        "u": (10 * noise(updates, seed=1)).astype(dtype),
    }


def close(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
    """Within rounding for floats, equal for integers."""
    if left["y"].dtype.kind == "f":
        assert error(left, right) < (ROUNDING if left["y"].dtype == np.float32 else 2e-3)
    else:
        same_bits(left, right)


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_elements_with_a_reduction_and_places_that_occur_often(reduction: str, dtype: Any, axis: int) -> None:
    shape = [4, 5, 3]
    shape[axis] = 6
    feeds = scatter_feeds(dtype, tuple(shape), tuple(shape), -3, 3)
    model = one("ScatterElements", feeds, opset=18, axis=axis, reduction=reduction)
    result = rewrite(model, "scatter_by_equality")
    assert not {"ScatterElements", "ScatterND"} & set(ops(result))
    close(run(model, feeds), run(result, feeds))


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_slabs_with_a_reduction(reduction: str, depth: int, dtype: Any) -> None:
    feeds = scatter_feeds(dtype, (2, 4, depth), (2, 4, *(4, 5, 3)[depth:]), -3, 3)
    model = one("ScatterND", feeds, opset=18, reduction=reduction)
    close(run(model, feeds), run(rewrite(model, "scatter_by_equality"), feeds))


@pytest.mark.parametrize("opset", [9, 11, 16])
def test_without_a_reduction_infinities_and_nan_stay(opset: int) -> None:
    op = "Scatter" if opset < 11 else "ScatterElements"
    random = np.random.default_rng(3)
    feeds = {
        "x": noise((4, 5)),
        "i": np.stack([random.permutation(5)[:3] for _ in range(4)]),
        "u": noise((4, 3), seed=1),
    }
    feeds["x"][0, :] = [np.inf, -np.inf, np.nan, 1, 2]
    feeds["u"][1, :] = [np.inf, -np.inf, np.nan]
    model = one(op, feeds, opset=opset, axis=1)
    same_bits(run(model, feeds), run(rewrite(model, "scatter_by_equality"), feeds))


def test_slabs_without_a_reduction() -> None:
    feeds = {"x": noise((4, 5, 3)), "i": np.array([[3, 1], [-4, -1], [2, 2]]), "u": noise((3, 3), seed=1)}
    feeds["u"][0] = [np.inf, np.nan, -np.inf]
    model = one("ScatterND", feeds, opset=11)
    same_bits(run(model, feeds), run(rewrite(model, "scatter_by_equality"), feeds))


def test_of_several_updates_of_a_place_the_last_stays() -> None:
    feeds = scatter_feeds(np.float32, (4, 6, 3), (4, 6, 3), -3, 3)
    model = one("ScatterElements", feeds, opset=16, axis=1)
    same_bits(run(model, feeds), run(rewrite(model, "scatter_by_equality"), feeds))
    model = one(
        "ScatterND", {"x": noise((4, 5)), "i": np.zeros((3, 1), np.int64), "u": noise((3, 5))}, opset=16, free={"i": ["k", 1]}
    )
    assert "how many updates" in str(ask(model, "scatter_by_equality"))


def test_infinities_stay_with_a_reduction() -> None:
    feeds = scatter_feeds(np.float32, (4, 2, 3), (4, 2, 3), 0, 5)
    feeds["u"][1, 0] = [np.inf, -np.inf, np.inf]
    for reduction in ("add", "max", "min"):
        # what max and min make of a NaN is left open by ONNX
        feeds["x"][0, 0] = [np.inf, -np.inf, np.nan if reduction == "add" else 0]
        model = one("ScatterElements", feeds, opset=18, axis=1, reduction=reduction)
        left, right = run(model, feeds)["y"], run(rewrite(model, "scatter_by_equality"), feeds)["y"]
        np.testing.assert_allclose(right, left, rtol=1e-5, atol=1e-5)


def test_an_open_batch_and_an_open_number_of_updates() -> None:
    feeds = scatter_feeds(np.float32, (4, 7, 3), (4, 7, 3), 0, 5)
    free = {"x": ["n", 5, 3], "i": ["n", 7, 3], "u": ["n", 7, 3]}
    model = one("ScatterElements", feeds, opset=16, free=free, axis=1, reduction="add")
    assert error(run(model, feeds), run(rewrite(model, "scatter_by_equality"), feeds)) < ROUNDING
    slabs = scatter_feeds(np.float32, (6, 1), (6, 5, 3), 0, 4)
    model = one("ScatterND", slabs, opset=16, free={"i": ["k", 1], "u": ["k", 5, 3]}, reduction="add")
    result = rewrite(model, "scatter_by_equality")
    assert error(run(model, slabs), run(result, slabs)) < ROUNDING


def test_scatters_that_are_declined() -> None:
    feeds = scatter_feeds(np.float32, (2, 2, 3), (2, 2, 3), 0, 4)
    assert "do not cover" in str(ask(one("ScatterElements", feeds, opset=16, reduction="add"), "scatter_by_equality"))
    feeds = {"x": noise((3000, 2)), "i": np.zeros((3000, 1), np.int64), "u": noise((3000, 2))}
    assert "more than" in str(ask(one("ScatterND", feeds, opset=16, reduction="add"), "scatter_by_equality"))
    feeds = scatter_feeds(np.float32, (3, 1), (3, 5, 3), 0, 4)
    model = one("ScatterND", feeds, opset=16, free={"x": ["n", 5, 3]}, reduction="add")
    assert "unknown" in str(ask(model, "scatter_by_equality"))


def pooled(shape: tuple[int, ...], kernel: list[int], strides: list[int], pads: list[int]) -> dict[str, np.ndarray]:
    """What a MaxPool gives: values and places."""
    data = onnx.helper.make_tensor_value_info("d", 1, list(shape))
    outputs = [onnx.helper.make_tensor_value_info(name, kind, None) for name, kind in (("x", 1), ("i", 7))]
    node = onnx.helper.make_node("MaxPool", ["d"], ["x", "i"], kernel_shape=kernel, strides=strides, pads=pads)
    graph = onnx.helper.make_graph([node], "g", [data], outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 11)], ir_version=6)
    return run(model, {"d": noise(shape)})


UNPOOLED = [
    ((1, 1, 4, 4), [2, 2], [2, 2], [0] * 4),
    ((2, 3, 6, 4), [2, 2], [2, 2], [0] * 4),
    ((2, 2, 6), [3], [3], [0] * 2),
    ((2, 2, 4, 4, 2), [2, 2, 1], [2, 2, 1], [0] * 6),
]


@pytest.mark.parametrize(("shape", "kernel", "strides", "pads"), UNPOOLED)
@pytest.mark.parametrize("opset", [9, 11])
@pytest.mark.parametrize("batch", ["static", "open"])
def test_max_unpool(shape: tuple[int, ...], kernel: list[int], strides: list[int], pads: list[int], opset: int, batch: str) -> None:
    feeds = pooled(shape, kernel, strides, pads)
    free = {name: ["n", *array.shape[1:]] for name, array in feeds.items()} if batch == "open" else {}
    model = one("MaxUnpool", feeds, opset=opset, free=free, kernel_shape=kernel, strides=strides, pads=pads)
    result = rewrite(model, "max_unpool_to_scatter")
    same_bits(run(model, feeds), run(result, feeds))
    if batch == "static":
        scatter = next(node.name for node in result.graph.node if node.op_type.startswith("Scatter"))
        same_bits(run(model, feeds), run(rewrite(result, "scatter_by_equality", node=scatter), feeds))


def test_max_unpool_with_another_shape_is_declined() -> None:
    feeds = pooled((1, 1, 4, 4), [2, 2], [2, 2], [0] * 4)
    for size, declined in ((4, False), (5, True)):
        constants = {"s": np.array([1, 1, size, size])}
        model = one("MaxUnpool", feeds, opset=11, constants=constants, kernel_shape=[2, 2], strides=[2, 2])
        answer = ask(model, "max_unpool_to_scatter")
        assert ("another shape" in str(answer)) is declined


@pytest.mark.parametrize("time", [0, 1])
@pytest.mark.parametrize("tail", [(), (3,), (2, 3)])
@pytest.mark.parametrize("batch", ["static", "open"])
@pytest.mark.parametrize("opset", [10, 11, 13])
def test_lengths_known_at_run_time(time: int, tail: tuple[int, ...], batch: str, opset: int) -> None:
    shape = (4, 3, *tail) if time == 0 else (3, 4, *tail)
    feeds = {"x": noise(shape), "l": np.array([4, 1, 3])}
    feeds["x"].ravel()[:3] = [np.inf, np.nan, -np.inf]
    open_shape: list[Any] = list(shape)
    open_shape[1 - time] = "n"
    free = {"x": open_shape, "l": ["n"]} if batch == "open" else {}
    model = one("ReverseSequence", feeds, opset=opset, free=free, time_axis=time, batch_axis=1 - time)
    result = rewrite(model, "reverse_sequence_to_gather")
    assert "ReverseSequence" not in ops(result)
    same_bits(run(model, feeds), run(result, feeds))


def test_an_open_time_is_declined() -> None:
    feeds = {"x": noise((4, 3)), "l": np.array([4, 1, 3])}
    model = one("ReverseSequence", feeds, opset=11, free={"x": ["t", 3]}, time_axis=0, batch_axis=1)
    assert "is dynamic" in str(ask(model, "reverse_sequence_to_gather"))
    model = one("ReverseSequence", {"x": noise((65, 2)), "l": np.array([4, 1])}, opset=10, free={"x": [65, "n"], "l": ["n"]})
    assert "65 steps" in str(ask(model, "reverse_sequence_to_gather"))
