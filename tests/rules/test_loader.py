"""Rule files, operator records and targets are read strictly: every mistake names file, place and key."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onnxfix.errors import UsageError
from onnxfix.rules import rule as rule_module
from onnxfix.targets import _files, support, target
from onnxfix.targets._files import rules_dir

REAL = rules_dir()
RULE = '''code = "OFX901"
name = "house-rule"
family = "user"
status = "preview"
severity = "warning"
docs = """
## What it does
Flags nothing. It is an example.
"""

[[example]]
targets = ["trt5.1"]
clean = "g"
'''
RECORD = """op = "Relu"

[[support]]
targets = ["trt5.1"]
status = "yes"
limits = [{ rule = "OFX301", input = 0, rank = "3" }]
evidence = { kind = "importer", ref = "somewhere" }
"""


def _forget() -> None:
    for function in (
        rule_module._rule_files,
        rule_module.load_rule,
        rule_module.advice_rules,
        support._records,
        target.all_targets,
        target._by_name,
    ):
        function.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the targets with no rules and no records; the loaders read it in place of the real folder."""
    shutil.copy(REAL / "targets.toml", tmp_path)
    (tmp_path / "ops").mkdir()
    for module in (_files, rule_module, support, target):
        monkeypatch.setattr(module, "rules_dir", lambda: tmp_path)
    _forget()
    yield tmp_path
    _forget()


def complaint(action: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        action()
    text = str(caught.value)
    assert "\n" not in text
    return text


def read_rule(folder: Path, text: str, name: str = "OFX901-house-rule.toml") -> rule_module.Rule:
    (folder / name).write_text(text)
    return rule_module.load_rule(name[:6])


def read_record(folder: Path, text: str, op: str = "Relu") -> object:
    (folder / "ops" / f"{op}.toml").write_text(text)
    return support.op_support("", op, target.find_target("trt5.1"))


class TestRules:
    def test_the_example_of_this_test_is_right(self, folder: Path) -> None:
        rule = read_rule(folder, RULE)
        assert (rule.code, rule.rewrites, rule.summary) == ("OFX901", (), "Flags nothing.")

    @pytest.mark.parametrize(
        ("old", "new", "wanted"),
        [
            ('status = "preview"', 'status = "preview"\nseverty = "info"', "unknown key 'severty'; did you mean 'severity'?"),
            ('clean = "g"', 'clean = "g"\nfind = ["n"]', "example 1: unknown key 'find'; did you mean 'finds'?"),
            ("[[example]]", '[fix]\nrewrite = ["x"]\n[[example]]', "fix: unknown key 'rewrite'; did you mean 'rewrites'?"),
            ("[[example]]", '[match]\nop = ["x"]\n[[example]]', "match: unknown key 'op'; did you mean 'ops'?"),
            ('name = "house-rule"\n', "", "key 'name' is missing"),
            ('name = "house-rule"', "name = 3", "key 'name' must be str, not int"),
            ('targets = ["trt5.1"]', "targets = [5.1]", "example 1: key 'targets' must be a list of strings"),
            ('targets = ["trt5.1"]', 'targets = "trt5.1"', "example 1: key 'targets' must be list, not str"),
            (
                'status = "preview"',
                'status = "stabel"',
                "status = 'stabel' is none of preview, stable, deprecated; did you mean 'stable'?",
            ),
            ('severity = "warning"', 'severity = "fatal"', "severity = 'fatal' is none of error, warning, info"),
            ('family = "user"', 'family = "operator"', "code OFX901 belongs to family 'user', not 'operator'"),
            ('name = "house-rule"', 'name = "other"', "the file name must be OFX901-other.toml"),
            ('clean = "g"', "", "example 1: an example has either `bad` or `clean`"),
            ('clean = "g"', 'clean = "g"\nbad = "g"\nfinds = ["n"]', "example 1: an example has either `bad` or `clean`"),
            ('clean = "g"', 'bad = "g"', "example 1: a bad example says in `finds`"),
            ('status = "preview"', "status = ", "(at line 4, column 10)"),
        ],
    )
    def test_a_mistake_names_file_and_key(self, folder: Path, old: str, new: str, wanted: str) -> None:
        message = complaint(lambda: read_rule(folder, RULE.replace(old, new)))
        assert message.startswith(str(folder / "OFX901-house-rule.toml"))
        assert wanted in message

    def test_bytes_that_are_no_text_are_named(self, folder: Path) -> None:
        (folder / "OFX901-house-rule.toml").write_bytes(b'code = "\xff"')
        assert "OFX901-house-rule.toml" in complaint(lambda: rule_module.load_rule("OFX901"))

    def test_an_unknown_code_suggests_a_known_one(self, folder: Path) -> None:
        read_rule(folder, RULE)
        assert complaint(lambda: rule_module.load_rule("OFX910")) == "unknown rule 'OFX910'; did you mean 'OFX901'?"

    def test_rules_are_found_by_code_and_by_name_whatever_the_case(self, folder: Path) -> None:
        rule = read_rule(folder, RULE)
        assert rule_module.find_rule("ofx901") is rule
        assert rule_module.find_rule(" House-Rule ") is rule
        assert rule_module.find_rule("house") is None


class TestRecords:
    def test_the_example_of_this_test_is_right(self, folder: Path) -> None:
        record = read_record(folder, RECORD)
        assert isinstance(record, support.OpSupport)
        assert [limit.rank for limit in record.limits] == ["3"]

    def test_a_limit_of_many_releases(self, folder: Path) -> None:
        """It comes before those of the record, with evidence of its own, and needs a record that takes the operator."""
        shared = """
[[limit]]
targets = ["trt5.1"]
rule = "OFX201"
input = 0
refused = ["UINT8"]
evidence = { kind = "parser", ref = "asked" }
"""
        found = read_record(folder, RECORD + shared)
        assert isinstance(found, support.OpSupport)
        assert [(limit.rule, limit.evidence and limit.evidence.ref) for limit in found.limits] == [
            ("OFX201", "asked"),
            ("OFX301", None),
        ]

    @pytest.mark.parametrize("name", ["trt6.0", "trt5.0"])
    def test_a_limit_of_a_release_without_a_record(self, folder: Path, name: str) -> None:
        shared = f'[[limit]]\ntargets = ["{name}"]\nrule = "OFX201"\ninput = 0\nrefused = ["UINT8"]\n'
        shared += 'evidence = { kind = "parser", ref = "asked" }\n'
        message = complaint(lambda: read_record(folder, RECORD + shared))
        assert f"limit 1: {name} has no record that takes the operator" in message

    @pytest.mark.parametrize(
        ("old", "new", "wanted"),
        [
            ("evidence", "evidense", "support 1: key 'evidence' is missing"),
            ('ref = "somewhere"', 'ref = "x", page = 3', "support 1.evidence: unknown key 'page'"),
            ('kind = "importer"', 'kind = "rumour"', "support 1.evidence: kind = 'rumour' is none of parser, builder, importer"),
            ('status = "yes"', 'status = "maybe"', "support 1: status = 'maybe' is none of yes, no, plugin"),
            ('status = "yes"', 'status = "yes"\nlimit = []', "support 1: unknown key 'limit'; did you mean 'limits'?"),
            ('targets = ["trt5.1"]', 'targets = ["trt51"]', "unknown target 'trt51'"),
            ('rank = "3"', 'ranks = "3"', "support 1, limit 1: unknown key 'ranks'; did you mean 'rank'?"),
            (
                ', rank = "3"',
                "",
                "limit 1: a limit on an input has exactly one of constant, folded, tensor, present, types, refused, rank",
            ),
            (', rank = "3"', ', rank = "3", constant = true', "support 1, limit 1: a limit on an input has exactly one of"),
            (
                'input = 0, rank = "3"',
                'why = "so"',
                "support 1, limit 1: a limit has exactly one of opset, attribute, input, check",
            ),
            ("input = 0,", 'input = 0, check = "x.y",', "support 1, limit 1: a limit has exactly one of"),
            ('input = 0, rank = "3"', 'attribute = "mode"', "support 1, limit 1: a limit on attribute 'mode' needs `allowed`"),
            ("input = 0", "input = true", "support 1, limit 1: key 'input' must be int, not bool"),
            ("input = 0", 'input = "X"', "support 1, limit 1: key 'input' must be int, not str"),
            ('rule = "OFX301", ', "", "support 1, limit 1: key 'rule' is missing"),
            ('op = "Relu"', 'op = "Relu"\nsince = "trt6.0"', "unknown key 'since'"),
        ],
    )
    def test_a_mistake_names_file_place_and_key(self, folder: Path, old: str, new: str, wanted: str) -> None:
        message = complaint(lambda: read_record(folder, RECORD.replace(old, new)))
        assert wanted in message
        if "unknown target" not in wanted:
            assert message.startswith(str(folder / "ops" / "Relu.toml"))

    def test_two_records_for_one_target_are_refused(self, folder: Path) -> None:
        twice = RECORD + RECORD.partition("\n\n")[2].replace('"trt5.1"', '"..trt7.1"')
        assert "support 2: trt5.1 already has a record" in complaint(lambda: read_record(folder, twice))

    def test_a_record_under_another_name_is_refused(self, folder: Path) -> None:
        assert "describes another operator" in complaint(lambda: read_record(folder, RECORD, op="Elu"))

    def test_a_record_without_support_is_refused(self, folder: Path) -> None:
        assert "Relu.toml" in complaint(lambda: read_record(folder, 'op = "Relu"\nsupport = []\n'))

    def test_an_operator_without_a_file_is_not_recorded(self, folder: Path) -> None:
        assert support.op_support("", "Relu", target.find_target("trt5.1")) is None

    @pytest.mark.parametrize(("domain", "op"), [("", "../targets"), ("../ops", "Relu"), ("", "")])
    def test_names_from_a_model_never_leave_the_folder(self, folder: Path, domain: str, op: str) -> None:
        read_record(folder, RECORD)
        assert support.op_support(domain, op, target.find_target("trt5.1")) is None


class TestTargets:
    @pytest.mark.parametrize(
        ("old", "new", "wanted"),
        [
            ('batch = "implicit"', 'batch = "none"', "target 1 (trt5.0): batch = 'none' is none of implicit, explicit"),
            ('id = "trt5.0"', 'id = "5.1"', "target 1: id '5.1' must look like trt8.6 or rtx1.7"),
            ('id = "trt7.1"', 'id = "trt5.1"', "the name 'trt5.1' stands for two targets"),
            ("dynamic_inputs = false", 'dynamic_inputs = "no"', "target 1 (trt5.0): key 'dynamic_inputs' must be bool, not str"),
            (
                "dynamic_inputs = false",
                "dynamic_inputs = false\ndynamic_input = true",
                "target 1 (trt5.0): unknown key 'dynamic_input'; did you mean 'dynamic_inputs'?",
            ),
        ],
    )
    def test_a_mistake_names_file_target_and_key(self, folder: Path, old: str, new: str, wanted: str) -> None:
        path = folder / "targets.toml"
        path.write_text(path.read_text().replace(old, new, 1))
        message = complaint(target.all_targets)
        assert message.startswith(str(path))
        assert wanted in message
