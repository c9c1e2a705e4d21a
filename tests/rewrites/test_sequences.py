"""Sequences of known tensors, sizes and positions that importers misread, and function bodies, against onnxruntime."""

import numpy as np
import onnx
import pytest

from .harness import applied, ask, noise, one_node, ops, parse, repair, rewrite, run, same_bits
from .properties import holds, rewritten

SEQUENCE = {
    "construct": "s = SequenceConstruct (x, z, x)",
    "insert": "e = SequenceEmpty () a = SequenceInsert (e, x) b = SequenceInsert (a, z, first) s = SequenceInsert (b, x)",
    "erase": "a = SequenceConstruct (x, z, x, z) s = SequenceErase (a, first)",
    "split": "s = SplitToSequence <axis = 1> (x, pieces)",
    "ones": "s = SplitToSequence <axis = 1> (x)",
    "bare": "s = SplitToSequence <axis = 1, keepdims = 0> (x)",
    "evenly": "s = SplitToSequence <axis = 1> (x, two)",
}


def model(making: str, reading: str, rank: int = 2) -> onnx.ModelProto:
    dims = ",".join("abc"[:rank])
    return parse(
        f"""<ir_version: 7, opset_import: ["" : 13]> g (float[2,3] x, float[2,3] z) => (float[{dims}] y)
        <int64 first = {{0}}, int64 last = {{-1}}, int64[2] pieces = {{1, 2}}, int64 two = {{2}}> {{
          {SEQUENCE[making]} {reading}
        }}"""
    )


@pytest.mark.parametrize("making", SEQUENCE)
@pytest.mark.parametrize(
    ("reading", "rank"),
    [
        ("[node] y = ConcatFromSequence <axis = 1> (s)", 2),
        ("[node] y = ConcatFromSequence <axis = -1, new_axis = 1> (s)", 3),
        ("[node] y = SequenceAt (s, last)", 2),
    ],
)
def test_what_is_read_of_a_sequence(making: str, reading: str, rank: int) -> None:
    if making == "bare":
        if "Concat" in reading and "new" not in reading:
            reading = reading.replace("axis = 1", "axis = 0")
        rank -= 1
    elif "new_axis" in reading and making in ("split", "evenly"):
        pytest.skip("pieces of several sizes make no new axis")
    before = model(making, reading, rank)
    after = rewrite(before, "sequence_to_concat")
    assert not [op for op in ops(after) if "Sequence" in op]
    feeds = {"x": noise((2, 3)), "z": noise((2, 3), seed=1)}
    same_bits(run(before, feeds), run(after, feeds))


def test_a_sequence_is_repaired_from_any_of_its_nodes() -> None:
    for making in ("construct", "insert"):
        report, result = repair(model(making, "y = ConcatFromSequence <axis = 1> (s)"), "trt8.4")
        assert report.status == "repaired"
        assert applied(report) == ["sequence_to_concat"]
        assert result is not None
        assert ops(result) == ["Concat"]


def test_sequences_of_run_time_stay() -> None:
    outside = parse(
        """<ir_version: 7, opset_import: ["" : 13]> g (seq(float[2]) s) => (float[a] y)
        { [node] y = ConcatFromSequence <axis = 0> (s) }"""
    )
    assert ask(outside, "sequence_to_concat") == "the sequence comes from outside the graph"
    moving = parse(
        """<ir_version: 7, opset_import: ["" : 13]> g (float[2] x, int64 i) => (float[a] y)
        { s = SequenceConstruct (x, x) [node] y = SequenceAt (s, i) }"""
    )
    assert "computed at run time" in str(ask(moving, "sequence_to_concat"))


@pytest.mark.parametrize(("size", "count"), [(7, 3), (5, 2), (10, 4)])
def test_pieces_that_do_not_divide(size: int, count: int) -> None:
    names = tuple(f"y{number}" for number in range(count))
    before = one_node("Split", ["x"], {"x": (2, size)}, opset=18, outputs=names, axis=1, num_outputs=count)
    holds(before, "split_sizes", {"x": noise((2, size))})
    assert ask(one_node("Split", ["x"], {"x": (2, 4)}, opset=13, outputs=("a", "b"), axis=1), "split_sizes")


@pytest.mark.parametrize("places", [[-1], [0, -2, 1], [[-1, 0], [1, -3]]])
def test_positions_from_the_end(places: list[object]) -> None:
    rank = 2 + np.array(places).ndim - 1
    before = one_node("Gather", ["x", "i"], {"x": (2, 3)}, opset=11, constants={"i": np.array(places)}, axis=1, out_rank=rank)
    holds(before, "gather_from_front", {"x": noise((2, 3))})
    after = rewrite(before, "gather_from_front")
    assert all((onnx.numpy_helper.to_array(tensor) >= 0).all() for tensor in after.graph.initializer)


def test_positions_along_a_dynamic_axis_stay() -> None:
    before = one_node("Gather", ["x", "i"], {"x": (2, "t")}, opset=11, constants={"i": np.array([-1])}, axis=1)
    assert ask(before, "gather_from_front") == "the size of axis 1 is dynamic"


@pytest.mark.parametrize("opset", [13, 16, 18])
def test_the_body_of_an_operator(opset: int) -> None:
    before = parse(
        f"""<ir_version: 8, opset_import: ["" : {opset}]> g (float[3,5] x, int64[3] t) => (float y)
        {{ [node] y = SoftmaxCrossEntropyLoss <reduction = "mean"> (x, t) }}"""
    )
    feeds = {"x": noise((3, 5)), "t": np.array([1, 0, 4])}
    after = rewritten(before, "schema_body", "trt8.5")
    assert "SoftmaxCrossEntropyLoss" not in ops(after)
    np.testing.assert_allclose(run(after, feeds)["y"], run(before, feeds)["y"], rtol=1e-6)
    assert ask(one_node("Relu", ["x"], {"x": (2,)}, opset=9), "schema_body") == "ONNX gives it no function body"
