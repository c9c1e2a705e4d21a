"""Writes beside an engine how it was made: from which model, by which versions, with which settings, and its layers."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from onnxfix import __version__
from onnxfix.model.load import external_file, external_locations, write_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from onnxfix.engines.options import BuildOptions
    from onnxfix.engines.result import BuildResult
    from onnxfix.engines.tool import Tool
    from onnxfix.model.load import LoadedModel

SCHEMA = "onnxfix-engine/1"
_PACKAGES = ("onnx", "polygraphy", "numpy", "tensorrt", "tensorrt-rtx", "onnxruntime")


def record_path(engine: Path) -> Path:
    """The JSON file of an engine file: its name with `.json` added."""
    return engine.with_name(f"{engine.name}.json")


def write_record(result: BuildResult, source: LoadedModel, options: BuildOptions, tool: Tool) -> None:
    """Write the record of a built engine beside it, whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    assert result.output is not None
    text = json.dumps(record(result, source, options, tool), indent=2, default=_plain)
    write_bytes(record_path(result.output), (text + "\n").encode())


def record(result: BuildResult, source: LoadedModel, options: BuildOptions, tool: Tool) -> dict[str, Any]:
    """What is written: times in seconds, sizes in bytes."""
    assert result.output is not None
    parsed = result.parse
    return {
        "schema": SCHEMA,
        "built": datetime.now(UTC).isoformat(timespec="seconds"),
        "engine": {"file": result.output.name, "bytes": result.size, "sha256": result.sha256},
        "model": {
            "path": str(source.path),
            "sha256": source.sha256,
            "bytes": len(source.data),
            "external_data": [
                {"file": location, "bytes": external_file(source.base_dir, location).stat().st_size}
                for location in external_locations(source.proto)
            ],
        },
        "library": {"name": tool.name, "version": parsed.version},
        "versions": {"onnxfix": __version__, "python": platform.python_version(), **_versions()},
        "machine": {"system": platform.platform(), "processor": platform.machine()},
        "options": {name: value for name, value in asdict(options).items() if value not in (None, (), {}, frozenset(), "", False)},
        "settings": dict(result.settings),
        "built_for": list(result.sm) or ["the GPU of this machine"],
        "notes": list(result.notes),
        "parser": {
            "seconds": round(parsed.seconds, 6),
            "messages": list(parsed.messages),
            "inputs": [asdict(tensor) for tensor in parsed.inputs],
            "outputs": [asdict(tensor) for tensor in parsed.outputs],
        },
        "builder": {"seconds": round(result.seconds, 6), "messages": list(result.messages)},
        "network_layers": [dict(layer) for layer in result.network],
        "engine_layers": list(result.layers) if result.layers is not None else None,
        "no_engine_layers": result.no_layers,
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, (set, frozenset)) else str(value)
