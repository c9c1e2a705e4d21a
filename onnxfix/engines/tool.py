"""What TensorRT and TensorRT-RTX have in common here, and whether this machine has a GPU."""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


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


def gpu_present() -> bool:
    """True where the CUDA driver sees a GPU."""
    try:
        driver: Any = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int()
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
