"""Whole numbers on releases that cast none: tables for numbers of a known range, and Casts before what moves their data."""

import numpy as np
import onnx
import pytest

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rewrites._bounds import bound

from .harness import applied, ask, noise, ops, parse, repair, rewrite, run, same_bits

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g (float[1,6,4] x) => '


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v = ArgMax <axis = 1> (x)", 6),
        ("v = ArgMin <axis = -1> (x)", 4),
        ("w, v = TopK <axis = 1> (x, two)", 6),
        ("i = ArgMax <axis = 1> (x)  v = Squeeze (i, one)", 6),
        ("i = ArgMax <axis = 1> (x)  v = Mod (i, four)", 4),
        ("i = ArgMax <axis = 1> (x)  v = Div (i, four)", 2),
        ("i = ArgMax <axis = 1> (x)  v = Mul (i, four)", 21),
        ("i = ArgMax <axis = 1> (x)  v = Add (i, four)", 10),
        ("i = ArgMax <axis = 1> (x)  v = OneHot (i, four, pair)", 2),
        ("i = ArgMax <axis = 1> (x)  v = Gather (pair, i)", 2),
        ("b = Greater (x, x)  v = Cast <to = 7> (b)", 2),
        (
            "i = ArgMax <axis = 1> (x)  j = ArgMax <axis = 2, keepdims = 0> (x)  k = Unsqueeze (j, one)"
            "  v = Concat <axis = 2> (i, k)",
            6,
        ),
        ("i = ArgMax <axis = 1> (x)  v = Sub (i, four)", None),
        ("i = ArgMax <axis = 1> (x)  v = Mul (i, minus)", None),
        ("i = ArgMax <axis = 1> (x)  v = Div (i, minus)", None),
        ("i = ArgMax <axis = 1> (x)  j = Mul (i, hundred)  v = Cast <to = 3> (j)", None),
        ("i = ArgMax <axis = 1> (x)  j = Mul (i, four)  v = Cast <to = 3> (j)", 21),
        ("v = Cast <to = 7> (x)", None),
        ("v = Relu (x)", None),
    ],
)
def test_the_range_of_whole_numbers(text: str, expected: int | None) -> None:
    model = parse(
        HEAD
        + "(int64[a,b,c] y) <int64[1] one = {1}, int64[1] two = {2}, int64 four = {4}, int64[2] pair = {0, 1}, int64 minus = {-2},"
        " int64 hundred = {100}>"
        f" {{ {text} y = Cast <to = 7> (v) }}"
    )
    facts = Facts(ModelView(model))
    assert bound(facts.of(facts.view.main), "v") == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[node] y = Cast <to = 1> (i)", 1),
        ("[node] y = Cast <to = 10> (i)", 10),
        ("[node] y = Mod (i, four)", 7),
        ("[node] y = Div (i, four)", 7),
        ("[node] y = Sub (i, four)", 7),
        ("[node] y = Sub (four, i)", 7),
        ("[node] y = Mul (i, i)", 7),
        ("j = Mod (i, four)  [node] y = Add (j, four)", 7),
        ("j = Squeeze (i, one)  k = Unsqueeze (j, one)  [node] y = Cast <to = 1> (k)", 1),
    ],
)
def test_a_function_of_a_known_range_is_a_table(text: str, kind: int) -> None:
    model = parse(HEAD + f"(float[1,a,4] y) <int64[1] one = {{1}}, int64 four = {{4}}> {{ i = ArgMax <axis = 1> (x)  {text} }}")
    model.graph.output[0].type.tensor_type.elem_type = kind
    result = rewrite(model, "integers_to_table")
    assert ops(result)[-1] == "Gather"
    x = noise((1, 6, 4))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("c = Cast <to = 7> (x)  [node] y = Cast <to = 1> (c)", "nothing bounds c"),
        ("i = ArgMax <axis = 1> (x)  [node] y = Add (i, many)", "more than one element"),
        ("i = ArgMax <axis = 1> (x)  j = ArgMax <axis = 2> (x)  [node] y = Add (i, j)", "not one run-time value"),
        ("i = ArgMax <axis = 1> (x)  [node] y = Cast <to = 9> (i)", "it makes booleans"),
        ("i = ArgMax <axis = 1> (x)  j = Mul (i, large)  [node] y = Cast <to = 1> (j)", "has 500001 possible values"),
    ],
)
def test_what_has_no_table_says_so(text: str, reason: str) -> None:
    model = parse(
        HEAD + "(float[a,b,c] y) <int64[4] many = {1, 2, 3, 4}, int64 large = {100000}>" + f" {{ {text.replace(']  y', '] y')} }}"
    )
    model.graph.output[0].type.tensor_type.elem_type = 9 if "to = 9" in text else 1 if "[node] y = Cast" in text else 7
    assert reason in str(ask(model, "integers_to_table"))


@pytest.mark.parametrize("op", ["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"])
@pytest.mark.parametrize("other", ["four", "row", "j"])
def test_whole_numbers_are_compared_as_floats(op: str, other: str) -> None:
    model = parse(
        HEAD + "(float[1,a,4] y) <int64 four = {4}, int64[4] row = {0, 1, 2, 5}>"
        f" {{ i = ArgMax <axis = 1> (x)  j = ArgMin <axis = 1> (x)  [node] c = {op} (i, {other})  y = Cast <to = 1> (c) }}"
    )
    result = rewrite(model, "logic_to_float")
    assert op not in ops(result)
    for seed in range(3):
        x = noise((1, 6, 4), seed=seed)
        same_bits(run(model, {"x": x}), run(result, {"x": x}))


def test_positions_in_range_are_rows_at_once() -> None:
    model = parse(
        HEAD + "(float[1,6,4] y) <int64 depth = {6}, int64[2] values = {0, 1}>"
        " { i = ArgMax <axis = 1, keepdims = 0> (x)  [node] h = OneHot <axis = 1> (i, depth, values)  y = Cast <to = 1> (h) }"
    )
    result = rewrite(model, "one_hot_to_gather")
    assert ops(result) == ["ArgMax", "Gather", "Transpose", "Cast"]
    x = noise((1, 6, 4))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))
    for target in ("trt5.1", "trt6.0"):
        report, repaired = repair(model, target)
        assert repaired is not None
        assert "integers_to_table" in applied(report)


def test_elements_at_positions_in_range_keep_a_batch_of_one() -> None:
    model = parse(
        HEAD + "(float[1,2,4] y) <int64[1] two = {2}, int64[3] s = {1, 2, 4}>"
        " { v, i = TopK <axis = 1> (x, two)  [node] y = GatherElements <axis = 1> (x, i) }"
    )
    result = rewrite(model, "gather_elements_to_gather")
    assert "Less" not in ops(result)
    x = noise((1, 6, 4))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))
    for target in ("trt5.1", "trt6.0"):
        assert repair(model, target)[1] is not None


class TestCastBeforeMoving:
    @pytest.mark.parametrize(
        ("text", "node"),
        [
            (
                "b = Greater (x, zero)  c = Cast <to = 7> (b)  t = Transpose <perm = [0, 2, 1]> (c)  [node] y = Cast <to = 1> (t)",
                "node",
            ),
            (
                "b = Greater (x, zero)  [node] c = Cast <to = 7> (b)  t = Transpose <perm = [0, 2, 1]> (c)  y = Cast <to = 1> (t)",
                "node",
            ),
            ("i = ArgMax <axis = 1, keepdims = 0> (x)  t = Gather (w, i)  [node] y = Cast <to = 1> (t)", "node"),
            ("c = Cast <to = 6> (x)  t = Reshape (c, s)  u = Squeeze (t, one)  [node] y = Cast <to = 1> (u)", "node"),
        ],
    )
    def test_the_numbers_are_the_same(self, text: str, node: str) -> None:
        model = parse(
            HEAD + "(float[1,a,b] y) <float zero = {0}, int64[6,2] w = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, int64[1] one = {1},"
            f" int64[4] s = {{1, 1, 4, 6}}> {{ {text} }}"
        )
        result = rewrite(model, "cast_before_moving", node=node)
        order = ops(result)
        assert order.index("Cast") < max(order.index(op) for op in ("Transpose", "Gather", "Reshape") if op in order)
        x = 3 * noise((1, 6, 4))
        same_bits(run(model, {"x": x}), run(result, {"x": x}))

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("b = Greater (x, x)  [node] y = Cast <to = 1> (b)", "nothing was moved before it"),
            ("t = Transpose (x)  [node] y = Cast <to = 10> (t)", "the data comes from no Cast"),
            ("c = Cast <to = 7> (x)  s = Shape (x)  t = Reshape (c, r)  [node] y = Cast <to = 1> (t)", "computed at run time"),
        ],
    )
    def test_it_declines_with_the_reason(self, text: str, reason: str) -> None:
        model = parse(f'<ir_version: 8, opset_import: ["" : 13]> g (float[1,6,4] x, int64[3] r) => (float[a,b,c] y) {{ {text} }}')
        model.graph.output[0].type.tensor_type.elem_type = 10 if "to = 10" in text else 1
        assert reason in str(ask(model, "cast_before_moving"))


def test_a_mask_of_integers_becomes_one_of_floats_with_consent() -> None:
    """A release with an implicit batch casts no integers: the mask that Casts to BOOL read is asked for as floats."""
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1,4] x, int64[1,4] mask) => (float[1,4] y) <float low = {-9}>'
        " { m = Cast <to = 9> (mask)  y = Where (m, x, low) }"
    )
    assert repair(model, "trt5.1")[1] is None
    _, repaired = repair(model, "trt5.1", consent=frozenset({"OFX202"}))
    assert repaired is not None
    kinds = {value.name: value.type.tensor_type.elem_type for value in repaired.graph.input}
    assert kinds["mask"] == onnx.TensorProto.FLOAT
    mask = np.array([[0, 1, 2, -3]])
    x = noise((1, 4))
    same_bits(run(model, {"x": x, "mask": mask}), run(repaired, {"x": x, "mask": mask.astype(np.float32)}))
