"""What a parser takes and means otherwise: loops that their bodies end, Reshapes of the batch, integers beyond 32 bits."""

import numpy as np
import onnx
import pytest

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rules.engine import lint
from onnxfix.targets import find_target

from .harness import applied, ask, noise, ops, parse, repair, rewrite, run, same_bits

# loops ----------------------------------------------------------------------------------------------------------------------

LOOP = """
<ir_version: 8, opset_import: ["" : %(opset)d]>
g (float[2] x, bool first) => (float[2] y%(more)s)
<int64 m = {%(trips)d}, bool yes = {1}, float stop = {%(stop)s}, int64 four = {4}> {
  [node] y%(out)s = Loop (%(given)s, %(begin)s, x) <body = b (int64 i, bool k, float[2] a) => (bool go, float[2] o%(res)s) {
    one = Constant <value = float {0.75}> ()
    o = Add (a, one)
    %(body)s
    t = ReduceMax <keepdims = 0> (o)
    below = Less (t, stop)
    %(go)s
  }>
}
"""
DEFAULTS = {"opset": 13, "trips": 6, "stop": "4", "given": "m", "begin": "yes", "go": "go = Identity (below)", "body": ""}


def loop(**given: object) -> onnx.ModelProto:
    empty = dict.fromkeys(("more", "out", "extra", "in", "res"), "")
    text = LOOP % {**DEFAULTS, **empty, **given}
    return parse(
        text.replace("    s = Constant <value = float[1] {1}> ()\n", "").replace("MatMul (o, s2)", "ReduceMax <keepdims = 0> (o)")
    )


@pytest.mark.parametrize("opset", [12, 13, 16])
@pytest.mark.parametrize("begin", ["yes", "first", ""])
@pytest.mark.parametrize("trips", [1, 2, 6, 17])
def test_a_loop_that_its_body_ends_gives_the_same_bits(opset: int, begin: str, trips: int) -> None:
    model = loop(opset=opset, begin=begin, trips=trips)
    result = rewrite(model, "loop_to_where", target="trt7.1")
    assert "Loop" not in ops(result)
    for start in (-9.0, 0.5, 3.5, 100.0):
        for first in (True, False):
            feeds = {"x": np.array([start, start - 1], np.float32), "first": np.array(first)}
            same_bits(run(model, feeds), run(result, feeds))


def test_a_part_of_the_condition_bounds_the_rounds() -> None:
    model = loop(given="", go="count = Less (i, four)  go = And (below, count)", stop="1e9")
    result = rewrite(model, "loop_to_where", target="trt8.5")
    assert ops(result).count("Add") == 5
    feeds = {"x": noise((2,)), "first": np.array(True)}
    same_bits(run(model, feeds), run(result, feeds))


def test_two_states_one_of_them_a_boolean() -> None:
    model = parse("""
    <ir_version: 8, opset_import: ["" : 13]>
    g (float[2] x, bool[2] p) => (float[2] y, bool[2] q) <int64 m = {5}, bool yes = {1}, float stop = {2}> {
      [node] y, q = Loop (m, yes, x, p) <body = b (int64 i, bool k, float[2] a, bool[2] c) => (bool go, float[2] o, bool[2] d) {
        d = Not (c)  o = Add (a, a)  t = ReduceMax <keepdims = 0> (o)  go = Less (t, stop)
      }>
    }
    """)
    result = rewrite(model, "loop_to_where", target="trt7.1")
    for seed in range(4):
        feeds = {"x": noise((2,), seed=seed), "p": np.array([True, False])}
        same_bits(run(model, feeds), run(result, feeds))
    assert repair(model, "trt7.1")[0].status == "repaired"


REFUSED = {
    "nothing bounds": {"given": ""},
    "stacks outputs": {"more": ", float[r,2] z", "out": ", z", "res": ", float[2] w", "body": "w = Identity (o)"},
    "the body holds RandomNormalLike": {"body": "r = RandomNormalLike (o)"},
    "Gather in the body depends on a computed value": {"body": "w = Cast <to = 7> (o)  r = Gather (o, w)"},
    "Div in the body depends on a computed value": {"body": "w = Cast <to = 7> (o)  r = Div (w, w)"},
    "the number of rounds depends on an input": {"given": "n"},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_loops_that_have_no_such_form(reason: str) -> None:
    model = loop(**REFUSED[reason])
    if "n" in REFUSED[reason].values():
        model.graph.input.append(onnx.helper.make_tensor_value_info("n", onnx.TensorProto.INT64, []))
    assert reason in str(ask(model, "loop_to_where", target="trt7.1"))


def test_more_rounds_than_are_unrolled() -> None:
    assert "more rounds than are unrolled: 512" in str(
        ask(
            loop(given="", go="big = Constant <value = int64 {9999}> ()  count = Less (i, big)  go = And (below, count)"),
            "loop_to_where",
        )
    )
    assert "nothing bounds" in str(ask(loop(trips=100000), "loop_to_where"))


# Reshape of the batch -------------------------------------------------------------------------------------------------------

RESHAPE = """
<ir_version: 4, opset_import: ["" : 9]>
g (float[2,3,4] x) => (float[%(after)s] y%(more)s) <int64[2] s = {1, -1}, int64[3] t = {%(back)s}, float[1] k = {2.5}> {
  [node] a = Reshape (x, s)
  %(body)s
}
"""


def reshape(body: str, after: str = "2,4,3", back: str = "2,4,-1", more: str = "") -> onnx.ModelProto:
    return parse(RESHAPE % {"body": body, "after": after, "back": back, "more": more})


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("y = Reshape (a, t)", "2,4,3"),
        ("b = Mul (a, k)  c = Sigmoid (b)  y = Reshape (c, t)", "2,4,3"),
        ("b = Exp (a)  c = Reshape (b, t)  d = Reshape (a, t)  y = Add (c, d)", "2,4,3"),
    ],
)
def test_a_batch_that_comes_back_is_kept(body: str, after: str) -> None:
    model = reshape(body, after)
    result = rewrite(model, "reshape_keep_batch")
    feeds = {"x": noise((2, 3, 4))}
    same_bits(run(model, feeds), run(result, feeds))
    report, repaired = repair(model, "trt5.1")
    assert report.status == "repaired"
    assert "reshape_keep_batch" in applied(report)
    assert repaired is not None
    same_bits(run(model, feeds), run(repaired, feeds))


@pytest.mark.parametrize(
    ("body", "after", "back", "reason"),
    [
        ("y = Relu (a)", "1,24", "2,4,3", "an output of the graph has the changed batch"),
        ("b = Softmax (a)  y = Reshape (b, t)", "2,4,3", "2,4,3", "Softmax works on the changed batch"),
        ("y = Reshape (a, t)", "1,4,6", "1,4,6", "no Reshape behind it brings the batch back"),
        ("b = Add (a, a)  y = Reshape (b, t)", "2,4,3", "2,4,3", "Add works on the changed batch"),
    ],
)
def test_a_batch_that_stays_changed_is_declined(body: str, after: str, back: str, reason: str) -> None:
    assert reason in str(ask(reshape(body, after, back), "reshape_keep_batch"))
    assert repair(reshape(body, after, back), "trt5.1")[1] is None


# integers beyond 32 bits ----------------------------------------------------------------------------------------------------

EDGES = np.array([-(2**31), -(2**31) + 1, -1, 0, 1, 2**31 - 2, 2**31 - 1], np.int64)


@pytest.mark.parametrize("op", ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"])
@pytest.mark.parametrize("value", [2**31, 2**40, -(2**31) - 1, -(2**40)])
@pytest.mark.parametrize("first", [True, False])
def test_a_comparison_answers_alike_for_every_integer_of_32_bits(op: str, value: int, first: bool) -> None:
    names = "w, x" if first else "x, w"
    model = parse(
        f"""<ir_version: 8, opset_import: ["" : 13]>
        g (int64[7] x) => (bool[7] y) <int64[1] w = {{{value}}}> {{ [node] y = {op} ({names}) }}"""
    )
    result = rewrite(model, "compare_within_int32", target="trt8.6")
    same_bits(run(model, {"x": EDGES}), run(result, {"x": EDGES}))
    assert repair(model, "trt8.6")[0].status == "repaired"


def test_numbers_on_both_sides_are_declined() -> None:
    model = parse(
        """<ir_version: 8, opset_import: ["" : 13]>
        g (int64[2] x) => (bool[2] y) <int64[2] w = {3000000000, 5}> { [node] y = Less (x, w) }"""
    )
    assert "within 32 bits too" in str(ask(model, "compare_within_int32"))


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("m = Max (z, low)", False),
        ("m = Min (z, low)", True),
        ("m = Add (z, low)", True),
        ("c = Concat <axis = 0> (one, high)  e = Slice (c, one, two)  m = Slice (z, one, e)", False),
        ("c = Concat <axis = 0> (one, high)  e = Slice (c, one, two)  m = Slice (z, one, e)  n = Identity (c)", True),
        ("c = Concat <axis = 0> (one, high)  m = Add (c, c)", True),
    ],
)
def test_only_numbers_that_bound_nothing_are_found(body: str, found: bool) -> None:
    more = ", int64[k] n" if "n = " in body else ""
    model = parse(
        f"""<ir_version: 8, opset_import: ["" : 13]>
        g (int64[5] z) => (int64[q] m{more}) <int64[1] low = {{-9000000000}}, int64[1] high = {{9223372036854775807}},
        int64[1] one = {{1}}, int64[1] two = {{2}}> {{ {body} }}"""
    )
    view = ModelView(model)
    assert ("OFX811" in {item.code for item in lint(view, Facts(view), find_target("trt8.6"))}) is found
