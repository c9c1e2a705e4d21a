"""The tester refuses examples that show nothing, and says what is wrong with those that do not hold."""

from dataclasses import replace

import pytest

from onnxfix.rules.rule import Example, Rule, load_rule
from onnxfix.testing import RuleTester, RuleTestError, model_difference

from .conftest import parse

HEAD = '<ir_version: 3, opset_import: ["" : 9]>'
BAD = f"{HEAD} g (float[1,3,4,4] x, float[3,1,1] s) => (float[1,3,4,4] y) <float[3,1,1] s = {{1,2,3}}> {{ [n] y = PRelu (x, s) }}"
CLEAN = f"{HEAD} g (float[1,3,4,4] x) => (float[1,3,4,4] y) {{ [n] y = Relu (x) }}"
RULE = load_rule("OFX101")
GOOD = next(example for example in RULE.examples if "PRelu" in example.bad)


def rule(*examples: Example, code: str = "OFX101", **changes: object) -> Rule:
    return replace(load_rule(code), examples=examples, **changes)  # type: ignore[arg-type]


def refused(tested: Rule) -> str:
    with pytest.raises(RuleTestError) as caught:
        RuleTester(tested).run()
    return str(caught.value)


def test_a_good_example_passes() -> None:
    RuleTester(rule(GOOD)).run()


def test_a_rule_without_a_bad_example_is_refused() -> None:
    assert "no example is bad" in refused(rule(Example(("trt5.1",), clean=CLEAN)))


def test_a_rule_with_rewrites_and_no_good_is_refused() -> None:
    assert "no example has a `good`" in refused(rule(replace(GOOD, good="")))


def test_the_same_model_twice_for_one_target_is_refused_however_it_is_spaced() -> None:
    twin = replace(GOOD, bad=GOOD.bad.replace(" ", "  "), targets=("5.1",))
    assert "is the model of OFX101, example 1 for the same target trt5.1" in refused(rule(GOOD, twin))


def test_good_without_a_rewrite_is_refused() -> None:
    assert "names no rewrite" in refused(rule(GOOD, rewrites=()))


def test_allow_without_good_is_refused() -> None:
    assert "`allow`, but no `good`" in refused(rule(GOOD, Example(("trt7.1",), bad=CLEAN, finds=("n",), allow=("OFX701",))))


def test_allow_that_nothing_needs_is_refused() -> None:
    assert "without `allow` too" in refused(rule(replace(GOOD, allow=("OFX701",))))


def test_labels_that_do_not_exist_are_refused() -> None:
    assert "`finds` names 'm', which the model does not have; its nodes and values are" in refused(
        rule(GOOD, Example(("trt5.1",), bad=BAD, finds=("m",)))
    )


def test_unknown_targets_are_refused() -> None:
    assert "unknown target 'trt5.7'" in refused(rule(replace(GOOD, targets=("trt5.7",))))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("g (x", "ParseError"),
        (f"{HEAD} g (float[1] x) => (float[1] y) {{ y = Relu (missing) }}", "missing"),
        (BAD.replace(", float[3,1,1] s)", ")"), "not in graph input"),
    ],
    ids=["syntax", "unknown value", "IR 3 without listing"],
)
def test_models_that_onnx_refuses_are_refused(text: str, why: str) -> None:
    message = refused(rule(GOOD, Example(("trt5.1",), bad=text, finds=("n",))))
    assert message.startswith("OFX101, example 2: is no valid model: ")
    assert why in message


def test_a_node_that_is_not_found_fails() -> None:
    text = CLEAN.replace("[n] y = Relu (x)", "[n] y = Relu (x)")
    assert "trt5.1 finds nothing, the example says n" in refused(rule(GOOD, Example(("trt5.1",), bad=text, finds=("n",))))


def test_a_node_that_is_found_beyond_the_named_ones_fails() -> None:
    text = BAD.replace("[n] y = PRelu (x, s)", "[m] t = PRelu (x, s) [n] y = PRelu (t, s)")
    assert "trt5.1 finds m, n, the example says n" in refused(rule(GOOD, Example(("trt5.1",), bad=text, finds=("n",))))


def test_a_finding_in_a_clean_example_fails() -> None:
    assert "is no clean example for trt5.1: PRelu" in refused(rule(GOOD, Example(("trt5.1",), clean=BAD)))


def test_a_bad_example_that_repair_can_fix_must_show_the_result() -> None:
    message = refused(rule(GOOD, Example(("trt5.1",), bad=BAD, finds=("n",))))
    assert "needs a `good`:" in message
    assert "Relu" in message


def test_another_result_than_good_fails_with_a_diff() -> None:
    message = refused(rule(replace(GOOD, good=GOOD.good.replace("Min (x", 'Min ("n/relu"'))))
    assert "gives something else than `good`" in message
    assert '-   ["n/negative"] "n/negative" = Min ("n/relu", "n/zero")' in message


def test_a_good_that_repair_does_not_reach_fails_with_the_reason() -> None:
    bad = f"{HEAD} g (float[2,3] x) => (float[1,3] y) {{ [n] y = ReduceSum <axes = [0]> (x) }}"
    message = refused(rule(Example(("trt5.1",), bad=bad, finds=("n",), good=CLEAN), code="OFX302"))
    assert "does not repair it (declined): OFX302 batch_of_one on n:" in message


class TestModelDifference:
    def test_the_order_of_initializers_and_attributes_the_form_of_tensors_and_marks_do_not_matter(self) -> None:
        left = parse(
            f"{HEAD} g (float[1,1,4,4] x, float[1] a, float[1] b) => (float[1,1,2,2] y) "
            "<float[1] a = {1}, float[1] b = {2}> { [n] y = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x) }"
        )
        right = parse(
            f"{HEAD} g (float[1,1,4,4] x, float[1] a, float[1] b) => (float[1,1,2,2] y) "
            "<float[1] b = {2}, float[1] a = {1}> { [n] y = MaxPool <strides = [2,2], kernel_shape = [2,2]> (x) }"
        )
        tensor = right.graph.initializer[1]
        tensor.raw_data = b"\x00\x00\x80\x3f"
        del tensor.float_data[:]
        right.graph.node[0].metadata_props.add(key="onnxfix.rule", value="OFX101")
        right.graph.node[0].doc_string = "by hand"
        assert model_difference(left, right) == ""

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("ir_version: 3", "ir_version: 4"),
            ('["" : 9]', '["" : 10]'),
            ("[n]", "[m]"),
            ("MaxPool", "AveragePool"),
            ("strides = [2,2]", "strides = [2,1]"),
            ("float[1] a = {1}", "float[1] a = {1.5}"),
            ("float[1] a = {1}", "float[1] a = {-0.0}"),
            ("float[1,1,2,2] y", "float[1,1,2,N] y"),
            ("(x)", "(a)"),
        ],
    )
    def test_everything_else_matters(self, old: str, new: str) -> None:
        text = (
            f"{HEAD} g (float[1,1,4,4] x, float[1] a) => (float[1,1,2,2] y) <float[1] a = {{1}}> "
            "{ [n] y = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x) }"
        )
        assert model_difference(parse(text), parse(text)) == ""
        assert model_difference(parse(text), parse(text.replace(old, new))) != ""

    def test_metadata_that_a_repair_should_have_kept_matters(self) -> None:
        left, right = parse(CLEAN), parse(CLEAN)
        left.graph.node[0].metadata_props.add(key="pkg.torch.onnx.name_scopes", value="head")
        assert "metadata" in model_difference(left, right)
