"""Lint reports for people: text (grouped findings), concise (a line each), grouped (rules against targets), statistics."""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxfix.report._groups import DIFFERS, INVALID, Group, accepted_but, fix_of, group, place, wrong_nodes
from onnxfix.results import STDIN_NAME
from onnxfix.rules.finding import Severity, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from onnxfix.report.console import Line, Part
    from onnxfix.results import LintReport, ModelInfo, TargetReport
    from onnxfix.rules.finding import Finding

STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "info": "bold cyan",
    Verdict.BLOCKED: "bold red",
    Verdict.UNKNOWN: "bold yellow",
    Verdict.LIKELY: "bold green",
    Verdict.PARSED: "bold green",
}
_NAME_WIDTH = 40
_VALUES_SHOWN = 3
# More targets than this make a row each, not a column.
WIDE = 8
# Of one node and of several.
_WRONG = {
    DIFFERS: ("is computed differently", "are computed differently"),
    INVALID: ("has no valid dimensions", "have no valid dimensions"),
}


@dataclass(frozen=True, slots=True)
class View:
    """What of a report is shown.

    Attributes:
        minimum: findings below this severity are counted, not shown.
        verbose: show every place and all evidence.
        quiet: leave out hints.
        limit: show at most so many groups for each model and target; None shows all.
        options: the options that a suggested command has to repeat, such as `--shape x:1x3x8x8`.
        hiding: what leaves rules out of the report, such as `ignore`.
        builders: the targets that this machine can build an engine for.
    """

    minimum: Severity = Severity.INFO
    verbose: bool = False
    quiet: bool = False
    limit: int | None = None
    options: tuple[str, ...] = ()
    hiding: str = ""
    builders: frozenset[str] = frozenset()


def count(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def counts(findings: Sequence[Finding]) -> str:
    """`2 errors and 1 warning`; empty where there is neither."""
    numbers = [(level, sum(finding.severity == level for finding in findings)) for level in ("error", "warning")]
    return " and ".join(count(number, level) for level, number in numbers if number)


def hidden_text(findings: Sequence[Finding], view: View) -> str:
    """`2 errors hidden by ignore: OFX101`; empty where nothing is hidden."""
    codes = ", ".join(sorted({finding.code for finding in findings}))
    by = f" by {view.hiding}" if view.hiding else ""
    return f"{counts(findings) or count(len(findings), 'finding')} hidden{by}: {codes}" if findings else ""


def summary(number: int, outcomes: Iterable[str]) -> str:
    """`5 models: 3 repaired, 2 declined`, the most frequent first."""
    return f"{count(number, 'model')}: " + ", ".join(f"{many} {what}" for what, many in Counter(outcomes).most_common())


def lint_summary(reports: Sequence[LintReport], unreadable: int) -> list[str]:
    """A line for each target: how many of several models have which verdict."""
    number = len(reports) + unreadable
    verdicts: dict[str, list[str]] = {}
    for report in reports if number > 1 else ():
        for target in report.targets:
            verdicts.setdefault(target.target, []).append(target.verdict.value)
    bad = ["unreadable"] * unreadable
    return [f"{target}  {summary(number, [*found, *bad])}" for target, found in verdicts.items()]


def _shown(findings: Iterable[Finding], view: View) -> list[Finding]:
    return [finding for finding in findings if finding.severity.rank >= view.minimum.rank]


def _size(model: ModelInfo) -> str:
    parts = [count(model.nodes, "node")]
    if model.subgraphs:
        parts.append(count(model.subgraphs, "subgraph"))
    if model.functions:
        parts.append(count(model.functions, "function"))
    return ", ".join(parts)


def lint_lines(report: LintReport, view: View) -> list[Line]:
    """One block for each target: a header, the findings, the verdict, and what to try."""
    lines: list[Line] = []
    for target in report.targets:
        lines += [*_block(report.model, target, view), ()]
    return lines[:-1]


def _block(model: ModelInfo, report: TargetReport, view: View) -> list[Line]:
    lines: list[Line] = [((model.path, "bold"), "  ", (report.target, "bold"), f" ({report.title})   {_size(model)}"), ()]
    everything = group(report.findings)
    groups = [members for members in everything if members.first.severity.rank >= view.minimum.rank]
    shown = groups if view.limit is None else groups[: view.limit]
    for members in shown:
        lines += finding_lines(members, view)
    if len(shown) < len(groups):
        lines.append((f"… {len(groups) - len(shown)} more not shown (--max-findings)",))
    if shown:
        lines.append(())
    lines.append(_verdict_line(report, everything, view))
    if not view.quiet and model.path != STDIN_NAME and any(members.fix is not None for members in everything):
        command = ["onnxfix", "repair", model.path, "--target", report.target, *view.options, "--diff"]
        lines.append((("Try:", "bold"), f" {shlex.join(command)}"))
    return lines


def finding_lines(members: Group, view: View, *, fix: bool = True) -> list[Line]:
    """A group of findings: what, why, the parser's words, since when it is accepted, where, and the fix."""
    finding = members.first
    others = len(members.findings) - 1
    name = f"{finding.code} {finding.name}"
    gap = " " * max(2, _NAME_WIDTH - len(finding.severity) - 1 - len(name))
    head: Line = (
        (finding.severity.value, STYLES[finding.severity]),
        f" {name}{gap}",
        (place(finding), "bold"),
        f"   ({others} more like it)" if others else "",
    )
    lines: list[Line] = [head, (f"  {finding.message}",)]
    if wrong := accepted_but(finding):
        lines.append((f"  {wrong}",))
    if finding.parser_message and finding.parser_message not in finding.message:
        lines.append((f"  the parser says: {finding.parser_message}",))
    if finding.since and finding.since not in finding.message:
        lines.append((f"  accepted since {finding.since}",))
    lines += [(f"  at {_where(each)}",) for each in (members.findings if view.verbose else members.findings[:1])]
    if view.verbose:
        lines += [(f"  evidence: {evidence.kind}, {evidence.ref}",) for evidence in finding.evidence]
    if fix and members.fix is not None:
        lines.append((f"  fix: {members.fix.title}   [{members.fix.applicability}]",))
    return lines


def _where(finding: Finding) -> str:
    values = finding.values[:_VALUES_SHOWN]
    alone = len(finding.values) == 1
    texts = [str(value) if alone else f"{value.role} {value}".strip() for value in values]
    if len(finding.values) > _VALUES_SHOWN:
        texts.append("…")
    return ", ".join((finding.location.path, *texts))


def _verdict_line(report: TargetReport, everything: Sequence[Group], view: View) -> Line:
    groups = [members for members in everything if members.first.severity is Severity.ERROR]
    parts = []
    if groups:
        found = report.count("error")
        places = f" in {count(found, 'place')}" if found > len(groups) else ""
        parts.append(f"{len(groups)} distinct {'error' if len(groups) == 1 else 'errors'}{places}")
    parts += [count(report.count(level), level) for level in ("warning",) if report.count(level)]
    if infos := report.count("info"):
        parts.append(f"{infos} info")
    if report.hidden:
        parts.append(hidden_text(report.hidden, view))
    line: list[Part] = [("Verdict: ", "bold")]
    wrong = _wrong(report)
    likely = report.verdict in (Verdict.LIKELY, Verdict.PARSED)
    if wrong and likely:
        line.append((f"likely to parse, but {wrong}", STYLES["warning"]))
    else:
        line.append((report.verdict.value, STYLES[report.verdict]))
    line.append(f" ({', '.join(parts)})." if parts else " (nothing known against it).")
    if wrong and not likely:
        line.append(f" Besides, {wrong}.")
    if groups:
        repairable = sum(members.fix is not None for members in groups)
        line.append(f" {repairable} of {count(len(groups), 'error')} may be repairable{_asking(report, groups)}.")
    return tuple(line)


def _wrong(report: TargetReport) -> str:
    """`2 nodes are computed differently`, for each thing that is wrong with nodes that the parser takes."""
    counts = Counter(wrong_nodes(report).values())
    return ", ".join(f"{count(number, 'node')} {_WRONG[what][number > 1]}" for what, number in counts.items())


def _asking(report: TargetReport, errors: Sequence[Group]) -> str:
    """`, of which 1 with --allow OFX701`: the errors at nodes with a fault that is mended only with consent."""
    from onnxfix.rewrites.catalogue import REWRITES, Phase

    needed: dict[str, str] = {}
    for finding in report.findings:
        fix = fix_of(finding)
        if fix is not None and fix.applicability == "consent":
            needed.setdefault(finding.location.path, finding.code)
    waiting = [
        codes
        for members in errors
        if members.fix is not None and REWRITES[members.fix.rewrite].phase is not Phase.INTERFACE
        if (codes := {needed[f.location.path] for f in members.findings if f.location.path in needed})
    ]
    options = " ".join(f"--allow {code}" for code in sorted(set[str]().union(*waiting)))
    return f", of which {len(waiting)} with {options}" if waiting else ""


def concise_lines(report: LintReport, view: View) -> list[Line]:
    """A line for each finding: model, node path, severity, code, name, target, message; `[*]` where a fix is known."""
    lines: list[Line] = []
    for target in report.targets:
        shown = _shown(target.findings, view)
        for finding in shown if view.limit is None else shown[: view.limit]:
            mark = "[*] " if finding.fixes else ""
            where: Part = f"{report.model.path}: {finding.location.path}: "
            severity = (finding.severity.value, STYLES[finding.severity])
            lines.append((where, severity, f" {finding.code} {finding.name} ({target.target}) {mark}{finding.message}"))
    return lines


def _cell(findings: Sequence[Finding]) -> Part:
    if not findings:
        return "ok"
    top = max(findings, key=lambda finding: finding.severity.rank)
    if all(finding.unknown for finding in findings):
        return ("unknown", STYLES[Verdict.UNKNOWN])
    if wrong := accepted_but(top):
        return ("invalid" if wrong == INVALID else "differs", STYLES["warning"])
    return ({"warning": "warn"}.get(top.severity.value, top.severity.value), STYLES[top.severity])


def grouped_lines(report: LintReport, view: View) -> list[Line]:
    """Rules and operators against targets, or, for more than `WIDE` of them, releases against what stops each first.

    Then the verdicts and the oldest release likely to take the model.
    """
    lines: list[Line] = [((report.model.path, "bold"), f"   {_size(report.model)}")]
    lines += (
        table_lines(_by_release(report), right=(2,))
        if len(report.targets) > WIDE
        else table_lines(_by_rule(report, view), right=(2,))
    )
    if len(report.targets) > 1:
        lines.append((oldest_likely_text(report),))
    lines += [(text,) for text in hidden_lines(report, view)]
    return lines


def _by_release(report: LintReport) -> list[list[Part]]:
    """A row for each run of releases that say the same."""
    rows: list[tuple[list[str], list[Part]]] = []
    for target in report.targets:
        errors = [finding for finding in target.findings if finding.severity is Severity.ERROR]
        first = errors[0] if errors else None
        what = f"{first.code} {first.location.op_type} {first.location.path}: {first.message}" if first is not None else ""
        row: list[Part] = [verdict_part(target), str(len(errors) or ""), what]
        if rows and rows[-1][1] == row and rows[-1][0][-1][:3] == target.target[:3]:
            rows[-1][0].append(target.target)
        else:
            rows.append(([target.target], row))
    table: list[list[Part]] = [["releases", "verdict", "errors", "the first of them"]]
    for names, row in rows:
        table.append([names[0] if len(names) == 1 else f"{names[0]}..{names[-1]}", *row])
    return table


def _by_rule(report: LintReport, view: View) -> list[list[Part]]:
    rows: dict[tuple[str, str, str], dict[str, list[Finding]]] = {}
    for target in report.targets:
        for finding in _shown(target.findings, view):
            key = finding.code, finding.name, finding.location.op_type
            rows.setdefault(key, {}).setdefault(target.target, []).append(finding)
    table: list[list[Part]] = [["rule", "operator", "nodes", *(target.target for target in report.targets)]]
    for (code, name, op_type), by_target in sorted(rows.items()):
        places = {finding.location.path for findings in by_target.values() for finding in findings}
        cells = [_cell(by_target.get(target.target, ())) for target in report.targets]
        table.append([f"{code} {name}", op_type, str(len(places)), *cells])
    if view.limit is not None:
        table = table[: view.limit + 1]
    table.append(["verdict", "", "", *(verdict_part(target) for target in report.targets)])
    return table


def hidden_lines(report: LintReport, view: View) -> list[str]:
    """A line for each target with findings that are hidden."""
    return [f"{target.target}: {hidden_text(target.hidden, view)}" for target in report.targets if target.hidden]


def verdict_part(report: TargetReport) -> Part:
    """The verdict in a table; a release that parses the model and computes something else, or nothing, is no good news."""
    wrong = wrong_nodes(report).values()
    if report.verdict in (Verdict.LIKELY, Verdict.PARSED) and wrong:
        return f"{report.verdict.value}, {'invalid' if INVALID in wrong else 'differs'}", STYLES["warning"]
    return report.verdict.value, STYLES[report.verdict]


def oldest_likely(report: LintReport) -> TargetReport | None:
    """The oldest release that is likely to take the model, and of which nothing is known that it computes otherwise."""
    return next((target for target in _likely(report) if not wrong_nodes(target)), None)


def _likely(report: LintReport) -> list[TargetReport]:
    return [target for target in report.targets if target.verdict in (Verdict.LIKELY, Verdict.PARSED)]


def oldest_likely_text(report: LintReport) -> str:
    """A line that names the oldest release likely to take the model, and an older one that parses it but computes it otherwise."""
    likely, oldest = _likely(report), oldest_likely(report)
    if not likely:
        return "no release here is likely to take it"
    but = f"{likely[0].target} is likely to parse it, but {_wrong(likely[0])}"
    if oldest is None:
        return f"no release here is likely to take it as it is: {but}"
    return f"oldest release likely to take it: {oldest.target}" + ("" if oldest is likely[0] else f" ({but})")


def table_lines(rows: Sequence[Sequence[Part]], right: Sequence[int] = ()) -> list[Line]:
    """Rows as columns of equal width; those in `right` are aligned to the right, empty columns are left out."""

    def text(part: Part) -> str:
        return part if isinstance(part, str) else part[0]

    columns = [index for index in range(len(rows[0])) if any(text(row[index]) for row in rows[1:])]
    widths = {index: max(len(text(row[index])) for row in rows) for index in columns}
    lines: list[Line] = []
    for row in rows:
        line: list[Part] = []
        for index in columns:
            padding = " " * (widths[index] - len(text(row[index])))
            if index in right:
                line += [padding, row[index]]
            else:
                line += [row[index], padding]
            line.append("  ")
        while line and not text(line[-1]).strip():
            line.pop()
        lines.append(tuple(line))
    return lines


def statistics(reports: Sequence[LintReport], view: View) -> list[dict[str, str | int | bool]]:
    """How often each rule was hit on each target, most often first."""
    hits: Counter[tuple[str, str, str, bool]] = Counter()
    for report in reports:
        for target in report.targets:
            for finding in _shown(target.findings, view):
                hits[finding.code, finding.name, target.target, bool(finding.fixes)] += 1
    order = sorted(hits.items(), key=lambda item: (-item[1], item[0]))
    return [
        {"rule": code, "name": name, "target": target, "count": number, "fixable": fixable}
        for (code, name, target, fixable), number in order
    ]


def statistics_lines(reports: Sequence[LintReport], view: View) -> list[Line]:
    """`statistics` as a table; `[*]` where a fix is known."""
    rows = [
        [str(item["count"]), f"{item['rule']} {item['name']}", str(item["target"]), "[*]" if item["fixable"] else ""]
        for item in statistics(reports, view)
    ]
    return table_lines([["count", "rule", "target", "fix"], *rows], right=(0,)) if rows else []
