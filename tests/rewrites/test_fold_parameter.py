"""Shapes, sizes, scales and bounds that come out the same for every input become constants."""

import numpy as np
import pytest

from .harness import ask, noise, ops, parse, rewrite, run, same_bits

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g (float[n, 3, h, w] x) => '


def equal_on(text: str, *shapes: tuple[int, ...], node: str = "node") -> list[str]:
    """The rewritten model computes the same on all shapes; its operators."""
    model = parse(text)
    result = rewrite(model, "fold_parameter", node=node)
    for shape in shapes:
        x = noise(shape)
        same_bits(run(model, {"x": x}), run(result, {"x": x}))
    return ops(result)


SHAPES = ((1, 3, 4, 6), (2, 3, 5, 7), (3, 3, 1, 1))
NUMBERS = {"i0": 0, "i1": 1, "i2": 2, "i3": 3, "two": 2, "minus": -1, "eight": 8}
I = "<" + ", ".join(f"int64[1] {name} = {{{value}}}" for name, value in NUMBERS.items()) + ">"  # noqa: E741


def test_view_by_batch_becomes_0_and_minus_1() -> None:
    text = (
        HEAD
        + "(float[a, b] y)"
        + I
        + "{ [node] s = Shape (x)  n0 = Gather (s, i0)  t = Concat <axis = 0> (n0, minus)  y = Reshape (x, t) }"
    )
    assert equal_on(text, *SHAPES) == ["Reshape"]
    (shape,) = [tensor for tensor in rewrite(parse(text), "fold_parameter").graph.initializer if "shape" in tensor.name]
    assert list(np.frombuffer(shape.raw_data, np.int64)) == [0, -1]


def test_a_dimension_moved_to_another_place_becomes_minus_1_not_0() -> None:
    text = (
        HEAD
        + "(float[a, b] y)"
        + I
        + ("{ [node] s = Shape (x)  h0 = Gather (s, i2)  t = Concat <axis = 0> (h0, minus)  y = Reshape (x, t) }")
    )
    answer = ask(parse(text), "fold_parameter")
    assert isinstance(answer, str)
    assert "more than one dimension that only run time tells" in answer


def test_a_whole_multiple_becomes_scales() -> None:
    text = (
        HEAD
        + "(float[a, b, c, d] y)"
        + I
        + (
            "{ [node] s = Shape (x)  head = Slice (s, i0, two)  tail = Slice (s, two, i4)  e = Mul (tail, eight)"
            "  t = Concat <axis = 0> (head, e)"
            '  y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , , t) }'
        )
    )
    text = text.replace("int64[1] two", "int64[1] i4 = {4}, int64[1] two")
    assert equal_on(text, *SHAPES) == ["Resize"]
    assert len(rewrite(parse(text), "fold_parameter").graph.node[0].input) == 3


def test_the_floor_of_a_broken_multiple_is_left() -> None:
    text = (
        HEAD
        + "(float[a, b, c, d] y)"
        + I
        + (
            "{ [node] s = Shape (x)  head = Slice (s, i0, two)  tail = Slice (s, two, i4)  e = Div (tail, two)"
            "  t = Concat <axis = 0> (head, e)"
            '  y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , , t) }'
        )
    )
    text = text.replace("int64[1] two", "int64[1] i4 = {4}, int64[1] two")
    answer = ask(parse(text), "fold_parameter")
    assert isinstance(answer, str)
    assert "no whole multiple" in answer


@pytest.mark.parametrize(
    ("start", "end", "bounds"),
    [("i0", "hh", (0, 2**31 - 1)), ("i0", "hm", (0, -1)), ("hm", "hh", (-1, 2**31 - 1))],
)
def test_slice_bounds_count_from_the_end(start: str, end: str, bounds: tuple[int, int]) -> None:
    text = (
        HEAD
        + "(float[a, b, c, d] y)"
        + I
        + (f"{{ [node] s = Shape (x)  hh = Gather (s, i2)  hm = Sub (hh, i1)  y = Slice (x, {start}, {end}, i2) }}")
    )
    model = parse(text)
    if "hm" not in (start, end):
        text = text.replace("hm = Sub (hh, i1)", "")
        model = parse(text)
    result = rewrite(model, "fold_parameter")
    for shape in SHAPES:
        x = noise(shape)
        same_bits(run(model, {"x": x}), run(result, {"x": x}))
    assert ops(result) == ["Slice"]
    read = {tensor.name: tensor for tensor in result.graph.initializer}
    got = [
        int(np.frombuffer(read[name].raw_data, np.int64)[0]) if read[name].raw_data else read[name].int64_data[0]
        for name in result.graph.node[0].input[1:3]
    ]
    assert tuple(got) == bounds


def test_a_crop_by_half_the_size_is_left() -> None:
    text = (
        HEAD
        + "(float[a, b, c, d] y)"
        + I
        + ("{ [node] s = Shape (x)  hh = Gather (s, i2)  m = Div (hh, two)  y = Slice (x, i0, m, i2) }")
    )
    answer = ask(parse(text), "fold_parameter")
    assert isinstance(answer, str)
    assert "depends on dynamic dimensions" in answer


def test_static_sizes_are_plain_numbers_for_any_operator() -> None:
    head = '<ir_version: 8, opset_import: ["" : 13]> g (float[2, 3, 4, 5] x) => '
    for body, left in (
        ("(float[a, b, c, d, e] y)" + I + "{ [node] s = Shape (x)  t = Concat <axis = 0> (i1, s)  y = Expand (x, t) }", ["Expand"]),
        ("(float[a, b, c, d] y)" + I + "{ [node] s = Shape (x)  t = Mul (s, two)  y = Tile (x, t) }", ["Tile"]),
        (
            "(float[a, b] y)"
            + I
            + "{ [node] s = Size (x)  u = Unsqueeze (s, i0)  t = Concat <axis = 0> (i1, u)  y = Reshape (x, t) }",
            ["Reshape"],
        ),
    ):
        assert equal_on(head + body, (2, 3, 4, 5)) == left


def test_several_readers_each_get_a_constant_and_shared_arithmetic_goes() -> None:
    text = (
        HEAD
        + "(float[a, b] y, float[c, d] z)"
        + I
        + (
            "{ [node] s = Shape (x)  n0 = Gather (s, i0)  t = Concat <axis = 0> (n0, minus)  y = Reshape (x, t)"
            "  r = Relu (x)  z = Reshape (r, t) }"
        )
    )
    assert equal_on(text, *SHAPES) == ["Reshape", "Relu", "Reshape"]


def test_arithmetic_that_others_still_read_stays() -> None:
    """The sizes of the second reader are no multiple: its Shape chain has to live on, so the fold declines as a whole."""
    text = (
        HEAD
        + "(float[a, b] y, int64[4] z)"
        + I
        + ("{ s = Shape (x)  n0 = Gather (s, i0)  [node] t = Concat <axis = 0> (n0, minus)  y = Reshape (x, t)  z = Identity (s) }")
    )
    result = rewrite(parse(text), "fold_parameter")
    assert "Shape" in ops(result)
    assert "Gather" not in ops(result)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(int64[4] y) { [node] y = Shape (x) }", "is a graph output"),
        ("(int64[k] y)" + I + "{ [node] s = Shape (x)  y = NonZero (s) }", "uses the result as data"),
        (
            "(int64[k] y)" + I + "{ [node] s = Shape (x)  q = Relu (x)  m = ReduceMax <keepdims = 0> (x)  c = Cast <to = 9> (m)"
            "  y = If (c) <then_branch = t () => (int64[k] a) { a = Identity (s) },"
            " else_branch = e () => (int64[k] b) { b = Neg (s) }> }",
            "a subgraph reads the result",
        ),
        ("(float[a, b] y) { [node] s = Shape (x)  r = Relu (x)  y = Flatten (r) }", "nothing uses the result"),
        (
            "(float[a, b, c] y)" + I + "{ [node] s = Shape (x)  n0 = Gather (s, i0)  h0 = Gather (s, i2)"
            "  t = Concat <axis = 0> (h0, n0, minus)  y = Reshape (x, t) }",
            "more than one dimension that only run time tells",
        ),
    ],
)
def test_it_declines_with_the_reason(text: str, reason: str) -> None:
    answer = ask(parse(HEAD + text), "fold_parameter")
    assert isinstance(answer, str)
    assert reason in answer


def test_a_zero_that_means_zero_is_not_written_for_a_dimension_to_copy() -> None:
    text = (
        "(float[a, b] y)"
        + I
        + ("{ [node] s = Shape (x)  n0 = Gather (s, i0)  t = Concat <axis = 0> (n0, minus)  y = Reshape <allowzero = 1> (x, t) }")
    )
    assert "allowzero=1" in str(ask(parse(HEAD.replace(": 13", ": 14") + text), "fold_parameter"))


def test_sizes_of_some_axes_are_left() -> None:
    text = "(float[a, b, c, d] y)" + I + ("{ [node] s = Shape (x)  t = Mul (s, two)  y = Resize <axes = [0, 1, 3, 2]> (x, , , t) }")
    assert "some axes only" in str(ask(parse(HEAD.replace(": 13", ": 18") + text), "fold_parameter"))


def cropped(start: str, end: str, more: str = "") -> str:
    bounds = "<int64[1] i0 = {0}, int64[1] i1 = {1}, int64[1] i2 = {2}, int64[1] i5 = {5}, int64[1] m1 = {-1}, int64[1] top = {99}>"
    return (
        HEAD
        + f"(float[a, b, c, d] y) {bounds} {{ s = Shape (x)  hh = Gather (s, i2)  h1 = Sub (hh, i1)  h2 = Sub (hh, i2)"
        + f"  h5 = Sub (hh, i5)  [node] y = Slice (x, {start}, {end}, i2{more}) }}"
    )


@pytest.mark.parametrize(("start", "end"), [("h5", "top"), ("i0", "h5"), ("top", "h2")])
def test_a_bound_before_the_front_of_a_small_dimension_stays_computed(start: str, end: str) -> None:
    """At h = 3, `x[h-5:]` is `x[-2:]`, one row, and `x[-5:]` all three."""
    answer = ask(parse(cropped(start, end, ", m1" if start == "top" else "")), "fold_parameter", node="node")
    assert isinstance(answer, str)
    assert "is another element where the dimension is below" in answer


@pytest.mark.parametrize(("start", "end"), [("h1", "top"), ("h2", "top"), ("i0", "h1"), ("i0", "h2"), ("i2", "h2"), ("h2", "h1")])
def test_bounds_up_to_two_before_the_end_are_the_same_at_every_size(start: str, end: str) -> None:
    assert equal_on(cropped(start, end), *((1, 3, size, 2) for size in (1, 2, 3, 4, 7)))[-1] == "Slice"


def test_scales_give_the_same_size_in_float32_and_float64() -> None:
    """19 / 10 is 1.9, of which float32 makes 19 and float64 18: the runtime would load one size and compute the other."""
    text = """<ir_version: 4, opset_import: ["" : 9]> g (float[1,2,10,8] x) => (float[1,2,19,15] y)
      <float[2] ones = {1, 1}, float[2] wanted = {19, 15}, float[1,2,19,15] z = {"zeros"}> {
        [node] s = Shape (x)  tail = Slice <axes = [0], starts = [2], ends = [4]> (s)  now = Cast <to = 1> (tail)
        ratio = Div (wanted, now)  scales = Concat <axis = 0> (ones, ratio)
        u = Upsample <mode = "nearest"> (x, scales)  y = Add (u, z)
      }"""
    zeros = ", ".join(["0"] * 570)
    assert equal_on(text.replace('"zeros"', zeros), (1, 2, 10, 8)) == ["Upsample", "Add"]
