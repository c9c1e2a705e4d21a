"""What a rule says of one place in a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from onnxfix.model.paths import fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxfix.targets import Evidence


class Severity(StrEnum):
    """How bad a finding is; errors make `lint` exit with 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info, 2 for error."""
        return ("info", "warning", "error").index(self.value)


class Verdict(StrEnum):
    """What is known of a whole model on a target; only a real parser may say `parsed`."""

    BLOCKED = "blocked"
    UNKNOWN = "unknown"
    LIKELY = "likely"
    PARSED = "parsed"


@dataclass(frozen=True, slots=True)
class ValueRef:
    """A value that a finding speaks of; `shape` holds numbers as text, names, or `?`, and is None where the rank is unknown."""

    name: str
    role: str
    dtype: str
    shape: tuple[str, ...] | None

    def __str__(self) -> str:
        name = {"FLOAT": "float32", "DOUBLE": "float64"}.get(self.dtype, self.dtype.lower())
        return f"{name} {'[' + ','.join(self.shape) + ']' if self.shape is not None else '[…]'}"


@dataclass(frozen=True, slots=True)
class Location:
    """Where a finding is: a node's path, or the path of a graph for what concerns an input or the whole model."""

    path: str
    op_type: str = ""
    domain: str = ""
    node_name: str = ""
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One hit of a rule for one target.

    Attributes:
        message: node first, one sentence, says what and why.
        parser_message: what that release's parser will say, where it is known.
        since: the first release known to take it.
        fixes: names of rewrites that may help, in order of preference.
        unknown: nothing is recorded: not a refusal, but no support either.
        data: rule-specific facts for machines.
    """

    code: str
    name: str
    severity: Severity
    target: str
    message: str
    location: Location
    values: tuple[ValueRef, ...] = ()
    parser_message: str = ""
    since: str = ""
    evidence: tuple[Evidence, ...] = ()
    fixes: tuple[str, ...] = ()
    unknown: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def refuses(self) -> bool:
        """True where the parser is known to refuse the model for this; advice (7xx) and 8xx are about nodes that it takes."""
        return self.severity is Severity.ERROR and not self.unknown and self.code[3] not in "78"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What stays the same when nodes are inserted upstream: code, target, operator and outputs (or the path)."""
        return self.code, self.target, self.location.op_type, "\0".join(self.location.outputs) or self.location.path

    @property
    def id(self) -> str:
        """A stable fingerprint for baselines and code scanning."""
        dtypes = [f"{value.dtype}/{len(value.shape) if value.shape is not None else '?'}" for value in self.values]
        return fingerprint(*self.key, *dtypes)


def verdict_of(findings: list[Finding]) -> Verdict:
    """The verdict that findings of one target give."""
    if any(finding.refuses for finding in findings):
        return Verdict.BLOCKED
    if any(finding.unknown for finding in findings):
        return Verdict.UNKNOWN
    return Verdict.LIKELY
