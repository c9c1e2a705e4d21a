"""What `lint` and `repair` return: plain frozen data that reports print and programs read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxfix.rules.finding import Finding, Verdict
    from onnxfix.verify.prove import Proof


# The path of a model that was read from standard input.
STDIN_NAME = "<stdin>"


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A model file as it was read; `external_data` holds (file, bytes), bytes -1 where the file is absent."""

    path: str
    sha256: str
    size: int
    ir_version: int
    opset_imports: tuple[tuple[str, int], ...]
    producer: str
    nodes: int
    subgraphs: int
    functions: int
    external_data: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TargetReport:
    """Findings of one model for one target, in the order in which the parser would meet them.

    `hidden` are those of rules that the selection leaves out: the verdict does not count them.
    """

    target: str
    title: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    hidden: tuple[Finding, ...] = ()

    def count(self, severity: str) -> int:
        """How many findings have that severity."""
        return sum(finding.severity == severity for finding in self.findings)


@dataclass(frozen=True, slots=True)
class LintReport:
    """One model against one or more targets."""

    model: ModelInfo
    targets: tuple[TargetReport, ...]


@dataclass(frozen=True, slots=True)
class AppliedFix:
    """A rewrite that was kept: what it did, for which finding, in which pass, on which node of that pass's model."""

    pass_number: int
    rule: str
    rewrite: str
    title: str
    applicability: str
    path: str
    node_name: str
    op_type: str
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    consent: str = ""


@dataclass(frozen=True, slots=True)
class DeclinedFix:
    """A finding that a rewrite did not fix, and why; `key` is the finding's, `plain` that the node is none of those it is for."""

    rule: str
    rewrite: str
    path: str
    node_name: str
    op_type: str
    reason: str
    consent: str = ""
    key: tuple[str, ...] = ()
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The ledger: every original node ends identical, edited, or removed; counts over all scopes."""

    nodes_before: int
    nodes_after: int
    identical: int
    edited: int
    removed: int
    added: int
    initializers_unchanged: int
    interface_changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did.

    `status` is `clean` (nothing to do, output identical), `repaired`, `partial` (proven, but errors remain), `declined` (errors
    remain and nothing is written) or `unproven` (the numbers differ or nothing runs, nothing is written; `reason` says why, and
    `detail` in the runtimes' own words). An unproven model may become provable with consent to fixes of the rules `faults`, or,
    with `other_inputs`, on inputs of other shapes or values. `dynamic` holds the inputs whose sizes are open, with their shapes.
    """

    model: ModelInfo
    status: str
    passes: int
    before: tuple[TargetReport, ...]
    after: tuple[TargetReport, ...]
    applied: tuple[AppliedFix, ...]
    declined: tuple[DeclinedFix, ...]
    fidelity: Fidelity | None
    proof: Proof | None
    output: str = ""
    output_sha256: str = ""
    notes: tuple[str, ...] = ()
    reason: str = ""
    detail: str = ""
    faults: tuple[str, ...] = ()
    other_inputs: bool = False
    failing: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    diff: tuple[str, ...] = field(default=())
    dynamic: tuple[tuple[str, str], ...] = ()

    @property
    def resolved(self) -> int:
        """Findings of the input that are gone."""
        left = {finding.key for report in self.after for finding in report.findings}
        return sum(finding.key not in left for report in self.before for finding in report.findings)

    @property
    def remaining(self) -> int:
        """Errors that are left."""
        return sum(report.count("error") for report in self.after)

    @property
    def warnings(self) -> int:
        """Warnings that are left."""
        return sum(report.count("warning") for report in self.after)

    @property
    def introduced(self) -> int:
        """Findings that the input did not have."""
        had = {finding.key for report in self.before for finding in report.findings}
        return sum(finding.key not in had for report in self.after for finding in report.findings)
