"""What moves elements to places known beforehand, as Gather: the same bits as onnxruntime gives the original."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .harness import applied, ask, error, noise, one_node, ops, repair, rewrite, run, same_bits

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def indexed(
    op: str,
    shape: tuple[Any, ...],
    indices: np.ndarray | tuple[int, ...],
    *,
    opset: int = 13,
    out: int | None = None,
    updates: tuple[int, ...] | None = None,
    **more: Any,
) -> onnx.ModelProto:
    """A node on `x`, its indices constant or (given as a shape) an input `i`, updates an input `u`."""
    names = ["x", "i"] + (["u"] if updates is not None else [])
    constants = {"i": indices} if isinstance(indices, np.ndarray) else {}
    shapes: dict[str, tuple[object, ...]] = {"x": shape}
    if updates is not None:
        shapes["u"] = updates
    rank = len(shape) if out is None else out
    model = one_node(op, names, shapes, opset=opset, constants=constants, out_rank=rank, **more)
    if not constants:
        model.graph.input.append(onnx.helper.make_tensor_value_info("i", INT64, indices))
    return model


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements_at_constant_and_at_run_time_places(axis: int, opset: int) -> None:
    random = np.random.default_rng(axis + 3)
    shape = (3, 4, 5)
    indices = random.integers(-shape[axis], shape[axis], (2, 3, 4))
    x = noise(shape)
    constant = indexed("GatherElements", shape, indices, axis=axis, opset=opset)
    right = run(constant, {"x": x})
    result = rewrite(constant, "gather_elements_to_gather", target="trt7.1")
    assert ops(result) == ["Reshape", "Gather"]
    same_bits(right, run(result, {"x": x}))
    dynamic = indexed("GatherElements", shape, indices.shape, axis=axis, opset=opset)
    same_bits(right, run(rewrite(dynamic, "gather_elements_to_gather", target="trt7.1"), {"x": x, "i": indices}))


def test_gather_elements_that_stay_in_their_batch_keep_its_axis() -> None:
    inner = np.array([[2, 0, 1], [1, 1, 3]])
    model = indexed("GatherElements", (2, 2, 4), np.stack([inner, inner]), axis=2)
    result = rewrite(model, "gather_elements_to_gather")
    assert [attribute.i for node in result.graph.node if node.op_type == "Gather" for attribute in node.attribute] == [1]
    x = noise((2, 2, 4))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_gather_elements_of_any_form(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    axis = data.draw(st.integers(0, len(shape) - 1))
    places = tuple(data.draw(st.integers(1, 5)) if k == axis else data.draw(st.integers(1, dim)) for k, dim in enumerate(shape))
    indices = np.random.default_rng(data.draw(st.integers(0, 99))).integers(-shape[axis], shape[axis], places)
    model = indexed("GatherElements", shape, indices, axis=axis)
    result = rewrite(model, "gather_elements_to_gather")
    x = noise(shape)
    same_bits(run(model, {"x": x}), run(result, {"x": x}))
    assert "GatherElements" not in ops(result)


def test_a_dynamic_shape_is_declined() -> None:
    model = indexed("GatherElements", ("n", 4), np.zeros((1, 2), np.int64), axis=1)
    assert ask(model, "gather_elements_to_gather") == "the shape of the data or of the indices is dynamic"


@pytest.mark.parametrize(
    ("shape", "places", "batch"),
    [
        ((3, 4, 5), (2, 2), 0),
        ((3, 4, 5), (6, 1), 0),
        ((3, 4, 5), (2, 4, 3), 0),
        ((3, 4, 5), (3, 2, 1), 1),
        ((2, 3, 4, 5), (2, 3, 2, 1), 2),
    ],
)
def test_gather_nd(shape: tuple[int, ...], places: tuple[int, ...], batch: int) -> None:
    limits = np.array(shape[batch : batch + places[-1]])
    indices = np.random.default_rng(5).integers(-limits, limits, places)
    out = len(places) - 1 + len(shape) - batch - places[-1]
    x = noise(shape)
    constant = indexed("GatherND", shape, indices, batch_dims=batch, out=out)
    right = run(constant, {"x": x})
    same_bits(right, run(rewrite(constant, "gather_nd_to_gather"), {"x": x}))
    dynamic = indexed("GatherND", shape, places, batch_dims=batch, out=out)
    same_bits(right, run(rewrite(dynamic, "gather_nd_to_gather"), {"x": x, "i": indices}))


def test_gather_nd_of_data_with_a_dynamic_axis_behind_the_indexed_ones() -> None:
    model = indexed("GatherND", (3, "h", 4), np.array([[2], [-1]]), out=3)
    result = rewrite(model, "gather_nd_to_gather")
    for height in (2, 5):
        x = noise((3, height, 4))
        same_bits(run(model, {"x": x}), run(result, {"x": x}))
    assert "dynamic" in str(ask(indexed("GatherND", ("n", 4), np.array([[0, 1]]), out=1), "gather_nd_to_gather"))


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
def test_scatter_elements_with_every_reduction(reduction: str) -> None:
    indices = np.array([[1, 0, 2], [-1, 2, 0]]) if reduction == "none" else np.array([[1, 1, 2], [-1, 2, 1]])
    more = {} if reduction == "none" else {"reduction": reduction}
    model = indexed("ScatterElements", (3, 4), indices, updates=(2, 3), axis=1, opset=18, **more)
    if reduction == "none":
        model = indexed("ScatterElements", (3, 4), np.array([[1, 0, 2], [-1, 2, 0]]), updates=(2, 3), axis=1, opset=13)
    result = rewrite(model, "scatter_to_gather", target="trt8.0")
    feeds = {"x": noise((3, 4)), "u": noise((2, 3), seed=1)}
    feeds["x"][0, 0], feeds["x"][1, 0], feeds["u"][0, 0] = np.inf, np.nan, -np.inf
    same_bits(run(model, feeds), run(result, feeds))


@pytest.mark.parametrize("reduction", ["none", "add", "mul"])
@pytest.mark.parametrize(("shape", "indices"), [((4, 3), [[2], [0]]), ((4, 3), [[2, 1], [-4, -1]]), ((2, 3, 4), [[1], [0]])])
def test_scatter_nd_with_every_reduction(shape: tuple[int, ...], indices: list[list[int]], reduction: str) -> None:
    places = np.array(indices)
    updates = (*places.shape[:-1], *shape[places.shape[-1] :])
    more = {} if reduction == "none" else {"reduction": reduction}
    model = indexed("ScatterND", shape, places, updates=updates, opset=16, **more)
    result = rewrite(model, "scatter_to_gather", target="trt8.0")
    feeds = {"x": noise(shape), "u": noise(updates, seed=1)}
    same_bits(run(model, feeds), run(result, feeds))


def test_the_assignment_of_a_slice_keeps_the_batch() -> None:
    """x[:, 1:3] = u, as exporters write it."""
    places = np.stack(np.meshgrid([0, 1], [1, 2], indexing="ij"), -1)
    model = indexed("ScatterND", (2, 4, 3), places, updates=(2, 2, 3))
    result = rewrite(model, "scatter_to_gather", target="trt7.1")
    assert ops(result) == ["Concat", "Gather"]
    feeds = {"x": noise((2, 4, 3)), "u": noise((2, 2, 3), seed=1)}
    same_bits(run(model, feeds), run(result, feeds))


def test_places_of_a_scatter_at_run_time_or_too_often_are_declined() -> None:
    assert ask(indexed("ScatterND", (4, 3), (2, 1), updates=(2, 3)), "scatter_to_gather") == "the places are computed at run time"
    often = indexed("ScatterND", (4,), np.zeros((9, 1), np.int64), updates=(9,), opset=16, reduction="add")
    assert ask(often, "scatter_to_gather") == "a place is written 9 times, more than 8"


def test_the_old_scatter_is_one_too() -> None:
    model = indexed("Scatter", (3, 3), np.array([[1, 0, 2]]), updates=(1, 3), axis=0, opset=9)
    result = rewrite(model, "scatter_to_gather")
    feeds = {"x": noise((3, 3)), "u": noise((1, 3), seed=1)}
    same_bits(run(model, feeds), run(result, feeds))


@pytest.mark.parametrize(("time", "batch"), [(0, 1), (1, 0)])
@pytest.mark.parametrize("alike", [True, False])
def test_reverse_sequence(time: int, batch: int, alike: bool) -> None:
    shape = (4, 3, 2) if time == 0 else (3, 4, 2)
    lengths = np.array([4, 4, 4] if alike else [1, 3, 4])
    model = indexed("ReverseSequence", shape, lengths, time_axis=time, batch_axis=batch)
    result = rewrite(model, "reverse_sequence_to_gather", target="trt7.1")
    assert ops(result) == (["Gather"] if alike else ["Reshape", "Gather"])
    x = noise(shape)
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_compress(axis: int | None) -> None:
    condition = np.array([False, True, True, False, True]) if axis is None else np.array([True, False, True])
    model = indexed("Compress", (3, 4), condition, out=1 if axis is None else 2, **({} if axis is None else {"axis": axis}))
    result = rewrite(model, "compress_to_gather")
    x = noise((3, 4))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.float32])
def test_one_hot_with_indices_out_of_range(axis: int, kind: type) -> None:
    values = np.array([-1, 2.5], np.float32)
    model = one_node(
        "OneHot",
        ["x", "d", "v"],
        {"x": (2, 4)},
        opset=13,
        constants={"d": np.array(5, kind), "v": values},
        dtype=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)),
        out_dtype=FLOAT,
        out_rank=3,
        axis=axis,
    )
    result = rewrite(model, "one_hot_to_gather", target="trt7.1")
    x = np.array([[0, 4, -5, -1], [5, -6, 2**23, -(2**23)]]).astype(kind)
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


@pytest.mark.parametrize("shape", [(6,), (3, 5), (2, 3, 4), (2, 3, 4, 5)])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_cumsum(shape: tuple[int, ...], exclusive: int, reverse: int) -> None:
    for axis in range(len(shape)):
        model = indexed("CumSum", shape, np.array(axis), exclusive=exclusive, reverse=reverse)
        result = rewrite(model, "cumsum_to_matmul", target="trt7.1")
        assert "CumSum" not in ops(result)
        x = noise(shape)
        np.testing.assert_allclose(run(result, {"x": x})["y"], run(model, {"x": x})["y"], atol=1e-6)


def test_sums_of_integers_and_along_a_dynamic_axis_are_declined() -> None:
    integers = indexed("CumSum", (4, 3), np.array(1), dtype=onnx.TensorProto.INT32)
    assert ask(integers, "cumsum_to_matmul") == "sums of INT32 have no MatMul"
    assert ask(indexed("CumSum", ("n", 3), np.array(0)), "cumsum_to_matmul") == "the axis has n elements"
    assert "cannot be cut" in str(ask(indexed("CumSum", (2, 4099), np.array(1)), "cumsum_to_matmul"))


@pytest.mark.parametrize(("shape", "axis"), [((3072,), 0), ((2, 3000), 1), ((3000, 2), 0), ((2, 2500, 2), 1), ((1, 2, 4096), 2)])
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_a_long_axis_is_cut_into_rows(shape: tuple[int, ...], axis: int, exclusive: int, reverse: int) -> None:
    model = indexed("CumSum", shape, np.array(axis), exclusive=exclusive, reverse=reverse)
    result = rewrite(model, "cumsum_to_matmul", target="trt7.1")
    assert sum(np.prod(tensor.dims) for tensor in result.graph.initializer) < 50_000
    x = {"x": noise(shape)}
    assert error(run(model, x), run(result, x)) < 1e-5


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [-1, 0, 2])
@pytest.mark.parametrize("target", ["trt5.1", "trt7.1"])
def test_trilu(target: str, k: int, upper: int) -> None:
    model = indexed("Trilu", ("n", 4, 3), np.array(k), opset=14, upper=upper)
    result = rewrite(model, "trilu_to_mask", target=target)
    assert ops(result) == (["Mul"] if target == "trt5.1" else ["Where"])
    x = noise((2, 4, 3))
    if target != "trt5.1":
        x[0, 3, 0], x[1, 0, 2] = np.inf, np.nan
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


def test_a_mask_that_a_constant_makes_is_stored() -> None:
    """The causal mask of exported transformers."""
    ones = np.ones((4, 4), np.float32)
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 14]> g (float[4,4] x) => (float[4,4] y) { t = Trilu <upper = 0> (c)  y = Mul (x, t) }'
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(ones, "c"))
    report, result = repair(model, "trt7.1")
    assert applied(report) == ["fold_constant"]
    assert result is not None
    assert ops(result) == ["Mul"]


@pytest.mark.parametrize("target", ["trt5.1", "trt7.1"])
def test_eye_like_and_what_a_static_shape_decides(target: str) -> None:
    model = one_node("EyeLike", ["x"], {"x": (3, 4)}, opset=9, k=1)
    result = rewrite(model, "eye_like_to_constant", target=target)
    assert ops(result) == ["Constant"]
    x = noise((3, 4))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))
    dynamic = one_node("EyeLike", ["x"], {"x": ("n", 4)}, opset=9)
    assert ask(dynamic, "eye_like_to_constant") == "the shape is dynamic, or too large"
