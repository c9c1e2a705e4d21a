"""Calls of a model's own functions: what lint says of their bodies is what holds for the calls."""

from __future__ import annotations

import onnx
import pytest

from onnxfix.model.facts import Facts
from onnxfix.model.view import MAX_CALLED, ModelView
from onnxfix.rules.engine import lint
from onnxfix.targets import find_target

HEAD = '<ir_version: 10, opset_import: ["" : 17, "l" : 1]> g '
IMAGE, CUT = "(float[1,3,8,8] x) => (float[1,3,8,8] y)", "(float[1,3,8,8] x) => (float[1,3,1,8,8] y)"


def function(text: str) -> str:
    return f'<domain: "l", opset_import: ["" : 17, "l" : 1]> {text}'


def found(text: str, target: str = "rtx1.7") -> list[tuple[str, str]]:
    view = ModelView(onnx.parser.parse_model(HEAD + text))
    return [(finding.code, finding.location.path) for finding in lint(view, Facts(view), find_target(target))]


UNSQUEEZE = function("F (a, axes) => (b) { b = Unsqueeze (a, axes) }")
AXES = "axes = Constant <value = int64[1] {2}> ()"

# What the parser of TensorRT-RTX 1.7 says of the same models.
CASES = {
    "a function that nobody calls": (f"{IMAGE} {{ y = Relu (x) }}", function("F (a) => (b) { b = Det (a) }"), []),
    "a constant for a parameter": (f"{CUT} {{ {AXES} y = l.F (x, axes) }}", UNSQUEEZE, []),
    "a computed parameter": (
        "(float[1,3,8,8] x, int64[1] axes) => (float[1,3,1,8,8] y) { y = l.F (x, axes) }",
        UNSQUEEZE,
        [("OFX305", "function(l:F)/node[0]")],
    ),
    "both, said once": (
        f"(float[1,3,8,8] x, int64[1] q) => (float[1,3,1,8,8] y, float[1,3,1,8,8] z, float[1,3,1,8,8] w)"
        f" {{ {AXES} y = l.F (x, axes) z = l.F (x, q) w = l.F (x, q) }}",
        UNSQUEEZE,
        [("OFX305", "function(l:F)/node[0]")],
    ),
    "a function within a function": (
        f"{CUT} {{ {AXES} y = l.F (x, axes) }}",
        function("F (a, c) => (b) { b = l.G (a, c) }") + function("G (a, c) => (b) { b = Unsqueeze (a, c) }"),
        [],
    ),
    "a constant from a function": (
        f"{CUT} {{ axes = l.F () y = Unsqueeze (x, axes) }}",
        function("F () => (b) { b = Constant <value = int64[1] {2}> () }"),
        [],
    ),
    "an element type": (
        "(int32[2] x) => (int32[2] y) { y = l.F (x) }",
        function("F (a) => (b) { b = Sin (a) }"),
        [("OFX201", "function(l:F)/node[0]")],
    ),
    "an attribute of the call": (
        "(float[2] x) => (int64[2] y) { y = l.F <to = 7> (x) }",
        function("F <to> (a) => (b) { b = Cast <to : int = @to> (a) }"),
        [],
    ),
    "a refused attribute of the call": (
        "(float[2] x) => (float[2] y) { t = l.F <to = 8> (x) y = Identity (x) }",
        function("F <to> (a) => (b) { b = Cast <to : int = @to> (a) }"),
        [("OFX402", "function(l:F)/node[0]")],
    ),
    "a default of the function": (
        "(float[2] x) => (int64[2] y) { y = l.F (x) }",
        function("F <to: int = 7> (a) => (b) { b = Cast <to : int = @to> (a) }"),
        [],
    ),
    "too few inputs": (
        f"{IMAGE} {{ y = l.F (x) }}",
        function("F (a, low) => (b) { b = Clip (a, low) }"),
        [("OFX304", "graph/node[0]")],
    ),
    "in a branch": (
        "(bool c, float[1,3,8,8] x) => (float[1,3,8,8] y) { y = If (c) <then_branch = t () => (float[1,3,8,8] p) { p = l.F (x) },"
        " else_branch = e () => (float[1,3,8,8] q) { q = Relu (x) }> }",
        function("F (a) => (b) { b = Det (a) }"),
        [("OFX101", "function(l:F)/node[0]")],
    ),
    "a branch within": (
        "(bool c, float[1,3,8,8] x) => (float[1,3,8,8] y) { y = l.F (x, c) }",
        function(
            "F (x, c) => (y) { y = If (c) <then_branch = t () => (float[1,3,8,8] p) { p = Abs (x) },"
            " else_branch = e () => (float[1,3,8,8] q) { q = Relu (x) }> }"
        ),
        [],
    ),
    "a name that the parser imports": (
        f"{IMAGE} {{ y = l.Gelu (x) }}",
        function("Gelu (a) => (b) { b = Clip (a) }"),
        [("OFX817", "graph/node[0]")],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_functions(case: str) -> None:
    graph, functions, expected = CASES[case]
    assert found(graph + functions) == expected


def test_an_overload_is_not_looked_at() -> None:
    """The parser of TensorRT-RTX 1.7 takes the first function of the name; one with the same body does no harm."""
    model = onnx.parser.parse_model(
        HEAD + f"{IMAGE} {{ y = l.F (x) }}" + function("F (a) => (b) { b = Neg (a) }") + function("G (a) => (b) { b = Relu (a) }")
    )
    model.functions[1].name = "F"
    model.functions[1].overload = model.graph.node[0].overload = "other"

    def codes() -> list[str]:
        view = ModelView(model)
        return [finding.code for finding in lint(view, Facts(view), find_target("rtx1.7"))]

    assert codes() == ["OFX817"]
    model.functions[0].node[0].op_type = "Relu"
    assert codes() == []


def test_functions_that_call_each_other_twice_end() -> None:
    """A chain of forty functions, each calling the next twice, has 2**40 calls; one that calls itself has no end."""
    chain = "".join(function(f"F{i} (a) => (b) {{ t = l.F{i + 1} (a) b = l.F{i + 1} (t) }}") for i in range(40))
    view = ModelView(
        onnx.parser.parse_model(HEAD + f"{IMAGE} {{ y = l.F0 (x) }}" + chain + function("F40 (a) => (b) { b = Relu (a) }"))
    )
    assert view._called >= MAX_CALLED
    Facts(view)
    assert found(f"{IMAGE} {{ y = l.F (x) }}" + function("F (a) => (b) { b = l.F (a) }")) == []


def test_facts_of_a_call() -> None:
    view = ModelView(
        onnx.parser.parse_model(
            HEAD + "(float[N,3,8,8] x) => (float[M] y) { t = l.F (x) y = Shape (t) }" + function("F (a) => (b) { b = Flatten (a) }")
        )
    )
    facts = Facts(view).of(view.main)
    assert (facts.dtype_name("t"), str(facts.shape("t"))) == ("FLOAT", "(N, 192)")
