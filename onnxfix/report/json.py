"""Reports for programs: plain dictionaries of the schema `onnxfix-report/1` (`schema.json` beside this file)."""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxfix import __version__
from onnxfix.report._groups import fix_of, wrong_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from onnxfix.results import DeclinedFix, LintReport, ModelInfo, RepairReport, TargetReport
    from onnxfix.rules.finding import Finding
    from onnxfix.verify.compare import OutputProof
    from onnxfix.verify.prove import Proof

SCHEMA = "onnxfix-report/1"


def document(models: Sequence[dict[str, Any]], *, exit_code: int, config_files: Sequence[str] = ()) -> dict[str, Any]:
    """The whole report: the tool, this run and its models."""
    return {
        "schema": SCHEMA,
        "tool": {"name": "onnxfix", "version": __version__},
        "run": {
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "argv_redacted": [_without_home(word) for word in sys.argv[1:]],
            "config_files": [_without_home(file) for file in config_files],
            "exit_code": exit_code,
        },
        "models": list(models),
    }


def dumps(report: dict[str, Any]) -> str:
    """The report as text: ASCII only, keys in their order, one newline at the end."""
    return json.dumps(report, indent=2, allow_nan=False, default=_plain) + "\n"


def unreadable(path: str, error: str) -> dict[str, Any]:
    """The entry of a file that could not be read."""
    return {"path": path, "error": error}


def lint_entry(report: LintReport) -> dict[str, Any]:
    """One model with its verdict and findings for each target."""
    return {
        **_model(report.model),
        "targets": [_target(target) for target in report.targets],
        "findings": [_finding(finding) for target in report.targets for finding in target.findings],
    }


def repair_entry(report: RepairReport) -> dict[str, Any]:
    """One model with the findings it had, what was done to it, and the proof."""
    left = {finding.key for target in report.after for finding in target.findings}
    repair = {
        "status": report.status,
        "reason": report.reason,
        "detail": report.detail,
        "faults": list(report.faults),
        "other_inputs": report.other_inputs,
        "passes": report.passes,
        "resolved": report.resolved,
        "remaining": report.remaining,
        "introduced": report.introduced,
        "applied": [asdict(fix) for fix in report.applied],
        "declined": [{name: value for name, value in asdict(fix).items() if name != "key"} for fix in report.declined],
        "fidelity": asdict(report.fidelity) if report.fidelity is not None else None,
        "targets_after": [_target(target) for target in report.after],
        "findings_after": [_finding(finding) for target in report.after for finding in target.findings],
        "output": {"path": report.output, "sha256": report.output_sha256} if report.output else None,
        "notes": list(report.notes),
    }
    return {
        **_model(report.model),
        "targets": [_target(target) for target in report.before],
        "findings": [
            _finding(finding, applied=finding.key not in left, declined=report.declined)
            for target in report.before
            for finding in target.findings
        ],
        "repair": repair,
        "verify": proof_entry(report.proof) if report.proof is not None else None,
    }


def output_entry(output: OutputProof) -> dict[str, Any]:
    """The figures of one output; they are null where there was nothing to compare, such as another shape."""
    return {
        "name": output.name,
        "dtype": output.dtype,
        "shape": list(output.shape),
        "max_abs": _finite(output.max_abs) if output.compared else None,
        "max_rel": _finite(output.max_rel) if output.compared else None,
        "cosine": _finite(output.cosine) if output.compared else None,
        "ulp_max": output.ulp_max,
        "passed": output.passed,
        "message": output.message,
        "within_noise": output.noise and output.passed,
    }


def proof_entry(proof: Proof) -> dict[str, Any]:
    """What a proof shows; `kind` says whether it is numeric. What is no finite number is null. `rtol` is given by element type."""
    from onnxfix.verify.compare import RTOL

    types = sorted({output.dtype for output in proof.outputs})
    rtol = {name: RTOL[name] if proof.rtol is None else proof.rtol for name in types if name in RTOL}
    return {
        "passed": proof.passed,
        "measured": proof.measured,
        "kind": proof.kind,
        "why": proof.why,
        "detail": proof.detail,
        "samples": proof.samples,
        "seed": proof.seed,
        "bindings": [dict(binding) for binding in proof.bindings],
        "outputs": [output_entry(output) for output in proof.outputs],
        "budget": {"exact": proof.exact, "rtol": rtol, "atol": proof.atol},
        "note": proof.note,
    }


def _model(info: ModelInfo) -> dict[str, Any]:
    return {
        "path": info.path,
        "sha256": info.sha256,
        "size": info.size,
        "ir_version": info.ir_version,
        "opset_imports": [{"domain": domain, "version": version} for domain, version in info.opset_imports],
        "producer": info.producer,
        "nodes": info.nodes,
        "subgraphs": info.subgraphs,
        "functions": info.functions,
        "external_data": [{"file": file, "bytes": size if size >= 0 else None} for file, size in info.external_data],
    }


def _target(report: TargetReport) -> dict[str, Any]:
    counts = {severity: report.count(severity) for severity in ("error", "warning", "info")}
    hidden = dict(Counter(finding.code for finding in report.hidden))
    entry = {
        "id": report.target,
        "title": report.title,
        "verdict": report.verdict.value,
        "accepted_but_wrong": len(wrong_nodes(report)),
        "counts": counts,
    }
    return entry | ({"hidden": hidden} if hidden else {})


def _finding(finding: Finding, *, applied: bool | None = None, declined: Iterable[DeclinedFix] = ()) -> dict[str, Any]:
    fix = fix_of(finding)
    location = finding.location
    reasons = (item.reason for item in declined if item.key == finding.key)
    return {
        "id": finding.id,
        "rule": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "target": [finding.target],
        "message": finding.message,
        "parser_message": finding.parser_message,
        "since": finding.since,
        "refuses": finding.refuses,
        "unknown": finding.unknown,
        "location": {
            "path": location.path,
            "op_type": location.op_type,
            "domain": location.domain,
            "node_name": location.node_name,
            "outputs": list(location.outputs),
            "scope": _scopes(location.path),
        },
        "values": [
            {
                "name": value.name,
                "role": value.role,
                "dtype": value.dtype,
                "shape": list(value.shape) if value.shape is not None else None,
            }
            for value in finding.values
        ],
        "data": dict(finding.data),
        "evidence": [{"kind": item.kind, "ref": item.ref} for item in finding.evidence],
        "fix": {
            "title": fix.title,
            "applicability": fix.applicability,
            "rewrite": fix.rewrite,
            "applied": applied,
            "declined_reason": None if applied else next(reasons, None),
        }
        if fix is not None
        else None,
    }


def _scopes(path: str) -> list[str]:
    """`graph/node[3]/then_branch/node[1]` lies in `graph` and `graph/node[3]/then_branch`."""
    return [path[: match.start()] for match in re.finditer(r"/node\[\d+\]", path)] or [path]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """What `Finding.data` may hold besides JSON's own types."""
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    return str(value)


def _without_home(text: str) -> str:
    """`text` without the name of the user's home folder."""
    home = str(Path.home())
    return text.replace(home, "~") if len(home) > 1 else text
