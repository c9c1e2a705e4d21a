"""The collection holds together: documentation, codes, checks, rewrites and records that name each other exist."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from onnxfix.checks import find_check
from onnxfix.checks._registry import _CHECKS
from onnxfix.rewrites.catalogue import REWRITES
from onnxfix.rules.rule import FAMILIES, all_rules, rule_codes
from onnxfix.targets import Limit, OpSupport, all_targets, builds, op_support, recorded_operators
from onnxfix.targets._files import rules_dir

ROOT = Path(__file__).parents[2]
MODELS = (ROOT / "fixtures" / "seedmodels", ROOT.parent / "shared" / "seedmodels" / "models")
HEADINGS = ("What it does", "Why it matters", "Fix safety", "References")
RULES = all_rules()
# The one rewrite without a module of its name: it is a part of the opset move.
ELSEWHERE = {"resize_to_upsample": "onnxfix.rewrites.lowering.resize"}
TYPES = set(onnx.TensorProto.DataType.keys())


def records() -> Iterator[tuple[str, OpSupport]]:
    for domain, op in recorded_operators():
        for target in all_targets():
            record = op_support(domain, op, target)
            if record is not None:
                yield f"{op} for {target.id}", record


def limits() -> Iterator[tuple[str, Limit]]:
    for where, record in records():
        for number, limit in enumerate(record.limits, 1):
            yield f"{where}, limit {number}", limit


class TestRules:
    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
    def test_every_rule_has_the_four_headings_in_order_and_something_under_each(self, rule: object) -> None:
        docs = rule.docs  # type: ignore[attr-defined]
        assert tuple(re.findall(r"^## (.*)$", docs, re.MULTILINE)) == HEADINGS
        assert all(part.strip() for part in re.split(r"^## .*$", docs, flags=re.MULTILINE)[1:])

    def test_every_summary_is_one_short_sentence(self) -> None:
        for rule in RULES:
            assert rule.summary.endswith("."), rule.code
            assert len(rule.summary) <= 140, (rule.code, len(rule.summary))

    def test_names_are_unique_and_name_the_pattern(self) -> None:
        names = [rule.name for rule in RULES]
        assert len(set(names)) == len(names)
        for name in names:
            assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), name
            assert not name.startswith(("no-", "disallow-", "avoid-", "use-")), name

    def test_the_users_family_is_left_to_users(self) -> None:
        assert FAMILIES["9"] == "user"
        assert not any(code.startswith("OFX9") for code in rule_codes())

    def test_only_advice_has_a_check_and_operators(self) -> None:
        for rule in RULES:
            assert bool(rule.check) == bool(rule.ops), rule.code
            assert rule.family == "advice" or not rule.check, rule.code
            if rule.check:
                find_check(rule.check)

    def test_every_rule_is_found_by_something(self) -> None:
        """A rule that neither a record names nor the engine makes would never be found."""
        named = {limit.rule for _, limit in limits()} | {rule.code for rule in RULES if rule.check}
        engine = "".join((ROOT / "onnxfix" / file).read_text() for file in ("rules/engine.py", "asking.py"))
        made = set(re.findall(r'"(OFX\d{3})"', engine))
        assert set(rule_codes()) == named | made | {builds.RULE}


class TestRewrites:
    def test_every_rewrite_that_a_rule_names_is_in_the_catalogue_and_every_other_way_round(self) -> None:
        assert {name for rule in RULES for name in rule.rewrites} == set(REWRITES)

    @pytest.mark.parametrize("name", sorted(REWRITES))
    def test_every_rewrite_has_its_module(self, name: str) -> None:
        module = importlib.import_module(ELSEWHERE.get(name, f"onnxfix.rewrites.{name}"))
        assert REWRITES[name].whole_model or hasattr(module, "rewrite")


class TestRecords:
    def test_every_record_file_can_be_read_and_holds_what_its_name_says(self) -> None:
        for domain, op in recorded_operators():
            found = [op_support(domain, op, target) for target in all_targets()]
            assert any(found), (domain, op)
            assert all(record is None or (record.op, record.domain) == (op, domain) for record in found)

    def test_every_operator_is_one_that_exporters_write(self) -> None:
        known = {schema.name for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain}
        # importers also know operators that ONNX never had or dropped, and old exporters wrote experimental ones
        known |= {op for target in all_targets() for op in target.registered or ()}
        known |= {"ATen", "AliasWithName", "Affine", "ConstantFill", "Crop", "DynamicSlice", "GRUUnit", "GivenTensorFill", "Scale"}
        known |= {"GroupNorm"}  # a plugin of a demo
        domains = {schema.domain for schema in onnx.defs.get_all_schemas()} | {"com.microsoft", "mmdeploy", "org.pytorch.aten"}
        for domain, op in recorded_operators():
            assert op in known if not domain else domain in domains, (domain, op)

    def test_every_limit_names_a_rule(self) -> None:
        for where, limit in limits():
            assert limit.rule in rule_codes(), where

    def test_every_check_that_a_limit_names_exists_and_every_check_is_named(self) -> None:
        used = {limit.check for _, limit in limits() if limit.check}
        used |= {entry.limit.check for entries in builds._limits().values() for entry in entries if entry.limit.check}
        for name in used:
            find_check(name)
        assert set(_CHECKS) == used | {rule.check for rule in RULES if rule.check}

    def test_element_types_spans_and_attributes_are_real(self) -> None:
        for where, limit in limits():
            assert limit.types <= TYPES, where
            for span in (limit.opset, limit.rank):
                assert re.fullmatch(r"|\d+|\d+\.\.\d+|\.\.\d+|\d+\.\.", span), where
        for domain, op in recorded_operators():
            attributes = {
                name
                for schema in onnx.defs.get_all_schemas_with_history()
                if schema.name == op and schema.domain == domain
                for name in schema.attributes
            }
            for target in all_targets():
                record = op_support(domain, op, target)
                for limit in record.limits if record is not None and not domain else ():
                    assert not limit.attribute or limit.attribute in attributes, (op, limit.attribute)
                    assert set(limit.when) <= attributes, (op, limit.when)

    def test_every_refusal_has_the_parsers_words_and_every_record_its_source(self) -> None:
        for where, record in records():
            assert record.evidence.ref.strip(), where
            assert record.status == "yes" or record.message, where
            assert record.status == "yes" or not record.limits, where

    def test_targets_name_element_types_that_exist(self) -> None:
        for target in all_targets():
            assert target.input_types | target.output_types | target.weight_types <= TYPES, target.id


def operators(folder: Path) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()

    def collect(graph: onnx.GraphProto) -> None:
        for node in graph.node:
            found.add(("" if node.domain == "ai.onnx" else node.domain, node.op_type))
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    collect(attribute.g)

    for path in sorted(folder.glob("*.onnx")):
        collect(onnx.load(path, load_external_data=False).graph)
    return found


@pytest.mark.parametrize("folder", MODELS, ids=["fixtures", "shared"])
def test_every_operator_of_the_seed_models_is_recorded_for_every_target(folder: Path) -> None:
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here; the models in fixtures/ are tested")
    wanted = operators(folder)
    assert len(wanted) > 10
    missing = {target.id: sorted(op for domain, op in wanted if op_support(domain, op, target) is None) for target in all_targets()}
    assert not any(missing.values()), missing


def test_the_rules_are_read_from_the_checkout() -> None:
    assert rules_dir() == ROOT / "rules"
