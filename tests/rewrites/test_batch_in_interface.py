"""With consent inputs and outputs that do not begin with a batch of 1 get one in front; what an implicit batch needs besides."""

from typing import Any

import numpy as np
import onnx
import pytest

from .harness import applied, ask, error, noise, one_node, parse, repair, rewrite, run, same_bits
from .test_unroll_recurrent import layer

ALLOW: dict[str, Any] = {"consent": frozenset({"OFX302"})}
OLD = ["trt5.0", "trt5.1", "trt6.0"]
HEAD = '<ir_version: 3, opset_import: ["" : 9]> g '
MOVED = HEAD + "(float[1,3,5] x) => (float[5,1,3] y) { r = Relu (x)  y = Transpose <perm = [2, 0, 1]> (r) }"


def batched(model: onnx.ModelProto, result: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What both give, the second with the axes that it has more."""
    ranks = {value.name: len(value.type.tensor_type.shape.dim) for value in (*result.graph.input, *result.graph.output)}
    given = {name: array[None] if ranks[name] > array.ndim else array for name, array in feeds.items()}
    left, right = run(model, feeds), run(result, given)
    return left, {name: array[0] if array.ndim > left[name].ndim else array for name, array in right.items()}


def one_batch(op: str) -> onnx.ModelProto:
    model = layer(op)
    model.ClearField("opset_import")
    model.opset_import.append(onnx.helper.make_opsetid("", 9))
    del model.graph.output[1:]
    model.graph.node[0].output[:] = ["y"]
    model.graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info("x", 1, [4, 1, 5]))
    return model


@pytest.mark.parametrize("target", OLD)
@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_a_sequence_with_time_in_front(op: str, target: str) -> None:
    model = one_batch(op)
    report, result = repair(model, target, **ALLOW)
    assert report.status == "repaired", report.declined
    assert {"unroll_recurrent", "batch_in_interface"} <= set(applied(report))
    assert report.proof is not None
    assert report.proof.passed
    assert result is not None
    left, right = batched(model, result, {"x": noise((4, 1, 5))})
    assert error(left, right) < 1e-6
    assert report.fidelity is not None
    assert any("x is 1x4x1x5 now, was 4x1x5" in note for note in report.fidelity.interface_changes)


@pytest.mark.parametrize("target", OLD)
def test_an_output_that_begins_with_another_axis(target: str) -> None:
    model = parse(MOVED)
    report, _ = repair(model, target)
    assert report.status == "declined"
    assert "OFX302" in {item.consent for item in report.declined}
    report, result = repair(model, target, **ALLOW)
    assert (report.status, applied(report)) == ("repaired", ["batch_in_interface"])
    assert result is not None
    same_bits(*batched(model, result, {"x": noise((1, 3, 5))}))
    assert [len(value.type.tensor_type.shape.dim) for value in (result.graph.input[0], result.graph.output[0])] == [3, 4]


def test_an_input_that_is_read_twice_and_an_output_that_is_read_on() -> None:
    text = HEAD + (
        "(float[4,1,3] x) => (float[3,1,4] y, float[4,1,3] z) "
        "{ t = Transpose <perm = [2, 1, 0]> (x)  y = Relu (t)  u = Transpose <perm = [2, 1, 0]> (y)  z = Add (u, x) }"
    )
    model = parse(text)
    report, result = repair(model, "trt5.1", **ALLOW)
    assert report.status == "repaired", report.declined
    assert result is not None
    same_bits(*batched(model, result, {"x": noise((4, 1, 3))}))


def test_a_wrong_answer_would_be_found() -> None:
    """The proof gives the second model the same elements, and takes its outputs without their new axis."""
    from onnxfix.verify.prove import prove

    model = parse(MOVED)
    _, result = repair(model, "trt5.1", **ALLOW)
    assert result is not None
    assert prove(model, result, rebatched=True).passed
    wrong = onnx.ModelProto()
    wrong.CopyFrom(result)
    next(node for node in wrong.graph.node if node.op_type == "Relu").op_type = "Abs"
    assert not prove(model, wrong, rebatched=True).passed


def test_an_open_size_stays() -> None:
    text = MOVED.replace("float[1,3,5] x", "float[N,3,5] x").replace("float[5,1,3] y", "float[5,N,3] y")
    report, _ = repair(parse(text), "trt5.1", **ALLOW)
    assert report.status == "declined"
    assert any("is dynamic" in item.reason for item in report.declined), report.declined


CUTS = [
    ({"axes": [1], "starts": [1], "ends": [3]}, (2, 4, 5, 6)),
    ({"axes": [1, 3], "starts": [-2, 1], "ends": [9, -1]}, (2, 4, 5, 6)),
    ({"axes": [2, 1], "starts": [0, 3], "ends": [2, 4]}, (2, 4, 3, 5, 6)),
    ({"axes": [-3], "starts": [0], "ends": [-1]}, (2, 4, 5, 6)),
]


@pytest.mark.parametrize(("attributes", "shape"), CUTS)
def test_channels_are_cut_by_positions(attributes: dict[str, list[int]], shape: tuple[int, ...]) -> None:
    model = one_node("Slice", ["x"], {"x": shape}, opset=9, **attributes)
    feeds = {"x": noise(shape)}
    same_bits(run(model, feeds), run(rewrite(model, "slice_to_positions"), feeds))


def test_what_a_slice_layer_cuts_is_left() -> None:
    for attributes in ({"axes": [3], "starts": [0], "ends": [1]}, {"axes": [0], "starts": [0], "ends": [1]}):
        model = one_node("Slice", ["x"], {"x": (2, 4, 5, 6)}, opset=9, **attributes)
        assert "the last two axes alone" in str(ask(model, "slice_to_positions"))
    model = one_node("Slice", ["x"], {"x": (2, "c", 5, 6)}, opset=9, axes=[1], starts=[0], ends=[1])
    assert "axis 1 is dynamic" in str(ask(model, "slice_to_positions"))


@pytest.mark.parametrize("shape", [("n", 3, 4), ("n", 2, 3, 4), (1, 1, 4)])
@pytest.mark.parametrize("matrix", [(4, 5), (1, 4, 5)])
def test_a_product_as_a_convolution(shape: tuple[object, ...], matrix: tuple[int, ...]) -> None:
    model = one_node("MatMul", ["x", "w"], {"x": shape}, opset=9, constants={"w": noise(matrix, seed=1)})
    feeds = {"x": noise([2 if isinstance(dim, str) else int(dim) for dim in shape])}
    assert error(run(model, feeds), run(rewrite(model, "matmul_to_conv"), feeds)) < 1e-6


def test_products_that_are_no_convolution() -> None:
    for shape, matrix in (((2, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4,))):
        rank = 2 if len(matrix) == 1 or len(shape) == 2 else 3
        model = one_node("MatMul", ["x", "w"], {"x": shape}, opset=9, constants={"w": noise(matrix)}, out_rank=rank)
        assert "constant matrix" in str(ask(model, "matmul_to_conv"))
    model = one_node("MatMul", ["x", "w"], {"x": (2, "t", 4)}, opset=9, constants={"w": noise((4, 5))})
    assert "are dynamic" in str(ask(model, "matmul_to_conv"))
