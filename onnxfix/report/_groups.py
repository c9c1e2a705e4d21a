"""Findings that say the same of several nodes, and what would fix them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnxfix.results import TargetReport
    from onnxfix.rules.finding import Finding

DIFFERS = "accepted but computed differently"


@dataclass(frozen=True, slots=True)
class Fix:
    """A rewrite as reports show it; `applicability` is exact, equivalent, approximate, consent or manual."""

    rewrite: str
    title: str
    applicability: str

    @property
    def automatic(self) -> bool:
        """Whether `repair` can apply it at all, with the user's consent where it takes that."""
        return self.applicability != "manual"


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

    title, applicability = describe(finding.fixes[0])
    return Fix(finding.fixes[0], title, str(applicability))


def place(finding: Finding) -> str:
    """How a finding's node is called: by its name, else its first output, else its path."""
    location = finding.location
    return location.node_name or next((name for name in location.outputs if name), "") or location.path


def computed_differently(finding: Finding) -> bool:
    """True for what the parser takes and computes in another way (family 8)."""
    return finding.code.startswith("OFX8")


def nodes_computed_differently(report: TargetReport) -> int:
    """How many nodes the release takes and computes in another way."""
    return len({finding.location.path for finding in report.findings if computed_differently(finding)})


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
