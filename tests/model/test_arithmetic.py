"""Shape arithmetic: the chains that exporters write, and that no symbolic result differs from what a runtime computes."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onnxfix.model._arithmetic import slice_elements

from .programs import LARGEST, Program, facts_of, programs, value_at

BINDINGS = ({"h": 1, "w": 1, "n": 1}, {"h": 7, "w": 4, "n": 2}, {"h": LARGEST, "w": 33, "n": 9})


def run(model: onnx.ModelProto, **inputs: np.ndarray) -> list[np.ndarray]:
    """The outputs by onnxruntime without graph optimisation, its own warnings off."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results: list[np.ndarray] = session.run(None, inputs)
    return results


def check_against_runtime(program: Program, bindings: list[dict[str, int]]) -> int:
    """Compare every value that the facts know; returns how many those were."""
    model = program.model()
    facts, scope = facts_of(model)
    known = {value.name: scope.array(value.name) for value in program.values}
    for binding in bindings:
        x = np.zeros((binding["h"], binding["w"], 3, binding["n"]), np.float32)
        for value, computed in zip(program.values, run(model, x=x), strict=True):
            assert scope.dtype(value.name) == value.dtype
            shape = scope.shape(value.name)
            if shape is not None:
                assert tuple(value_at(dim, binding, facts._names) for dim in shape) == computed.shape, value
            array = known[value.name]
            if array is None:
                continue
            said = [value_at(item, binding, facts._names) for item in array.ravel()]
            got = [int(item) if computed.dtype.kind in "ib" else float(item) for item in computed.ravel()]
            assert said == got, f"{value.name}: {array} at {binding} is said to be {list(map(str, said))}, it is {got}"
    return sum(array is not None for array in known.values())


sizes = st.integers(1, LARGEST)


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs(), st.fixed_dictionaries({"h": sizes, "w": sizes, "n": sizes}))
def test_what_is_said_symbolically_is_what_a_runtime_computes(program: Program, binding: dict[str, int]) -> None:
    check_against_runtime(program, [*BINDINGS, binding])


# The chains that exporters write, by hand -----------------------------------------------------------------------------------


def array_of(text: str, name: str = "s") -> list[str] | None:
    """The elements of value `name` as the facts give them, in words."""
    _, scope = facts_of(onnx.parser.parse_model(text))
    array = scope.array(name)
    return None if array is None else [str(item) for item in array.ravel()]


def shape_program(body: str, *, opset: int = 11, dims: str = '"n",3,"h","w"') -> str:
    return f'<ir_version: 7, opset_import: ["" : {opset}]> g (float[{dims}] x) => (int64[k] s) {{ {body} }}'


PYTORCH_SCALE = """
  shape = Shape (x)  two = Constant <value = int64 {2}> ()  height = Gather <axis = 0> (shape, two)
  real = Cast <to = 1> (height)  factor = Constant <value = float {%s}> ()  scaled = Mul (real, factor)
  rounded = Floor (scaled)  list = Unsqueeze <axes = [0]> (rounded)  s = Cast <to = 7> (list)
"""


@pytest.mark.parametrize(
    ("factor", "height", "wanted"),
    [
        ("8", '"h"', ["8*h"]),
        ("0.5", '"h"', ["floor(1/2*h)"]),
        ("1.5", '"h"', ["floor(3/2*h)"]),
        ("0.7", '"h"', None),
        ("0.7", "7", ["4"]),
        ("0.7", "10", ["7"]),
        ("2.3", "10", ["23"]),
    ],
)
def test_a_scaled_height_is_known_where_floating_point_is_exact_or_the_height_is(
    factor: str, height: str, wanted: list[str] | None
) -> None:
    """In float32 7 * 0.7 is 4.9 and 10 * 0.7 is exactly 7; a product with 0.7 has no polynomial."""
    assert array_of(shape_program(PYTORCH_SCALE % factor, dims=f'"n",3,{height},"w"')) == wanted


def test_the_whole_size_chain_of_interpolate_is_a_multiple_of_the_shape() -> None:
    text = shape_program("""
      shape = Shape (x)  two = Constant <value = int64 {2}> ()  three = Constant <value = int64 {3}> ()
      h = Gather <axis = 0> (shape, two)  w = Gather <axis = 0> (shape, three)
      eight = Constant <value = float {8}> ()
      hf = Cast <to = 1> (h)  wf = Cast <to = 1> (w)  hs = Mul (hf, eight)  ws = Mul (wf, eight)
      hr = Floor (hs)  wr = Floor (ws)  hu = Unsqueeze <axes = [0]> (hr)  wu = Unsqueeze <axes = [0]> (wr)
      both = Concat <axis = 0> (hu, wu)  sizes = Cast <to = 7> (both)
      start = Constant <value = int64[1] {0}> ()  end = Constant <value = int64[1] {2}> ()
      front = Slice (shape, start, end)  s = Concat <axis = 0> (front, sizes)""")
    assert array_of(text) == ["n", "3", "8*h", "8*w"]


def test_scales_made_of_sizes_divided_by_sizes_are_numbers() -> None:
    text = shape_program(
        PYTORCH_SCALE.replace("s = Cast", "out = Cast") % "8"
        + "outf = Cast <to = 1> (out)  inf = Cast <to = 1> (height)  ratio = Div (outf, inf)  s = Cast <to = 7> (ratio)"
    )
    assert array_of(text) == ["8"]


@pytest.mark.parametrize(("dividend", "divisor", "wanted"), [(-7, 2, -3), (7, -2, -3), (-7, -2, 3), (-1, 2, 0), (6, 3, 2)])
def test_integers_are_divided_towards_zero(dividend: int, divisor: int, wanted: int) -> None:
    body = f"a = Constant <value = int64[1] {{{dividend}}}> () b = Constant <value = int64[1] {{{divisor}}}> () s = Div (a, b)"
    assert array_of(shape_program(body)) == [str(wanted)]


@pytest.mark.parametrize(("number", "wanted"), [("-2.7", "-2"), ("2.7", "2"), ("-0.3", "0")])
def test_a_cast_to_integers_truncates_towards_zero(number: str, wanted: str) -> None:
    assert array_of(shape_program(f"a = Constant <value = float[1] {{{number}}}> () s = Cast <to = 7> (a)")) == [wanted]


def test_a_cast_of_a_value_that_may_be_negative_is_not_its_floor() -> None:
    half = """shape = Shape (x)  two = Constant <value = int64[1] {2}> ()  h = Gather <axis = 0> (shape, two)
      real = Cast <to = 1> (h)  c = Constant <value = float {%s}> ()  halved = Mul (real, c)  s = Cast <to = 7> (halved)"""
    assert array_of(shape_program(half % "0.5")) == ["floor(1/2*h)"]
    assert array_of(shape_program(half % "-0.5")) is None


@pytest.mark.parametrize("start", [-6, -5, -4, -1, 0, 1, 3, 4, 9])
@pytest.mark.parametrize("end", [-6, -5, -4, -1, 0, 2, 4, 9])
@pytest.mark.parametrize("step", [-2, -1, 1, 2])
def test_slices_of_shapes_are_those_of_onnxruntime(start: int, end: int, step: int) -> None:
    text = (
        '<ir_version: 7, opset_import: ["" : 11]> g (float[h,5,3,w] x) => (int64[k] s) { shape = Shape (x) '
        f"b = Constant <value = int64[1] {{{start}}}> () e = Constant <value = int64[1] {{{end}}}> () "
        f"axis = Constant <value = int64[1] {{0}}> () by = Constant <value = int64[1] {{{step}}}> () "
        "s = Slice (shape, b, e, axis, by) }"
    )
    model = onnx.parser.parse_model(text)
    (computed,) = run(model, x=np.zeros((7, 5, 3, 2), np.float32))
    _, scope = facts_of(model)
    array = scope.array("s")
    assert array is not None
    sizes = {"h": 7, "w": 2}
    assert [sizes.get(str(item), item) for item in array.ravel()] == computed.tolist()


def test_numbers_that_do_not_fit_the_element_type_are_not_known() -> None:
    assert array_of(shape_program("a = Constant <value = int64[1] {300}> () b = Cast <to = 3> (a) s = Cast <to = 7> (b)")) is None
    big = "a = Constant <value = int64[1] {9223372036854775807}> () s = Add (a, a)"
    assert array_of(shape_program(big)) is None


def test_half_precision_holds_no_dimension() -> None:
    body = "shape = Shape (x) half = Cast <to = 10> (shape) s = Cast <to = 7> (half)"
    assert array_of(shape_program(body)) is None
    assert array_of(shape_program(body, dims="1,3,2049,4")) == ["1", "3", "2048", "4"]


def test_a_quotient_that_floating_point_rounds_is_not_whole_and_not_summed() -> None:
    body = """shape = Shape (x)  two = Constant <value = int64[1] {2}> ()  three = Constant <value = int64[1] {3}> ()
      h = Gather <axis = 0> (shape, two)  w = Gather <axis = 0> (shape, three)
      hf = Cast <to = 1> (h)  wf = Cast <to = 1> (w)  q = Div (hf, wf) """
    assert array_of(shape_program(body + "f = Floor (q) s = Cast <to = 7> (f)")) == ["floor(fdiv32(h,w))"]
    assert array_of(shape_program(body + "t = Add (q, q) s = Cast <to = 7> (t)")) is None
    larger = """c = Constant <value = float[1] {0.5}> ()  a = Mul (hf, c)  b = Mul (wf, c)  m = Max (a, b)
      f = Floor (m)  s = Cast <to = 7> (f)"""
    assert array_of(shape_program(body + larger)) == ["floor(max(1/2*h,1/2*w))"]


def test_comparing_with_minus_one_is_decided_for_dimensions_and_not_for_what_may_be_negative() -> None:
    body = """shape = Shape (x)  two = Constant <value = int64[1] {2}> ()  h = Gather <axis = 0> (shape, two)
      minus = Constant <value = int64[1] {-1}> ()  %s  e = Equal (v, minus)  s = Cast <to = 7> (e)"""
    assert array_of(shape_program(body % "v = Identity (h)")) == ["0"]
    assert array_of(shape_program(body % "five = Constant <value = int64[1] {5}> () v = Sub (h, five)")) is None
    assert array_of(shape_program(body % "v = Neg (h)")) is None


def test_a_gather_beyond_the_shape_is_not_known() -> None:
    assert (
        array_of(shape_program("shape = Shape (x) i = Constant <value = int64[1] {4}> () s = Gather <axis = 0> (shape, i)")) is None
    )


def test_more_than_256_elements_are_not_kept() -> None:
    body = """a = Constant <value = int64 {0}> ()  b = Constant <value = int64 {%d}> ()  c = Constant <value = int64 {1}> ()
      s = Range (a, b, c)"""
    known = array_of(shape_program(body % 256))
    assert known is not None
    assert len(known) == 256
    assert array_of(shape_program(body % 257)) is None
    assert array_of(shape_program(body % 2**40)) is None


def test_opset_6_broadcasting_by_axis_is_not_guessed() -> None:
    text = (
        '<ir_version: 3, opset_import: ["" : 6]> g (float[2,2] x) => (float[2,2] s) { '
        "a = Constant <value = float[2,2] {1,2,3,4}> () "
        "b = Constant <value = float[2] {10,20}> () s = Add <axis = 0, broadcast = 1> (a, b) }"
    )
    assert array_of(text) is None


@pytest.mark.parametrize(
    ("bounds", "size", "taken"),
    [
        ((0, 2, 1), 3, [0, 1]),
        ((-2, -2, -2), 1, [0]),
        ((-5, -9, -1), 3, [0]),
        ((-3, -9, -1), 3, [0]),
        ((2, 0, -1), 3, [2, 1]),
        ((9, -9, -2), 4, [3, 1]),
        ((0, 5, 1), 0, []),
        ((5, -9, -1), 0, []),
    ],
)
def test_a_slice_takes_the_elements_that_onnxruntime_takes(bounds: tuple[int, int, int], size: int, taken: list[int]) -> None:
    found = slice_elements(*bounds, size)
    assert found is not None
    assert list(found) == taken
