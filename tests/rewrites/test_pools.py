"""Pools in forms that importers refuse or misread, against onnxruntime."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from .harness import ask, noise, one_node, ops, rewrite
from .properties import examples, holds

BOUND = 1e-6
SIZES = st.integers(1, 4)


@st.composite
def pools(draw: st.DrawFn, *, axes: int = 2, symmetric: bool = False) -> tuple[tuple[int, ...], dict[str, Any]]:
    """A shape and the attributes of a pool that fits it."""
    kernel = [draw(SIZES) for _ in range(axes)]
    front = [draw(st.integers(0, length - 1)) for length in kernel]
    back = front if symmetric else [draw(st.integers(0, length - 1)) for length in kernel]
    sizes = [draw(st.integers(length, 9)) for length in kernel]
    strides = [draw(st.integers(1, 3)) for _ in range(axes)]
    return (2, 3, *sizes), {"kernel_shape": kernel, "strides": strides, "pads": [*front, *back]}


@examples(40)
@given(pools(), st.booleans())
def test_averages_whose_padding_counts_or_does_not(pool: tuple[tuple[int, ...], dict[str, Any]], counts: bool) -> None:
    shape, attributes = pool
    rank = len(attributes["pads"]) // 2
    uneven = any(back - front not in (0, 1) for front, back in zip(attributes["pads"], attributes["pads"][rank:], strict=False))
    assume(counts or uneven)  # importers take the others as they are
    model = one_node("AveragePool", ["x"], {"x": shape}, opset=11, count_include_pad=int(counts), **attributes)
    holds(model, "average_pool_to_pad", {"x": noise(shape)}, bound=BOUND)


@examples(25)
@given(pools(symmetric=True))
def test_averages_that_round_up(pool: tuple[tuple[int, ...], dict[str, Any]]) -> None:
    shape, attributes = pool
    rows = list(zip(shape[2:], *(attributes[key] for key in ("kernel_shape", "strides", "pads")), strict=False))
    # a last window that begins in the padding is dropped when it runs, but onnx's inference counts it
    assume(all(-(-(size + 2 * front - length) // stride) * stride < size + front for size, length, stride, front in rows))
    assume(any((size + 2 * front - length) % stride for size, length, stride, front in rows))
    model = one_node("AveragePool", ["x"], {"x": shape}, opset=11, ceil_mode=1, **attributes)
    holds(model, "average_pool_to_pad", {"x": noise(shape)}, bound=BOUND)


@pytest.mark.parametrize("automatic", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_averages_of_automatic_padding(automatic: str) -> None:
    model = one_node("AveragePool", ["x"], {"x": (1, 2, 7, 8)}, opset=11, auto_pad=automatic, kernel_shape=[3, 4], strides=[2, 3])
    if automatic == "VALID":
        assert ask(model, "average_pool_to_pad") == "its padding is one that importers take"
    else:
        holds(model, "average_pool_to_pad", {"x": noise((1, 2, 7, 8))}, bound=BOUND)


def test_averages_whose_padding_counts_take_any_size() -> None:
    model = one_node(
        "AveragePool", ["x"], {"x": ("n", 2, "h", "w")}, opset=11, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1
    )
    assert ops(rewrite(model, "average_pool_to_pad")) == ["Pad", "AveragePool"]
    holds(model, "average_pool_to_pad", [{"x": noise((1, 2, 5, 4))}, {"x": noise((3, 2, 3, 8))}], bound=BOUND)
    without = one_node("AveragePool", ["x"], {"x": ("n", 2, "h", "w")}, opset=11, kernel_shape=[3, 3], pads=[1, 1, 2, 2])
    assert ask(without, "average_pool_to_pad") == "the size of axis 2 is dynamic"


@examples(30)
@given(pools(), st.lists(st.integers(1, 3), min_size=2, max_size=2))
def test_maxima_of_dilated_windows(pool: tuple[tuple[int, ...], dict[str, Any]], dilations: list[int]) -> None:
    shape, attributes = pool
    spans = [step * (length - 1) + 1 for step, length in zip(dilations, attributes["kernel_shape"], strict=True)]
    assume(all(size >= span for size, span in zip(shape[2:], spans, strict=True)) and dilations != [1, 1])
    model = one_node("MaxPool", ["x"], {"x": shape}, opset=11, dilations=dilations, **attributes)
    holds(model, "max_pool_to_gather", {"x": noise(shape)})


def test_maxima_along_one_axis_and_three() -> None:
    for shape, kernel in (((1, 2, 9), [3]), ((1, 2, 6, 7, 5), [2, 3, 2])):
        dilations = [2] * len(kernel)
        model = one_node("MaxPool", ["x"], {"x": shape}, opset=11, kernel_shape=kernel, dilations=dilations)
        holds(model, "max_pool_to_gather", {"x": noise(shape)})


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [3, 1, 1]},
        {"kernel_shape": [1, 2, 3], "strides": [1, 2, 1]},
        {"kernel_shape": [2, 3, 2], "strides": [2, 1, 2], "pads": [1, 1, 0, 0, 1, 1]},
        {"kernel_shape": [2, 2, 2], "auto_pad": "SAME_UPPER", "strides": [2, 2, 3]},
        {"kernel_shape": [1, 1, 1], "strides": [2, 1, 1]},
        {"kernel_shape": [3, 3, 3], "pads": [1, 1, 1, 1, 1, 1], "count_include_pad": 1},
        {"kernel_shape": [2, 2, 2], "ceil_mode": 1, "strides": [2, 2, 2]},
        {"kernel_shape": [2, 1, 2], "dilations": [2, 1, 2]},
    ],
)
def test_pools_of_volumes_as_pools_of_planes(op: str, attributes: dict[str, Any]) -> None:
    model = one_node(op, ["x"], {"x": ("n", 2, 5, 6, 7)}, opset=19, **attributes)
    if "count_include_pad" in attributes and op == "MaxPool":
        return
    if "ceil_mode" in attributes and op == "AveragePool":
        assert "ceil_mode" in str(ask(model, "pool_volume_to_plane"))
        return
    bound = 0.0 if op == "MaxPool" else BOUND
    holds(model, "pool_volume_to_plane", {"x": noise((2, 2, 5, 6, 7))}, bound=bound)


def test_pools_of_volumes_that_stay() -> None:
    model = one_node("MaxPool", ["x"], {"x": (1, 2, 3, 4)}, opset=9, kernel_shape=[2, 2])
    assert "not of rank 5" in str(ask(model, "pool_volume_to_plane"))
    model = one_node("MaxPool", ["x"], {"x": (1, 2, 3, 4, "w")}, opset=9, kernel_shape=[2, 2, 2])
    assert "is dynamic" in str(ask(model, "pool_volume_to_plane"))
    model = one_node("MaxPool", ["x"], {"x": (1, 2, 3, 4, 5)}, opset=9, kernel_shape=[1, 1, 1])
    assert "one element" in str(ask(model, "pool_volume_to_plane"))
    model = one_node("MaxPool", ["x"], {"x": (1, 1, 6, 6, 6)}, opset=9, outputs=("y", "i"), kernel_shape=[2, 2, 2])
    model.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.INT64
    assert "indices" in str(ask(model, "pool_volume_to_plane"))


def test_maxima_whose_indices_are_read_stay() -> None:
    model = one_node("MaxPool", ["x"], {"x": (1, 1, 6, 6)}, opset=11, outputs=("y", "i"), kernel_shape=[2, 2], dilations=[2, 2])
    model.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.INT64
    assert ask(model, "max_pool_to_gather") == "the indices of the maxima are read"
    assert ask(model, "drop_unread_outputs") == "another output than the first is read"


@examples(25)
@given(pools(), st.lists(st.integers(1, 3), min_size=2, max_size=2), st.booleans())
def test_averages_of_dilated_windows(pool: tuple[tuple[int, ...], dict[str, Any]], dilations: list[int], counts: bool) -> None:
    shape, attributes = pool
    spans = [step * (length - 1) + 1 for step, length in zip(dilations, attributes["kernel_shape"], strict=True)]
    assume(all(size >= span for size, span in zip(shape[2:], spans, strict=True)))
    model = one_node("AveragePool", ["x"], {"x": shape}, opset=19, dilations=dilations, count_include_pad=int(counts), **attributes)
    holds(model, "average_pool_to_conv", {"x": noise(shape)}, bound=BOUND)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalMaxPool"])
@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 4, 5), (1, 2, 3, 4, 5)])
@pytest.mark.parametrize("opset", [9, 18])
def test_global_pools_of_any_rank(op: str, shape: tuple[int, ...], opset: int) -> None:
    model = one_node(op, ["x"], {"x": shape}, opset=opset)
    holds(model, "global_pool_to_reduce", {"x": noise(shape)}, bound=BOUND)


@examples(25)
@given(pools(), st.sampled_from([1, 2, 3]))
def test_roots_of_powers(pool: tuple[tuple[int, ...], dict[str, Any]], p: int) -> None:
    shape, attributes = pool
    model = one_node("LpPool", ["x"], {"x": shape}, opset=11, p=p, **attributes)
    holds(model, "lp_pool_to_average_pool", {"x": noise(shape)}, bound=5e-6)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_the_root_of_all_powers(p: int) -> None:
    model = one_node("GlobalLpPool", ["x"], {"x": (2, 3, 4, 5)}, opset=11, p=p)
    holds(model, "lp_pool_to_average_pool", {"x": noise((2, 3, 4, 5))}, bound=5e-6)


def test_outputs_that_nothing_reads_go() -> None:
    model = one_node("MaxPool", ["x"], {"x": (1, 1, 6, 6)}, opset=11, kernel_shape=[2, 2])
    model.graph.node[0].output.append("indices")
    holds(model, "drop_unread_outputs", {"x": noise((1, 1, 6, 6))})
    assert list(rewrite(model, "drop_unread_outputs").graph.node[0].output) == ["y"]


def test_it_declines_what_it_does_not_cover() -> None:
    both = one_node(
        "AveragePool", ["x"], {"x": (1, 1, 5, 5)}, opset=11, kernel_shape=[2, 2], pads=[1] * 4, ceil_mode=1, count_include_pad=1
    )
    assert ask(both, "average_pool_to_pad") == "how ceil_mode and count_include_pad go together changed between versions"
    alone = one_node(
        "AveragePool", ["x"], {"x": (1, 1, 5, 5)}, opset=11, kernel_shape=[2, 2], pads=[1] * 4, dtype=onnx.TensorProto.INT8
    )
    assert ask(alone, "average_pool_to_pad") == "the data is INT8"


@examples(25)
@given(pools(), st.sampled_from([0, 1]))
def test_the_places_of_the_largest(pool: tuple[tuple[int, ...], dict[str, Any]], by_column: int) -> None:
    shape, attributes = pool
    model = with_indices(shape, storage_order=by_column, **attributes)
    # whole numbers, so that many are equal: the first of them counts
    holds(model, "max_pool_indices", [{"x": np.round(noise(shape) * 2)}, {"x": noise(shape)}], target="trt7.1")


@pytest.mark.parametrize("shape", [(1, 2, 7), (1, 2, 4, 4, 4)])
def test_places_in_lines_and_volumes(shape: tuple[int, ...]) -> None:
    axes = len(shape) - 2
    model = with_indices(shape, kernel_shape=[2] * axes, strides=[2] * axes, dilations=[1] * axes, ceil_mode=1)
    holds(model, "max_pool_indices", {"x": np.round(noise(shape) * 2)}, target="trt8.6")


def test_places_are_counted_where_the_shape_is_known_and_integers_exist() -> None:
    assert ask(with_indices(("N", 3, 4, 4), kernel_shape=[2, 2]), "max_pool_indices", target="trt7.1") == (
        "the shape is dynamic, or has too many elements to count in FLOAT"
    )
    assert ask(with_indices((1, 3, 4, 4), kernel_shape=[2, 2]), "max_pool_indices") == (
        "its indices are INT64, and the importer casts to no integer"
    )
    alone = one_node("MaxPool", ["x"], {"x": (1, 1, 4, 4)}, opset=11, kernel_shape=[2, 2])
    assert ask(alone, "max_pool_indices") == "nothing reads its indices"


def with_indices(shape: tuple[Any, ...], **attributes: Any) -> onnx.ModelProto:
    """A MaxPool that gives the places of its maxima."""
    model = one_node("MaxPool", ["x"], {"x": shape}, opset=12, outputs=("y", "i"), **attributes)
    model.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.INT64
    return model
