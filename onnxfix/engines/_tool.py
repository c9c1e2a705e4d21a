"""What TensorRT and TensorRT-RTX have in common here, and which of them this machine can use."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from onnxfix.errors import MissingToolError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("tensorrt", "tensorrt-rtx")


@dataclass(frozen=True, slots=True)
class Tool:
    """One parser and builder.

    Attributes:
        name: as `--engine` calls it, and the package of the package index; the extra of onnxfix has this name too.
        title: its name in reports.
        module: the Python module.
        family: the family of its targets.
        environment: what Polygraphy reads, when imported, to use this module.
        needs_gpu: whether it does nothing on a machine without a GPU.
        architectures: whether engines are built for named GPU architectures instead of the GPU that is there.
    """

    name: str
    title: str
    module: str
    family: str
    environment: Mapping[str, str]
    needs_gpu: bool
    architectures: bool

    def is_installed(self) -> bool:
        """True where the module can be found; nothing is imported."""
        return importlib.util.find_spec(self.module) is not None

    def version(self) -> str:
        """The installed package's version, empty where the module comes from elsewhere."""
        try:
            return importlib.metadata.version(self.name)
        except importlib.metadata.PackageNotFoundError:
            return ""

    def is_release(self, target: str) -> bool:
        """True where the installed package is the release that a target names, as far as its version is known."""
        version, release = self.version(), target.removeprefix(self.family).split("-")[0]
        return not version or f"{version}.".startswith(f"{release}.")

    @property
    def install(self) -> str:
        """How to install it."""
        return f"in a clone of onnxfix: pip install '.[{self.name}]'"


def tool(name: str) -> Tool:
    """The tool called `name`.

    Raises:
        UsageError: there is none of that name.
    """
    from onnxfix.engines.tensorrt import TENSORRT
    from onnxfix.engines.tensorrt_rtx import TENSORRT_RTX

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


def gpu_present() -> bool:
    """True where the CUDA driver sees a GPU."""
    try:
        driver: Any = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
