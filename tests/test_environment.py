"""What a machine can do, and what does not fit together, for machines that are made up; and the command on this one."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from onnxfix.cli.env import command
from onnxfix.engines.choice import tool
from onnxfix.environment import Machine, abilities, mismatches, target_of

BASE = {"onnx": "1.23.0", "onnxruntime": "1.32.0"}


def machine(packages: dict[str, str] | None = None, **more: Any) -> Machine:
    return Machine("3.11.7", "Linux", {**BASE, **(packages or {})}, **more)


def able(one: Machine) -> dict[str, bool]:
    return {ability.command: ability.works for ability in abilities(one)}


def test_without_tensorrt_and_gpu_lint_and_repair_work_and_the_rest_says_how() -> None:
    one = machine()
    assert able(one) == {
        "lint, explain, targets": True,
        "repair, verify": True,
        "build, lint --ask-parser": False,
        "bench": False,
        "bench --engine onnxruntime": True,
        "bench --export": False,
    }
    installs = [ability.install for ability in abilities(one) if ability.install]
    assert installs == ["in a clone of onnxfix: pip install '.[tensorrt-rtx]'", "in a clone of onnxfix: pip install '.[plot]'"]
    assert mismatches(one) == []


def test_rtx_builds_without_a_gpu_and_tensorrt_does_not() -> None:
    assert able(machine({"tensorrt-rtx": "1.7.1"}))["build, lint --ask-parser"]
    assert not able(machine({"tensorrt": "10.9.0"}))["build, lint --ask-parser"]
    assert able(machine({"tensorrt": "10.9.0", "cuda-bindings": "13.0"}, gpu_present=True))["bench"]
    assert not able(machine({"tensorrt": "10.9.0"}, gpu_present=True))["bench"]


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (machine({"tensorrt": "10.9.0"}, fails={"tensorrt": "libnvinfer.so.10: cannot open"}), "does not import: libnvinfer.so.10"),
        (machine({"tensorrt": "11.1.0"}), "has no flags for types"),
        (machine({"tensorrt": "99.1.0"}), "has no records of"),
        (
            machine(
                {"tensorrt-rtx": "1.7.1"}, cuda_of={"tensorrt-rtx": 13}, gpu={"driver": "550.1", "cuda": "12.4"}, gpu_present=True
            ),
            "the driver 550.1 runs CUDA up to 12.4, and TensorRT-RTX 1.7.1 is made for CUDA 13",
        ),
        (machine({"tensorrt": "11.0.1"}, gpu={"sm": "75"}, gpu_present=True), "and this one is 7.5"),
        (machine({"onnxruntime-gpu": "1.32.0"}), "write over each other"),
        (machine(gpu={"name": "NVIDIA A10"}), "CUDA_VISIBLE_DEVICES may hide it"),
        (machine(gpu_present=True), "TensorRT 8 has nothing for Python 3.11.7"),
    ],
)
def test_what_does_not_fit_is_said(one: Machine, said: str) -> None:
    assert any(said in text for text in mismatches(one)), mismatches(one)


def test_what_fits_is_not_warned_of() -> None:
    fine = machine(
        {"tensorrt": "10.9.0", "cuda-bindings": "13.0"},
        cuda_of={"tensorrt": 12},
        gpu={"driver": "580", "cuda": "13.0", "sm": "86"},
        gpu_present=True,
    )
    assert mismatches(fine) == []


@pytest.mark.parametrize(
    ("name", "version", "target"),
    [
        ("tensorrt", "10.1.0", "trt10.1"),
        ("tensorrt", "10.10.0.31", "trt10.10"),
        ("tensorrt", "7.2.2.3", "trt7.2.2"),
        ("tensorrt", "7.2.1.6", "trt7.2"),
        ("tensorrt-rtx", "1.7.1.116", "rtx1.7"),
    ],
)
def test_the_release_of_an_installed_version(name: str, version: str, target: str) -> None:
    found = target_of(tool(name), version)
    assert found is not None
    assert found.id == target


def test_the_command_tells_of_this_machine() -> None:
    text = CliRunner().invoke(command, [])
    assert text.exit_code == 0, text.output
    assert "onnxfix" in text.output
    assert "lint, explain, targets: all releases" in text.output
    report = json.loads(CliRunner().invoke(command, ["-f", "json"]).output)
    assert report["env"]["machine"]["packages"]["onnx"]
