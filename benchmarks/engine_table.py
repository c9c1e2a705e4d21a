"""Whether the repaired models of a folder parse and build with the TensorRT-RTX (or TensorRT) that is installed here.

    python -m benchmarks.engine_table FOLDER [-t trt5.1] [--as-is] [--allow OFX701] [--sm 86,120] [--timeout 300]

Each model is repaired for the target, with the proof, and what would be written is built in a temporary folder; a model that the
repair declines is counted and not built. With `--as-is` the models are built as they are. It also counts which failures of the
builder lint foresees (OFX704), and which models it warns of that build. Sizes that are open are those that the proof ran on.
Refusals of the builder are grouped by their words, with numbers and names left out.
Exit code 0, whatever the table says; 2 where the folder has no model; 4 where nothing here builds.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from onnxfix import engines
from onnxfix.api import RepairOptions, lint_model, repair_model
from onnxfix.asking import installed_targets
from onnxfix.engines.choice import choose
from onnxfix.engines.profile import usual_profile
from onnxfix.errors import OnnxfixError
from onnxfix.model.load import copy_external, load_model, parse_model, write_bytes
from onnxfix.targets import find_targets
from onnxfix.targets.builds import RULE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.targets import Target


@dataclass(frozen=True, slots=True)
class Row:
    """One model: what the repair made of it, what parser and builder say of that, and whether lint foresees trouble."""

    name: str
    repair: str
    verdict: str
    words: str
    seconds: float
    foreseen: bool


def row_of(path: Path, options: RepairOptions, given: Given) -> Row:
    """Repair one model, unless it is to be left as it is, and build what comes of it."""
    begin = time.perf_counter()
    foreseen = False

    def row(repair: str, verdict: str, words: str = "") -> Row:
        return Row(path.name, repair, verdict, words, time.perf_counter() - begin, foreseen)

    try:
        loaded = load_model(path)
        status, data, sizes = "as is", loaded.data, None
        if given.targets:
            report, made = repair_model(loaded, given.targets, options)
            if made is None:
                return row(report.status, "not built", report.reason)
            status, data = report.status, made
            sizes = report.proof.bindings[0] if report.proof is not None and report.proof.bindings else None
        with tempfile.TemporaryDirectory(prefix="onnxfix-") as folder:
            model = Path(folder) / "m.onnx"
            proto = parse_model(data, path.name)
            copy_external(proto, loaded.base_dir, model.parent)
            write_bytes(model, data)
            (found,) = lint_model(load_model(model), [given.here]).targets
            foreseen = any(finding.code == RULE for finding in found.findings)
            build = engines.BuildOptions(sm=given.sm, profiles=usual_profile(proto, sizes))
            result = engines.build(model, model.with_suffix(".engine"), build, timeout=given.timeout)
    except OnnxfixError as error:
        return row("failed", "not built", str(error))
    words = [*(error.message for error in result.parse.errors), *result.messages, *result.parse.messages]
    return row(status, str(result.verdict), "" if result.verdict == "built" else (words or [""])[0])


@dataclass(frozen=True, slots=True)
class Given:
    """What is the same for all models: the releases to repair for (none: as is), the one here, GPUs, and seconds for a build."""

    targets: Sequence[Target]
    here: str
    sm: tuple[str, ...]
    timeout: float


def kind_of(words: str) -> str:
    """A message without what differs from model to model."""
    return re.sub(r"'[^']*'|\(node_of[^)]*\)|\d+|In \S+ at \S+", "#", words)[:160]


def print_table(rows: Sequence[Row]) -> None:
    """The rows, then the totals."""
    width = max(len(row.name) for row in rows)
    for row in rows:
        print(f"{row.name:{width}}  {row.repair:9}  {row.verdict:9}  {row.words[:200]}".rstrip())
    made = [row for row in rows if row.verdict != "not built"]
    built = [row for row in made if row.verdict == "built"]
    print()
    for status, number in Counter(row.repair for row in rows).most_common():
        print(f"{number:5} {status}")
    print(f"{len(rows):5} in all, {sum(row.seconds for row in rows):.0f} s")
    print(f"build_ok/total: {len(built)}/{len(made)} of those that may be written")
    failed = [row for row in made if row.verdict == "failed"]
    print(f"the builder refuses {len(failed)}, of which lint foresees {sum(row.foreseen for row in failed)}", end="")
    print(f"; of those that build it warns of {sum(row.foreseen for row in built)}")
    for words, number in Counter(kind_of(row.words) for row in made if row.verdict != "built").most_common():
        print(f"{number:5} {words}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine_table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of .onnx files")
    parser.add_argument("-t", "--target", action="append", default=None, help="release to repair for (trt5.1); may repeat")
    parser.add_argument("--as-is", action="store_true", help="repair nothing")
    parser.add_argument("--allow", action="append", default=[], help="a rule's code to consent to; may repeat")
    parser.add_argument("--sm", default="86", help="GPU architectures to build for (86)")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one build (300)")
    given = parser.parse_args(arguments)
    paths = sorted(given.folder.glob("*.onnx"))
    if not paths:
        print(f"error: {given.folder}: no .onnx file there", file=sys.stderr)
        return 2
    try:
        tool = choose(None)
    except OnnxfixError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    targets = [target for word in given.target or ["trt5.1"] for target in find_targets(word)] if not given.as_is else []
    how = f"repaired for {', '.join(target.id for target in targets)}" if targets else "as they are"
    print(f"{how}, built with {tool.title} {tool.version()} for SM {given.sm}\n")
    options = RepairOptions(consent=frozenset(given.allow), samples=4)
    sm = tuple(given.sm.split(",")) if tool.architectures else ()
    same = Given(targets, installed_targets()[-1], sm, given.timeout)
    print_table([row_of(path, options, same) for path in paths])
    return 0


if __name__ == "__main__":
    sys.exit(main())
