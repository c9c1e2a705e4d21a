"""What this machine has, what each command can do with it, and what does not fit together."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onnxfix.bench.gpu_state import gpu_facts, gpu_state, library
from onnxfix.engines.choice import NAMES, tool
from onnxfix.engines.tool import gpu_present
from onnxfix.targets import all_targets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnxfix.engines.tool import Tool
    from onnxfix.targets import Target

# In the order of the table; `onnxruntime-gpu` gives the module of `onnxruntime`.
PACKAGES = (
    "onnx",
    "onnxruntime",
    "onnxruntime-gpu",
    "onnx-graphsurgeon",
    "polygraphy",
    "numpy",
    "tensorrt",
    "tensorrt-rtx",
    "cuda-bindings",
    "nvidia-ml-py",
    "matplotlib",
)
# TensorRT 8.5 and 8.6 are the oldest on the package index, and have wheels up to Python 3.10 only.
_FIRST_FOR_THIS_PYTHON = 10
_FIRST_STRONGLY_TYPED = 11
_IMPORT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Machine:
    """What was found; nothing is judged here.

    Attributes:
        python: version of Python.
        system: operating system and processor, in words.
        packages: installed packages by name, with their versions.
        fails: why the module of a TensorRT does not import, by the tool's name; only those installed that fail.
        cuda_of: the major version of CUDA that a TensorRT's libraries are made for, by the tool's name, where its package says so.
        gpu: name, `sm`, driver, CUDA and memory of the first GPU, as far as the driver's library says.
        state: its clocks, temperature and power now.
        gpu_present: whether the CUDA driver sees a GPU.
    """

    python: str
    system: str
    packages: Mapping[str, str] = field(default_factory=dict)
    fails: Mapping[str, str] = field(default_factory=dict)
    cuda_of: Mapping[str, int] = field(default_factory=dict)
    gpu: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)
    gpu_present: bool = False


@dataclass(frozen=True, slots=True)
class Ability:
    """What a command can do here: `works`, what with, or what is missing and how to get it."""

    command: str
    works: bool
    words: str
    install: str = ""


def probe() -> Machine:
    """Look at this machine; TensorRT is imported in processes of their own, since its libraries may crash."""
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    installed = [one for one in map(tool, NAMES) if one.is_installed()]
    nvml = library()
    return Machine(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()}, {platform.machine()}",
        packages=packages,
        fails={one.name: why for one in installed if (why := _import_error(one))},
        cuda_of={one.name: major for one in installed if (major := _cuda_of(one.name))},
        gpu=gpu_facts(nvml),
        state=gpu_state(nvml),
        gpu_present=gpu_present(),
    )


def _import_error(one: Tool) -> str:
    code = f"import {one.module} as trt; trt.__version__"
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", code],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_IMPORT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"its import did not end in {_IMPORT_SECONDS} s"
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return "" if done.returncode == 0 else (lines[-1] if lines else f"its import ended with code {done.returncode}")


def _cuda_of(package: str) -> int:
    """The CUDA major version in the name of the package that holds the libraries, such as `tensorrt_cu12`; 0 where none says."""
    try:
        needed = importlib.metadata.requires(package) or []
    except importlib.metadata.PackageNotFoundError:
        return 0
    found = [int(match[1]) for item in needed if (match := re.search(r"[_-]cu(\d+)", item))]
    return max(found, default=0)


def abilities(machine: Machine) -> list[Ability]:
    """What each command can do on a machine."""
    found = [Ability("lint, explain, targets", True, "all releases")]
    ort = next((f"{name} {machine.packages[name]}" for name in ("onnxruntime", "onnxruntime-gpu") if name in machine.packages), "")
    found.append(
        Ability(
            "repair, verify",
            bool(ort),
            ort or "onnxruntime is missing, so nothing can be proven",
            "" if ort else "pip install onnxruntime",
        )
    )
    usable = [one for one in map(tool, NAMES) if one.name in machine.packages and one.name not in machine.fails]
    building = [one for one in usable if machine.gpu_present or not one.needs_gpu]
    rtx = tool("tensorrt-rtx")
    if building:
        words = ", ".join(f"{one.title} {machine.packages[one.name]}" for one in building)
        found.append(Ability("build, lint --ask-parser", True, words))
    else:
        why = "TensorRT needs a GPU, none is here" if usable else "neither TensorRT nor TensorRT-RTX can be used"
        found.append(Ability("build, lint --ask-parser", False, why, rtx.install))
    if not machine.gpu_present:
        found.append(
            Ability("bench", False, "no NVIDIA GPU with a working driver is here; --engine onnxruntime measures on the CPU")
        )
    elif not building:
        found.append(Ability("bench", False, "no TensorRT to run engines with", rtx.install))
    elif "cuda-bindings" not in machine.packages:
        found.append(Ability("bench", False, "cuda-python is missing", "in a clone of onnxfix: pip install '.[gpu]'"))
    else:
        found.append(Ability("bench", True, str(machine.gpu.get("name", "on the GPU here"))))
    found.append(
        Ability("bench --engine onnxruntime", bool(ort), ort or "onnxruntime is missing", "" if ort else "pip install onnxruntime")
    )
    drawn = "matplotlib" in machine.packages
    words = f"matplotlib {machine.packages['matplotlib']}" if drawn else "matplotlib is missing"
    found.append(Ability("bench --export", drawn, words, "" if drawn else "in a clone of onnxfix: pip install '.[plot]'"))
    return found


def target_of(one: Tool, version: str) -> Target | None:
    """The release that an installed version is, None where onnxfix does not know it."""
    fitting = [each for each in all_targets() if each.family == one.family and f"{version}.".startswith(_release(each))]
    return max(fitting, key=lambda each: len(_release(each)), default=None)


def _release(target: Target) -> str:
    return f"{target.id.removeprefix(target.family).split('-')[0]}."


def mismatches(machine: Machine) -> list[str]:
    """What does not fit together, with what to do."""
    found = []
    for one in map(tool, NAMES):
        version = machine.packages.get(one.name)
        if version is None:
            continue
        if one.name in machine.fails:
            why = machine.fails[one.name]
            found.append(f"{one.title} {version} is installed and does not import: {why}; the package may hold no libraries")
        target = target_of(one, version)
        if target is None:
            found.append(f"{one.title} {version} is a release that onnxfix has no records of; lint cannot judge for it")
        major = version.split(".")[0]
        if one.family == "trt" and major.isdigit() and int(major) >= _FIRST_STRONGLY_TYPED:
            found.append(
                f"TensorRT {version} has no flags for types: --fp16 converts the model, and trtexec has no --fp16 or --int8"
            )
        needed, driver = machine.cuda_of.get(one.name, 0), str(machine.gpu.get("cuda", ""))
        if needed and driver and int(driver.split(".")[0]) < needed:
            runs = f"the driver {machine.gpu.get('driver', '')} runs CUDA up to {driver}"
            way = f"update the driver, or install {one.name}-cu{driver.split('.')[0]}"
            found.append(f"{runs}, and {one.title} {version} is made for CUDA {needed}; {way}")
        sm = str(machine.gpu.get("sm", ""))
        if target is not None and sm and target.gpus and f"{sm[:-1]}.{sm[-1]}" not in target.gpus:
            found.append(
                f"{one.title} {version} names GPUs of compute capability {', '.join(target.gpus)}, and this one is "
                f"{sm[:-1]}.{sm[-1]}; use a release that has it (`onnxfix targets`)"
            )
    if {"onnxruntime", "onnxruntime-gpu"} <= machine.packages.keys():
        found.append("onnxruntime and onnxruntime-gpu are both installed and write over each other; uninstall one")
    if machine.gpu and not machine.gpu_present:
        found.append("the driver lists a GPU that CUDA does not see; CUDA_VISIBLE_DEVICES may hide it" + _hidden())
    if "tensorrt" not in machine.packages and machine.gpu_present:
        found.append(
            f"on the package index TensorRT 8 has nothing for Python {machine.python}, only for 3.10 and older; "
            f"from {_FIRST_FOR_THIS_PYTHON}.0 on it has: pip install tensorrt"
        )
    return found


def _hidden() -> str:
    value = os.environ.get("CUDA_VISIBLE_DEVICES")
    return f" (it is {value!r})" if value is not None else ""
