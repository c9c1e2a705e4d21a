"""What a parser or builder answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class ParseVerdict(StrEnum):
    """What became of parsing."""

    PARSED = "parsed"
    REFUSED = "refused"
    CRASHED = "crashed"
    TIMEOUT = "timeout"


class BuildVerdict(StrEnum):
    """What became of building."""

    BUILT = "built"
    REFUSED = "refused"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class ParserError:
    """One error of the parser.

    Attributes:
        node: index of the node in the main graph, -1 where the error is about something else.
        name: the node's name.
        op_type: its operator.
        code: the parser's code, such as `UNSUPPORTED_NODE`.
        message: the parser's words.
        function: the function of the parser that refused, empty where it does not say.
    """

    node: int
    name: str
    op_type: str
    code: str
    message: str
    function: str


@dataclass(frozen=True, slots=True)
class NetworkTensor:
    """An input or output of the network: element type in TensorRT's words, -1 for sizes given at run time."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class ParseResult:
    """The parser's answer.

    Attributes:
        verdict: parsed, refused, crashed or timeout.
        engine: `tensorrt` or `tensorrt-rtx`.
        version: version of the library, empty where it died before saying.
        errors: the parser's errors, in its order.
        layers: layers of the network, 0 unless parsed.
        inputs: the network's inputs, empty unless parsed.
        outputs: the network's outputs, empty unless parsed.
        seconds: time that parsing took.
        messages: warnings and errors that the library logged; for a crash, how the process ended.
        log: all that the library said while it parsed and built, its informational lines too.
    """

    verdict: ParseVerdict
    engine: str
    version: str
    errors: tuple[ParserError, ...] = ()
    layers: int = 0
    inputs: tuple[NetworkTensor, ...] = ()
    outputs: tuple[NetworkTensor, ...] = ()
    seconds: float = 0.0
    messages: tuple[str, ...] = ()
    log: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class BuildResult:
    """The builder's answer.

    Attributes:
        verdict: built, refused (by the parser), failed (in the builder), crashed or timeout.
        parse: the parser's answer.
        output: the engine file, None unless built.
        size: its size in bytes, 0 unless built.
        seconds: time that building took.
        sm: the GPU architectures built for, such as `86`; empty for the GPU of this machine.
        messages: warnings and errors that the library logged while building; for a crash, how the process ended.
        notes: choices made for want of an option, and options that mean nothing here.
        settings: the builder's settings as it had them: flags, optimization level, memory limits.
        network: the layers of the network before the builder fused them: name, type and outputs.
        layers: the layers of the engine as its inspector lists them; None where it could not be asked.
        no_layers: why not.
        sha256: of the engine file, empty unless built.
    """

    verdict: BuildVerdict
    parse: ParseResult
    output: Path | None = None
    size: int = 0
    seconds: float = 0.0
    sm: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    network: tuple[Mapping[str, Any], ...] = ()
    layers: tuple[Any, ...] | None = None
    no_layers: str = ""
    sha256: str = ""
