"""What a build may be told: shapes, memory, types, compatibility."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PRECISIONS = ("fp16", "bf16", "int8", "fp8", "tf32")
HARDWARE_LEVELS = ("ampere+", "same-compute-capability")


@dataclass(frozen=True, slots=True)
class ShapeRange:
    """The shapes of one input in an optimization profile."""

    min: tuple[int, ...]
    opt: tuple[int, ...]
    max: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How an engine is built.

    Attributes:
        sm: GPU architectures to build for, such as `86` and `120`; TensorRT-RTX only. By default the GPU of this machine, or
            `86` where there is none.
        profiles: shapes of inputs with sizes given at run time, one optimization profile.
        precision: of PRECISIONS, what layers may compute in besides FP32. From TensorRT 11 on and in TensorRT-RTX the types of
            the file are those of the engine: then `fp16` converts the model first.
        strongly_typed: layers compute in the types of the file, nothing else; always so from TensorRT 11 on and in RTX.
        workspace: limit of the builder's scratch memory, in MiB.
        opt_level: 0 to 5, how long the builder may look for faster kernels.
        timing_cache: a file of kernel timings: read where it is there, and written anew after the build.
        version_compatible: the engine also runs on later minor versions of the library.
        hardware_compatible: of HARDWARE_LEVELS, or empty; which GPUs the engine runs on besides the one it was built on.
        plugins: libraries of plugins to load before parsing.
        refit: the weights of the engine can be replaced.
        strip: the engine is written without the weights that a refit brings back.
    """

    sm: tuple[str, ...] = ()
    profiles: Mapping[str, ShapeRange] = field(default_factory=dict)
    precision: frozenset[str] = frozenset()
    strongly_typed: bool = False
    workspace: int | None = None
    opt_level: int | None = None
    timing_cache: Path | None = None
    version_compatible: bool = False
    hardware_compatible: str = ""
    plugins: tuple[Path, ...] = ()
    refit: bool = False
    strip: bool = False
