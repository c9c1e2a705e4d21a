"""TensorRT: parses and builds only where a GPU is. Tested against a stand-in for the module, not run on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxfix.engines.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

TENSORRT = Tool(
    name="tensorrt",
    title="TensorRT",
    module="tensorrt",
    family="trt",
    environment={"POLYGRAPHY_USE_TENSORRT_RTX": "0"},
    needs_gpu=True,
    architectures=False,
)


def config_loader(_architectures: Sequence[str], **options: Any) -> Any:
    """Polygraphy's loader of a builder configuration; TensorRT builds for the GPU that is there."""
    from polygraphy.backend.trt import CreateConfig

    return CreateConfig(**options)
