"""Operators whose form changed, against onnxruntime over shapes, types, opsets and the values where they are delicate."""

import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest

from .harness import Arrays, lower, noise, one_node, ops, run, same_bits

T = onnx.TensorProto
INF, NAN = np.inf, np.nan
DELICATE = [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 1e-42, 3.4028235e38, -3.4028235e38, 0.5, 2.5]


def to(kind: Any) -> int:
    return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind))


def built(
    op: str,
    x: np.ndarray,
    opset: int,
    constants: Sequence[np.ndarray | None] = (),
    *,
    outputs: Sequence[str] = ("y",),
    **attributes: Any,
) -> onnx.ModelProto:
    """One node on `x` and constants (None: left out); the outputs have the types and ranks that onnxruntime gives."""
    names = [f"c{number}" if array is not None else "" for number, array in enumerate(constants)]
    stored = {name: np.asarray(array) for name, array in zip(names, constants, strict=True) if array is not None}
    model = one_node(
        op, ["x", *names], {"x": x.shape}, opset=opset, constants=stored, dtype=to(x.dtype), outputs=outputs, ir=10, **attributes
    )
    for value in model.graph.output:
        value.type.Clear()
    inferred = onnx.shape_inference.infer_shapes(model)
    for value, known in zip(model.graph.output, inferred.graph.output, strict=True):
        value.CopyFrom(known)
    return model


def proven(model: onnx.ModelProto, low: int, feeds: Mapping[str, np.ndarray], *, close: bool = False) -> onnx.ModelProto:
    """The model in opset `low`, with the same results, and the same again where it is moved once more."""
    result = lower(model, low)
    assert not isinstance(result, str), result
    assert result.opset_import[0].version == low
    assert [value.SerializeToString() for value in result.graph.input] == [v.SerializeToString() for v in model.graph.input]
    before, after = run(model, feeds), run(result, feeds)
    if close:
        near(before, after)
    else:
        same_bits(before, after)
    assert lower(result, low) == result
    return result


def near(before: Arrays, after: Arrays) -> None:
    for name, array in before.items():
        assert array.dtype == after[name].dtype
        loose = 2e-3 if array.dtype == np.float16 else 2e-6
        np.testing.assert_allclose(after[name], array, rtol=loose, atol=loose, err_msg=name, strict=True)


# reductions -----------------------------------------------------------------------------------------------------------------

REDUCTIONS = ["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd"]


@pytest.mark.parametrize("op", [*REDUCTIONS, "ReduceSum", "ReduceSumSquare"])
@pytest.mark.parametrize("axes", [None, [], [0], [-1], [1, -3]])
@pytest.mark.parametrize("low", [13, 9])
def test_axes_of_reductions_become_an_attribute(op: str, axes: list[int] | None, low: int) -> None:
    x = np.abs(noise((2, 3, 4))) + np.float32(0.1)
    model = built(op, x, 18, () if axes is None else [np.array(axes, np.int64)], keepdims=0 if axes == [0] else 1)
    assert ops(proven(model, low, {"x": x}, close=True)) == [op]


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"])
def test_a_reduction_over_no_axis_is_no_operation(op: str) -> None:
    x = np.array([DELICATE], np.float32)
    for constants in ((), [np.zeros(0, np.int64)]):
        assert ops(proven(built(op, x, 18, constants, noop_with_empty_axes=1), 9, {"x": x})) == ["Identity"]


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
def test_small_integers_are_reduced_as_larger_ones(op: str, kind: type) -> None:
    x = np.random.default_rng(0).integers(0, 100, (3, 5)).astype(kind)
    assert ops(proven(built(op, x, 18, [np.array([1], np.int64)]), 11, {"x": x})) == ["Cast", op, "Cast"]


# Split, Dropout, BatchNormalization --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("extent", "pieces"), [(6, 3), (7, 3), (5, 4)])
@pytest.mark.parametrize("low", [17, 13, 11, 9])
def test_split_into_pieces(extent: int, pieces: int, low: int) -> None:
    x = noise((2, extent))
    model = built("Split", x, 18, outputs=[f"y{n}" for n in range(pieces)], axis=-1, num_outputs=pieces)
    if (extent, pieces) == (5, 4):
        assert "4 pieces of 5" in str(lower(model, low))  # 2, 2, 2, and -1
        return
    proven(model, low, {"x": x})


def test_split_sizes_become_an_attribute() -> None:
    x = noise((2, 7))
    result = proven(built("Split", x, 13, [np.array([3, 0, 4])], outputs=["a", "b", "c"], axis=1), 9, {"x": x})
    assert list(onnx.helper.get_node_attr_value(result.graph.node[0], "split")) == [3, 0, 4]


@pytest.mark.parametrize("outputs", [("y",), ("y", "mask")])
@pytest.mark.parametrize("constants", [(), [np.array(0.3, np.float32)], [np.array(0.3, np.float32), np.array(False)]])
@pytest.mark.parametrize(("high", "low"), [(12, 11), (13, 9), (22, 10)])
def test_dropout_outside_of_training(outputs: Sequence[str], constants: list[np.ndarray], high: int, low: int) -> None:
    x = np.array([DELICATE], np.float32)
    proven(built("Dropout", x, high, constants, outputs=outputs), low, {"x": x})


def test_dropout_in_training_declines() -> None:
    x = noise((2, 3))
    model = built("Dropout", x, 13, [np.array(0.3, np.float32), np.array(True)])
    assert "drops at random" in str(lower(model, 11))
    proven(built("Dropout", x, 13, [np.array(0.0, np.float32), np.array(True)]), 11, {"x": x})


@pytest.mark.parametrize("shape", [(4, 3, 5, 6), (6, 3)])
def test_batch_normalization_in_training_gives_its_running_statistics(shape: tuple[int, ...]) -> None:
    outputs = ("y", "mean", "variance")  # onnxruntime dies of one left out
    x = noise(shape)
    constants = [noise((3,), seed=seed) + np.float32(2) for seed in range(4)]
    model = built("BatchNormalization", x, 15, constants, outputs=outputs, training_mode=1, momentum=0.7, epsilon=1e-3)
    proven(model, 9, {"x": x}, close=True)


@pytest.mark.parametrize(("high", "low"), [(15, 9), (14, 8), (9, 7)])
def test_batch_normalization_for_inference_is_the_same(high: int, low: int) -> None:
    x = noise((2, 3, 4))
    constants = [np.abs(noise((3,), seed=seed)) for seed in range(4)]
    assert ops(proven(built("BatchNormalization", x, high, constants, epsilon=1e-3), low, {"x": x})) == ["BatchNormalization"]


# TopK, Gemm, Shape, Constant, Cast ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float32, np.int32])
@pytest.mark.parametrize(("axis", "largest"), [(-1, 1), (0, 0), (1, 0)])
@pytest.mark.parametrize("low", [10, 9])
def test_the_smallest_are_the_largest_of_the_negated(kind: type, axis: int, largest: int, low: int) -> None:
    x = np.random.default_rng(1).integers(-4, 4, (4, 6)).astype(kind)  # with ties
    proven(built("TopK", x, 11, [np.array([3])], outputs=["v", "i"], axis=axis, largest=largest), low, {"x": x})


def test_topk_of_all_64_bits_declines() -> None:
    x = np.arange(4)
    assert "takes all 64 bits" in str(lower(built("TopK", x, 11, [np.array([3])], outputs=["v", "i"]), 9))


def test_gemm_without_c_adds_what_changes_no_bit() -> None:
    x = np.array([[-0.0, 0.0], [1, 2], [INF, 1]], np.float32)
    model = built("Gemm", x, 13, [np.array([[0.0, 1], [-0.0, 2]], np.float32)], alpha=0.5, beta=2.0)
    result = proven(model, 9, {"x": x})
    for before, after in zip(run(model, {"x": x}).values(), run(result, {"x": x}).values(), strict=True):
        assert np.array_equal(np.signbit(before), np.signbit(after))


@pytest.mark.parametrize(("start", "end"), [(1, None), (0, 2), (-1, None), (-9, -1), (2, 1), (1, 99)])
@pytest.mark.parametrize("low", [14, 9])
def test_part_of_a_shape_is_a_slice_of_it(start: int, end: int | None, low: int) -> None:
    x = noise((2, 3, 4))
    given = {"start": start} | ({} if end is None else {"end": end})
    model = built("Shape", x, 15, **given)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "n"
    proven(model, low, {"x": x})


@pytest.mark.parametrize("given", [{"value_float": 1.5}, {"value_floats": [1.5, 2.0]}, {"value_int": 3}, {"value_ints": [3, 4]}])
def test_constants_in_other_words_become_tensors(given: dict[str, Any]) -> None:
    node = onnx.helper.make_node("Constant", [], ["c"], **given)
    kind = T.INT64 if "value_int" in given or "value_ints" in given else T.FLOAT
    shape = [2] if any(key.endswith("s") for key in given) else []
    output = onnx.helper.make_tensor_value_info("c", kind, shape)
    graph = onnx.helper.make_graph([node], "g", [], [output])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    proven(model, 9, {})


def test_a_sparse_constant_becomes_a_dense_one() -> None:
    values = onnx.helper.make_tensor("v", T.FLOAT, [2], [1.0, 2.0])
    for places in ([1, 5], [0, 1, 1, 2]):
        indices = onnx.helper.make_tensor("p", T.INT64, [2] if len(places) == 2 else [2, 2], places)
        node = onnx.helper.make_node("Constant", [], ["c"], sparse_value=onnx.helper.make_sparse_tensor(values, indices, [2, 3]))
        graph = onnx.helper.make_graph([node], "g", [], [onnx.helper.make_tensor_value_info("c", T.FLOAT, [2, 3])])
        result = lower(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), 9)
        assert not isinstance(result, str), result
        np.testing.assert_array_equal(run(result, {})["c"], [[0, 1, 0], [0, 0, 2]])


def test_cast_like_is_a_cast() -> None:
    x = np.array(DELICATE[:4], np.float32)
    assert ops(proven(built("CastLike", x, 19, [np.zeros(1, np.float16)]), 9, {"x": x})) == ["Cast"]


# Slice, types --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("starts", "ends", "axes", "steps"),
    [
        ([0], [9], [2], [2]),
        ([-1], [-99], [2], [-1]),
        ([4], [0], [-1], [-3]),
        ([0, 1], [2, 3], [1, 2], [1, 2]),
        ([3], [1], [2], [2]),
        ([0], [2**63 - 1], [0], [1]),
    ],
)
def test_steps_gather_their_positions(starts: list[int], ends: list[int], axes: list[int], steps: list[int]) -> None:
    x = noise((2, 3, 5))
    proven(built("Slice", x, 13, [np.array(values) for values in (starts, ends, axes, steps)]), 9, {"x": x})


def test_steps_over_an_axis_of_unknown_extent_decline() -> None:
    x = noise((2, 3, 5))
    model = built("Slice", x, 13, [np.array([value]) for value in (0, 9, 2, 2)])
    model.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "n"
    model.graph.output[0].type.tensor_type.shape.dim[2].dim_param = "m"
    assert "extent is unknown" in str(lower(model, 9))


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("op", ["Max", "Min", "Add", "Sub", "Mul", "Div", "Equal", "Relu", "Clip"])
def test_integers_that_the_old_operator_does_not_take(op: str, kind: Any) -> None:
    info = np.iinfo(kind)
    values = [info.min, info.max, 0, 1, 3, info.max - 1]
    first, second = (np.array(side, kind) for side in zip(*itertools.product(values, values), strict=True))
    if op == "Div":
        second[second == 0] = 1
    one_input = op in ("Relu", "Clip")
    if op == "Relu" and info.min == 0:
        pytest.skip("Relu takes signed integers")
    if op == "Clip" and kind in (np.int16, np.uint16):
        pytest.skip("onnxruntime has no Clip of it")
    constants = [np.array(1, kind), np.array(100, kind)] if op == "Clip" else [] if one_input else [second]
    model = built(op, first, 14, constants)
    try:
        run(model, {"x": first})
    except Exception:  # onnxruntime's errors share no base class
        pytest.skip("onnxruntime has no kernel for the model as it is")
    answer = lower(model, 9)
    if isinstance(answer, str):
        assert (op, np.dtype(kind).name) in {("Relu", "int64")}, answer
        return
    if kind == np.uint64 and "Where" in ops(answer):
        pytest.skip("onnxruntime has no Where of it")
    same_bits(run(model, {"x": first}), run(answer, {"x": first}))


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16])
def test_floats_are_equal_where_neither_less_nor_greater_nor_nan(kind: Any) -> None:
    with np.errstate(over="ignore"):
        first, second = (np.array(side).astype(kind) for side in zip(*itertools.product(DELICATE, DELICATE), strict=True))
    model = built("Equal", first, 13, [second])
    if kind == np.float16:
        assert "Equal" in str(ops(lower(model, 11)))  # type: ignore[arg-type]
        result = lower(model, 9)
        assert not isinstance(result, str)
        np.testing.assert_array_equal(run(result, {"x": first})["y"], first == second)
        return
    proven(model, 9, {"x": first})


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("up", "down"), [(1, 1), (1, 0), (0, 1)])
def test_infinity_is_beyond_the_largest_number(kind: Any, up: int, down: int) -> None:
    x = np.array(DELICATE, kind)
    proven(built("IsInf", x, 10, detect_positive=up, detect_negative=down), 9, {"x": x})


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axis", [0, -1])
def test_the_last_of_equal_elements(op: str, keepdims: int, axis: int) -> None:
    x = np.random.default_rng(2).integers(0, 3, (4, 7)).astype(np.float32)
    proven(built(op, x, 13, axis=axis, keepdims=keepdims, select_last_index=1), 9, {"x": x})


@pytest.mark.parametrize(
    ("base", "exponent"), [(np.float32, np.int64), (np.int32, np.int32), (np.int64, np.float32), (np.float32, np.float64)]
)
def test_powers_of_mixed_types(base: Any, exponent: Any) -> None:
    x = np.array([1, 2, 3, -3], base)
    model = built("Pow", x, 13, [np.array([2, 3, 0, 1], exponent)])
    proven(model, 9, {"x": x}, close=True)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"])
def test_bits_are_told_apart_by_division(op: str, kind: Any) -> None:
    info = np.iinfo(kind)
    values = [info.min, info.max, 0, 1, 90, info.max - 5]
    first, second = (np.array(side, kind) for side in zip(*itertools.product(values, values), strict=True))
    model = built(op, first, 18, [] if op == "BitwiseNot" else [second])
    result = lower(model, 13)
    assert not isinstance(result, str), result
    want = ~first if op == "BitwiseNot" else {"And": first & second, "Or": first | second, "Xor": first ^ second}[op[7:]]
    np.testing.assert_array_equal(run(result, {"x": first})["y"], want)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint32])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_multiply_and_divide(direction: str, kind: Any) -> None:
    info = np.iinfo(kind)
    values = [info.min, info.max, 0, 1, 90, info.max - 5]
    x, amounts = (np.array(side, kind) for side in zip(*itertools.product(values, [0, 1, 3, info.bits - 1]), strict=True))
    result = lower(built("BitShift", x, 28, [amounts], direction=direction), 9)
    assert not isinstance(result, str), result
    want = np.left_shift(x, amounts) if direction == "LEFT" else np.right_shift(x, amounts)
    np.testing.assert_array_equal(run(result, {"x": x})["y"], want)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("fmod", [0, 1])
def test_what_a_division_leaves(kind: Any, fmod: int) -> None:
    info = np.iinfo(kind)
    first, second = zip(
        *itertools.product([info.min, info.max, 0, 1, 7, 6], [3, 7, info.max, 3 if info.min == 0 else -3]), strict=True
    )
    x = np.array(first, kind)
    proven(built("Mod", x, 13, [np.array(second, kind)], fmod=fmod), 9, {"x": x})


def test_what_is_above_the_threshold() -> None:
    x = np.array(DELICATE, np.float32)
    proven(built("ThresholdedRelu", x, 10, alpha=0.5), 9, {"x": x})


def test_bits_of_64_decline() -> None:
    x = np.arange(3)
    assert "no type is wide enough" in str(lower(built("BitwiseAnd", x, 18, [x]), 13))


# Pad and Resize ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize("kind", [np.float32, np.int32, np.float64])
@pytest.mark.parametrize(("pads", "axes"), [([1, 2, 2, 1], [1, -1]), ([-1, 2, 0, -2], [1, 2]), ([0, 1, 1, 0, 2, 0], None)])
@pytest.mark.parametrize("low", [18, 13, 9])
def test_pads_of_all_modes(mode: str, kind: Any, pads: list[int], axes: list[int] | None, low: int) -> None:
    x = (noise((2, 4, 5)) * 9).astype(kind)
    x.ravel()[:2] = 0
    if kind != np.int32:
        x.ravel()[:3] = INF, -INF, NAN
    value = np.array(0.1, kind) if mode == "constant" else None  # a double that float32 does not hold
    constants = [np.array(pads), value, None if axes is None else np.array(axes)]
    proven(built("Pad", x, 19, constants, mode=mode), low, {"x": x})


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("low", [13, 11])
@pytest.mark.parametrize(
    "given",
    [
        {"sizes": [9, 7], "axes": [2, 3]},
        {"scales": [1.5, 2.0], "axes": [3, 2]},
        {"sizes": [9, 7], "axes": [2, 3], "keep_aspect_ratio_policy": "not_larger"},
        {"sizes": [9, 7], "axes": [2, 3], "keep_aspect_ratio_policy": "not_smaller"},
        {"sizes": [2, 3, 3, 4], "antialias": 1},
        {"scales": [1, 1, 0.6, 0.8], "antialias": 1, "exclude_outside": 1},
        {"sizes": [2, 3, 8, 10]},
        {"scales": [1, 1, 0.6, 0.8], "coordinate_transformation_mode": "half_pixel_symmetric"},
    ],
    ids=str,
)
def test_newer_forms_of_resize(mode: str, low: int, given: dict[str, Any]) -> None:
    x = noise((2, 3, 6, 5))
    given = dict(given)
    symmetric = "coordinate_transformation_mode" in given
    if mode == "nearest" and (symmetric or "antialias" in given):
        pytest.skip("positions on halves, which runtimes round otherwise, and antialias is of no use there")
    if "exclude_outside" in given and mode == "linear":
        del given["exclude_outside"]
    sizes, scales = given.pop("sizes", None), given.pop("scales", None)
    constants = [None, None if scales is None else np.array(scales, np.float32), None if sizes is None else np.array(sizes)]
    model = built("Resize", x, 19, constants[: 3 if sizes is not None else 2], mode=mode, **given)
    proven(model, low, {"x": x}, close=True)


# inside other nodes, several readers, outputs ------------------------------------------------------------------------------


@pytest.mark.parametrize("low", [13, 11, 9])
def test_inside_branches_and_for_several_readers(low: int) -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 18]> g (float[2,6] x, bool c) => (float[2,6] y, float[2,6] s, int64[1] n)
        <int64[1] a = {1}>
        {
          s = Softmax <axis = 0> (x)
          m = ReduceMax <keepdims = 1> (s, a)
          b = Sub (s, m)
          n = Shape <start = 1> (b)
          y = If (c) <
            then_branch = t () => (float[2,6] p) { h, k = Split <axis = 1, num_outputs = 2> (b)  p = Concat <axis = 1> (k, h) },
            else_branch = e () => (float[2,6] q) { r = Hardmax <axis = 0> (s)  q = HardSwish (r) }
          >
        }"""
    )
    for flag in (True, False):
        proven(model, low, {"x": noise((2, 6)), "c": np.array(flag)}, close=True)


@pytest.mark.parametrize("low", [13, 9])
def test_exact_is_asked_for_and_an_equivalence_declines(low: int) -> None:
    x = noise((2, 3))
    exact = lower(built("Softmax", x, 13, axis=0), 9, rewrites=False)
    assert "equivalent, not exact" in str(exact)
    assert not isinstance(lower(built("ReduceMax", x, 18, [np.array([0])]), low, rewrites=False), str)


def test_time_grows_with_the_number_of_nodes_alone() -> None:
    def seconds(count: int) -> float:
        nodes = []
        for number in range(count):
            nodes.append(onnx.helper.make_node("Softmax", [f"v{number}"], [f"s{number}"], axis=0))
            nodes.append(onnx.helper.make_node("HardSwish", [f"s{number}"], [f"v{number + 1}"]))
        values = [onnx.helper.make_tensor_value_info(name, T.FLOAT, [2, 3]) for name in ("v0", f"v{count}")]
        graph = onnx.helper.make_graph(nodes, "g", values[:1], values[1:])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
        start = time.process_time()
        result = lower(model, 9)
        assert not isinstance(result, str)
        return time.process_time() - start

    seconds(10)
    assert seconds(400) < 4 * 3 * max(seconds(100), 0.05)  # four times the nodes; a quadratic part would show sixteen times


# meanings that changed without a word in the attributes -----------------------------------------------------------------------


def test_negative_indices_of_one_hot_are_out_of_range_before_opset_11() -> None:
    x = np.array([1, -1, 2])
    rows = [np.array(3), np.array([0.0, 1.0], np.float32)]
    assert "counts from the back" in str(lower(built("OneHot", x, 11, rows), 9, rewrites=False))
    model = built("OneHot", x, 11, rows)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 0, 2]), "x"))
    del model.graph.input[0]
    assert ops(proven(model, 9, {})) == ["OneHot"]


@pytest.mark.parametrize("op", ["Max", "Min", "Sum", "Mean"])
def test_variadic_operators_do_not_broadcast_before_opset_8(op: str) -> None:
    x = noise((2, 3))
    assert "does not broadcast before opset 8" in str(lower(built(op, x, 13, [noise((3,))]), 7))
    proven(built(op, x, 13, [noise((2, 3), seed=1)]), 7, {"x": x})


@pytest.mark.parametrize("mode", ["half_pixel", "output_half_pixel"])
def test_regions_of_interest_keep_their_coordinates(mode: str) -> None:
    x = noise((1, 2, 6, 6))
    rois = [np.array([[0, 0, 4, 5]], np.float32), np.array([0])]
    model = built("RoiAlign", x, 16, rois, coordinate_transformation_mode=mode, output_height=2, output_width=2)
    if mode == "half_pixel":
        assert "half_pixel coordinates" in str(lower(model, 10, rewrites=False))
    else:
        proven(model, 10, {"x": x})


def test_one_scale_passes_and_scales_of_an_axis_do_not() -> None:
    x = noise((2, 3))
    single = [np.array(0.5, np.float32), np.array(3, np.uint8)]
    assert ops(proven(built("QuantizeLinear", x, 19, single, axis=1, saturate=1), 10, {"x": x})) == ["QuantizeLinear"]
    many = [np.array([0.5, 1, 2], np.float32), np.array([3, 4, 5], np.uint8)]
    assert "each index of an axis" in str(lower(built("QuantizeLinear", x, 19, many, axis=1), 10, rewrites=False))
