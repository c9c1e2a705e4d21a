"""The state of the GPU by nvidia-ml-py: clocks, temperature, power.

Tested against a recorded fake, not run on a GPU.
"""

from __future__ import annotations

import contextlib
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# The part by which the clock of the multiprocessors may move before a run counts as throttled.
_MOVED = 0.02
CALLS = (
    "nvmlInit",
    "nvmlShutdown",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetName",
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetCudaDriverVersion",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetPowerManagementLimit",
    "nvmlDeviceGetEccMode",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMemoryInfo",
)


def library() -> Any | None:
    """The module `pynvml`, None where it is not installed."""
    try:
        return import_module("pynvml")
    except ImportError:
        return None


def gpu_state(nvml: Any | None, index: int = 0) -> dict[str, Any]:
    """What the driver says of GPU `index` now; what it does not say is left out, and all of it without driver or package.

    `sm clock MHz`, `memory clock MHz`, `temperature C`, `power W`, `power limit W`, `ecc`, `mig`.
    """
    return _ask(
        nvml,
        index,
        {
            "sm clock MHz": lambda n, h: n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM),
            "memory clock MHz": lambda n, h: n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_MEM),
            "temperature C": lambda n, h: n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU),
            "power W": lambda n, h: round(n.nvmlDeviceGetPowerUsage(h) / 1000, 1),
            "power limit W": lambda n, h: round(n.nvmlDeviceGetPowerManagementLimit(h) / 1000, 1),
            "ecc": lambda n, h: bool(n.nvmlDeviceGetEccMode(h)[0]),
            "mig": lambda n, h: bool(n.nvmlDeviceGetMigMode(h)[0]),
        },
    )


def gpu_facts(nvml: Any | None, index: int = 0) -> dict[str, Any]:
    """What GPU `index` is: `name`, `sm` (as `86`), `driver`, `cuda` (the newest that the driver runs), `memory MiB`."""
    return _ask(
        nvml,
        index,
        {
            "name": lambda n, h: _text(n.nvmlDeviceGetName(h)),
            "sm": lambda n, h: "".join(map(str, n.nvmlDeviceGetCudaComputeCapability(h))),
            "driver": lambda n, h: _text(n.nvmlSystemGetDriverVersion()),
            "cuda": lambda n, h: f"{n.nvmlSystemGetCudaDriverVersion() // 1000}.{n.nvmlSystemGetCudaDriverVersion() % 1000 // 10}",
            "memory MiB": lambda n, h: n.nvmlDeviceGetMemoryInfo(h).total >> 20,
        },
    )


def _ask(nvml: Any | None, index: int, questions: Mapping[str, Any]) -> dict[str, Any]:
    if nvml is None:
        return {}
    try:
        nvml.nvmlInit()
    except Exception:  # no driver: its errors are all of its own kind
        return {}
    found = {}
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        for name, question in questions.items():
            with contextlib.suppress(Exception):  # this GPU does not say
                found[name] = question(nvml, handle)
    except Exception:  # no such GPU
        return {}
    finally:
        with contextlib.suppress(Exception):
            nvml.nvmlShutdown()
    return found


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def throttled(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether the clock of the multiprocessors moved by more than 2 % during a run."""
    old, new = before.get("sm clock MHz"), after.get("sm clock MHz")
    return bool(old and new and abs(new - old) / old > _MOVED)
