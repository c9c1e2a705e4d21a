"""Asks the parsers that are installed here what they say of a model, and joins their answers with lint's."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from onnxfix.engines import ParseVerdict, parse
from onnxfix.engines.choice import choose, tool, tool_of
from onnxfix.errors import MissingToolError
from onnxfix.model.load import copy_external, parse_model
from onnxfix.rules.finding import Finding, Location, Severity, Verdict, verdict_of
from onnxfix.rules.rule import load_rule
from onnxfix.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.engines import ParserError, ParseResult
    from onnxfix.results import LintReport, RepairReport, TargetReport

TIMEOUT = 120.0


def ask_parsers(report: LintReport, path: Path, timeout: float = TIMEOUT) -> LintReport:
    """The report with the answers of the parsers that are installed; the other targets stay as they are.

    Args:
        report: what lint says of the model.
        path: the model's file, which the parser reads itself.
        timeout: seconds after which a parser is stopped.

    Raises:
        MissingToolError: none of the report's targets is the release of an installed parser.
    """
    if not any(tool_of(target.target) for target in report.targets):
        names = ", ".join(target.target for target in report.targets[:3])
        raise MissingToolError(f"--ask-parser: no parser of {names} is installed here; -t installed names what is")
    return dataclasses.replace(report, targets=tuple(_asked(target, path, timeout) for target in report.targets))


def ask_of_result(report: RepairReport, data: bytes, base_dir: Path, timeout: float = TIMEOUT) -> tuple[RepairReport, bytes | None]:
    """The report and bytes of a repair after one more gate: the parser that is installed here, of whatever release.

    Where it takes the result the report notes so. Where it does not, the result is unproven, and there are no bytes to write.

    Args:
        report: what the repair did.
        data: the repaired model.
        base_dir: where its external data lies.
        timeout: seconds after which the parser is stopped.

    Raises:
        MissingToolError: no parser is installed here.
    """
    chosen = choose(None)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "repaired.onnx"
        copy_external(parse_model(data, report.model.path), base_dir, file.parent)
        file.write_bytes(data)
        answer = parse(file, chosen.name, timeout)
    who = f"{chosen.title} {answer.version}".strip()
    if answer.verdict is ParseVerdict.PARSED:
        return dataclasses.replace(report, notes=(*report.notes, f"the parser of {who} takes the result")), data
    refusals = _refusals(report.before[0].target, who, answer)
    said = "; ".join(": ".join(filter(None, (each.message, each.parser_message))) for each in refusals)
    return dataclasses.replace(report, status="unproven", reason=said), None


def installed_targets() -> tuple[str, ...]:
    """The ids of the targets whose own parser is installed and can be asked.

    Raises:
        MissingToolError: there is none.
    """
    from onnxfix.targets import all_targets

    found = tuple(target.id for target in all_targets() if tool_of(target.id))
    if not found:
        raise MissingToolError(f"no release that onnxfix knows is installed here; {tool('tensorrt-rtx').install} (needs no GPU)")
    return found


def _asked(report: TargetReport, path: Path, timeout: float) -> TargetReport:
    parser = tool_of(report.target)
    if parser is None:
        return report
    answer = parse(path, parser.name, timeout)
    if answer.verdict is ParseVerdict.PARSED:
        findings = [_disproved(finding) if finding.refuses or finding.unknown else finding for finding in report.findings]
        return dataclasses.replace(report, verdict=Verdict.PARSED, findings=tuple(findings))
    found = [*report.findings, *_refusals(report.target, f"{parser.title} {answer.version}".strip(), answer)]
    return dataclasses.replace(report, verdict=verdict_of(found), findings=tuple(found))


def _disproved(finding: Finding) -> Finding:
    message = f"{finding.message}; the installed parser takes the model all the same"
    return dataclasses.replace(finding, severity=Severity.INFO, unknown=False, message=message, fixes=())


def _refusals(target: str, who: str, answer: ParseResult) -> list[Finding]:
    if answer.verdict is ParseVerdict.REFUSED and answer.errors:
        return [_finding(target, f"{who} refuses {error.op_type or 'the model'}", error=error) for error in answer.errors]
    what = {ParseVerdict.REFUSED: "refuses the model", ParseVerdict.CRASHED: "died", ParseVerdict.TIMEOUT: "did not answer in time"}
    return [_finding(target, f"{who} {what[answer.verdict]}", answer.messages, unknown=answer.verdict is ParseVerdict.TIMEOUT)]


def _finding(
    target: str, text: str, words: Sequence[str] = (), *, error: ParserError | None = None, unknown: bool = False
) -> Finding:
    rule = load_rule("OFX006")
    inside = error is not None and error.node >= 0
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        target=target,
        message=text,
        location=Location(
            path=f"graph/node[{error.node}]" if error is not None and inside else "graph",
            op_type=error.op_type if error is not None else "",
            node_name=error.name if error is not None else "",
        ),
        parser_message=error.message if error is not None else " ".join(words),
        evidence=(find_target(target).evidence,),
        unknown=unknown,
    )
