"""What single importers refuse, each beside what they take: forms that ONNX's node tests and exports contain."""

from __future__ import annotations

import onnx
import pytest

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rules.engine import lint
from onnxfix.targets import find_target


def first_refusal(text: str, target: str) -> tuple[str, str] | None:
    """Code and operator of lint's first refusal of a model in ONNX text."""
    view = ModelView(onnx.parser.parse_model(text))
    found = next((finding for finding in lint(view, Facts(view), find_target(target)) if finding.refuses), None)
    return None if found is None else (found.code, found.location.op_type)


def codes(text: str, target: str) -> list[str]:
    view = ModelView(onnx.parser.parse_model(text))
    return [finding.code for finding in lint(view, Facts(view), find_target(target))]


def model(opset: int, inputs: str, outputs: str, nodes: str, stored: str = "") -> str:
    return (
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({inputs}) => ({outputs}) {f"<{stored}>" if stored else ""} {{ {nodes} }}'
    )


HALVES = model(
    18,
    "float[2,4,6] x, float[2,4,6] b",
    "float[2,4,6] y",
    "batch = Shape <start = 0, end = 1> (x) rest = Shape <start = 1, end = 3> (x) again = Shape <start = 0, end = 1> (x)"
    " long = Concat <axis = 0> (batch, rest, again) r = Reshape (x, long) y = Mul (r, b)",
)
VECTOR = model(13, "float[3] x, float[2,3,4] w", "float[2,4] y", "y = MatMul (x, w)")
ATTENTION = "y = Attention <is_causal = {causal}> (q, k, v{mask})"

REFUSED = [
    # three shapes of three entries make a Reshape to nine axes, whose reader has nothing to broadcast to
    (HALVES, "trt8.6", ("OFX301", "Mul")),
    (model(13, "float[2,3] x", "float[2,3] y", "y = Add (x, gone)"), "rtx1.7", ("OFX304", "Add")),
    (
        model(
            13, "float[4,4] x", "float[2,4] y", "y = Slice (x, s, e, a)", "int64[1] s = {0}, int64[2] e = {2,2}, int64[1] a = {0}"
        ),
        "trt8.6",
        ("OFX307", "Slice"),
    ),
    # 5.0: a slice is a negative padding of the last two axes
    (
        model(9, "float[1,3,4,4] x", "float[1,2,4,4] y", "y = Slice <axes = [1], starts = [0], ends = [2]> (x)"),
        "trt5.0",
        ("OFX302", "Slice"),
    ),
    (
        model(9, "float[1,3,4,4] x", "float[1,3,4,4] y", "y = Slice <axes = [0], starts = [0], ends = [1]> (x)"),
        "trt5.0",
        ("OFX302", "Slice"),
    ),
    # 6.0: entries that do something name no batch, and all five inputs are looked up
    (
        model(9, "float[2,3] x", "float[1,3] y", "y = Slice <axes = [0], starts = [0], ends = [1]> (x)"),
        "trt6.0",
        ("OFX302", "Slice"),
    ),
    (
        model(
            10, "float[2,3] x", "float[1,3] y", "y = Slice (x, s, e, a, s)", "int64[1] s = {1}, int64[1] e = {9}, int64[1] a = {0}"
        ),
        "trt6.0",
        ("OFX302", "Slice"),
    ),
    (
        model(10, "float[2,3] x", "float[2,1] y", "y = Slice (x, s, e, s)", "int64[1] s = {1}, int64[1] e = {2}"),
        "trt6.0",
        ("OFX304", "Slice"),
    ),
    # 5.0: constants are multiplied as a fully connected layer
    (
        model(9, "float[1,3,4] x, float[3,4,2] w", "float[1,3,2] y", "y = MatMul (x, w)", "float[3,4,2] w").replace(
            "<float[3,4,2] w>", "<float[3,4,2] w = {" + ",".join(["0"] * 24) + "}>"
        ),
        "trt5.0",
        ("OFX301", "MatMul"),
    ),
    (model(9, "float[1,2] x", "double[1,2] y", "y = Cast <to = 11> (x)"), "trt5.0", ("OFX402", "Cast")),
    # 6.0 with an explicit batch
    (
        model(10, "float[2,3] x", "int64 n", "s = Shape (x) n = Gather <axis = 0> (s, i)", "int64 i = {0}"),
        "trt6.0-fulldims",
        ("OFX301", "Gather"),
    ),
    (
        model(10, "float[6] x", "float[2,2] y", "y = Gather <axis = 0> (x, i)", "int64[2,2] i = {0,1,2,3}"),
        "trt6.0-fulldims",
        ("OFX301", "Gather"),
    ),
    (model(10, "float[2,3] x, int64[1] n", "float[6] y", "y = Reshape (x, n)"), "trt6.0-fulldims", ("OFX303", "Reshape")),
    (model(10, "float[2,3] x", "int64[2] y", "y = Shape (x)"), "trt6.0-fulldims", ("OFX303", "Shape")),
    (
        model(9, "float[4] x", "float[0] y", "y = Slice <axes = [0], starts = [9], ends = [10]> (x)"),
        "trt6.0-fulldims",
        ("OFX307", "Slice"),
    ),
    # before opset 7
    (model(6, "float[2,3] x, float[3] b", "float[2,3] y", "y = Add <broadcast = 1, axis = 1> (x, b)"), "trt8.6", ("OFX102", "Add")),
    (model(6, "float[2,3] x, float[2,1] b", "float[2,3] y", "y = Add <broadcast = 1> (x, b)"), "trt7.1", ("OFX102", "Add")),
    # data of rank 3 is widened, weights that are computed are not
    (model(13, "float[1,4,8] x, float[4,4,3] w", "float[1,4,6] y", "y = Conv (x, w)"), "trt8.6", ("OFX305", "Conv")),
    (
        model(
            11,
            "float[1,1,4,4] x",
            "float[1,1,8,8] y",
            'y = Resize <mode = "linear", coordinate_transformation_mode = "align_corners"> (x, r, s)',
            "float[8] r = {0,0,0,0,1,1,1,1}, float[4] s = {1,1,2,2}",
        ),
        "trt7.2",
        ("OFX401", "Resize"),
    ),
    (
        model(
            11,
            "float[1,1,4,4] x, int64[4] n",
            "float[1,1,3,2] y",
            'y = Resize <mode = "nearest", coordinate_transformation_mode = "tf_half_pixel_for_nn"> (x, , , n)',
        ),
        "trt8.6",
        ("OFX401", "Resize"),
    ),
    # TensorRT-RTX
    (VECTOR, "rtx1.7", ("OFX301", "MatMul")),
    (model(13, "float[2,3,4] x", "float[2,3,4] y", "y = PRelu (x, s)", "float[3] s = {1,2,3}"), "rtx1.7", ("OFX307", "PRelu")),
    (model(13, "float[2,3] x, float[2,4] b", "float[2,3] y", "y = Add (x, b)"), "rtx1.7", ("OFX307", "Add")),
    (
        model(23, "float[1,2,4,8] q, float[1,2,6,8] k, float[1,2,6,9] v", "float[1,2,4,9] y", ATTENTION.format(causal=0, mask="")),
        "rtx1.7",
        ("OFX307", "Attention"),
    ),
    (
        model(
            23,
            "float[1,2,4,8] q, float[1,2,6,8] k, float[1,2,6,8] v, float[4,6] m",
            "float[1,2,4,8] y",
            ATTENTION.format(causal=1, mask=", m"),
        ),
        "rtx1.7",
        ("OFX402", "Attention"),
    ),
]

TAKEN = [
    (model(9, "float[2,3] x", "float[2,3] y", "y = Slice <axes = [0], starts = [0], ends = [9]> (x)"), "trt6.0"),
    (model(10, "float[2,3] x", "float[2,1] y", "y = Slice (x, s, e, s, s)", "int64[1] s = {1}, int64[1] e = {2}"), "trt6.0"),
    (
        model(13, "float[4,4] x", "float[2,4] y", "y = Slice (x, s, e, a)", "int64[1] s = {0}, int64[1] e = {2}, int64[1] a = {0}"),
        "trt8.6",
    ),
    (HALVES.replace("rest, again", "rest"), "trt10.0"),
    (model(9, "float[1,3,4,4] x", "float[1,3,4,2] y", "y = Slice <axes = [3], starts = [1], ends = [3]> (x)"), "trt5.0"),
    (model(9, "float[1,2] x", "float16[1,2] y", "y = Cast <to = 10> (x)"), "trt5.0"),
    (model(10, "float[6] x", "float[2] y", "y = Gather <axis = 0> (x, i)", "int64[2] i = {0,1}"), "trt6.0-fulldims"),
    (model(10, "float[2,3] x, float[3,2] t", "float[3,2] y", "s = Shape (t) y = Reshape (x, s)"), "trt6.0-fulldims"),
    (model(6, "float[2,3] x, float[2,1] b", "float[2,3] y", "y = Add <broadcast = 1> (x, b)"), "trt8.6"),
    (model(13, "float[1,4,8,8] x, float[4,4,3,3] w", "float[1,4,6,6] y", "y = Conv (x, w)"), "trt8.6"),
    (VECTOR.replace("[2,3,4] w", "[3,4] w").replace("[2,4] y", "[4] y"), "rtx1.7"),
    (model(13, "float[2,3,4] x", "float[2,3,4] y", "y = PRelu (x, s)", "float[3,1] s = {1,2,3}"), "rtx1.7"),
    (
        model(23, "float[1,2,4,8] q, float[1,2,6,8] k, float[1,2,6,8] v", "float[1,2,4,8] y", ATTENTION.format(causal=1, mask="")),
        "rtx1.7",
    ),
]


@pytest.mark.parametrize(("text", "target", "expected"), REFUSED)
def test_the_first_refusal_names_the_operator(text: str, target: str, expected: tuple[str, str]) -> None:
    assert first_refusal(text, target) == expected


@pytest.mark.parametrize(("text", "target"), TAKEN)
def test_the_close_form_is_taken(text: str, target: str) -> None:
    assert first_refusal(text, target) is None


def test_shape_of_some_axes_is_called_misread_up_to_9_3() -> None:
    text = model(15, "float[2,3,4] x", "int64[1] y", "y = Shape <start = 0, end = 1> (x)")
    assert [codes(text, target) for target in ("trt8.6", "trt9.3", "trt10.0")] == [["OFX802"], ["OFX802"], []]


def test_four_bits_come_in_pairs() -> None:
    text = model(21, "float[3] x", "float[3] y", "y = DequantizeLinear (w, s)", "int4[3] w = {1,2,3}, float s = {0.5}").replace(
        "float[3] x", ""
    )
    assert first_refusal(text, "rtx1.7") == ("OFX307", "DequantizeLinear")
