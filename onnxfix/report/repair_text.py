"""Repair reports for people: pass by pass what was done, the proof, what is left, what to do next."""

from __future__ import annotations

import shlex
from collections import defaultdict
from typing import TYPE_CHECKING

from onnxfix.report._groups import group
from onnxfix.report.text import View, count, finding_lines, hidden_text, verdict_part
from onnxfix.rules.finding import Severity
from onnxfix.targets import find_target, recorded_operators
from onnxfix.targets.trtexec import trtexec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.report.console import Line, Part
    from onnxfix.results import AppliedFix, DeclinedFix, Fidelity, RepairReport
    from onnxfix.rules.finding import Finding
    from onnxfix.verify.compare import OutputProof
    from onnxfix.verify.prove import Proof

_INDENT = " " * 10
_LEVELS = ("exact", "equivalent", "approximate")
_OUTPUTS_SHOWN = 8
_STATUS_STYLES = {
    "clean": "bold green",
    "repaired": "bold green",
    "partial": "bold yellow",
    "declined": "bold red",
    "unproven": "bold red",
}


def repair_lines(report: RepairReport, view: View, *, outcome: str, diff_to: str = "") -> list[Line]:
    """The report of one model.

    Args:
        report: what the repair did.
        view: how much is shown.
        outcome: where the result was written, or why it was not.
        diff_to: show the differences as well, between the model and a file of this name.
    """
    targets = ", ".join(target.target for target in report.before)
    lines: list[Line] = [((report.model.path, "bold"), "  ", (targets, "bold"), f"   {count(report.model.nodes, 'node')}")]
    if report.status != "clean":
        lines += _passes(report, view)
        lines += _declined(report.declined, view)
        if diff_to:
            lines += _diff(report, diff_to)
        lines += _proof(report, view)
        lines.append(
            (
                "findings  ",
                f"{report.resolved} resolved, {_left(report, view)}, {report.introduced} introduced",
            )
        )
        if report.fidelity is not None:
            lines.append((_fidelity(report.fidelity),))
    else:
        lines += _declined([item for item in report.declined if item.consent], view)
    lines += [(f"note: {note}",) for note in report.notes]
    if report.remaining and report.status != "clean":
        lines += _remaining(report, view)
    what = "nothing to repair" if report.status == "clean" else report.status
    reason = report.reason
    if report.status == "clean":
        left = f"{count(report.warnings, 'warning')} left" if report.warnings else ""
        reason = ", ".join(text for text in (left, hidden_text(_hidden(report), view)) if text)
    elif not reason and report.status in ("declined", "partial"):
        reason = f"{count(report.remaining, 'error')} left"
    lines.append(((what, _STATUS_STYLES[report.status]), f"{f': {reason}' if reason else ''}; {outcome}"))
    lines += _detail(report.detail, view)
    if not view.quiet:
        steps = _next(report, view)
        lines += [(("or:  " if number else "Next:", "bold"), f" {text}") for number, text in enumerate(steps)]
    return lines


def _hidden(report: RepairReport) -> list[Finding]:
    return [finding for target in report.after for finding in target.hidden]


def _left(report: RepairReport, view: View) -> str:
    hidden = hidden_text(_hidden(report), view)
    warnings = f" and {count(report.warnings, 'warning')}" if report.warnings else ""
    return f"{count(report.remaining, 'error')}{warnings} remaining{f' ({hidden})' if hidden else ''}"


def _passes(report: RepairReport, view: View) -> list[Line]:
    lines: list[Line] = []
    by_pass: dict[int, dict[tuple[object, ...], list[AppliedFix]]] = defaultdict(dict)
    for fix in report.applied:
        # Without --verbose, fixes that do the same to several nodes are one line.
        same = (fix.rule, fix.rewrite, fix.title, fix.applicability, fix.op_type, fix.removed, fix.added)
        by_pass[fix.pass_number].setdefault((*same, fix.path) if view.verbose else same, []).append(fix)
    for number in sorted(by_pass):
        label = f"pass {number}"
        for fixes in by_pass[number].values():
            lines += _applied(fixes[0], len(fixes) - 1, label)
            label = ""
    last = max(by_pass, default=0)
    if report.passes > last:
        text = "nothing more that may be done" if report.remaining else "nothing left to do"
        lines.append((f"{f'pass {last + 1}':<{len(_INDENT)}}{text}",))
    return lines


def _applied(fix: AppliedFix, others: int, label: str) -> list[Line]:
    before, after = ", ".join(fix.removed) or fix.op_type, ", ".join(fix.added)
    if not before:
        what = "the whole graph"
    elif before == after:
        what = f"{fix.path} {before} changed"
    else:
        what = f"{fix.path} {before}" + (f" -> {after}" if after else " removed" if fix.removed else "")
    more = f"   ({others} more like it)" if others else ""
    consent = f", allowed by --allow {fix.consent}" if fix.consent else ""
    return [
        (f"{label:<{len(_INDENT)}}", (fix.rule, "bold"), f" {fix.applicability}  {what}{more}"),
        (f"{_INDENT}{fix.title}{consent}",),
    ]


def _declined(declined: Sequence[DeclinedFix], view: View) -> list[Line]:
    # Rewrites that decline one node for one reason are one entry, and so are nodes that are declined alike.
    rewrites: dict[tuple[str, str, str, str, str], dict[str, None]] = {}
    for item in declined:
        rewrites.setdefault((item.rule, item.path, item.op_type, item.reason, item.consent), {})[item.rewrite] = None
    groups: dict[tuple[str, ...], list[str]] = {}
    for (rule, path, op_type, reason, consent), names in rewrites.items():
        same = (rule, ", ".join(names), op_type, reason, consent)
        groups.setdefault((*same, path) if view.verbose else same, []).append(path)
    lines: list[Line] = []
    for (rule, which, op_type, reason, consent, *_), paths in groups.items():
        where = f"{paths[0]} {op_type}" if op_type else "the whole graph"
        more = f"   ({len(paths) - 1} more like it)" if len(paths) > 1 else ""
        allow = f"; --allow {consent} permits it" if consent else ""
        lines.append(("declined  ", (rule, "bold"), f" {which}  {where}{more}"))
        lines.append((f"{_INDENT}{reason}{allow}",))
    return lines


def _diff(report: RepairReport, name: str) -> list[Line]:
    lines: list[Line] = [((f"--- {report.model.path}", "red"),), ((f"+++ {name}", "green"),)]
    for text in report.diff:
        if not text.startswith(("--- ", "+++ ")):
            style = {"+": "green", "-": "red", "@": "cyan"}.get(text[:1])
            lines.append(((text, style) if style else text,))
    return lines if report.diff else []


def _proof(report: RepairReport, view: View) -> list[Line]:
    proof = report.proof
    if proof is None:
        return []
    outputs = proof.outputs
    if proof.kind == "structure":
        shown = f"not run: the model runs nowhere ({proof.why}); by structure: " if proof.why else "not run: "
        what = ("no node is changed", "bold green") if proof.passed else (proof.note, "bold red")
        return [(f"verify    {shown}", what), *_detail(proof.detail, view)]
    alone = f"{count(len(outputs), 'changed value')} alone, " if proof.kind == "regions" else ""
    head = f"verify    {alone}{count(proof.samples, 'sample')}, seed {proof.seed}{proof.sizes}"
    verdict = _verdict(proof)
    lines: list[Line] = []
    if proof.passed and proof.exact:
        lines.append((f"{head}: ", ("equal to the bit", "bold green")))
    elif len(outputs) == 1:
        lines.append((f"{head}: {_figures(outputs[0])}   ", verdict))
    else:
        lines.append((f"{head}: {count(len(outputs), 'output')}   ", verdict))
        # Those that fail first, then those that differ most.
        order = sorted(outputs, key=lambda output: (output.passed, -output.max_abs))
        lines += [(f"{_INDENT}{output.name}: {_figures(output)}",) for output in order[:_OUTPUTS_SHOWN]]
        if len(order) > _OUTPUTS_SHOWN:
            lines.append((f"{_INDENT}… {len(order) - _OUTPUTS_SHOWN} more, all closer",))
    if proof.note:
        lines.append((f"{_INDENT}{proof.note}",))
    if proof.why:
        lines.append((f"{_INDENT}the whole model runs nowhere ({proof.why})",))
    return lines + _detail(proof.detail, view)


def _detail(text: str, view: View) -> list[Line]:
    """What the runtimes say, in their own words."""
    return [(f"{_INDENT}{text}",)] if text and view.verbose else []


def _verdict(proof: Proof) -> Part:
    if proof.measured:
        return "NOT EQUAL, which --allow approximate accepts", "bold yellow"
    if not proof.passed:
        return f"NOT EQUAL, allowed: {proof.budget}", "bold red"
    if proof.budget == "equal":
        return "equal", "bold green"
    noise = ", or the model's own rounding noise" if any(output.noise and output.passed for output in proof.outputs) else ""
    return f"within {proof.budget}{noise}", "bold green"


def _figures(output: OutputProof) -> str:
    if not output.compared:
        return output.message
    if output.max_abs == 0.0 and output.passed:
        return "equal"
    return output.figures + (f"; {output.message}" if output.message else "")


def _fidelity(ledger: Fidelity) -> str:
    edited = f", {ledger.edited} edited" if ledger.edited else ""
    interface = "; ".join(ledger.interface_changes) or "inputs and outputs unchanged"
    nodes = f"{ledger.identical} of {count(ledger.nodes_before, 'node')} byte-identical{edited}"
    weights = f"{count(ledger.initializers_unchanged, 'initializer')} unchanged"
    return f"untouched {nodes}, {ledger.removed} removed, {ledger.added} added; {weights}; {interface}"


def _remaining(report: RepairReport, view: View) -> list[Line]:
    lines: list[Line] = []
    for target in report.after:
        errors = [finding for finding in target.findings if finding.severity is Severity.ERROR]
        if errors:
            lines.append(("left for ", (target.target, "bold"), ": ", verdict_part(target)))
            groups = group(errors)
            for members in groups if view.limit is None else groups[: view.limit]:
                lines += finding_lines(members, view, fix=False)
    return lines


def _next(report: RepairReport, view: View) -> list[str]:
    """What the user can do now: one thing or another."""
    consents = dict.fromkeys((*report.faults, *(item.consent for item in report.declined if item.consent)))
    steps = [f"{_again(report, view, *consents)}, if you agree with it"] if consents else []
    if report.status in ("clean", "repaired"):
        model = report.output or (report.model.path if report.status == "clean" else "")
        if not model:
            return [*steps, _again(report, view)]
        refused = [finding for finding in _hidden(report) if finding.severity is Severity.ERROR]
        return steps + ([_explain(refused[0])] if refused else _engines(report, view, shlex.quote(model)))
    if report.other_inputs:
        steps.append(f"{_again(report, view)}, with --shape or --inputs that the model runs on")
    errors = [finding for target in report.after for finding in target.findings if finding.severity is Severity.ERROR]
    needed = any(error.code == "OFX303" for error in errors)
    sizes = " ".join(f"--shape {name}:{shape}" for name, shape in report.dynamic if shape)
    if sizes and (needed or any("dynamic" in item.reason for item in report.declined)):
        freezing = f"{_again(report, view)} {sizes}, with a number for every name: that freezes the sizes"
        steps.insert(0 if needed else len(steps), freezing)
    return steps or [_explain(error) for error in errors[:1]]


def _explain(finding: Finding) -> str:
    """The page that says most of a finding: an operator that is not taken has its own."""
    place = finding.location
    known = finding.code == "OFX101" and (place.domain, place.op_type) in recorded_operators()
    return f"onnxfix explain {place.op_type if known else finding.code}"


def _engines(report: RepairReport, view: View, model: str) -> list[str]:
    """How to go on to an engine for each target; only the release itself can say that it parses the file."""
    targets = [target.target for target in report.before]
    here = [target for target in targets if target in view.builders]
    which = [f"onnxfix build {model}" + (f" --target {target}" if len(targets) > 1 else "") for target in here]
    rtx = [f"where TensorRT-RTX {t[3:]} is installed: onnxfix build {model}" for t in targets if t not in here and t[:3] == "rtx"]
    others: dict[str, list[str]] = {}
    for target in targets:
        if target not in here and target[:3] == "trt":
            line, _ = trtexec(find_target(target), shlex.split(model)[0])
            others.setdefault(line, []).append(f"where TensorRT {target[3:]} is")
    return [*which, *rtx, *(f"{', and '.join(places)}: {line}" for line, places in others.items())]


def _again(report: RepairReport, view: View, *consents: str) -> str:
    """The command that repairs this model for these targets, with more allowed."""
    options: list[str] = []
    allowed: list[str] = []
    given = iter(view.options)
    for word in given:
        if word == "--allow":
            allowed += map(str.strip, next(given).split(","))
        else:
            options.append(word)
    allowed += consents
    levels = [word.lower() for word in allowed if word.lower() in _LEVELS]
    codes = dict.fromkeys(word.upper() for word in allowed if word.lower() not in _LEVELS)
    # the widest level includes the others
    for word in [*codes, *([max(levels, key=_LEVELS.index)] if levels else [])]:
        options += ["--allow", word]
    targets = [word for target in report.before for word in ("--target", target.target)]
    return shlex.join(["onnxfix", "repair", report.model.path, *targets, *options])
