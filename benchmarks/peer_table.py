"""How many models of a folder each release takes by its lint: as they are, after other tools, and after repair, in one run.

    python -m benchmarks.peer_table FOLDER [-t trt5.1 -t trt7.1] [--match 'resnet*'] [--allow OFX701] [--rows FILE.jsonl]

The other tools are those of `benchmarks.shape_table`, with what they do by default: onnxsim, onnxslim, Polygraphy's sanitize and
onnxruntime's optimisation at the level "basic". Each model of each tool is run beside the original by onnxruntime on two seeded
inputs; it is wrong where an output differs, where an input or output is gone, or where onnxruntime runs the original and not the
result. A model that onnxruntime does not run (ATen nodes) is compared with nothing; ours has a proof of its own all the same. What
`--allow` changes on purpose is counted apart from wrong answers. Where a tool fails, the model counts as it is. Each tool has a
process of its own, which may die. Ours is repaired for one release at a time, the others give one model for all. A tool that is not
installed is left out with a note.
Exit code 0, whatever the table says; 2 where the folder has no model.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.metadata
import io
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from onnxfix import __version__
from onnxfix.api import RepairOptions, lint_model, repair_model
from onnxfix.errors import OnnxfixError
from onnxfix.model.load import LoadedModel, load_model, parse_model
from onnxfix.targets import find_targets

from .corpus_table import differs
from .processes import EndedError, Process
from .shape_table import TOOLS

if TYPE_CHECKING:
    from collections.abc import Sequence

OURS = "onnxfix"
AS_IS = "as it is"
# Seconds for one model and one tool.
TIMEOUT = 300.0


@dataclass(frozen=True, slots=True)
class Row:
    """What one tool makes of one model.

    Attributes:
        model: the file.
        tool: its name, AS_IS for none.
        taken: the releases whose lint has no error against the result.
        wrong: how an output differs; empty where none does.
        allowed: the same, where a fix that changes what the file says was applied with consent (`--allow`).
        failed: why there is no result; then `taken` is of the model as it is.
    """

    model: str
    tool: str
    taken: tuple[str, ...] = ()
    wrong: str = ""
    failed: str = ""
    allowed: str = ""


def taken_by(loaded: LoadedModel, targets: Sequence[str]) -> tuple[str, ...]:
    """The releases whose lint finds no error."""
    return tuple(report.target for report in lint_model(loaded, targets).targets if not report.count("error"))


def row_of(path: Path, tool: str, targets: Sequence[str], options: RepairOptions) -> Row:
    """Run one tool on one model, lint the result for every release and compare it with the model."""
    loaded = load_model(path.absolute())
    if tool == OURS:
        return _ours(loaded, targets, options)
    try:
        # some leave files where they are called
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
            data = TOOLS[tool](parse_model(loaded.data, path.name)).SerializeToString()
        taken = taken_by(LoadedModel(parse_model(data, path.name), path, data, ""), targets)
    except Exception as error:  # whatever another tool raises, or lint says of what it gives, is its row's outcome
        line = (str(error).strip().splitlines() or [""])[0]
        return Row(path.name, tool, taken_by(loaded, targets), failed=f"{type(error).__name__}: {line}"[:200])
    return Row(path.name, tool, taken, _difference(loaded.path, data))


def _ours(loaded: LoadedModel, targets: Sequence[str], options: RepairOptions) -> Row:
    taken: list[str] = []
    differences = {True: "", False: ""}
    for target in targets:
        report, data = repair_model(loaded, target, options)
        if data is None:
            continue
        taken += taken_by(LoadedModel(parse_model(data, str(loaded.path)), loaded.path, data, ""), [target])
        allowed = any(fix.consent for fix in report.applied)
        if report.status == "repaired" and not differences[allowed]:
            found = _difference(loaded.path, data)
            differences[allowed] = f"{target}: {found}" if found else ""
    return Row(loaded.path.name, OURS, tuple(taken), differences[False], allowed=differences[True])


def _difference(path: Path, data: bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / path.name
        file.write_bytes(data)
        try:
            return differs(path, file, {})
        except Exception as error:  # onnxruntime's errors share no base class but Exception
            return f"does not run: {(str(error).strip().splitlines() or [''])[0]}"[:200]


def table(rows: Sequence[Row], tools: Sequence[str], targets: Sequence[str]) -> list[str]:
    """The lines of the table: a release a row, then what went wrong with each tool."""
    of = {tool: [row for row in rows if row.tool == tool] for tool in tools}

    counts = {target: [sum(target in row.taken for row in of[tool]) for tool in tools] for target in targets}
    counts["wrong"] = [sum(bool(row.wrong) for row in of[tool]) for tool in tools]
    counts["other outputs, allowed"] = [sum(bool(row.allowed) for row in of[tool]) for tool in tools]
    counts["failed"] = [sum(bool(row.failed) for row in of[tool]) for tool in tools]
    lines = [f"| of {len(of[AS_IS])} models | {' | '.join(tools)} |", "|---|" + "---:|" * len(tools)]
    lines += [f"| {word} | {' | '.join(map(str, cells))} |" for word, cells in counts.items()]
    for tool in tools:
        for row in of[tool]:
            said = row.wrong or row.failed or row.allowed
            if said:
                lines.append(f"{tool}, {row.model}: {said}")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peer_table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of .onnx files")
    parser.add_argument("-t", "--target", action="append", default=None, help="release (trt5.1); may repeat")
    parser.add_argument("--match", default="*", help="pattern of the models' names")
    parser.add_argument("--allow", action="append", default=[], help="a rule's code to consent to; may repeat")
    parser.add_argument("--samples", type=int, default=3, help="inputs that each proof of ours tries (3)")
    parser.add_argument("--rows", type=Path, default=None, help="file for one line of JSON a model and tool")
    given = parser.parse_args(arguments)
    paths = sorted(path for path in given.folder.glob("*.onnx") if fnmatch(path.stem, given.match))
    if not paths:
        print(f"error: {given.folder}: no .onnx file there", file=sys.stderr)
        return 2
    try:
        targets = [target.id for word in given.target or ["trt5.1"] for target in find_targets(word)]
    except OnnxfixError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    tools = [tool for tool in TOOLS if tool != OURS]
    for tool in list(tools):
        try:
            importlib.import_module(tool)
        except ImportError as error:
            print(f"{tool}: left out, not installed ({error})", file=sys.stderr)
            tools.remove(tool)
    print(", ".join([*(f"{tool} {importlib.metadata.version(tool)}" for tool in tools), f"{OURS} {__version__}"]) + "\n")
    options = RepairOptions(consent=frozenset(given.allow), samples=given.samples)
    rows: list[Row] = []
    processes = {tool: Process(TIMEOUT) for tool in (*tools, OURS)}
    for done, path in enumerate(paths):
        rows.append(Row(path.name, AS_IS, taken_by(load_model(path), targets)))
        for tool, process in processes.items():
            try:
                rows.append(process.call(row_of, path, tool, targets, options))
            except EndedError as error:
                rows.append(Row(path.name, tool, taken_by(load_model(path), targets), failed=str(error)))
        if given.rows is not None:
            with given.rows.open("a") as file:
                file.writelines(json.dumps(asdict(row)) + "\n" for row in rows if row.model == path.name)
        if sys.stderr.isatty():
            print(f"\r{done + 1} of {len(paths)}", end="", file=sys.stderr)
    for process in processes.values():
        process.close()
    print("\n".join(table(rows, (AS_IS, *tools, OURS), targets)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
