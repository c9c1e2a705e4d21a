"""Exports of PyTorch 1.2 to 1.7, repaired for TensorRT 5.1: written, free of findings, and equal to the original."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from onnxfix.api import RepairOptions, lint_model, repair_model
from onnxfix.model.load import load_model
from onnxfix.targets import find_target
from onnxfix.verify.aten import aten_operator
from onnxfix.verify.graph import real_inputs

from .harness import error, load, noise, run, same_bits

ROOT = Path(__file__).parents[2]
BUNDLED = sorted((ROOT / "fixtures" / "seedmodels").glob("*.onnx"))
SHARED = ROOT.parent / "shared" / "seedmodels" / "models"
TARGET = find_target("trt5.1")
CONSENT = RepairOptions(consent=frozenset({"OFX701"}))


def has_sizes_fault(model: onnx.ModelProto) -> bool:
    """True where a Resize has constant sizes that begin with 1,1, which torch 1.3 wrote for any data."""
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            stored[node.output[0]] = onnx.numpy_helper.to_array(node.attribute[0].t)
    sizes = [stored.get(node.input[3]) for node in model.graph.node if node.op_type == "Resize" and len(node.input) > 3]
    return any(array is not None and list(array[:2]) == [1, 1] for array in sizes)


def feeds(model: onnx.ModelProto, batch: int) -> dict[str, np.ndarray]:
    return {
        value.name: noise([dim.dim_value or batch for dim in value.type.tensor_type.shape.dim], seed=batch)
        for value in real_inputs(model.graph)
    }


def independent_error(before: onnx.ModelProto, after: onnx.ModelProto) -> float:
    """onnxruntime on both, on inputs that the proof has not seen: the largest error over the largest output."""
    dynamic = any(not dim.dim_value for value in real_inputs(before.graph) for dim in value.type.tensor_type.shape.dim)
    return max(
        error(run(before, given), run(after, given))
        for given in (feeds(before, batch) for batch in ((1, 2, 5) if dynamic else (1,)))
    )


def test_the_bundled_models_are_here() -> None:
    assert len(BUNDLED) >= 25


@pytest.mark.parametrize("path", BUNDLED, ids=lambda path: path.stem)
def test_a_bundled_model_is_repaired_and_equal(path: Path) -> None:
    loaded = load_model(path)
    report, data = repair_model(loaded, [TARGET], CONSENT)
    assert report.status in ("repaired", "clean"), (report.reason, report.declined)
    assert data is not None
    assert not lint_model(load(data), [TARGET]).targets[0].count("error")
    result = onnx.ModelProto.FromString(data)
    onnx.checker.check_model(result, full_check=True)
    if report.status == "clean":
        assert data == loaded.data
        return
    assert report.proof is not None
    assert report.proof.passed
    assert report.fidelity is not None
    assert repair_model(load(data), [TARGET], CONSENT)[1] == data
    if has_sizes_fault(loaded.proto) or any(aten_operator(node) for node in loaded.proto.graph.node):
        return  # onnxruntime does not run the original, or says what the file says and not what was meant
    assert independent_error(loaded.proto, result) <= 5e-6
    if report.proof.exact:
        same_bits(run(loaded.proto, feeds(loaded.proto, 1)), run(result, feeds(loaded.proto, 1)))


@pytest.mark.parametrize("path", [path for path in BUNDLED if has_sizes_fault(onnx.load(path))], ids=lambda path: path.stem)
def test_a_bundled_model_with_the_sizes_fault_needs_consent(path: Path) -> None:
    report, data = repair_model(load_model(path), [TARGET])
    assert (report.status, data) == ("declined", None)
    assert ("OFX701", "OFX701") in {(item.rule, item.consent) for item in report.declined}
    report, data = repair_model(load_model(path), [TARGET], CONSENT)
    assert report.status == "repaired"
    assert "OFX701" in {fix.consent for fix in report.applied}


@pytest.fixture(scope="module")
def shared() -> list[Path]:
    paths = sorted(SHARED.glob("*.onnx"))
    if not paths:
        pytest.skip("the whole set of 140 seed models is not beside this checkout; the bundled ones are tested above")
    return paths


def test_of_all_seed_models_at_least_138_are_written_clean_and_proven(shared: list[Path], measured: Callable[[str], None]) -> None:
    written = proven = fine = 0
    for path in shared:
        report, data = repair_model(load_model(path), [TARGET], CONSENT)
        if data is None:
            assert report.declined or report.reason
            continue
        assert not lint_model(load(data), [TARGET]).targets[0].count("error"), path.name
        written += 1
        fine += report.status == "clean"
        proven += report.proof is not None and report.proof.passed
    assert len(shared) == 140
    assert written >= 138
    assert written == fine + proven
    measured(f"seed models for trt5.1: {written} of {len(shared)} written, {fine} of them already fine, {proven} proven")


def test_of_all_seed_models_just_those_with_the_sizes_fault_are_declined_without_consent(shared: list[Path]) -> None:
    faulty = [path for path in shared if has_sizes_fault(onnx.load(path))]
    assert {path.name.split("_")[0] for path in faulty} == {"torch1.3.1"}
    for path in faulty:
        report, data = repair_model(load_model(path), [TARGET])
        assert (report.status, data) == ("declined", None), path.name
        assert "OFX701" in {item.rule for item in report.declined}


def test_the_table_is_one_command() -> None:
    if not (ROOT / "benchmarks" / "seed_table.py").is_file():
        pytest.skip("benchmarks/ does not come with the source archive")
    done = table(BUNDLED[0].parent, "-t", "trt5.1", "--allow", "OFX701", "--samples", "2")
    assert done.returncode == 0
    rows = [line for line in done.stdout.splitlines() if re.match(r"torch\S+\.onnx", line)]
    assert len(rows) == len(BUNDLED)
    assert all(" repaired " in row or " already fine" in row for row in rows)
    assert f"{len(BUNDLED):5} in all" in done.stdout
    assert "    0 would be written with errors left" in done.stdout
    empty = table(ROOT / "rules")
    assert (empty.returncode, empty.stderr.count("\n")) == (2, 1)


def table(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.seed_table", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
