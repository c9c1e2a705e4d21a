"""`explain`, `rules` and `targets` on the recorded rules, operators and releases."""

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.report.reference import standing
from onnxfix.rules.engine import lint
from onnxfix.rules.rule import all_rules
from onnxfix.targets import Target, all_targets, find_target, recorded_operators

from .conftest import FakeApi, finding, save

AXIS = "Assertion failed: axis >= 0 && axis < nbDims"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_has_a_page(run: Any, rule: Any) -> None:
    result = run("explain", rule.code)
    assert result.code == 0
    assert result.out.startswith(f"{rule.code} {rule.name}")
    assert "## What it does" in result.out
    assert run("explain", rule.name).out == result.out
    assert run("explain", rule.code.lower(), "-f", "json").json["docs"] == rule.docs


@pytest.mark.parametrize("operator", [op for _, op in recorded_operators()])
def test_every_operator_has_a_page_with_evidence(run: Any, operator: str) -> None:
    result = run("explain", operator)
    assert result.code == 0
    assert "evidence: " in result.out


def test_an_operator_is_explained_for_each_release(run: Any) -> None:
    entry = run("explain", "resize", "-f", "json").json
    assert entry["kind"] == "operator"
    support = {item["target"]: item["status"] for item in entry["operators"][0]["support"]}
    assert set(support) == {target.id for target in all_targets()}
    assert (support["trt5.1"], support["trt7.1"]) == ("no", "yes")
    result = run("explain", "Resize", "--target", "trt5.1")
    assert "trt7.1" not in result.out
    assert "No importer registered for op: Resize" in result.out


def test_an_operator_without_a_record_is_unknown_or_not_registered() -> None:
    where = [standing("", "NoSuchOperator", find_target(name)).status for name in ("trt5.1", "trt10.5")]
    assert where == ["no", "unknown"]


@pytest.mark.parametrize("target", all_targets(), ids=lambda target: target.id)
@pytest.mark.parametrize(
    ("domain", "op"),
    [("", "Foo"), ("my", "Foo"), ("ai.onnx.ml", "Foo"), ("org.pytorch.aten", "foo")],
)
def test_an_operator_without_a_record_stands_where_lint_finds_it(target: Target, domain: str, op: str) -> None:
    node = onnx.helper.make_node(op, ["x"], ["y"], domain=domain)
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 3]) for name in "xy"]
    view = ModelView(onnx.helper.make_model(onnx.helper.make_graph([node], "g", values[:1], values[1:])))
    codes = {item.code for item in lint(view, Facts(view), target) if item.location.op_type}
    assert codes == {{"no": "OFX101", "plugin": "OFX103", "unknown": "OFX005"}[standing(domain, op, target).status]}


def test_only_operators_outside_onnx_and_pytorch_are_said_to_need_a_plugin(run: Any) -> None:
    assert "not parsed" in run("explain", "HardSwish", "-t", "trt7.1").out
    assert "only with a plugin of that name" in run("explain", "com.microsoft::FusedConv", "-t", "trt7.1").out


@pytest.mark.parametrize("what", ["ai.onnx::Resize", "::Resize"])
def test_onnx_s_own_domain_may_be_written(run: Any, what: str) -> None:
    assert run("explain", what).out == run("explain", "Resize").out


def test_an_operator_of_another_domain_is_named_with_it(run: Any) -> None:
    result = run("explain", "org.pytorch.aten::adaptive_avg_pool2d")
    assert result.code == 0
    assert result.out.startswith("org.pytorch.aten::adaptive_avg_pool2d")


@pytest.mark.parametrize(("what", "head"), [("ai.onnx.ml::Scaler", "ai.onnx.ml::Scaler"), ("ai.onnx::Resize", "Resize")])
def test_the_domain_of_onnx_is_no_prefix_of_another(run: Any, what: str, head: str) -> None:
    result = run("explain", what)
    assert result.code == 0
    assert result.out.startswith(head)


@pytest.mark.parametrize(
    "message",
    [
        AXIS,
        "axis >= 0 && axis < nbDims",
        f"While parsing node number 12 [Gather]:\nERROR: onnx2trt_utils.hpp:347 In function convert_axis:\n[8] {AXIS}",
    ],
)
def test_a_parser_message_leads_to_its_rule(run: Any, message: str) -> None:
    result = run("explain", message, "-f", "json")
    assert result.code == 0
    best = result.json["matches"][0]
    assert (best["message"], best["rule"]) == (AXIS, "OFX302")
    assert "Gather" in best["operators"]
    if "[Gather]" in message:
        assert best["operators"] == ["Gather"]
        assert run("explain", message).out.splitlines()[1] == "  said by trt5.0, trt5.1, trt6.0 of Gather"


@pytest.mark.parametrize(
    ("message", "exact"),
    [
        (AXIS, True),
        ("axis >= 0  && axis < nbDims", True),
        (f"[8] Assertion failed: {AXIS}", True),
        ("No importer registered for op: Foo", True),
        ("ERROR: ModelImporter.cpp:92: No importer registered for op: Mish.", True),
        ("Assertion failed: axis >= 0 && axis < maxDims", False),
        ("Assertion failed: axis == 10", False),
        ("Assertion failed: mode == cubic && alpha == 1", False),
    ],
)
def test_a_message_that_is_only_like_one_on_record_is_told_so(run: Any, message: str, exact: bool) -> None:
    result = run("explain", message)
    if result.code == 0:
        assert ("nearest on record:" in result.out) != exact
        assert run("explain", message, "-f", "json").json["matches"][0]["exact"] is exact
    else:
        assert not exact


def test_a_message_about_an_operator_names_that_operator_only(run: Any) -> None:
    matches = run("explain", "No importer registered for op: Mish", "-f", "json").json["matches"]
    assert [match["message"] for match in matches] == ["No importer registered for op: Mish"]
    assert matches[0]["rule"] == "OFX101"


def test_a_message_known_from_a_rule_page_is_found(run: Any) -> None:
    matches = run("explain", "Assertion failed: tensors.count(input_name)", "-f", "json").json["matches"]
    assert matches[0]["rule"] in ("OFX010", "OFX304")


@pytest.mark.parametrize(
    ("what", "meant"), [("Resze", "'Resize'"), ("Expnd", "'Expand'"), ("OFX40", "'OFX40"), ("resize-mod", "'resize-mode'")]
)
def test_an_unknown_word_is_suggested_against(run: Any, what: str, meant: str) -> None:
    result = run("explain", what)
    assert result.code == 2
    assert f"did you mean {meant}" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("what", ["Foo", "Grid", "soft"])
def test_only_close_names_are_suggested(run: Any, what: str) -> None:
    result = run("explain", what)
    assert result.code == 2
    assert "did you mean" not in result.err


def test_words_that_are_no_message_are_not_explained(run: Any) -> None:
    result = run("explain", "the cat sat on the mat")
    assert (result.code, result.out) == (2, "")


def test_rules_are_listed_selected_and_rendered(run: Any) -> None:
    table = run("rules").out.splitlines()
    assert [line.split()[0] for line in table] == ["code", *(rule.code for rule in all_rules())]
    assert {line.split()[0] for line in run("rules", "--select", "OFX3").out.splitlines()[1:]} == {
        rule.code for rule in all_rules() if rule.code.startswith("OFX3")
    }
    listed = run("rules", "-f", "json").json
    assert [item["code"] for item in listed] == [rule.code for rule in all_rules()]
    fixable = {item["code"] for item in run("rules", "--fixable", "-f", "json").json}
    assert fixable == {item["code"] for item in listed if item["fixes"]}
    markdown = run("rules", "-f", "markdown").out.splitlines()
    assert markdown[1].replace(" ", "") == "|---|---|---|---|---|---|"
    assert len(markdown) == len(listed) + 2


def test_rules_of_a_release_leave_out_those_of_others(run: Any) -> None:
    codes = {item["code"] for item in run("rules", "--target", "rtx1.7", "-f", "json").json}
    assert "OFX302" not in codes
    assert "OFX302" in {item["code"] for item in run("rules", "--target", "trt5.1", "-f", "json").json}


def test_targets_are_listed_in_order(run: Any) -> None:
    lines = run("targets").out.splitlines()
    assert [line.split()[0] for line in lines] == ["release", *(target.id for target in all_targets())]
    assert [item["id"] for item in run("targets", "-f", "json").json["targets"]] == [target.id for target in all_targets()]


def test_one_target_shows_its_facts_and_operators(run: Any) -> None:
    entry = run("targets", "jetpack4.2.2", "-f", "json").json
    assert (entry["id"], entry["batch"]) == ("trt5.1", "implicit")
    assert "Resize" in entry["operators"]["not parsed"]
    assert "Resize" in run("targets", "trt5.1").out


def test_a_target_and_its_rule_say_what_becomes_of_operators_without_a_record(run: Any) -> None:
    refused = "every other operator is refused: the parser has no importer for it"
    assert f"\n{refused} (OFX101)\n" in run("targets", "trt5.1").out
    assert "every other operator needs a plugin of that name (OFX103)" in run("targets", "trt7.1").out
    page = run("explain", "OFX101", "-t", "trt5.1").out
    assert "and every operator that `onnxfix targets trt5.1` does not list" in page
    assert "trt7.1  " not in page
    assert "does not list" not in run("explain", "OFX101", "-t", "trt7.1").out
    for target in all_targets():
        listed = [op for names in run("targets", target.id, "-f", "json").json["operators"].values() for op in names]
        assert set(target.registered or ()) <= set(listed)
        assert len(listed) == len(set(listed))


def test_two_targets_show_what_changed(run: Any) -> None:
    entry = run("targets", "trt5.1", "trt7.1", "-f", "json").json
    assert entry["facts"]["batch"] == ["implicit", "explicit"]
    assert {"op": "Resize"} in entry["operators"]["gained"]
    text = run("targets", "trt5.1", "trt7.1").out
    assert "batch: implicit -> explicit" in text
    assert json.dumps(run("targets", "trt7.1", "trt7.1", "-f", "json").json["facts"]) == "{}"


def test_targets_for_a_model_shows_verdicts_and_the_oldest_likely(
    run: Any, folder: Any, fake_api: FakeApi, monkeypatch: Any
) -> None:
    save(folder / "m.onnx")
    result = run("targets", "--for", "m.onnx", "-f", "json")
    assert result.json["oldest_likely"] == "trt5.0"
    fake_api.findings["m.onnx"] = [finding()]
    result = run("targets", "--for", "m.onnx")
    assert result.code == 0
    assert "no release here is likely to take it" in result.out
    assert run("targets", "--for", "missing.onnx").code == 2


def test_a_release_that_computes_a_model_differently_is_not_offered(run: Any, folder: Any) -> None:
    seed = Path(__file__).parents[2] / "fixtures" / "seedmodels" / "torch1.2.0_instance_norm_opset10.onnx"
    text = run("targets", "--for", seed, "trt5.1", "trt7.1").out
    assert "\ntrt5.1   likely, differs" in text
    assert text.endswith(
        "oldest release likely to take it: trt7.1 (trt5.1 is likely to parse it, but 1 node is computed differently)\n"
    )
    assert run("targets", "--for", seed, "trt5.1").out.endswith(
        "no release here is likely to take it as it is: trt5.1 is likely to parse it, but 1 node is computed differently\n"
    )
    entry = run("targets", "--for", seed, "trt5.1", "trt7.1", "-f", "json").json
    assert entry["oldest_likely"] == "trt7.1"
    # what the parser does is one thing, what the engine computes another
    assert [(target["verdict"], target["accepted_but_wrong"]) for target in entry["targets"]] == [("likely", 1), ("likely", 0)]


def test_wrong_targets_are_one_line(run: Any) -> None:
    for arguments in (["trt5.11"], ["trt5.1", "trt4"], ["a", "b", "c"]):
        result = run("targets", *arguments)
        assert (result.code, result.err.count("\n")) == (2, 1)
