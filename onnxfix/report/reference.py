"""Rules, operators and releases as text: what `explain`, `rules` and `targets` print."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from onnxfix.report._groups import Fix
from onnxfix.report.text import STYLES, count, table_lines
from onnxfix.targets import op_support, recorded_operators, unrecorded_status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from onnxfix.report.console import Line, Part
    from onnxfix.rules.rule import Rule
    from onnxfix.targets import Evidence, Limit, OpSupport, Target

_STATUS_STYLES = {"yes": "green", "no": "bold red", "plugin": "yellow", "unknown": "yellow"}


# Rules ---------------------------------------------------------------------------------------------------------------


def fixes_of(rule: Rule) -> list[Fix]:
    """The rule's rewrites in order of preference."""
    from onnxfix.rewrites.catalogue import describe

    return [Fix(name, *describe(name)) for name in rule.rewrites]


def concerns(rule: Rule, target: Target) -> bool:
    """Whether the rule can find something for the target: a record names it, or an example shows it."""
    from onnxfix.targets import resolve

    if any(target in resolve(example.targets) for example in rule.examples if example.bad):
        return True
    return any(rule.code in rules_of(support) for support in _supports(target).values())


def rules_of(support: OpSupport) -> set[str]:
    """The codes of the rules that a record can give rise to."""
    refused = {"no": {"OFX101"}, "plugin": {"OFX103"}, "yes": set()}[support.status]
    return refused | {limit.rule for limit in support.limits}


def unlisted(target: Target) -> tuple[str, str]:
    """What becomes of the operators of which there is no record: the rule that says so, and a sentence."""
    if target.registered is None:
        return "OFX005", "of every other operator nothing is recorded"
    if target.unregistered == "plugin":
        return "OFX103", "every other operator needs a plugin of that name"
    return "OFX101", "every other operator is refused: the parser has no importer for it"


def rule_lines(rule: Rule, targets: Sequence[Target]) -> list[Line]:
    """The rule's page: its facts, its documentation, its fixes, and what it says of operators on each of the releases."""
    head: Line = (
        (f"{rule.code} {rule.name}", "bold"),
        f"   {rule.family}, ",
        (rule.severity.value, STYLES[rule.severity]),
        f", {rule.status}",
    )
    lines: list[Line] = [head, ()]
    lines += [((text, "bold") if text.startswith("#") else text,) for text in rule.docs.strip().splitlines()]
    lines.append(())
    fixes = fixes_of(rule)
    lines += [(f"fix: {fix.title}   [{fix.applicability}]",) for fix in fixes] or [("fix: none that repair could apply",)]
    said = _said(rule, targets)
    if said:
        lines += [(), ("operators that it concerns:",), *table_lines(said)]
    return lines


def _said(rule: Rule, targets: Sequence[Target]) -> list[list[Part]]:
    rows: list[list[Part]] = []
    for target in targets:
        names = [operator_name(*key) for key, support in _supports(target).items() if rule.code in rules_of(support)]
        if unlisted(target)[0] == rule.code:
            names.append(f"{'and ' if names else ''}every operator that `onnxfix targets {target.id}` does not list")
        if names:
            rows.append([f"  {target.id}", ", ".join(names)])
    # A heading row is what table_lines measures columns by.
    return [["  release", "operators"], *rows] if rows else []


def rule_entry(rule: Rule) -> dict[str, Any]:
    """The rule for programs."""
    return {
        "code": rule.code,
        "name": rule.name,
        "family": rule.family,
        "severity": rule.severity.value,
        "status": rule.status,
        "summary": rule.summary,
        "fixes": [{"rewrite": fix.rewrite, "title": fix.title, "applicability": fix.applicability} for fix in fixes_of(rule)],
        "docs": rule.docs,
    }


def rules_rows(rules: Iterable[Rule]) -> list[list[str]]:
    """A heading, then code, name, family, severity, fixes and summary of each rule."""
    rows = [["code", "name", "family", "severity", "fixes", "what it finds"]]
    for rule in rules:
        levels = dict.fromkeys(fix.applicability for fix in fixes_of(rule))
        rows.append([rule.code, rule.name, rule.family, rule.severity.value, ", ".join(levels) or "-", rule.summary])
    return rows


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """The rows as a Markdown table; the first is its heading."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines) + "\n"


# Operators -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one operator on one release.

    `status` is that of a record, or, without one, `no` or `plugin` where the parser's list of importers lacks the operator,
    else `unknown`. No plugin comes with a parser for operators of ONNX and PyTorch; those of other domains may have one.
    """

    status: str
    limits: tuple[Limit, ...]
    message: str
    since: str
    evidence: Evidence | None


def operator_name(domain: str, op: str) -> str:
    """`Resize`, or `com.microsoft::Gelu` outside ONNX's own domain."""
    return f"{domain}::{op}" if domain else op


def standing(domain: str, op: str, target: Target) -> Standing:
    """What `target` does with the operator, as far as it is recorded."""
    support = op_support(domain, op, target)
    if support is not None:
        message = support.message if support.status != "yes" else ""
        return Standing(support.status, support.limits, message, support.since, support.evidence)
    status = unrecorded_status(domain, op, target)
    if status != "unknown":
        return Standing(status, (), target.unregistered_message.replace("{op}", op), "", target.evidence)
    return Standing("unknown", (), "", "", None)


def limit_text(limit: Limit) -> str:
    """One condition in words, with the rule that says so where it is not met."""
    if limit.opset:
        text = f"opset {limit.opset}"
    elif limit.attribute:
        text = f"{limit.attribute} is {' or '.join(map(str, limit.allowed))}"
    elif limit.input is not None:
        text = f"input {limit.input} {_input_condition(limit)}"
    else:
        text = f"passes the check {limit.check}"
    if limit.when:
        text += "".join(f", where {name} is {' or '.join(map(str, values))}" for name, values in limit.when.items())
    return text


def _input_condition(limit: Limit) -> str:
    if limit.types:
        return f"is {', '.join(sorted(limit.types))}"
    if limit.refused:
        return f"is not {', '.join(sorted(limit.refused))}"
    if limit.rank:
        return f"has rank {limit.rank}"
    if limit.present is not None:
        return "is given" if limit.present else "is absent"
    return "is a constant" if limit.constant or limit.folded else "is no constant"


def operator_lines(domain: str, op: str, targets: Sequence[Target]) -> list[Line]:
    """The operator's support over the releases; neighbours for which the same is recorded share an entry."""
    lines: list[Line] = [((operator_name(domain, op), "bold"),)]
    for known, members in groupby(targets, key=lambda target: standing(domain, op, target)):
        names = [target.id for target in members]
        text = {
            "yes": "parsed, within these limits:" if known.limits else "parsed",
            "no": "not parsed",
            "plugin": "only with a plugin of that name",
            "unknown": "unknown: nothing is recorded",
        }[known.status]
        since = f"; accepted since {known.since}" if known.since else ""
        lines += [(), ((", ".join(names), "bold"), "  ", (text, _STATUS_STYLES[known.status]), since)]
        if known.message:
            lines.append((f"  the parser says: {known.message}",))
        for limit in known.limits:
            lines.append((f"  {limit.rule} {limit_text(limit)}{f'; {limit.why}' if limit.why else ''}",))
            if limit.message:
                lines.append((f"         else: {limit.message}",))
            if limit.since:
                lines.append((f"         no such limit since {limit.since}",))
        if known.evidence is not None:
            lines.append((f"  evidence: {known.evidence.kind}, {known.evidence.ref}",))
    return lines


def operator_entry(domain: str, op: str, targets: Sequence[Target]) -> dict[str, Any]:
    """The operator's support for programs."""
    support = []
    for target in targets:
        known = standing(domain, op, target)
        limits = [
            {
                "rule": limit.rule,
                "condition": limit_text(limit),
                "message": limit.message,
                "why": limit.why,
                "since": limit.since,
            }
            for limit in known.limits
        ]
        support.append(
            {
                "target": target.id,
                "status": known.status,
                "message": known.message,
                "since": known.since,
                "limits": limits,
                "evidence": {"kind": known.evidence.kind, "ref": known.evidence.ref} if known.evidence else None,
            }
        )
    return {"op": op, "domain": domain, "support": support}


# Releases ------------------------------------------------------------------------------------------------------------


def _supports(target: Target) -> dict[tuple[str, str], OpSupport]:
    found = {key: op_support(*key, target) for key in recorded_operators()}
    return {key: support for key, support in found.items() if support is not None}


def facts(target: Target) -> dict[str, Any]:
    """What concerns a whole model, for people and programs."""
    return {
        "id": target.id,
        "title": target.title,
        "aliases": list(target.aliases),
        "released": target.released,
        "cuda": list(target.cuda),
        "gpus": list(target.gpus),
        "parser": target.parser,
        "batch": target.batch,
        "max_opset": target.max_opset,
        "dynamic_inputs": target.dynamic_inputs,
        "lists_initializers": target.lists_initializers,
        "int64": target.int64,
        "input_types": sorted(target.input_types),
        "output_types": sorted(target.output_types),
        "weight_types": sorted(target.weight_types) or "all",
        "unregistered": target.unregistered,
        "notes": list(target.notes),
        "evidence": {"kind": target.evidence.kind, "ref": target.evidence.ref},
        "library_evidence": _evidence_entry(target.library_evidence),
    }


def _evidence_entry(evidence: Evidence | None) -> dict[str, str]:
    return {} if evidence is None else {"kind": evidence.kind, "ref": evidence.ref}


def _fact_text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(value.values())
    return ", ".join(value) if isinstance(value, list) else str(value)


def targets_rows(targets: Iterable[Target]) -> list[list[str]]:
    """A heading, then each release."""
    rows = [["release", "released", "opset", "batch", "operators recorded", "also called", "title"]]
    for target in targets:
        supports = _supports(target).values()
        parsed = sum(support.status == "yes" for support in supports)
        recorded = f"{parsed} of {len(supports)} parsed"
        aliases = ", ".join(target.aliases)
        rows.append(
            [
                target.id,
                target.released,
                f"≤ {target.max_opset}" if target.max_opset else "?",
                target.batch,
                recorded,
                aliases,
                target.title,
            ]
        )
    return rows


def target_entry(target: Target) -> dict[str, Any]:
    """One release with its operators by status."""
    return {**facts(target), "operators": operators_by_status(target)}


def operators_by_status(target: Target) -> dict[str, list[str]]:
    """The recorded operators: those taken whole, within limits, with a plugin, and not."""
    by_status: dict[str, list[str]] = {"parsed": [], "within limits": [], "plugin": [], "not parsed": [], "unknown": []}
    words = {"no": "not parsed", "plugin": "plugin"}
    for key, support in _supports(target).items():
        word = words.get(support.status, "within limits" if support.limits else "parsed")
        by_status[word].append(operator_name(*key))
    by_status["unknown"] = sorted((target.registered or frozenset()) - {op for domain, op in _supports(target) if not domain})
    return by_status


def target_lines(target: Target) -> list[Line]:
    """One release: its facts and its operators."""
    rows: list[list[Part]] = [["fact", "value"]]
    rows += [
        [(key.replace("_", " "), "bold"), _fact_text(value)] for key, value in facts(target).items() if value not in ("", [], {})
    ]
    lines = table_lines(rows)[1:]
    for word, names in operators_by_status(target).items():
        if names:
            lines += [(), ((f"{word} ({count(len(names), 'operator')})", "bold"),), (f"  {', '.join(names)}",)]
    code, others = unlisted(target)
    return [*lines, (), (f"{others} ({code})",)]


def changes(old: Target, new: Target) -> dict[str, Any]:
    """What differs between two releases: facts as [old, new], operators by what became of them."""
    before, after = facts(old), facts(new)
    skipped = ("id", "title", "aliases", "released", "parser", "notes", "evidence", "library_evidence")
    differing = {key: [before[key], after[key]] for key in before if key not in skipped and before[key] != after[key]}
    operators: dict[str, list[dict[str, Any]]] = {"gained": [], "lost": [], "limits": [], "unknown": []}
    for key in recorded_operators():
        first, second = standing(*key, old), standing(*key, new)
        name = operator_name(*key)
        if "unknown" in (first.status, second.status):
            if first.status != second.status:
                operators["unknown"].append({"op": name, "known": old.id if second.status == "unknown" else new.id})
        elif (first.status == "yes") != (second.status == "yes"):
            operators["gained" if second.status == "yes" else "lost"].append({"op": name})
        elif first.status == "yes":
            left, right = ([limit_text(limit) for limit in known.limits] for known in (first, second))
            if left != right:
                gone = [text for text in left if text not in right]
                added = [text for text in right if text not in left]
                operators["limits"].append({"op": name, "removed": gone, "added": added})
    return {"from": old.id, "to": new.id, "facts": differing, "operators": operators}


def changes_lines(old: Target, new: Target) -> list[Line]:
    """What differs between two releases."""
    found = changes(old, new)
    lines: list[Line] = [((f"{old.id} -> {new.id}", "bold"),)]
    for key, (left, right) in found["facts"].items():
        lines.append((f"  {key.replace('_', ' ')}: {_fact_text(left)} -> {_fact_text(right)}",))
    operators = found["operators"]
    for word, title in (("gained", "parsed now"), ("lost", "no longer parsed")):
        if operators[word]:
            names = [item["op"] for item in operators[word]]
            lines += [((f"{title} ({count(len(names), 'operator')})", "bold"),), (f"  {', '.join(names)}",)]
    if operators["limits"]:
        lines.append(((f"other limits ({count(len(operators['limits']), 'operator')})", "bold"),))
        same: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
        for item in operators["limits"]:
            same.setdefault((tuple(item["removed"]), tuple(item["added"])), []).append(item["op"])
        for (removed, added), names in same.items():
            lines.append((f"  {', '.join(names)}",))
            lines += [(("    - ", "red"), text) for text in removed]
            lines += [(("    + ", "green"), text) for text in added]
    if operators["unknown"]:
        lines.append((("recorded for one of the two only", "bold"),))
        for name in (old.id, new.id):
            known = [item["op"] for item in operators["unknown"] if item["known"] == name]
            if known:
                lines.append((f"  {name}: {', '.join(known)}",))
    return lines
