"""Findings that say the same of several nodes, and what would fix them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxfix.results import TargetReport
    from onnxfix.rules.finding import Finding

DIFFERS = "accepted but computed differently"
INVALID = "accepted but without valid dimensions"


@dataclass(frozen=True, slots=True)
class Fix:
    """A rewrite as reports show it; `applicability` is exact, equivalent, approximate or consent."""

    rewrite: str
    title: str
    applicability: str


@dataclass(frozen=True, slots=True)
class Group:
    """Findings of one rule that say the same of several places."""

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The one that the parser would meet first."""
        return self.findings[0]

    @property
    def fix(self) -> Fix | None:
        """The preferred fix, where one is known."""
        return fix_of(self.first)


def fix_of(finding: Finding) -> Fix | None:
    """The first of the finding's fixes."""
    if not finding.fixes:
        return None
    from onnxfix.rewrites.catalogue import describe

    return Fix(finding.fixes[0], *describe(finding.fixes[0]))


def place(finding: Finding) -> str:
    """How a finding's node is called: by its name, else its first output, else its path."""
    location = finding.location
    return location.node_name or next((name for name in location.outputs if name), "") or location.path


def accepted_but(finding: Finding) -> str:
    """What is wrong with a node that the parser takes all the same (family 8), DIFFERS or INVALID; empty for other findings."""
    if finding.code == "OFX805":
        return INVALID
    return DIFFERS if finding.code.startswith("OFX8") else ""


def wrong_nodes(report: TargetReport) -> dict[str, str]:
    """The paths of the nodes that the release takes and that are wrong there all the same, with DIFFERS or INVALID."""
    return {finding.location.path: what for finding in report.findings if (what := accepted_but(finding))}


def _pattern(finding: Finding) -> str:
    """The message without what is this node's own: its names, its values and their shapes."""
    location = finding.location
    own = {location.node_name, location.path, *location.outputs}
    for value in finding.values:
        own |= {value.name, str(value)}
        if value.shape is not None:
            own |= {f"[{', '.join(value.shape)}]", f"[{','.join(value.shape)}]"}
    text = finding.message
    for name in sorted(own - {""}, key=len, reverse=True):
        text = _without(text, name)
    return text


def _without(text: str, name: str) -> str:
    """`text` with a dot for each `name` that is a whole word in it: a value may be called `e`."""
    begin = text.find(name)
    while begin >= 0:
        end = begin + len(name)
        if not (_in_word(text[begin - 1 : begin]) or _in_word(text[end : end + 1])):
            text = f"{text[:begin]}·{text[end:]}"
            end = begin + 1
        begin = text.find(name, end)
    return text


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def group(findings: Iterable[Finding]) -> list[Group]:
    """The findings by rule, operator and what the message says; groups in the order of their first finding."""
    groups: dict[tuple[str, str, str, str], list[Finding]] = {}
    for finding in findings:
        key = finding.code, finding.severity.value, finding.location.op_type, _pattern(finding)
        groups.setdefault(key, []).append(finding)
    return [Group(tuple(members)) for members in groups.values()]
