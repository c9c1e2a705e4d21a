"""Integers that a release can only give and take, not join: with consent they are floats from inputs to outputs."""

import re

import numpy as np
import pytest

from .harness import applied, parse, repair, run, run_pass

HEAD = '<ir_version: {ir}, opset_import: ["" : 9]> g '
JOIN = HEAD + "(int32[1,2,3] a, int32[1,4,3] b) => (int32[1,6,3] y) {{ y = Concat <axis = 1> (a, b) }}"


@pytest.mark.parametrize("target", ["trt5.0", "trt5.1", "trt6.0"])
def test_inputs_that_are_joined(target: str) -> None:
    model = parse(JOIN.format(ir=4))
    report, _ = repair(model, target)
    assert report.status == "declined"
    assert report.declined[0].consent == "OFX201"
    report, result = repair(model, target, consent=frozenset({"OFX201"}))
    assert (report.status, applied(report)[0]) == ("repaired", "integers_as_floats")
    assert result is not None
    assert [value.type.tensor_type.elem_type for value in (*result.graph.input, *result.graph.output)] == [1, 1, 1]
    feeds = {"a": np.arange(6).reshape(1, 2, 3), "b": np.arange(12).reshape(1, 4, 3)}
    whole = run(model, {name: array.astype(np.int32) for name, array in feeds.items()})["y"]
    assert (run(result, {name: array.astype(np.float32) for name, array in feeds.items()})["y"] == whole).all()


@pytest.mark.parametrize("ir", [3, 4])
def test_constants_and_what_is_moved_further_follow(ir: int) -> None:
    text = (
        HEAD.format(ir=ir)
        + ("(int32[1,2] a, int32[1,2] c)" if ir == 3 else "(int32[1,2] a)")
        + " => (int32[1,2] y, float[1,2] z) <int32[1,2] c = {3, 4}> {"
        "  k = Constant <value = int32[1,1] {7}> ()  j = Concat <axis = 1> (a, c, k)"
        "  u, v, w = Split <axis = 1, split = [2, 2, 1]> (j)"
        "  y = Identity (u)  z = Cast <to = 1> (v) }"
    )
    model = parse(text)
    report, result = repair(model, "trt6.0", consent=frozenset({"OFX201"}))
    assert "integers_as_floats" in applied(report), report.declined
    if result is not None:
        feeds = np.array([[5, 6]])
        left, right = run(model, {"a": feeds.astype(np.int32)}), run(result, {"a": feeds.astype(np.float32)})
        assert all((left[name] == right[name]).all() for name in left)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("j = Concat <axis = 1> (a, a)  m = ArgMax <axis = 1> (x)  y = Add (j, j)", "Add reads j"),
        ("m = ArgMax <axis = 1> (x)  n = Cast <to = 6> (m)  y = Concat <axis = 1> (a, n)", "Cast makes n"),
        ("y = Concat <axis = 1> (a, c)", "c is beyond 2^24"),
    ],
)
def test_integers_that_are_computed_with_stay(body: str, reason: str) -> None:
    text = HEAD.format(ir=4) + f"(int32[1,2] a, float[1,3] x) => (int32[1,n] y) <int32[1,1] c = {{16777217}}> {{ {body} }}"
    with pytest.raises(AssertionError, match=re.escape(reason)):
        run_pass(parse(text), "integers_as_floats", *(["j"] if "j" in body else ["a", "n", "c", "y"]))
