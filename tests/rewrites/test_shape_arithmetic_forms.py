"""Shape arithmetic in whole numbers and in one axis, ranges of floats, axes that move together, lookups in a table."""

from collections.abc import Sequence

import numpy as np
import onnx
import pytest

from .harness import ask, noise, one_node, ops, parse, repair, rewrite, run, same_bits

ROUNDED = """
<ir_version: 7, opset_import: ["" : 13]>
g (float[A,B] x) => (int64[2] y) <float[{count}] k = {{{values}}}> {{
  s = Shape (x)  f = Cast <to = 1> (s)  m = {how} (f, k)  [node] r = {op} (m)  y = Cast <to = 7> (r)
}}
"""


def rounded(op: str, how: str, factors: Sequence[float]) -> onnx.ModelProto:
    return parse(ROUNDED.format(op=op, how=how, count=len(factors), values=", ".join(map(str, factors))))


@pytest.mark.parametrize("op", ["Round", "Floor", "Ceil"])
@pytest.mark.parametrize("how", ["Mul", "Div"])
@pytest.mark.parametrize("factors", [[0.5], [1.5], [0.25], [2.0], [1.5, 2.5], [3.0]])
def test_sizes_are_rounded_in_whole_numbers(op: str, how: str, factors: list[float]) -> None:
    model = rounded(op, how, factors)
    answer = ask(model, "round_to_integer")
    if isinstance(answer, str):  # floats round a third, say, otherwise than whole numbers do
        assert "no fraction gives the same" in answer
        return
    assert not {"Round", "Floor", "Ceil"} & set(ops(answer))
    for size in (0, 1, 2, 3, 5, 6, 7, 31, 32, 999):
        feeds = {"x": np.zeros((size, size + 1), np.float32)}
        same_bits(run(model, feeds), run(answer, feeds))


@pytest.mark.parametrize(("op", "factor"), [("Round", 1.6), ("Floor", 0.5), ("Ceil", 0.5), ("Round", 1.5), ("Floor", 1.25)])
def test_the_usual_factors_are_taken(op: str, factor: float) -> None:
    assert not isinstance(ask(rounded(op, "Mul", [factor]), "round_to_integer"), str)


def test_what_is_no_rounding_of_sizes_is_declined() -> None:
    assert "not positive" in str(ask(rounded("Round", "Mul", [-1.0]), "round_to_integer"))
    assert "no fraction" in str(ask(rounded("Floor", "Mul", [0.0123456]), "round_to_integer"))
    model = rounded("Round", "Mul", [1.5])
    model.graph.node[-1].attribute[0].i = 1
    model.graph.output[0].type.tensor_type.elem_type = 1
    assert "no Cast to integers" in str(ask(model, "round_to_integer"))
    assert "made by Add" in str(ask(rounded("Round", "Add", [1.5]), "round_to_integer"))


def test_numbers_that_may_be_negative_are_not_rounded_in_whole_numbers() -> None:
    """Division of integers rounds them towards 0."""
    model = parse(
        """<ir_version: 7, opset_import: ["" : 13]> g (float[N] x) => (int64[1] y) <int64[1] ten = {10}, float[1] half = {0.5}> {
          s = Shape (x)  less = Sub (s, ten)  f = Cast <to = 1> (less)  m = Mul (f, half)
          [node] r = Floor (m)  y = Cast <to = 7> (r)
        }"""
    )
    assert ask(model, "round_to_integer") == "what it starts from is no size, and may be negative"


PADS = """
<ir_version: 7, opset_import: ["" : 13]>
g (float[A,B] x) => (int64[P] y, int64[Q] z)
<int64[2] rows = {-1, 2}, int64[1] minus = {-1}, int64[1] far = {-9223372036854775807}, int64[1] zero = {0}> {
  s = Shape (x)  two = Concat <axis = 0> (s, s)
  [node] r = Reshape (two, rows)  v = Slice (r, minus, far, zero, minus)  t = Transpose <perm = [1, 0]> (v)
  y = Reshape (t, minus)  one = Slice (r, zero, rows_end, zero)  z = Reshape (one, minus)
}
"""


def test_numbers_that_are_only_moved_are_gathered_at_once() -> None:
    model = parse(PADS.replace("int64[1] zero = {0}", "int64[1] zero = {0}, int64[1] rows_end = {1}"))
    result = rewrite(model, "moved_shape_to_gather")
    assert ops(result).count("Gather") == 2
    assert not {"Reshape", "Transpose", "Slice"} & set(ops(result))
    feeds = {"x": np.zeros((3, 5), np.float32)}
    same_bits(run(model, feeds), run(result, feeds))


def test_numbers_that_are_computed_with_on_the_way_are_left() -> None:
    model = parse(PADS.replace("int64[1] zero = {0}", "int64[1] zero = {0}, int64[1] rows_end = {1}"))
    model.graph.node[4].CopyFrom(onnx.helper.make_node("Neg", ["v"], ["t"]))
    assert "Neg reads it" in str(ask(model, "moved_shape_to_gather"))


RANGE = """
<ir_version: 7, opset_import: ["" : {opset}]>
g (float[A,B] x) => ({kind}[N] y) <{kind} first = {{{first}}}, {kind} by = {{{by}}}, int64 at = {{0}}> {{
  s = Shape (x)  n = Gather (s, at)  limit = Cast <to = {number}> (n)  [node] y = Range (first, limit, by)
}}
"""


@pytest.mark.parametrize("first", [0, 1, -3, 4])
@pytest.mark.parametrize("by", [1, 2, 3])
@pytest.mark.parametrize("kind", [("float", 1), ("double", 11)])
def test_ranges_of_floats_up_to_a_size(first: int, by: int, kind: tuple[str, int]) -> None:
    model = parse(RANGE.format(opset=11, kind=kind[0], number=kind[1], first=first, by=by))
    result = rewrite(model, "range_to_integers")
    for size in range(9):
        feeds = {"x": np.zeros((size, 1), np.float32)}
        same_bits(run(model, feeds), run(result, feeds))


def test_ranges_that_are_declined() -> None:
    for first, by, reason in ((0.5, 1, "whole numbers"), (0, -1, "not positive"), (0, 0.5, "whole numbers")):
        model = parse(RANGE.format(opset=11, kind="float", number=1, first=first, by=by))
        assert reason in str(ask(model, "range_to_integers"))
    model = parse(RANGE.format(opset=11, kind="float", number=1, first=0, by=1))
    model.graph.node[2].CopyFrom(onnx.helper.make_node("ReduceSum", ["x"], ["limit"], keepdims=0))
    assert "no Cast of an integer" in str(ask(model, "range_to_integers"))


LONG = [
    ([2, 3, 4], [2, 1, 3, 1, 1, 2, 1, 1, 2], [1, 0, 2, 3, 4, 5, 6, 7, 8], [3, 2, 4]),
    ([2, 3, 4], [1, 2, 1, 3, 1, 1, 2, 1, 2, 1], [3, 8, 1, 0, 2, 4, 5, 6, 7, 9], [3, 8]),
    ([2, 3, 4], [2, 3, 1, 2, 1, 2, 1, 1, 1], [0, 1, 2, 3, 4, 5, 6, 7, 8], [6, 4]),
    ([2, 3, 4], [2, 3, 1, 2, 1, 2, 1, 1, 1], [8, 7, 6, 5, 4, 3, 2, 1, 0], [4, -1]),
    (["n", 3, 4], [-1, 3, 1, 2, 1, 2, 1, 1, 1], [0, 3, 1, 2, 4, 5, 6, 7, 8], [0, 2, 6]),
]


def long_axes(shape: list[object], rows: list[int], perm: list[int], end: list[int]) -> onnx.ModelProto:
    nodes = [
        onnx.helper.make_node("Reshape", ["x", "rows"], ["a"], name="node"),
        onnx.helper.make_node("Transpose", ["a"], ["b"], perm=perm),
        onnx.helper.make_node("Reshape", ["b", "end"], ["y"]),
    ]
    stored = [onnx.numpy_helper.from_array(np.array(array), name) for array, name in ((rows, "rows"), (end, "end"))]
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, shape)],
        [onnx.helper.make_tensor_value_info("y", 1, [f"y{axis}" for axis in range(len(end))])],
        stored,
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 11)], ir_version=6)


@pytest.mark.parametrize(("shape", "rows", "perm", "end"), LONG)
def test_axes_that_move_together_are_merged(shape: list[object], rows: list[int], perm: list[int], end: list[int]) -> None:
    model = long_axes(shape, rows, perm, end)
    result = rewrite(model, "merge_axes")
    assert ops(result) in (["Reshape", "Transpose", "Reshape"], ["Reshape"])
    feeds = {"x": noise((2, 3, 4))}
    same_bits(run(model, feeds), run(result, feeds))
    report, _ = repair(model, "trt8.0")
    assert report.status == "repaired", report.declined


def test_axes_that_stay_are_declined() -> None:
    rows = [2] * 9
    model = long_axes([2] * 9, rows, [0, 2, 1, 4, 3, 6, 5, 8, 7], [512])
    assert "9 axes move on their own" in str(ask(model, "merge_axes"))
    model = long_axes([2, 3, 4], *LONG[0][1:])
    model.graph.node[2].CopyFrom(onnx.helper.make_node("Relu", ["b"], ["y"]))
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", 1, None))
    assert "is no Reshape" in str(ask(model, "merge_axes"))
    model.graph.node[1].CopyFrom(onnx.helper.make_node("Relu", ["a"], ["b"]))
    assert "Relu reads a value of 9 axes" in str(ask(model, "merge_axes"))


@pytest.mark.parametrize("shape", [(1, 4), ("n", 2, 3)])
def test_a_table_is_looked_up_on_a_release_with_an_implicit_batch(shape: tuple[object, ...]) -> None:
    constants = {"t": noise((6, 3))}
    rank = len(shape) + 1
    model = one_node("Gather", ["t", "i"], {"i": shape}, opset=9, constants=constants, dtype=6, out_dtype=1, out_rank=rank, axis=0)
    result = rewrite(model, "gather_axis_from_back")
    feeds = {"i": np.resize(np.arange(6), [2 if isinstance(dim, str) else dim for dim in shape]).astype(np.int32)}
    same_bits(run(model, feeds), run(result, feeds))
    report, _ = repair(model, "trt5.1")
    assert report.status == "repaired", report.declined
    data = one_node("Gather", ["x", "i"], {"x": (2, 3)}, opset=9, constants={"i": np.array([0])})
    assert "is no constant" in str(ask(data, "gather_axis_from_back"))
