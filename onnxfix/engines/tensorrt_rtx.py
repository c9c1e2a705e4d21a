"""TensorRT-RTX: parses anywhere, and builds ahead of time for GPU architectures that need not be there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxfix.engines.tool import Tool

if TYPE_CHECKING:
    from collections.abc import Sequence

TENSORRT_RTX = Tool(
    name="tensorrt-rtx",
    title="TensorRT-RTX",
    module="tensorrt_rtx",
    family="rtx",
    environment={"POLYGRAPHY_USE_TENSORRT_RTX": "1"},
    needs_gpu=False,
    architectures=True,
)

# Ampere (RTX 30 series, A10, A40): the oldest that desktops and edge servers commonly have today.
DEFAULT_ARCHITECTURE = "86"


def config_loader(architectures: Sequence[str], **options: Any) -> Any:
    """Polygraphy's loader of a builder configuration for compute capabilities such as `86` or `120`, or the GPU here."""
    from polygraphy.backend.tensorrt_rtx import CreateConfigRTX

    if not architectures:
        return CreateConfigRTX(use_gpu=True, **options)
    return CreateConfigRTX(compute_capabilities=[(int(sm[:-1]), int(sm[-1])) for sm in architectures], **options)
