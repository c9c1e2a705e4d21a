"""Where did it go wrong: whose fault a failed step is, and what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxfix.engines.result import BuildResult, BuildVerdict, ParseVerdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from onnxfix.engines.result import ParseResult

_ISSUES = {
    "tensorrt": "https://github.com/NVIDIA/TensorRT/issues",
    "tensorrt-rtx": "https://github.com/NVIDIA/TensorRT-RTX/issues",
}
# Words of the library: who is at fault, why, what to do. The first that is found in a message counts.
_SIGNS: tuple[tuple[str, str, str, str], ...] = (
    (
        r"driver version is insufficient|no CUDA-capable device|CUDA initialization failure|cudaError 35|cudaError 100",
        "machine",
        "the NVIDIA driver is missing or older than the library's CUDA",
        "`onnxfix env` says which driver is needed; update it",
    ),
    (
        r"cannot open shared object file|Unable to load library",
        "machine",
        "a shared library of TensorRT is not installed",
        "install the package that holds it, or leave out the option that needs it",
    ),
    (
        r"out of memory|OutOfMemory|bad_alloc|cudaError 2\b|insufficient memory",
        "machine",
        "memory ran out while it built",
        "build with a smaller --workspace, smaller --max-shape, or where there is more memory",
    ),
    (
        r"Target GPU SM \d+ is not supported|not supported on this (GPU|device)|unsupported SM",
        "machine",
        "this release does not support the GPU",
        "`onnxfix env` says which releases do; use one of them",
    ),
    (
        r"contains HW-specific datatypes",
        "options",
        "one of the GPUs that it is to build for has no such data type",
        "leave that GPU out of --sm: FP8 needs 89 or newer, FP4 120",
    ),
    (
        r"but is not (produced|consumed) by|Quantized constant",
        "exporter",
        "quantized data is made or read by an operator other than QuantizeLinear and DequantizeLinear",
        "export with QuantizeLinear and DequantizeLinear nodes (nvidia-modelopt does), or without quantization",
    ),
    (
        r"which is not an initializer",
        "exporter",
        "a parameter is computed, and the builder wants it stored",
        "`onnxfix repair` folds what it can; else export it as a constant",
    ),
    (
        r"reshape changes volume|out of bounds access|>= input rank|duplicate index value|reshape of empty tensor",
        "options",
        "an operator does not fit the shapes of the optimization profile, or the values that its shape inputs have in it",
        "pass other --min-shape, --opt-shape and --max-shape; repair --shape freezes an input",
    ),
    (
        r"optimization profile|kMIN|kOPT|kMAX",
        "options",
        "the shapes of the optimization profile do not fit the network",
        "pass other --min-shape, --opt-shape and --max-shape",
    ),
    (
        r"Could not find any implementation|no implementation|has no runners|is_decomposable|Error Code 10",
        "builder",
        "it found no kernel for a layer, of those that fit the workspace",
        "build with a larger --workspace; then leave the operator out of the engine, or try a newer release",
    ),
)
_NO_IMPORTER = re.compile(r"No importer registered|Plugin not found|not supported in TensorRT|UNSUPPORTED_NODE")
_BROKEN_FILE = frozenset({"INVALID_GRAPH", "MODEL_DESERIALIZE_FAILED", "INVALID_VALUE"})


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a step failed.

    Attributes:
        stage: `parse`, `build`, `run` or `numbers`.
        whose: `exporter`, `ONNX file`, `parser`, `builder`, `runtime`, `machine`, `options`, `precision` or `onnxfix`.
        why: what is wrong, a clause.
        steps: what to do, most useful first.
    """

    stage: str
    whose: str
    why: str
    steps: tuple[str, ...]

    def __str__(self) -> str:
        return f"at fault: {self.whose}: {self.why}; {self.steps[0]}"

    def as_json(self) -> dict[str, object]:
        """As reports have it."""
        return {"stage": self.stage, "whose": self.whose, "why": self.why, "do": list(self.steps)}


def fault_of(result: BuildResult | ParseResult, model: str) -> Fault | None:
    """The fault of a parse or build that failed, None where nothing did; `model` is its name for commands."""
    parsed = result.parse if isinstance(result, BuildResult) else result
    if parsed.verdict is not ParseVerdict.PARSED:
        return _of_parser(parsed, model)
    verdict = result.verdict
    if verdict in (BuildVerdict.BUILT, ParseVerdict.PARSED):
        return None
    report = f"report it, with the log and what `onnxfix reduce {model} --until build` leaves: {_ISSUES[parsed.engine]}"
    if verdict is BuildVerdict.TIMEOUT:
        return Fault("build", "builder", "it did not come to an end in time", ("raise --timeout, or lower --opt-level",))
    if verdict is BuildVerdict.CRASHED:
        return Fault("build", "builder", "its process died, which no model should bring about", ("try a newer release", report))
    sign = _sign(result.messages)
    if sign is not None:
        _, whose, why, step = sign
        return Fault("build", whose, why, (step, report) if whose == "builder" else (step,))
    return Fault("build", "builder", "it refuses a network that the parser made", ("try a newer release", report))


def fault_of_outputs(precision: Collection[str], engine: str) -> Fault:
    """The fault of an engine whose outputs are not onnxruntime's; `precision` are the types that it may compute in."""
    coarse = sorted(set(precision) - {"fp32"})
    if coarse:
        options = " ".join(f"--{name}" for name in coarse)
        return Fault("numbers", "precision", f"{', '.join(coarse)} moves the outputs too far", (f"build without {options}",))
    report = f"report it, with the model, its inputs and both outputs: {_ISSUES[engine]}"
    return Fault("numbers", "builder", "an engine in float32 has to give what onnxruntime gives", ("try a newer release", report))


def fault_of_run(engine: str) -> Fault:
    """The fault of an engine that was built and does not run."""
    steps = ("build it on this machine, with this release", f"report it, with the model and the log: {_ISSUES[engine]}")
    return Fault("run", "runtime", "the engine does not load or run here", steps)


def _of_parser(parsed: ParseResult, model: str) -> Fault:
    report = f"report it, with what `onnxfix reduce {model} --until refused` leaves: {_ISSUES[parsed.engine]}"
    if parsed.verdict is ParseVerdict.TIMEOUT:
        return Fault("parse", "parser", "it did not come to an end in time", ("raise --timeout", report))
    if parsed.verdict is ParseVerdict.CRASHED:
        return Fault("parse", "parser", "its process died, which no file should bring about", ("try a newer release", report))
    repair = f"onnxfix lint {model} --target installed, then onnxfix repair"
    for error in parsed.errors:
        if _NO_IMPORTER.search(f"{error.code} {error.message}"):
            name = error.op_type or "an operator"
            return Fault(
                "parse",
                "parser",
                f"this release has no importer for {name}",
                (repair, "export for an older opset or without it, or load a plugin for it with --plugin-library"),
            )
        if error.code in _BROKEN_FILE:
            return Fault(
                "parse",
                "ONNX file",
                "the graph is not what ONNX allows, or has values that the parser cannot read",
                (f'python -c "import onnx; onnx.checker.check_model({model!r}, full_check=True)" says more', "export it again"),
            )
    return Fault("parse", "parser", "it takes the operator, but not in this form", (repair, report))


def _sign(messages: Iterable[str]) -> tuple[str, str, str, str] | None:
    text = "\n".join(messages)
    return next((sign for sign in _SIGNS if re.search(sign[0], text)), None)
