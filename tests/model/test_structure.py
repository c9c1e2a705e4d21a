"""What is no ONNX model gets one line at load; what parsers have words of their own for passes."""

from collections.abc import Callable

import onnx
import pytest

from onnxfix.errors import ModelError
from onnxfix.model.load import parse_model

TEXT = """<ir_version: 8, opset_import: ["" : 11, "com.acme" : 1]> g (float[1, 4, 2, 2] x, bool c) => (float[1, 1, 4, 4] y)
<float[1] k = {2}> {
    d = DepthToSpace <blocksize = 2> (x)
    e = PRelu (d, k)
    y = If (c) <then_branch = t () => (float[1, 1, 4, 4] a) { a = Relu (e) }, else_branch = s () => (e) { b = Relu (e) }>
}"""


def model() -> onnx.ModelProto:
    proto: onnx.ModelProto = onnx.parser.parse_model(TEXT)
    return proto


def test_a_valid_model_passes() -> None:
    assert parse_model(model().SerializeToString(), "m.onnx") == model()


BROKEN: dict[str, tuple[Callable[[onnx.GraphProto], object], str]] = {
    "output": (lambda g: g.output.add(name="q"), "graph: nothing makes output 'q'"),
    "inner output": (
        lambda g: g.node[2].attribute[0].g.output.add(name="q"),
        "graph/node[2]/then_branch: nothing makes output 'q'",
    ),
    "initializers": (lambda g: g.initializer.append(g.initializer[0]), "two initializers are called 'k'"),
    "dimension": (lambda g: g.initializer[0].dims.append(-1), "initializer 'k' has a negative dimension"),
    "initializer type": (lambda g: setattr(g.initializer[0], "data_type", 99), "'k' has unknown element type 99"),
    "input type": (lambda g: setattr(g.input[0].type.tensor_type, "elem_type", 99), "'x' has unknown element type 99"),
    "inputs": (lambda g: g.node[1].input.pop(), "graph/node[1] (PRelu) has 1 inputs and needs 2"),
    "outputs": (lambda g: g.node[0].output.pop(), "graph/node[0] (DepthToSpace) has 0 outputs and needs 1"),
    "attribute": (lambda g: g.node[0].attribute.pop(), "graph/node[0] (DepthToSpace) lacks attribute blocksize"),
    "attribute type": (lambda g: setattr(g.node[0].attribute[0], "type", 1), "attribute blocksize is FLOAT, not INT"),
    "no attribute type": (lambda g: g.node[0].attribute[0].ClearField("type"), "attribute blocksize is UNDEFINED, not INT"),
    "attribute text": (
        lambda g: g.node[1].CopyFrom(onnx.helper.make_node("Pad", ["d", "k"], ["e"], mode=b"\xff")),
        "graph/node[1] (Pad): attribute mode is no UTF-8 text",
    ),
    "reference": (
        lambda g: setattr(g.node[0].attribute[0], "ref_attr_name", "b"),
        "attribute blocksize refers to one of a function, and is in none",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_broken_is_named_in_one_line(what: str) -> None:
    breaks, said = BROKEN[what]
    proto = model()
    breaks(proto.graph)
    with pytest.raises(ModelError, match=r"^m\.onnx: not a valid ONNX model: ") as caught:
        parse_model(proto.SerializeToString(), "m.onnx")
    assert str(caught.value).endswith(said)
    assert "\n" not in str(caught.value)


def test_a_node_in_an_older_form_passes_where_it_is_whole_in_that() -> None:
    """torch 1.3 writes Pad of opset 11 with the attributes of opset 2, which repair mends with consent (OFX702)."""
    proto = model()
    proto.graph.node[1].CopyFrom(onnx.helper.make_node("Pad", ["d"], ["e"], pads=[0] * 8))
    assert parse_model(proto.SerializeToString(), "m.onnx") == proto
    del proto.graph.node[1].input[:]
    with pytest.raises(ModelError, match=r"\(Pad\) has 0 inputs and needs 1"):
        parse_model(proto.SerializeToString(), "m.onnx")


@pytest.mark.parametrize("count", ["", "n"])
def test_a_first_input_that_is_optional_may_be_left_out(count: str) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 18]> g (int64 n, bool c, float[2] x) => (float[2] y) {{
        y = Loop ({count}, c, x) <body = b (int64 i, bool go, float[2] s) => (bool on, float[2] t) {{
            on = Identity (go)  t = Neg (s) }}>
    }}"""
    proto = onnx.parser.parse_model(text)
    assert parse_model(proto.SerializeToString(), "m.onnx") == proto


@pytest.mark.parametrize("old", [b"blocksize", b"PRelu", b"com.acme", b"then_branch", b"else_branch"])
def test_text_that_is_no_utf8_is_named(old: bytes) -> None:
    data = model().SerializeToString().replace(old, b"\xff" + old[1:])
    with pytest.raises(ModelError, match=r"not a valid ONNX model: .* is no UTF-8 text"):
        parse_model(data, "m.onnx")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("PRelu (d, k)", "Unheard <a = 1> (d)"),
        ("PRelu (d, k)", "com.acme.PRelu (d)"),
        ("PRelu (d, k)", "PRelu (d, k, k)"),
        ("PRelu (d, k)", "PRelu <a = 1> (d, missing)"),
    ],
)
def test_what_parsers_have_words_for_passes(old: str, new: str) -> None:
    parse_model(onnx.parser.parse_model(TEXT.replace(old, new)).SerializeToString(), "m.onnx")
