"""Pads, steps, products by letters, and booleans without booleans, against onnxruntime."""

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from .harness import applied, ask, noise, one_node, ops, parse, repair, rewrite, run, same_bits
from .properties import examples, holds

BOUND = 2e-6


@examples(60)
@given(
    st.sampled_from(["constant", "reflect", "edge"]),
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=2, max_size=4),
    st.sampled_from([0.0, -2.5]),
    st.sampled_from([9, 11, 13]),
)
def test_pads_of_every_mode_and_axis(mode: str, pairs: list[tuple[int, int]], fill: float, opset: int) -> None:
    shape = (4, 5, 6, 4)[: len(pairs)]
    assume(mode == "constant" or min(map(min, pairs)) >= 0)
    pads = [begin for begin, _ in pairs] + [end for _, end in pairs]
    assume(
        any(pads)
        and not (mode == "constant" and fill == 0 and len(pairs) == 4 and not any(pads[:2] + pads[4:6]) and min(pads) >= 0)
    )
    x = noise(shape)
    if opset < 11:
        model = one_node("Pad", ["x"], {"x": shape}, opset=opset, mode=mode, pads=pads, value=fill)
    else:
        values = {"p": np.array(pads), "v": np.array(fill, np.float32)}
        model = one_node("Pad", ["x", "p", "v"], {"x": shape}, opset=opset, mode=mode, constants=values)
    holds(model, "pad_to_gather", {"x": x}, bound=1e-7)


def test_pads_that_wrap_and_pads_of_some_axes() -> None:
    values = {"p": np.array([2, 3]), "v": np.array(0, np.float32), "a": np.array([-1])}
    for mode in ("wrap", "reflect", "constant"):
        model = one_node("Pad", ["x", "p", "v", "a"], {"x": (2, 3, 5)}, opset=19, mode=mode, constants=values)
        holds(model, "pad_to_gather", {"x": noise((2, 3, 5))})


def test_pads_with_a_dynamic_batch() -> None:
    values = {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1])}
    model = one_node("Pad", ["x", "p"], {"x": ("n", 2, 4, 5)}, opset=13, mode="reflect", constants=values)
    for batch in (1, 3):
        holds(model, "pad_to_gather", {"x": noise((batch, 2, 4, 5))})
    plain = one_node("Pad", ["x", "p"], {"x": (1, 2, 4, 5)}, opset=13, constants=values)
    assert ask(plain, "pad_to_gather") == "it puts zeros around height and width, which importers take"


@examples(60)
@given(st.lists(st.tuples(st.integers(-7, 7), st.integers(-9, 9), st.sampled_from([-3, -2, -1, 1, 2, 3])), min_size=1, max_size=3))
def test_steps(bounds: list[tuple[int, int, int]]) -> None:
    shape = (4, 5, 6)
    kept = [np.arange(shape[axis])[slice(a, None if c < 0 and b < -shape[axis] else b, c)] for axis, (a, b, c) in enumerate(bounds)]
    assume(all(places.size for places in kept) and any(step != 1 for _, _, step in bounds))
    starts, ends, steps = (np.array(column) for column in zip(*bounds, strict=True))
    values = {"s": starts, "e": ends, "a": np.arange(len(bounds)), "t": steps}
    model = one_node("Slice", ["x", *values], {"x": shape}, opset=11, constants=values)
    holds(model, "slice_to_gather", {"x": noise(shape)})


def test_a_step_along_a_dynamic_axis_stays() -> None:
    values = {"s": np.array([0, 1]), "e": np.array([2**31, 2**31]), "a": np.array([1, 2]), "t": np.array([2, 1])}
    model = one_node("Slice", ["x", *values], {"x": (2, "c", 6)}, opset=11, constants=values)
    assert ask(model, "slice_to_gather") == "the size of axis 1 is dynamic"


EQUATIONS = [
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]),
    ("bhij,bhjd->bhid", [(2, 2, 3, 5), (2, 2, 5, 4)]),
    ("i,j->ij", [(3,), (4,)]),
    ("i,i->", [(3,), (3,)]),
    ("ij->", [(3, 4)]),
    ("ij->ji", [(3, 4)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("bii->bi", [(2, 3, 3)]),
    ("iij->ij", [(3, 3, 2)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,jk->...ik", [(2, 2, 3, 4), (4, 5)]),
    ("...,...", [(2, 3), (2, 3)]),
    ("nctv,vw->nctw", [(2, 3, 4, 5), (5, 6)]),
    ("ab,cb->ca", [(3, 4), (5, 4)]),
    ("abc,cd", [(2, 3, 4), (4, 2)]),
    ("ij,ij->ij", [(3, 4), (1, 4)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_products_by_letters(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = {f"x{number}": noise(shape, seed=number) for number, shape in enumerate(shapes)}
    expected = np.einsum(equation, *arrays.values())
    model = one_node(
        "Einsum",
        list(arrays),
        {name: array.shape for name, array in arrays.items()},
        opset=12,
        equation=equation,
        out_rank=expected.ndim,
    )
    holds(model, "einsum_to_matmul", arrays, bound=BOUND, expected={"y": np.asarray(expected, np.float32)})


def test_products_by_letters_of_a_dynamic_batch() -> None:
    model = one_node("Einsum", ["a", "b"], {"a": ("n", 3, 4), "b": (5, 4)}, opset=12, equation="nij,kj->nik", out_rank=3)
    for batch in (1, 3):
        holds(model, "einsum_to_matmul", {"a": noise((batch, 3, 4)), "b": noise((5, 4), seed=1)}, bound=BOUND)


COMPARISONS = ["Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"]


def logic(op: str, opset: int = 12) -> onnx.ModelProto:
    return parse(
        f"""<ir_version: 7, opset_import: ["" : {opset}]> g (float[2,6] x, float[6] z) => (float[2,6] y, float[2,6] w)
        <float[1] k = {{0.5}}, bool[6] b = {{1, 0, 1, 0, 1, 1}}> {{
          [node] c = {op} (x, z)
          d = Less (x, k)
          e = And (c, d)
          f = Or (c, b)
          g = Xor (e, f)
          h = Not (g)
          y = Where (h, x, z)
          t = Transpose <perm = [1, 0]> (e)
          r = Reshape (t, shape)
          i = Cast <to = 1> (r)
          w = Add (i, x)
        }}""".replace("bool[6] b", "int64[2] shape = {2, 6}, bool[6] b")
    )


@pytest.mark.parametrize("op", COMPARISONS)
def test_logic_without_booleans(op: str) -> None:
    model = logic(op)
    result = rewrite(model, "logic_to_float")
    assert not {*COMPARISONS, "And", "Or", "Xor", "Not", "Where", "Cast"} & set(ops(result))
    x = np.array([[0.5, 1, -1, 1e-30, 3, 0], [2, 1, -1e-30, 7, -3, 0]], np.float32)
    z = np.array([0.5, 1, 1, 0, 3, -1e30], np.float32)
    for left, right in ((x, z), (noise((2, 6)), noise((6,), seed=1)), (np.nextafter(x, np.float32(9)), z)):
        before, after = run(model, {"x": left, "z": right}), run(result, {"x": left, "z": right})
        for name, array in before.items():
            np.testing.assert_array_equal(after[name], array, err_msg=name)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("order", ["inf, x", "x, inf"])
def test_a_mask_of_infinity_stays_one(sign: int, order: str) -> None:
    model = parse(
        f"""<ir_version: 4, opset_import: ["" : 9]> g (float[2,3] x) => (float[2,3] y, float[2,3] s)
        <float[1] low = {{0}}, float[1] m = {{{sign}}}, float[1] zero = {{0}}> {{
          inf = Div (m, zero)
          [node] c = Less (x, low)
          s = Where (c, {order})
          y = Softmax <axis = 1> (s)
        }}"""
    )
    x = {"x": np.array([[1, -1, 2], [0, 0.5, -3]], np.float32)}
    same_bits(run(rewrite(model, "logic_to_float"), x), run(model, x))


@pytest.mark.parametrize(
    ("constant", "order", "reason"),
    [
        ("float[1,3,4] b = {" + ", ".join(["-inf"] * 12) + "}", "x, b", "has more axes than what it is chosen from"),
        ("float[1] b = {-inf}, float[1] t = {inf}", "t, b", "it chooses between infinities"),
        ("float[1,1,4] b = {0, 0, -inf, -inf}", "x, b", "has infinities and numbers"),
    ],
)
def test_infinities_that_are_no_mask_are_declined(constant: str, order: str, reason: str) -> None:
    model = parse(
        f"""<ir_version: 4, opset_import: ["" : 9]> g (float[1,1,4] x) => (float[p,q,r] y) <float[1] z = {{0}}, {constant}> {{
          [node] c = Greater (x, z)
          y = Where (c, {order})
        }}"""
    )
    assert reason in str(ask(model, "logic_to_float"))


def test_booleans_of_the_interface_stay() -> None:
    model = one_node("Greater", ["x", "z"], {"x": (2,), "z": (2,)}, opset=9, out_dtype=onnx.TensorProto.BOOL)
    assert ask(model, "logic_to_float") == "a boolean is an output of the graph"
    inputs = one_node("Not", ["x"], {"x": (2,)}, opset=9, dtype=onnx.TensorProto.BOOL)
    assert "of the graph" in str(ask(inputs, "logic_to_float"))


@pytest.mark.parametrize("target", ["trt5.1", "trt6.0"])
def test_a_model_with_logic_is_repaired_for_releases_without(target: str) -> None:
    model = parse(
        """<ir_version: 4, opset_import: ["" : 9]> g (float[2,3] x) => (float[2,3] y) <float[1] low = {0}> {
          c = Greater (x, low)
          n = Not (c)
          y = Where (n, low, x)
        }"""
    )
    report, result = repair(model, target)
    assert report.status == "repaired"
    assert "logic_to_float" in applied(report)
    assert result is not None


def test_constants_beside_data() -> None:
    values: dict[str, Any] = {"k": noise((1, 2, 4), seed=1)}
    model = one_node("Concat", ["x", "k"], {"x": (1, 3, 4)}, opset=9, axis=1, constants=values)
    holds(model, "concat_constant_to_tensor", {"x": noise((1, 3, 4))})
    wide = one_node("Concat", ["x", "k"], {"x": (2, 3, 4)}, opset=9, axis=1, constants={"k": noise((2, 2, 4))})
    assert ask(wide, "concat_constant_to_tensor") == "a constant has a batch other than 1"


@pytest.mark.parametrize("to", [onnx.TensorProto.INT64, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16])
def test_a_cast_of_no_boolean_is_no_logic(to: int) -> None:
    model = one_node("Cast", ["x"], {"x": (2, 3)}, opset=13, out_dtype=to, to=to)
    assert ask(model, "logic_to_float") == "it has no boolean"
