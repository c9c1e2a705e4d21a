"""Say which nodes of an ONNX model a TensorRT release cannot parse, rewrite them, and prove the result equal."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxfix.api import RepairOptions, lint_model, repair_model
    from onnxfix.errors import OnnxfixError
    from onnxfix.model.load import load_model
    from onnxfix.targets import Target, find_target, find_targets
    from onnxfix.verify.prove import prove

__version__ = "0.1.0"

# Where each public name lives; imported when first asked for, so that `import onnxfix` costs nothing.
_HOMES = {
    "OnnxfixError": "onnxfix.errors",
    "RepairOptions": "onnxfix.api",
    "Target": "onnxfix.targets",
    "find_target": "onnxfix.targets",
    "find_targets": "onnxfix.targets",
    "lint_model": "onnxfix.api",
    "load_model": "onnxfix.model.load",
    "prove": "onnxfix.verify.prove",
    "repair_model": "onnxfix.api",
}

__all__ = [
    "OnnxfixError",
    "RepairOptions",
    "Target",
    "__version__",
    "find_target",
    "find_targets",
    "lint_model",
    "load_model",
    "prove",
    "repair_model",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'onnxfix' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
