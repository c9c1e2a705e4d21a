"""What repair makes of every model in a folder: already fine, repaired, or declined and why, with the largest errors.

    python -m benchmarks.seed_table FOLDER [-t trt5.1] [--allow OFX701] [--samples 8] [-o OUT]

Nothing is written unless `-o` names a folder for the repaired models. The largest errors are those of the proof, over all
samples and outputs: absolute, and relative to the value of the original.
Exit code 0, whatever the table says; 2 where the folder has no model.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from onnxfix.api import RepairOptions, lint_model, repair_model
from onnxfix.errors import OnnxfixError
from onnxfix.model.load import load_model, parse_model, write_bytes
from onnxfix.targets import find_targets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.results import RepairReport
    from onnxfix.targets import Target


@dataclass(frozen=True, slots=True)
class Row:
    """One model's line.

    Attributes:
        name: the file.
        outcome: `already fine`, `repaired`, `declined`, `unproven` or `unreadable`.
        why: reasons of what was declined; for a repaired model the rewrites, with how often each was applied.
        max_abs: largest absolute error of the proof, None where nothing was proven.
        max_rel: largest relative error of the proof.
        exact: whether the proof asked for equal values.
        lint_clean: whether the bytes that would be written have no error finding left; None where there are none.
        seconds: what the repair took.
    """

    name: str
    outcome: str
    why: str = ""
    max_abs: float | None = None
    max_rel: float | None = None
    exact: bool = False
    lint_clean: bool | None = None
    seconds: float = 0.0


def row_of(path: Path, targets: Sequence[Target], options: RepairOptions, out: Path | None = None) -> Row:
    """Repair one model; its bytes go to folder `out` where one is given."""
    begin = time.perf_counter()
    try:
        loaded = load_model(path)
        report, data = repair_model(loaded, targets, options)
    except OnnxfixError as error:
        return Row(path.name, "unreadable", str(error), seconds=time.perf_counter() - begin)
    seconds = time.perf_counter() - begin
    clean = None
    if data is not None:
        proto = parse_model(data, path.name)
        again = lint_model(type(loaded)(proto, path, data, ""), targets)
        clean = not any(target.count("error") for target in again.targets)
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            write_bytes(out / path.name, data)
    outcome = {"clean": "already fine", "partial": "declined"}.get(report.status, report.status)
    proof = report.proof
    outputs = proof.outputs if proof is not None else ()
    return Row(
        path.name,
        outcome,
        _why(report),
        max((output.max_abs for output in outputs), default=None),
        max((output.max_rel for output in outputs), default=None),
        proof is not None and proof.exact,
        clean,
        seconds,
    )


def _why(report: RepairReport) -> str:
    if report.status in ("repaired", "clean"):
        names = [fix.rewrite for fix in report.applied]
        return ", ".join(f"{name} x{names.count(name)}" for name in dict.fromkeys(names))
    if report.reason:
        return report.reason
    said = dict.fromkeys(
        f"{item.rule} {item.op_type}: {item.reason}" + (f" (--allow {item.consent})" if item.consent else "")
        for item in report.declined
    )
    left = dict.fromkeys(finding.code for target in report.after for finding in target.findings if finding.severity == "error")
    return "; ".join(said) or ", ".join(left)


def print_table(rows: Sequence[Row]) -> None:
    """The rows, then the totals."""
    width = max(len(row.name) for row in rows)
    print(f"{'model':{width}}  {'outcome':12}  {'max abs':>9}  {'max rel':>9}  why")
    for row in rows:
        figures = ["" if value is None else f"{value:.1e}" if value else "0" for value in (row.max_abs, row.max_rel)]
        print(f"{row.name:{width}}  {row.outcome:12}  {figures[0]:>9}  {figures[1]:>9}  {row.why}".rstrip())
    print()
    for outcome in dict.fromkeys(row.outcome for row in rows):
        print(f"{sum(row.outcome == outcome for row in rows):5} {outcome}")
    proven = [row for row in rows if row.max_abs is not None and row.outcome == "repaired"]
    dirty = [row.name for row in rows if row.lint_clean is False]
    print(f"{len(rows):5} in all, {sum(row.seconds for row in rows):.0f} s")
    print(f"{len(proven):5} proven, {sum(row.exact for row in proven)} of them to the bit", end="")
    if proven:
        worst_abs = max(proven, key=lambda row: row.max_abs or 0.0)
        worst_rel = max(proven, key=lambda row: row.max_rel or 0.0)
        print(f"; largest error {worst_abs.max_abs:.1e} absolute ({worst_abs.name}), ", end="")
        print(f"{worst_rel.max_rel:.1e} relative ({worst_rel.name})", end="")
    print(f"\n{len(dirty):5} would be written with errors left {' '.join(dirty)}".rstrip())


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seed_table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of .onnx files")
    parser.add_argument("-t", "--target", action="append", default=None, help="release to repair for (trt5.1); may repeat")
    parser.add_argument("--allow", action="append", default=[], help="exact, equivalent, approximate, or a rule's code")
    parser.add_argument("--samples", type=int, default=8, help="inputs that each proof tries (8)")
    parser.add_argument("-o", "--output", type=Path, default=None, help="folder for the repaired models")
    given = parser.parse_args(arguments)
    paths = sorted(given.folder.glob("*.onnx"))
    if not paths:
        print(f"error: {given.folder}: no .onnx file there", file=sys.stderr)
        return 2
    levels = [word for word in given.allow if word in ("exact", "equivalent", "approximate")]
    options = RepairOptions(
        allow=levels[-1] if levels else "equivalent",
        consent=frozenset(given.allow) - set(levels),
        samples=given.samples,
    )
    targets = [target for word in given.target or ["trt5.1"] for target in find_targets(word)]
    print_table([row_of(path, targets, options, given.output) for path in paths])
    return 0


if __name__ == "__main__":
    sys.exit(main())
