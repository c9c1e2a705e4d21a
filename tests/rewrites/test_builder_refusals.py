"""What parsers take and builders refuse, in a form that builders take: repaired as any finding that has a rewrite."""

import numpy as np
import onnx
import pytest

from .harness import applied, ask, noise, one_node, ops, parse, repair, rewrite, run, same_bits


def topk(count: int, size: int, *, rank: int = 2, opset: int = 11, **attributes: int) -> onnx.ModelProto:
    shape = (2,) * (rank - 1) + (size,)
    constants = {"k": np.array([count])}
    model = one_node("TopK", ["x", "k"], {"x": shape}, opset=opset, constants=constants, outputs=("y", "i"), **attributes)
    model.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.INT64
    return model


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize(("count", "size"), [(3841, 4000), (5000, 6000), (9000, 9001), (4000, 4000)])
def test_a_long_topk_in_rounds(largest: int, count: int, size: int) -> None:
    model = topk(count, size, largest=largest)
    result = rewrite(model, "topk_in_rounds")
    assert all(node.op_type != "TopK" or "k" not in node.input for node in result.graph.node)
    feeds = {"x": noise((2, size))}
    feeds["x"][:, : size // 2] = np.round(feeds["x"][:, : size // 2])  # many equal values
    same_bits(run(model, feeds), run(result, feeds))


def test_a_long_topk_along_another_axis() -> None:
    model = topk(3900, 4000, axis=0)
    model.graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info("x", 1, [4000, "n"]))
    feeds = {"x": noise((4000, 3))}
    same_bits(run(model, feeds), run(rewrite(model, "topk_in_rounds"), feeds))


def test_a_topk_of_which_one_output_is_read() -> None:
    for position in (0, 1):
        model = topk(3900, 4000)
        del model.graph.output[1 - position]
        feeds = {"x": noise((2, 4000))}
        same_bits(run(model, feeds), run(rewrite(model, "topk_in_rounds"), feeds))


def test_topk_that_is_declined() -> None:
    assert "at most 3840" in str(ask(topk(3840, 4000), "topk_in_rounds"))
    assert "more than 16 rounds" in str(ask(topk(99999, 99999), "topk_in_rounds"))
    assert "do not broadcast" in str(ask(topk(3900, 4000, opset=10), "topk_in_rounds"))


@pytest.mark.parametrize(
    ("text", "target", "rewrite_name"),
    [
        (
            '<ir_version: 10, opset_import: ["" : 23]> g (float16[1,2,4,512] q, float16[1,2,4,512] k, float16[1,2,4,512] v) => '
            "(float16[1,2,4,512] y) { y = Attention (q, k, v) }",
            "trt10.14",
            "schema_body",
        ),
        (
            '<ir_version: 8, opset_import: ["" : 13]> g (float[1,T] x) => (float[1,U] y) '
            "<float zero = {0}, int64[1] one = {1}, int64[1] far = {9223372036854775807}> "
            "{ b = Greater (x, zero)  c = Slice (b, one, far, one)  y = Cast <to = 1> (c) }",
            "trt8.2",
            "bool_through_int32",
        ),
    ],
)
def test_a_warning_with_a_rewrite_is_repaired(text: str, target: str, rewrite_name: str) -> None:
    model = parse(text)
    report, result = repair(model, target)
    assert (report.status, applied(report)) == ("repaired", [rewrite_name])
    assert result is not None
    assert [finding.code for finding in report.before[0].findings] == ["OFX704"]
    assert report.after[0].findings == ()
    again, _ = repair(result, target)
    assert again.status == "clean"
    assert "Attention" not in ops(result)


def test_a_warning_without_a_rewrite_is_left() -> None:
    model = parse('<ir_version: 10, opset_import: ["" : 21]> g (float[4] x) => (float8e4m3fn[4] y) { y = Cast <to = 17> (x) }')
    report, _ = repair(model, "rtx1.7")
    assert report.status == "clean"
    assert [finding.code for finding in report.after[0].findings] == ["OFX704"]
