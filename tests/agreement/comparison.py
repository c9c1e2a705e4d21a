"""Holds lint's verdicts against recorded answers of real parsers."""

from __future__ import annotations

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
from onnxfix.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "fixtures" / "agreement"
TARGETS = ("trt5.1", "trt7.1", "rtx1.7")
BUNDLED = ROOT / "fixtures" / "seedmodels"
ALL_SEEDS = ROOT.parent / "shared" / "seedmodels" / "models"
SETS = ("seedmodels", "all seedmodels", "lowered")


@dataclass(frozen=True)
class Row:
    """What a parser said of one model, and what lint says of it."""

    model: str
    parser: str
    operator: str
    verdict: Verdict
    named: str

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
        return bool(self.parser == "no" and self.operator and self.named != self.operator)


@cache
def models(collection: str) -> Mapping[str, bytes]:
    """The models of a set by name; empty where the set is not on this machine."""
    if collection == "lowered":
        with tarfile.open(RECORDS / "lowered-models.tar.xz") as archive:
            files = ((member.name, archive.extractfile(member)) for member in archive)
            return {Path(name).stem: file.read() for name, file in files if file is not None}
    folder = BUNDLED if collection == "seedmodels" else ALL_SEEDS
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("*.onnx"))}


@cache
def compare(collection: str) -> Mapping[str, list[Row]]:
    """Every scored row of a set by target; facts are computed once for all targets."""
    table = "lowered" if collection == "lowered" else "seedmodels"
    recorded = {target: _answers(RECORDS / table / f"{target}.tsv") for target in TARGETS}
    rows: dict[str, list[Row]] = {target: [] for target in TARGETS}
    for name, data in models(collection).items():
        view = ModelView(onnx.ModelProto.FromString(data))
        facts = Facts(view)
        for target in TARGETS:
            parser, operator = recorded[target][name]
            if parser == "unsure":
                continue
            findings = lint(view, facts, find_target(target))
            first = next((finding.location.op_type for finding in findings if finding.refuses), "")
            rows[target].append(Row(name, parser, operator, verdict_of(findings), first))
    return rows


def _answers(path: Path) -> dict[str, tuple[str, str]]:
    lines = (line.split("\t") for line in path.read_text().splitlines())
    return {fields[0]: (fields[1], fields[2]) for fields in lines}


def table(collection: str) -> list[str]:
    """The confusion matrix of one set, a line a target."""
    lines = []
    for target, rows in compare(collection).items():
        counts = Counter((row.parser, row.verdict) for row in rows)
        named = [row for row in rows if row.parser == "no" and row.operator]
        right = len(named) - sum(row.names_another for row in named)
        cells = [
            counts[parser, verdict] for parser in ("ok", "no") for verdict in (Verdict.LIKELY, Verdict.UNKNOWN, Verdict.BLOCKED)
        ]
        columns = [f"{collection:15} {target:7} {len(rows):6}", *(f"{cell:7}" for cell in cells), f"{right:6} of {len(named)}"]
        lines.append(" ".join(columns))
    return lines


HEADINGS = (
    "                                parser: takes it        parser: refuses it      operator",
    "set             target  models  likely unknown blocked  likely unknown blocked  as named",
)
