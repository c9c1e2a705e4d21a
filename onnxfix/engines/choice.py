"""Which of TensorRT and TensorRT-RTX this machine can use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.engines.tensorrt import TENSORRT
from onnxfix.engines.tensorrt_rtx import TENSORRT_RTX
from onnxfix.engines.tool import gpu_present
from onnxfix.errors import MissingToolError, UsageError

if TYPE_CHECKING:
    from onnxfix.engines.tool import Tool

NAMES = (TENSORRT.name, TENSORRT_RTX.name)


def tool(name: str) -> Tool:
    """The tool called `name`.

    Raises:
        UsageError: there is none of that name.
    """
    for one in (TENSORRT, TENSORRT_RTX):
        if one.name == name:
            return one
    raise UsageError(f"unknown engine {name!r}; choose {' or '.join(NAMES)}")


def choose(name: str | None) -> Tool:
    """The tool to use: the one named, else TensorRT where it and a GPU are there, else TensorRT-RTX.

    Raises:
        MissingToolError: it is not installed, or needs a GPU and there is none.
        UsageError: there is no tool of that name.
    """
    if name is not None:
        chosen = tool(name)
        if not chosen.is_installed():
            raise MissingToolError(f"{chosen.title} is not installed; {chosen.install}")
    else:
        installed = [one for one in map(tool, NAMES) if one.is_installed()]
        if not installed:
            install = tool("tensorrt-rtx").install
            raise MissingToolError(f"neither TensorRT nor TensorRT-RTX is installed; {install} (builds without a GPU)")
        gpu = gpu_present()
        chosen = next((one for one in installed if gpu or not one.needs_gpu), installed[0])
    if chosen.needs_gpu and not gpu_present():
        install = tool("tensorrt-rtx").install
        raise MissingToolError(
            f"{chosen.title} needs an NVIDIA GPU and its driver, none is here; TensorRT-RTX works without; {install}"
        )
    return chosen


def builds_for(target: str) -> bool:
    """Whether this machine can build an engine for the release that a target names."""
    one = next((one for one in map(tool, NAMES) if target.startswith(one.family)), None)
    return one is not None and one.is_installed() and one.is_release(target) and (gpu_present() or not one.needs_gpu)


def tool_of(target: str) -> Tool | None:
    """The tool whose installed release is known to be the one that a target names, where it can be used here."""
    one = next((one for one in map(tool, NAMES) if target.startswith(one.family)), None)
    return one if one is not None and builds_for(target) and one.version() else None
