"""Holds lint's verdicts against recorded answers of real parsers, and writes the page and the list of disagreements."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rules.engine import lint
from onnxfix.rules.finding import Verdict, verdict_of
from onnxfix.targets import all_targets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnxfix.rules.finding import Finding

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "fixtures" / "agreement"
KNOWN = Path(__file__).parent / "known_disagreements.tsv"
PAGE = ROOT / "docs" / "agreement.md"
SEEDS = ROOT / "fixtures" / "seedmodels"
SETS = {
    "node": "ONNX's own node tests of eight releases, each also with constants for all inputs but the first",
    "lowered": "what rewrites for 5.1, 7.0 and 8.0 made of exports and node tests, good and bad",
    "cases": "public bug reports as small models",
    "seedmodels": "exports of PyTorch 1.2, 1.3 and 1.7",
}


@dataclass(frozen=True)
class Row:
    """What a parser said of one model, and what lint says of it."""

    model: str
    parser: str
    operator: str
    message: str
    verdict: Verdict
    named: frozenset[str]
    finding: str

    @property
    def missed(self) -> bool:
        """The parser refuses what lint calls likely."""
        return self.parser == "no" and self.verdict is Verdict.LIKELY

    @property
    def false_alarm(self) -> bool:
        """The parser takes what lint calls blocked."""
        return self.parser == "ok" and self.verdict is Verdict.BLOCKED

    @property
    def names_another(self) -> bool:
        """The parser names an operator, and lint's first error is about another one, or there is none."""
        return bool(self.parser == "no" and self.operator and self.operator not in self.named)


def recorded_targets() -> list[str]:
    """The targets with recorded answers, oldest first."""
    with tarfile.open(RECORDS / "verdicts.tar.xz") as archive:
        found = {Path(name).stem for name in archive.getnames()}
    return [target.id for target in all_targets() if target.id in found]


def models(collection: str) -> Mapping[str, bytes]:
    """The models of a set by name; of the exports those that are bundled."""
    if collection == "seedmodels":
        return {path.stem: path.read_bytes() for path in sorted(SEEDS.glob("*.onnx"))}
    with tarfile.open(RECORDS / "models" / f"{collection}.tar.xz") as archive:
        files = ((member.name, archive.extractfile(member)) for member in archive)
        return {Path(name).stem: file.read() for name, file in files if file is not None}


@cache
def _answers(collection: str) -> Mapping[str, Mapping[str, tuple[str, str, str]]]:
    """Target -> model -> answer, operator, message."""
    answers: dict[str, dict[str, tuple[str, str, str]]] = {}
    with tarfile.open(RECORDS / "verdicts.tar.xz") as archive:
        for member in archive:
            path, file = Path(member.name), archive.extractfile(member)
            if path.parent.name != collection or file is None:
                continue
            lines = (line.split("\t") for line in file.read().decode().splitlines())
            answers[path.stem] = {fields[0]: (fields[1], fields[2], fields[3]) for fields in lines}
    return answers


@cache
def compare(collection: str) -> Mapping[str, list[Row]]:
    """Every scored row of a set by target; facts are computed once for all targets."""
    answers = _answers(collection)
    targets = [target for target in all_targets() if target.id in answers]
    rows: dict[str, list[Row]] = {target.id: [] for target in targets}
    for name, data in models(collection).items():
        view = ModelView(onnx.ModelProto.FromString(data))
        facts = Facts(view)
        for target in targets:
            parser, operator, message = answers[target.id].get(name, ("unsure", "", ""))
            if parser == "unsure":
                continue
            findings = lint(view, facts, target)
            first = next((finding for finding in findings if finding.refuses), None)
            text = "" if first is None else f"{first.code} {first.message}"
            rows[target.id].append(Row(name, parser, operator, message, verdict_of(findings), _named(view, first), text))
    return rows


def _named(view: ModelView, first: Finding | None) -> frozenset[str]:
    """The operator that a finding is about and, in a subgraph, that of the node which holds it: 7.0 to 8.6 name that one."""
    if first is None:
        return frozenset()
    holder = re.match(r"graph/node\[(\d+)\]/", first.location.path)
    return frozenset({first.location.op_type, *([view.main.nodes[int(holder[1])].op_type] if holder else [])})


def disagreements(collection: str) -> list[str]:
    """A line for each model that lint judges otherwise than the parser: target, set, model, what is wrong, why."""
    lines = []
    for target, rows in compare(collection).items():
        for row in rows:
            if row.missed:
                why = "missed", f"the parser says of {row.operator or 'the model'}: {row.message}"
            elif row.false_alarm:
                why = "false alarm", f"lint says {row.finding}"
            else:
                continue
            lines.append("\t".join((target, collection, row.model, *why)))
    return lines


def known(collection: str) -> list[str]:
    """The lines of the list of known disagreements that are about one set."""
    return [line for line in KNOWN.read_text().splitlines() if line.split("\t")[1] == collection]


def table(collection: str) -> list[str]:
    """The confusion matrix of one set as a table of the page."""
    lines = [
        "| target | models | taken: likely | unknown | blocked | refused: likely | unknown | blocked | operator as named |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for target, rows in compare(collection).items():
        counts = Counter((row.parser, row.verdict) for row in rows)
        named = [row for row in rows if row.parser == "no" and row.operator]
        right = len(named) - sum(row.names_another for row in named)
        cells = [
            counts[parser, verdict] for parser in ("ok", "no") for verdict in (Verdict.LIKELY, Verdict.UNKNOWN, Verdict.BLOCKED)
        ]
        lines.append(f"| {target} | {len(rows)} | {' | '.join(map(str, cells))} | {right} of {len(named)} |")
    return lines


def section(collection: str) -> str:
    """The part of the page about one set."""
    return "\n".join([f"## {collection}: {SETS[collection]}", "", *table(collection), ""])


def page(sections: Sequence[str]) -> str:
    """The whole page."""
    return f"""# How lint agrees with the parsers

Written by `python -m tests.agreement --write`; a test compares it with what lint says now, cell by cell.

Columns: of the models that the parser takes, and of those that it refuses, how many lint calls *likely*, *unknown* and *blocked*.
The wrong cells are *taken: blocked* and *refused: likely*; each model in them is listed with the reason in
`tests/agreement/known_disagreements.tsv`. The last column: of the refusals in which the parser names an operator, how often
lint's first refusal is about that operator; in a subgraph, the node that holds it counts as named too, which is what 7.0 to 8.6
name. The parser of 9.3 reports most refusals, and those of 10.0 and 10.1 some, under the last node of the graph, whichever node
failed: their last columns say little.

The answers of `trt…` are those of the published source of each release's parser, run against a stand-in network that computes
shapes: what the closed library would refuse later is not in them. The answers of `rtx…` are those of NVIDIA's own library. Where
the models and answers come from: `fixtures/agreement/README.md`.

{chr(10).join(sections)}"""


def write(more: Sequence[str] = ()) -> None:
    """Write the page, with sections that are `more` than those of the sets, and the list of known disagreements."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page([*(section(name) for name in SETS), *more]))
    KNOWN.write_text("".join(f"{line}\n" for name in SETS for line in disagreements(name)))
