"""Holds lint's verdicts against recorded answers of real parsers, and writes the page and the list of disagreements.

Four sets of models are bundled. The fifth, `corpus`, is 3 GB of larger exports that everyone builds alone: it is compared where the
environment names its folder.
"""

from __future__ import annotations

import os
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
    from collections.abc import Iterator, Mapping, Sequence

    from onnxfix.rules.finding import Finding

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "fixtures" / "agreement"
KNOWN = Path(__file__).parent / "known_disagreements.tsv"
# Domain, operator and number of nodes of all operators in the corpus, so that a test can ask for their records without it.
CORPUS_OPERATORS = RECORDS / "corpus_operators.tsv"
PAGE = ROOT / "docs" / "agreement.md"
SEEDS = ROOT / "fixtures" / "seedmodels"
SETS = {
    "node": "ONNX's own node tests of eight releases, each also with constants for all inputs but the first",
    "lowered": "what rewrites for 5.1, 7.0 and 8.0 made of exports and node tests, good and bad",
    "cases": "public bug reports as small models",
    "seedmodels": "exports of PyTorch 1.2, 1.3 and 1.7",
}
CORPUS = "corpus"
CORPUS_TITLE = "larger exports of PyTorch 2.13 and models that packages ship, each built anew"
# Names the folder of the corpus: a folder of .onnx files for each theme.
CORPUS_FOLDER = "ONNXFIX_CORPUS"


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


def corpus_folder() -> Path | None:
    """The folder of the corpus, None where the environment names none."""
    named = os.environ.get(CORPUS_FOLDER, "")
    return Path(named) if named else None


def models(collection: str) -> Iterator[tuple[str, onnx.ModelProto]]:
    """Name and model, one after the other, since those of the corpus are large; of the exports those that are bundled."""
    if collection == CORPUS:
        folder = corpus_folder()
        assert folder is not None, f"{CORPUS_FOLDER} names no folder"
        for path in sorted(folder.glob("**/*.onnx")):
            yield path.relative_to(folder).with_suffix("").as_posix(), onnx.load(path, load_external_data=False)
    elif collection == "seedmodels":
        for path in sorted(SEEDS.glob("*.onnx")):
            yield path.stem, onnx.load(path)
    else:
        with tarfile.open(RECORDS / "models" / f"{collection}.tar.xz") as archive:
            for member in archive:
                file = archive.extractfile(member)
                if file is not None:
                    yield Path(member.name).stem, onnx.ModelProto.FromString(file.read())


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
    for name, model in models(collection):
        view = ModelView(model)
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


def compared(collection: str) -> list[str]:
    """The names of the models that are here."""
    return sorted({row.model for rows in compare(collection).values() for row in rows})


def taken(rows: Sequence[Row]) -> float:
    """Of the models that lint calls likely, the share that the parser takes; 1 where there are none."""
    likely = [row for row in rows if row.verdict is Verdict.LIKELY]
    return 1.0 - sum(row.missed for row in likely) / max(len(likely), 1)


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


def clean(collection: str) -> list[str]:
    """How much the word *likely* is worth for the forms that a repair produces, as lines of the page."""
    shares = [f"{target} {taken(rows):.2%}" for target, rows in compare(collection).items()]
    lines = [", ".join(shares[begin : begin + 7]) for begin in range(0, len(shares), 7)]
    return ["Of those that lint calls *likely* the parser takes:", ",\n".join(lines) + ".", ""]


def section(collection: str) -> str:
    """The part of the page about one set."""
    title = CORPUS_TITLE if collection == CORPUS else SETS[collection]
    return "\n".join(
        [f"## {collection}: {title}", "", *table(collection), "", *(clean(collection) if collection == "lowered" else [])]
    )


def written_section(collection: str) -> str:
    """The part of the page as it stands; empty where it has none."""
    text = PAGE.read_text() if PAGE.is_file() else ""
    found = text.find(f"## {collection}: ")
    if found < 0:
        return ""
    behind = text.find("\n## ", found)
    return text[found : behind if behind >= 0 else None].rstrip() + "\n"


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


def operators(collection: str) -> Counter[tuple[str, str]]:
    """(domain, operator) of all nodes of a set with their number, in subgraphs and functions too; calls of a model's own functions
    are no operators."""
    found: Counter[tuple[str, str]] = Counter()
    for _, model in models(collection):
        own = {(function.domain, function.name) for function in model.functions}
        waiting = [*model.graph.node, *(node for function in model.functions for node in function.node)]
        while waiting:
            node = waiting.pop()
            if (node.domain, node.op_type) not in own:
                found["" if node.domain == "ai.onnx" else node.domain, node.op_type] += 1
            for attribute in node.attribute:
                for graph in (attribute.g, *attribute.graphs):
                    waiting.extend(graph.node)
    return found


def write(more: Sequence[str] = ()) -> None:
    """Write the page, `more` sections behind those of the sets, the list of disagreements, and of a corpus its operators.

    Without the corpus its part of all of them stays as it stands.
    """
    here = corpus_folder() is not None
    corpus = section(CORPUS) if here else written_section(CORPUS)
    lines = [line for name in SETS for line in disagreements(name)] + (disagreements(CORPUS) if here else known(CORPUS))
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page([*(section(name) for name in SETS), *([corpus] if corpus else []), *more]))
    KNOWN.write_text("".join(f"{line}\n" for line in lines))
    if here:
        rows = sorted((*name, number) for name, number in operators(CORPUS).items())
        CORPUS_OPERATORS.write_text("".join(f"{domain}\t{op}\t{number}\n" for domain, op, number in rows))
