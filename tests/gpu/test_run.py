"""The script for GPU machines: without a GPU it says why it measures nothing; its table, from samples that are made up."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from onnxfix.bench.raw import Bench, Round, Variant, save
from onnxfix.engines.tool import gpu_present

from .table import table

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "gpu" / "run.sh"


@pytest.mark.skipif(gpu_present(), reason="there is a GPU: the script would measure")
def test_without_a_gpu_it_exits_4_with_the_reason(tmp_path: Path) -> None:
    environment = os.environ | {"ONNXFIX_PYTHON": sys.executable}
    done = subprocess.run(["bash", SCRIPT, "", tmp_path / "out"], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stderr.startswith("not measured: tensorrt: ")
    assert not (tmp_path / "out").exists()


def test_its_models_are_there() -> None:
    names = re.findall(r"^  (torch[\w.]+)$", SCRIPT.read_text(), re.MULTILINE)
    assert len(names) == 3
    assert [name for name in names if not (ROOT / "fixtures" / "seedmodels" / f"{name}.onnx").is_file()] == []


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ONNXFIX_PYTHON"}
    done = subprocess.run(["bash", SCRIPT, tmp_path / "none"], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert "is no folder" in done.stderr


def test_the_table_names_machine_variants_and_what_was_left_out(tmp_path: Path) -> None:
    def variant(name: str, ms: float) -> Variant:
        rounds = tuple(
            Round(0, float(number), 1.0, {"computeMs": [ms] * 5, "enqueueMs": [0.01] * 5, "hostLatencyMs": [ms * 2] * 5})
            for number in range(3)
        )
        return Variant(name, f"{name}.onnx", "0", (6,), (1.0,), "", True, rounds)

    bench = Bench(
        "TensorRT-RTX 1.7",
        "gpu",
        "computeMs",
        "NVIDIA A10, sm 86",
        {"shapes": {}},
        {"sm clock MHz": 1500},
        {"sm clock MHz": 1500},
        (variant("m", 0.5), variant("m.fixed", 0.4)),
        {"other": "not parsed"},
    )
    save(bench, tmp_path / "raw.json")
    lines = table([tmp_path / "raw.json"])
    assert lines[0] == "TensorRT-RTX 1.7 on NVIDIA A10, sm 86"
    assert "| m.fixed | 0.4000 [0.4000, 0.4000] | 0.4000 | 0.8000 | 5 | -20.0 % [-20.0, -20.0] |" in lines
    assert "- left out: other: not parsed" in lines
    assert "- before: sm clock MHz 1500" in lines
