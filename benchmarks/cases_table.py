"""How many small models of public reports are repaired for every release that they fail on.

    python -m benchmarks.cases_table FOLDER [--kind exact] [--samples 4] [--only PART] [--verbose]

FOLDER holds `manifest.json` and the models that it names, or FOLDER is the script that writes them. A case counts as repaired where
each release listed as failing takes the result by its own lint, the proof says that both compute the same, and the repair had
something to do. Where a release takes static sizes only, those that the case says are in use are given. A release that the
manifest does not name exactly (`10.x`) stands for its newest. Exit code 0, whatever the table says; 2 where there is no manifest.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxfix.api import RepairOptions, lint_model, repair_model
from onnxfix.errors import OnnxfixError
from onnxfix.model.load import load_model, parse_model
from onnxfix.rewrites.catalogue import REWRITES
from onnxfix.rules.rule import all_rules
from onnxfix.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from onnxfix.targets import Target

# Verdicts of the manifest that say that something is wrong with the model on that release.
FAILING = ("reject", "build_reject", "misrun")
CONSENT = frozenset(
    rule.code for rule in all_rules() if any(REWRITES[name].applicability.value == "consent" for name in rule.rewrites)
)


def failing_targets(case: dict[str, Any]) -> list[str]:
    """The releases that the case fails on, in the manifest's words."""
    return [entry["target"] for entry in case["expected"] if entry["verdict"] in FAILING]


def target_id(word: str) -> str:
    """The release that a word of the manifest stands for."""
    return word.replace(".x", "")


def sizes_in_use(model: onnx.ModelProto, target: Target, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Shapes of inputs with dynamic dimensions beside the batch, where the release takes none and the case has sizes for them."""
    shapes = {}
    for value in model.graph.input if not target.dynamic_inputs else ():
        dims = value.type.tensor_type.shape.dim
        if any(dim.dim_param in sizes for dim in dims[1:]):
            shapes[value.name] = tuple(sizes.get(dim.dim_param, dim.dim_value or 1) for dim in dims)
    return shapes


def outcome_of(path: Path, target: str, samples: int, sizes: Mapping[str, int]) -> tuple[str, str]:
    """What a repair makes of one case for one release: an outcome, and why where it is not `repaired`.

    `sizes` are those that dynamic dimensions have in the case.
    """
    chosen = find_target(target_id(target))
    try:
        loaded = load_model(path)
        shapes = sizes_in_use(loaded.proto, chosen, sizes)
        report, data = repair_model(loaded, [chosen], RepairOptions(samples=samples, consent=CONSENT, shapes=shapes))
    except OnnxfixError as error:
        return "unreadable", str(error)
    if report.status == "clean":
        return "not found", "lint finds nothing"
    if report.status != "repaired" or data is None:
        said = dict.fromkeys(f"{item.rule} {item.op_type}: {item.reason}" for item in report.declined)
        return report.status, report.reason or "; ".join(said)
    again = lint_model(type(loaded)(parse_model(data, path.name), path, data, ""), [chosen])
    if any(each.count("error") for each in again.targets):
        return "not clean", "lint finds errors in the result"
    return "repaired", ", ".join(dict.fromkeys(fix.rewrite for fix in report.applied))


def rows_of(folder: Path, kind: str, samples: int, only: str = "") -> list[tuple[str, dict[str, tuple[str, str]]]]:
    """(case, outcome and reason by release) of all cases whose fix is of that kind."""
    rows = []
    for case in json.loads((folder / "manifest.json").read_text()):
        if case["fix"]["kind"] == kind and only in case["id"] and failing_targets(case):
            path = folder / case["file"]
            sizes = case["feeds"].get("dims", {})
            rows.append((case["id"], {target: outcome_of(path, target, samples, sizes) for target in failing_targets(case)}))
    return rows


def print_table(rows: Sequence[tuple[str, dict[str, tuple[str, str]]]], verbose: bool) -> None:
    """Every case that is not wholly repaired with the reason by release, then the totals."""
    width = max((len(name) for name, _ in rows), default=0)
    outcomes: Counter[str] = Counter()
    for name, found in rows:
        outcomes.update(outcome for outcome, _ in found.values())
        reasons: dict[tuple[str, str], list[str]] = {}
        for target, answer in found.items():
            reasons.setdefault(answer, []).append(target)
        for (outcome, why), targets in reasons.items():
            if verbose or outcome != "repaired":
                print(f"{name:{width}}  {' '.join(targets):24}  {outcome:10}  {why}")
    whole = sum(all(outcome == "repaired" for outcome, _ in found.values()) for _, found in rows)
    pairs = sum(len(found) for _, found in rows)
    print()
    for outcome, count in outcomes.most_common():
        print(f"{count:5} {outcome} of {pairs} pairs of a case and a release that it fails on")
    print(f"{whole:5} of {len(rows)} cases repaired for every such release ({whole / max(len(rows), 1):.0%})")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cases_table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of manifest.json and its models, or the script that writes them")
    parser.add_argument("--kind", default="exact", help="which fixes count: exact, approx or none (exact)")
    parser.add_argument("--samples", type=int, default=4, help="inputs that each proof tries (4)")
    parser.add_argument("--only", default="", help="a part of the names of the cases")
    parser.add_argument("--verbose", action="store_true", help="show repaired cases as well")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder
        if folder.suffix == ".py" and folder.is_file():
            folder = Path(made)
            subprocess.run([sys.executable, str(given.folder), made], check=True, stdout=subprocess.DEVNULL)
        if not (folder / "manifest.json").is_file():
            print(f"error: {given.folder}: no manifest.json there", file=sys.stderr)
            return 2
        print_table(rows_of(folder, given.kind, given.samples, given.only), given.verbose)
    return 0


if __name__ == "__main__":
    sys.exit(main())
