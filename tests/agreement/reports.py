"""Holds lint against what public bug reports, release notes and importer sources say of the small models of `cases`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rules.engine import lint
from onnxfix.rules.finding import Severity, Verdict, verdict_of
from onnxfix.targets import all_targets, find_target

from .comparison import RECORDS, models

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnxfix.rules.finding import Finding
    from onnxfix.targets import Target

KNOWN = Path(__file__).parent / "known_wrong_reports.tsv"
TITLE = "## reports: what is expected of the models of `cases`"
WANTED = {
    "reject": "blocked, and the first refusal names the operator (or the input or initializer)",
    "accept": "likely, without an 8xx error",
    "misrun": "likely, with an 8xx error on the operator",
    "build_reject": "likely, with a warning on the operator",
}


@dataclass(frozen=True)
class Report:
    """One line of `fixtures/agreement/reports.tsv`: what a release does with a case, and on which ground that is said.

    `operator` is `(input)` or `(initializer)` where no node is meant; `place` is then its name, else the node's.
    """

    case: str
    target: str
    verdict: str
    operator: str
    place: str
    basis: str
    note: str

    @property
    def targets(self) -> tuple[Target, ...]:
        """The releases that may be meant.

        `10.x` is some release of 10, so that one of them is enough; RTX 1.0 has no records, the oldest that has stands for it.
        """
        if self.target == "10.x":
            return tuple(target for target in all_targets() if target.id.startswith("trt10."))
        return (find_target("rtx1.4" if self.target == "rtx1.0" else self.target),)

    def names(self, finding: Finding) -> bool:
        """Whether the finding is about what the report names."""
        if self.operator.startswith("("):
            return not finding.location.op_type and self.place in finding.location.outputs
        return finding.location.op_type == self.operator

    def right(self, findings: Sequence[Finding]) -> bool:
        """Whether these findings say what the report says."""
        wrong_numbers = [f for f in findings if f.code.startswith("OFX8") and f.severity is Severity.ERROR]
        if self.verdict == "reject":
            first = next((finding for finding in findings if finding.refuses), None)
            return first is not None and self.names(first)
        if verdict_of(list(findings)) is not Verdict.LIKELY:
            return False
        if self.verdict == "accept":
            return not wrong_numbers
        if self.verdict == "misrun":
            return any(self.names(finding) for finding in wrong_numbers)
        return any(self.names(finding) for finding in findings if finding.severity is Severity.WARNING)


@cache
def reports() -> tuple[Report, ...]:
    """Every line of the bundled table."""
    return tuple(Report(*line.split("\t")) for line in (RECORDS / "reports.tsv").read_text().splitlines())


@cache
def judged() -> Mapping[Report, str]:
    """What lint says where a report does not come out right, an empty text where it does."""
    files, answers = dict(models("cases")), {}
    for case in dict.fromkeys(report.case for report in reports()):
        view = ModelView(files[case])
        facts = Facts(view)
        for report in (report for report in reports() if report.case == case):
            found = [lint(view, facts, target) for target in report.targets]
            answers[report] = "" if any(report.right(findings) for findings in found) else _said(found[-1])
    return answers


def _said(findings: Sequence[Finding]) -> str:
    notable = [finding for finding in findings if finding.refuses] or list(findings)
    return f"{verdict_of(list(findings)).value}: {f'{notable[0].code} {notable[0].message}' if notable else 'no finding'}"


def wrong() -> list[Report]:
    """The reports that do not come out right."""
    return [report for report, said in judged().items() if said]


def known() -> Mapping[tuple[str, str], str]:
    """Case and target of the reports known to come out wrong -> the reason."""
    fields = (line.split("\t") for line in KNOWN.read_text().splitlines())
    return {(case, target): reason for case, target, reason in fields}


def section() -> str:
    """The part of the page about the reports."""
    total, missed = Counter(report.verdict for report in reports()), Counter(report.verdict for report in wrong())
    rows = [f"| {name} | {text} | {total[name] - missed[name]} of {total[name]} |" for name, text in WANTED.items()]
    share = 100 * (1 - len(wrong()) / len(reports()))
    lines = [
        TITLE,
        "",
        "One entry a case and a release that a public report, the release notes or the importer's source speaks of"
        " (`fixtures/agreement/reports.tsv`).",
        "`10.x` is some release of 10: right where one comes out right. RTX 1.0 is taken for 1.4, the oldest with records.",
        "",
        "| expected | lint has to say | right |",
        "|---|---|---:|",
        *rows,
        f"| all | | {len(reports()) - len(wrong())} of {len(reports())} ({share:.1f} %) |",
        "",
        "Wrong, and why:",
        "",
        "| case | release | expected | lint says | reason |",
        "|---|---|---|---|---|",
        *(
            f"| {report.case} | {report.target} | {report.verdict} {report.operator} | {judged()[report]} |"
            f" {known().get((report.case, report.target), '')} |"
            for report in wrong()
        ),
        "",
    ]
    return "\n".join(lines)


def write() -> None:
    """Write the list of known wrong reports; the reasons are kept, and are to be filled in where one is new."""
    reasons = known()
    KNOWN.write_text("".join(f"{one.case}\t{one.target}\t{reasons.get((one.case, one.target), '')}\n" for one in wrong()))
