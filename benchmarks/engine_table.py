"""Whether the repaired models of a folder parse and build with the TensorRT-RTX (or TensorRT) that is installed here.

    python -m benchmarks.engine_table FOLDER [-t trt5.1] [--allow OFX701] [--sm 86,120] [--timeout 300]

Each model is repaired for the target, with the proof, and what would be written is built in a temporary folder; a model that the
repair declines is counted and not built. Sizes that are open are those that the proof ran on. Refusals of the builder are grouped
by their words, with numbers and names left out.
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
from onnxfix.api import RepairOptions, repair_model
from onnxfix.engines.choice import choose
from onnxfix.engines.profile import usual_profile
from onnxfix.errors import OnnxfixError
from onnxfix.model.load import copy_external, load_model, parse_model, write_bytes
from onnxfix.targets import find_targets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.targets import Target


@dataclass(frozen=True, slots=True)
class Row:
    """One model: what the repair made of it, what parser and builder say of that, and their words."""

    name: str
    repair: str
    verdict: str
    words: str
    seconds: float


def row_of(path: Path, targets: Sequence[Target], options: RepairOptions, sm: tuple[str, ...], timeout: float) -> Row:
    """Repair one model and build what comes of it."""
    begin = time.perf_counter()

    def row(repair: str, verdict: str, words: str = "") -> Row:
        return Row(path.name, repair, verdict, words, time.perf_counter() - begin)

    try:
        loaded = load_model(path)
        report, data = repair_model(loaded, targets, options)
        if data is None:
            return row(report.status, "not built", report.reason)
        with tempfile.TemporaryDirectory(prefix="onnxfix-") as folder:
            model = Path(folder) / "m.onnx"
            proto = parse_model(data, path.name)
            copy_external(proto, loaded.base_dir, model.parent)
            write_bytes(model, data)
            proof = report.proof
            profiles = usual_profile(proto, proof.bindings[0] if proof is not None and proof.bindings else None)
            result = engines.build(
                model, model.with_suffix(".engine"), engines.BuildOptions(sm=sm, profiles=profiles), timeout=timeout
            )
    except OnnxfixError as error:
        return row("failed", "not built", str(error))
    words = [error.message for error in result.parse.errors] or [*result.parse.messages, *result.messages]
    return row(report.status, str(result.verdict), "" if result.verdict == "built" else (words or [""])[0])


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
    for words, number in Counter(kind_of(row.words) for row in made if row.verdict != "built").most_common():
        print(f"{number:5} {words}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine_table", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of .onnx files")
    parser.add_argument("-t", "--target", action="append", default=None, help="release to repair for (trt5.1); may repeat")
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
    targets = [target for word in given.target or ["trt5.1"] for target in find_targets(word)]
    names = ", ".join(target.id for target in targets)
    print(f"repaired for {names}, built with {tool.title} {tool.version()} for SM {given.sm}\n")
    options = RepairOptions(consent=frozenset(given.allow), samples=4)
    sm = tuple(given.sm.split(",")) if tool.architectures else ()
    print_table([row_of(path, targets, options, sm, given.timeout) for path in paths])
    return 0


if __name__ == "__main__":
    sys.exit(main())
