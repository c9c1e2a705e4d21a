"""Functions of the model, integers, empty operands and attributes that say nothing: the same bits, against onnxruntime."""

import numpy as np
import onnx
import pytest

from .harness import applied, ask, noise, one_node, ops, parse, repair, rewrite, run, same_bits
from .properties import holds

INT32, INT64 = onnx.TensorProto.INT32, onnx.TensorProto.INT64
CALLS = """<ir_version: 8, opset_import: ["" : 18, "local" : 1]> g (float[2,3] x) => (float[2,3] y, float[2,3] z) {
  [node] y = local.scale <by = 3> (x)
  z = local.scale <by = 2> (y)
}
<domain: "local", opset_import: ["" : 18, "local" : 1]> twice (a) => (b) { b = Add (a, a) }
<domain: "local", opset_import: ["" : 18, "local" : 1]> scale <by> (a) => (b) {
  c = Constant <value_int: int = @by> ()
  d = CastLike (c, a)
  e = Mul (a, d)
  b = local.twice (e)
}"""


def test_a_function_in_its_place() -> None:
    before = parse(CALLS)
    after = rewrite(before, "inline_function", target="trt8.6")
    assert ops(after) == ["Constant", "CastLike", "Mul", "Add", "scale"]
    x = {"x": noise((2, 3))}
    same_bits(run(before, x), run(after, x))
    assert len({node.name for node in after.graph.node if node.name}) == sum(bool(node.name) for node in after.graph.node)


def test_functions_are_inlined_for_releases_without() -> None:
    report, result = repair(parse(CALLS), "trt8.6")
    assert report.status == "repaired"
    assert applied(report).count("inline_function") == 2
    assert result is not None
    assert not [op for op in ops(result) if op in ("scale", "twice")]
    later, _ = repair(parse(CALLS), "trt9.3")
    assert "inline_function" not in applied(later)


def test_a_function_of_another_opset_stays() -> None:
    other = parse(CALLS.replace('<domain: "local", opset_import: ["" : 18', '<domain: "local", opset_import: ["" : 17'))
    assert ask(other, "inline_function") == "function scale is written in opset 17, not 18"
    assert ask(one_node("Relu", ["x"], {"x": (2,)}, opset=9), "inline_function") == "it calls no function of the model"


DEFAULTS = """<ir_version: 9, opset_import: ["" : 14, "l" : 1]> g (float[1,4] x) => (float[1,4] y) { [node] y = l.F%s (x) }
<domain: "l", opset_import: ["" : 14, "l" : 1]> F %s
<domain: "l", opset_import: ["" : 14]> L <a: float = 0.5> (p) => (q) { q = LeakyRelu <alpha: float = @a> (p) }"""
BRANCHES = "then_branch = t () => (r) { r = l.L (p) }, else_branch = e () => (s) { s = l.L <a = 0.75> (p) }"


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("", "<b: float = 0.25> (p) => (q) { q = LeakyRelu <alpha: float = @b> (p) }"),
        (" <b = 0.125>", "<b: float = 0.25> (p) => (q) { q = LeakyRelu <alpha: float = @b> (p) }"),
        ("", "(p) => (q) { z = l.L (p)  q = l.L <a = 0.25> (z) }"),
        ("", "<b: float = 0.25> (p) => (q) { z = l.L <a: float = @b> (p)  q = l.L (z) }"),
        # what the call leaves out gives the inner call nothing, which has a default of its own
        ("", "<b> (p) => (q) { q = l.L <a: float = @b> (p) }"),
        ("", "(p) => (q) { c = ReduceSum <keepdims = 0> (p)  b = Greater (c, c)  q = If (b) <" + BRANCHES + "> }"),
    ],
)
def test_the_defaults_of_a_function_are_those_of_its_nodes(call: str, body: str) -> None:
    before = parse(DEFAULTS % (call, body))
    x = {"x": np.array([[-1, 2, -3, 0.5]], np.float32)}
    same_bits(run(before, x), run(rewrite(before, "inline_function", target="trt8.6"), x))
    report, result = repair(before, "trt8.6")
    assert report.status == "repaired"
    assert result is not None
    same_bits(run(before, x), run(result, x))


def test_a_function_that_calls_itself_stays() -> None:
    model = parse(DEFAULTS % ("", "(p) => (q) { z = Abs (p)  q = l.F (z) }"))
    assert ask(model, "inline_function") == "function F calls itself"


@pytest.mark.parametrize("target", ["trt5.1", "trt6.0"])
def test_branches_within_a_function_stay_with_it_in_an_opset_move(target: str) -> None:
    body = "then_branch = t () => (r) { r = HardSwish (p) }, else_branch = e () => (s) { s = Round (p) }"
    model = parse(DEFAULTS % ("", "(p) => (q) { c = ReduceSum <keepdims = 0> (p)  b = Greater (c, c)  q = If (b) <" + body + "> }"))
    report, result = repair(model, target)
    assert report.status == "declined"
    assert result is None
    assert {(item.op_type, item.rewrite) for item in report.declined} == {
        ("Greater", "logic_to_float"),
        ("Where", "logic_to_float"),
    }


SUM = "c = Constant <value_ints = [1]> ()  s = ReduceSum (p, c)  q = Sub (p, s)"


@pytest.mark.parametrize("target", ["trt7.0", "trt7.1"])
@pytest.mark.parametrize(
    ("text", "left"),
    [
        (DEFAULTS % ("", f"(p) => (q) {{ {SUM} }}"), ["L"]),
        (DEFAULTS.replace("q = LeakyRelu <alpha: float = @a> (p)", SUM) % ("", "(p) => (q) { q = l.L (p) }"), []),
    ],
)
def test_a_function_that_nothing_calls_stands_in_the_way_of_no_opset_move(target: str, text: str, left: list[str]) -> None:
    report, result = repair(parse(text), target)
    assert report.status == "repaired"
    assert "opset_move" in applied(report)
    assert result is not None
    assert ops(result) == ["ReduceSum", "Sub"]
    assert [item.name for item in result.functions] == left
    assert [item.domain for item in result.opset_import] == (["", "l"] if left else [""])
    x = {"x": noise((1, 4))}
    same_bits(run(parse(text), x), run(result, x))


@pytest.mark.parametrize("op", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("dtype", [INT32, INT64])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_the_place_of_an_integer(op: str, dtype: int, keepdims: int) -> None:
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    large = 2**30  # beside it float32 does not tell neighbours apart
    x = np.array([[1, large, large + 1, large + 1], [-large - 1, 5, -large, -large - 1]], kind)
    model = one_node(
        op, ["x"], {"x": (2, 4)}, opset=13, dtype=dtype, out_dtype=INT64, axis=1, keepdims=keepdims, out_rank=1 + keepdims
    )
    holds(model, "argmax_to_equal", {"x": x})


@pytest.mark.parametrize("op", ["Abs", "Neg"])
@pytest.mark.parametrize("dtype", [INT32, INT64])
@pytest.mark.parametrize("opset", [9, 11, 13])
def test_the_size_of_an_integer(op: str, dtype: int, opset: int) -> None:
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    model = one_node(op, ["x"], {"x": (6,)}, opset=opset, dtype=dtype)
    holds(model, "abs_to_max", {"x": np.array([0, 1, -1, 7, -(2**31), 2**31 - 1], kind)})


def test_an_operand_without_elements_goes() -> None:
    model = parse(
        """<ir_version: 6, opset_import: ["" : 9]> g (float[1,2,4] x) => (float[1,2,4] y) {
          [node] e = Slice <axes = [2], starts = [0], ends = [0]> (x)
          y = Concat <axis = 2> (e, x, e)
        }"""
    )
    after = rewrite(model, "drop_empty_operand", target="trt7.0")
    assert ops(after) == ["Concat"]
    x = {"x": noise((1, 2, 4))}
    same_bits(run(model, x), run(after, x))
    full = one_node("Slice", ["x"], {"x": (2, 3)}, opset=9, axes=[1], starts=[0], ends=[1])
    assert ask(full, "drop_empty_operand") == "its result has elements"


def test_attributes_that_say_nothing_go() -> None:
    values = {"i": np.array([[0], [1]]), "u": noise((2, 3))}
    model = one_node("ScatterND", ["x", "i", "u"], {"x": (4, 3)}, opset=16, constants=values, reduction="none")
    holds(model, "drop_default_attribute", {"x": noise((4, 3))})
    assert not rewrite(model, "drop_default_attribute").graph.node[0].attribute
    added = one_node("ScatterND", ["x", "i", "u"], {"x": (4, 3)}, opset=16, constants=values, reduction="add")
    assert ask(added, "drop_default_attribute") == "none of its attributes is the default"


@pytest.mark.parametrize("wanted", [[2, -1], [3, 4], [-1, 2, 2]])
def test_allowzero_without_a_zero_goes(wanted: list[int]) -> None:
    model = one_node(
        "Reshape", ["x", "s"], {"x": (2, 6)}, opset=14, constants={"s": np.array(wanted)}, allowzero=1, out_rank=len(wanted)
    )
    holds(model, "reshape_without_allowzero", {"x": noise((2, 6))})
    assert not rewrite(model, "reshape_without_allowzero").graph.node[0].attribute


def test_allowzero_with_a_zero_stays() -> None:
    model = one_node("Reshape", ["x", "s"], {"x": (0, 6)}, opset=14, constants={"s": np.array([3, 0])}, allowzero=1)
    assert ask(model, "reshape_without_allowzero") == "an entry of the new shape is 0"
    computed = one_node("Reshape", ["x", "s"], {"x": (2, 6), "s": (2,)}, opset=14, allowzero=1)
    computed.graph.input[1].type.tensor_type.elem_type = INT64
    assert ask(computed, "reshape_without_allowzero") == "the new shape is computed at run time"


@pytest.mark.parametrize("opset", [9, 11, 13])
@pytest.mark.parametrize(("shape", "rank"), [((2, 1, 3, 1), 2), ((1, 1), 0)])
def test_axes_of_one_element_go_by_reshape(opset: int, shape: tuple[int, ...], rank: int) -> None:
    model = one_node("Squeeze", ["x"], {"x": shape}, opset=opset, out_rank=rank)
    holds(model, "squeeze_to_reshape", {"x": noise(shape)}, target="trt7.1")


def test_a_squeeze_whose_axes_are_known_at_run_time_stays() -> None:
    assert ask(one_node("Squeeze", ["x"], {"x": ("N", 1)}, opset=11), "squeeze_to_reshape") == (
        "which axes have one element is known at run time alone"
    )
    assert ask(one_node("Squeeze", ["x"], {"x": (0, 1)}, opset=11), "squeeze_to_reshape") == "the data has no elements"
    assert ask(one_node("Squeeze", ["x"], {"x": (2, 1)}, opset=11, axes=[1]), "squeeze_to_reshape") == "it names its axes"


@pytest.mark.parametrize("to", [onnx.TensorProto.FLOAT, INT64])
def test_a_cast_goes_before_what_moves_the_data(to: int) -> None:
    model = parse(
        f"""<ir_version: 7, opset_import: ["" : 11]> g (uint8[2,4,4,3] x) => ({"float" if to == 1 else "int64"}[2,3,2,4] y)
        <int64[1] zero = {{0}}, int64[1] two = {{2}}, int64[1] axis = {{2}}> {{
          t = Transpose <perm = [0, 3, 1, 2]> (x)
          [node] s = Slice (t, zero, two, axis)
          y = Cast <to = {to}> (s)
        }}"""
    )
    x = {"x": np.arange(96, dtype=np.uint8).reshape(2, 4, 4, 3) * 2}
    after = rewrite(model, "cast_first", target="rtx1.7")
    assert ops(after) == ["Transpose", "Cast", "Slice"]
    same_bits(run(model, x), run(after, x))
    report, _ = repair(model, "rtx1.7")
    assert applied(report) == ["cast_first", "cast_first"]


def test_what_others_read_too_is_not_cast_first() -> None:
    model = parse(
        """<ir_version: 7, opset_import: ["" : 11]> g (uint8[2,3] x) => (float[3,2] y, uint8[3,2] t) {
          [node] t = Transpose (x)
          y = Cast <to = 1> (t)
        }"""
    )
    assert ask(model, "cast_first") == "others than one Cast read it"
