"""Settles what build options mean for the TensorRT that is installed, before it is started."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from onnxfix.engines.options import HARDWARE_LEVELS, PRECISIONS, BuildOptions
from onnxfix.engines.tensorrt_rtx import DEFAULT_ARCHITECTURE
from onnxfix.engines.tool import gpu_present
from onnxfix.errors import UsageError

if TYPE_CHECKING:
    import onnx

    from onnxfix.engines.tool import Tool

# The builder flags for types other than TF32 are gone from this major version of TensorRT on (its release notes: networks are
# always strongly typed).
_FIRST_STRONGLY_TYPED = 11
_QUANTIZERS = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"})


@dataclasses.dataclass(frozen=True, slots=True)
class Settled:
    """Options for the library itself, and whether the model is converted to float16 first."""

    options: BuildOptions
    converts: bool = False


def types_are_of_file(tool: Tool) -> bool:
    """Whether the installed release computes in the types that the ONNX file names, and has no flags for others."""
    major = tool.version().split(".")[0]
    return tool.family == "rtx" or (major.isdigit() and int(major) >= _FIRST_STRONGLY_TYPED)


def settle(tool: Tool, options: BuildOptions, model: onnx.ModelProto) -> tuple[Settled, list[str]]:
    """The options as the library is to get them, and what to tell the user about it.

    Raises:
        UsageError: an option has another form, or cannot have an effect here.
    """
    notes: list[str] = []
    unknown = sorted(set(options.precision) - set(PRECISIONS))
    if unknown:
        raise UsageError(f"unknown precision {unknown[0]!r}; choose from {', '.join(PRECISIONS)}")
    if options.hardware_compatible not in ("", *HARDWARE_LEVELS):
        raise UsageError(f"unknown hardware level {options.hardware_compatible!r}; choose from {', '.join(HARDWARE_LEVELS)}")
    if options.strip and not options.refit:
        # trtexec does the same: what is stripped can only come back by a refit.
        options = dataclasses.replace(options, refit=True)
    options = _architectures(tool, options, notes)
    options = _compatibility(tool, options, notes)
    return _precision(tool, options, model, notes), notes


def _architectures(tool: Tool, options: BuildOptions, notes: list[str]) -> BuildOptions:
    if not tool.architectures:
        if options.sm:
            raise UsageError(f"--sm is for TensorRT-RTX; {tool.title} builds for the GPU of this machine")
        return options
    if options.sm or gpu_present():
        return options
    words = f"{DEFAULT_ARCHITECTURE[:-1]}.{DEFAULT_ARCHITECTURE[-1]}"
    notes.append(f"no GPU here and no --sm: built for compute capability {words}")
    return dataclasses.replace(options, sm=(DEFAULT_ARCHITECTURE,))


def _compatibility(tool: Tool, options: BuildOptions, notes: list[str]) -> BuildOptions:
    if tool.family != "rtx":
        return options
    if options.hardware_compatible:
        raise UsageError("--hardware-compatible: TensorRT-RTX has no such levels; --sm 86,89,120 makes one engine for several GPUs")
    if options.timing_cache is not None:
        # "Timing cache operations are no-ops in TensorRT-RTX", its binding warns since 1.2.
        notes.append("--timing-cache has no effect: TensorRT-RTX times kernels where the engine runs, not while it builds")
        return dataclasses.replace(options, timing_cache=None)
    return options


def _precision(tool: Tool, options: BuildOptions, model: onnx.ModelProto, notes: list[str]) -> Settled:
    """What becomes of the types that the user asks for."""
    wanted = options.precision
    quantized = any(node.op_type in _QUANTIZERS for node in model.graph.node)
    for name in sorted(wanted & {"int8", "fp8"}):
        if not quantized:
            raise UsageError(
                f"--{name}: the model has no QuantizeLinear and DequantizeLinear nodes, so there are no scales; quantize it first: "
                f"python -m modelopt.onnx.quantization --onnx_path=MODEL --quantize_mode={name} (package nvidia-modelopt)"
            )
    if not types_are_of_file(tool):
        if options.strongly_typed and wanted - {"tf32"}:
            names = ", ".join(f"--{name}" for name in sorted(wanted - {"tf32"}))
            raise UsageError(f"{names} and --strongly-typed exclude each other: a strongly typed network has the types of the file")
        return Settled(options)
    title = f"{tool.title} {tool.version()}".strip()
    if options.strongly_typed:
        notes.append(f"--strongly-typed says nothing new: networks of {title} always are")
    if "bf16" in wanted:
        raise UsageError(
            f"--bf16: {title} computes in the types of the file, and onnxfix converts to float16 only; "
            "export the model in bfloat16 (PyTorch: model.to(torch.bfloat16)), or use --fp16"
        )
    notes += [
        f"--{name} says nothing new: {title} takes the types from the model's QuantizeLinear nodes"
        for name in sorted(wanted & {"int8", "fp8"})
    ]
    flags = wanted & {"tf32"}
    return Settled(dataclasses.replace(options, precision=flags, strongly_typed=False), converts="fp16" in wanted)
