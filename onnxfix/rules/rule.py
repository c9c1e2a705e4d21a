"""Rules as data: `rules/OFX<code>-<name>.toml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from onnxfix.errors import UsageError
from onnxfix.rules.finding import Severity
from onnxfix.targets._files import Table, read_toml, rules_dir, suggest

FAMILIES = {
    "0": "file",
    "1": "operator",
    "2": "dtype",
    "3": "shape",
    "4": "attribute",
    "5": "control flow",
    "6": "quantization",
    "7": "advice",
    "8": "computed differently",
    "9": "user",
}


@dataclass(frozen=True, slots=True)
class Example:
    """A model in ONNX text: `bad` with the labels of the nodes that are found, or `clean`; `good` is what repair gives.

    `invalid` says that onnx's checker refuses the bad model, which is the point of some rules.
    """

    targets: tuple[str, ...]
    bad: str = ""
    finds: tuple[str, ...] = ()
    good: str = ""
    clean: str = ""
    allow: tuple[str, ...] = ()
    invalid: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        docs: Markdown with fixed headings.
        rewrites: its fixes in order of preference.
        ops: operators that `check` looks at, for rules that do not depend on a target's records (advice).
        check: the predicate of `onnxfix.checks` that finds it there; empty for rules that operator records name.
    """

    code: str
    name: str
    family: str
    status: str
    severity: Severity
    docs: str
    rewrites: tuple[str, ...]
    examples: tuple[Example, ...]
    ops: frozenset[str] = frozenset()
    check: str = ""

    @property
    def summary(self) -> str:
        """The first sentence under *What it does*."""
        text = re.sub(r"^#+ .*$", "", self.docs, flags=re.MULTILINE).strip()
        paragraph = " ".join(text.split("\n\n")[0].split())
        return re.split(r"(?<=\.)\s", paragraph)[0]


def _read_example(data: object, where: str) -> Example:
    table = Table(data, where)
    example = Example(
        targets=table.strings("targets"),
        bad=table.take("bad", str, ""),
        finds=table.strings("finds", []),
        good=table.take("good", str, ""),
        clean=table.take("clean", str, ""),
        allow=table.strings("allow", []),
        invalid=table.take("invalid", bool, False),
    )
    table.done()
    if bool(example.bad) == bool(example.clean):
        raise UsageError(f"{where}: an example has either `bad` or `clean`")
    if bool(example.bad) != bool(example.finds):
        raise UsageError(f"{where}: a bad example says in `finds` which nodes are found, a clean one does not")
    return example


@cache
def _rule_files() -> dict[str, str]:
    return {path.stem[:6]: str(path) for path in sorted(rules_dir().glob("OFX[0-9][0-9][0-9]-*.toml"))}


@cache
def load_rule(code: str) -> Rule:
    """The rule with that code.

    Raises:
        UsageError: no such rule, or its file is wrong; the message names file and key.
    """
    path = _rule_files().get(code)
    if path is None:
        raise UsageError(f"unknown rule {code!r}{suggest(code, _rule_files())}")
    where = rules_dir() / path
    table = Table(read_toml(where), path)
    fix = Table(table.take("fix", dict, {}), f"{path}: fix")
    match = Table(table.take("match", dict, {}), f"{path}: match")
    rule = Rule(
        code=table.take("code", str),
        name=table.take("name", str),
        family=table.one_of("family", tuple(FAMILIES.values())),
        status=table.one_of("status", ("preview", "stable", "deprecated")),
        severity=Severity(table.one_of("severity", tuple(Severity))),
        docs=table.take("docs", str),
        rewrites=fix.strings("rewrites", []),
        examples=tuple(
            _read_example(item, f"{path}: example {number}") for number, item in enumerate(table.take("example", list, []), 1)
        ),
        ops=frozenset(match.strings("ops", [])),
        check=match.take("check", str, ""),
    )
    fix.done()
    match.done()
    table.done()
    if where.stem != f"{rule.code}-{rule.name}":
        raise UsageError(f"{path}: the file name must be {rule.code}-{rule.name}.toml")
    if FAMILIES.get(rule.code[3]) != rule.family:
        raise UsageError(f"{path}: code {rule.code} belongs to family {FAMILIES.get(rule.code[3])!r}, not {rule.family!r}")
    return rule


def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    return tuple(load_rule(code) for code in sorted(_rule_files()))


@cache
def advice_rules() -> tuple[Rule, ...]:
    """The rules that look at nodes themselves, whatever the target (7xx)."""
    rules = (load_rule(code) for code in sorted(_rule_files()) if code.startswith("OFX7"))
    return tuple(rule for rule in rules if rule.check)


def rule_codes() -> tuple[str, ...]:
    """The codes of all rules, read from file names alone."""
    return tuple(sorted(_rule_files()))


def find_rule(text: str) -> Rule | None:
    """The rule with that code or name, whatever the case."""
    wanted = text.strip().lower()
    for code, path in _rule_files().items():
        name = path.rsplit("/", 1)[-1].removesuffix(".toml")[7:]
        if wanted in (code.lower(), name):
            return load_rule(code)
    return None
