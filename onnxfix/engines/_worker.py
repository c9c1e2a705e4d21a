"""Child process that parses and builds with a native library, so that its crash is not ours.

One request comes as JSON on standard input. Each step's answer is one JSON line in the file that the request names:
first the parser's, then the builder's. A step without an answer is where the library died.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Reply = dict[str, Any]


def _enum_name(value: Any) -> str:
    return str(getattr(value, "name", value)).rsplit(".", 1)[-1]


def _shape(tensor: Any) -> list[int] | None:
    try:
        return [int(size) for size in tensor.shape]
    except ValueError:  # unknown rank
        return None


def _tensor(tensor: Any) -> Reply:
    return {"name": tensor.name, "dtype": _enum_name(tensor.dtype), "shape": _shape(tensor)}


def _parser_error(error: Any) -> Reply:
    def ask(method: str) -> Any:
        # Older releases lack some of these, and the binding refuses a null string.
        try:
            return getattr(error, method)()
        except (AttributeError, UnicodeDecodeError, ValueError, TypeError):
            return None

    return {
        "node": ask("node"),
        "name": ask("node_name") or "",
        "op_type": ask("node_operator") or "",
        "code": _enum_name(ask("code")),
        "message": ask("desc") or "",
        "function": ask("func") or "",
    }


def _messages(captured: str) -> list[str]:
    """The errors and warnings in what Polygraphy printed; it marks lines `[E]`, `[W]` and indents what follows on."""
    found: list[str] = []
    taken = False
    for line in captured.splitlines():
        if line.startswith("["):
            noise = "'colored'" in line or "--- Begin node ---" in line or "--- End node ---" in line
            taken = line.startswith(("[E]", "[!]", "[W]")) and not noise
            if taken:
                found.append(line[4:].strip())
        elif taken and line.strip():
            found[-1] += " " + line.strip()
    return list(dict.fromkeys(found))


def _missing_profiles(network: Any, given: Mapping[str, Any]) -> list[Reply]:
    inputs = [network.get_input(i) for i in range(network.num_inputs)]
    return [
        _tensor(tensor)
        for tensor in inputs
        if tensor.name not in given and (tensor.is_shape_tensor or -1 in (_shape(tensor) or [-1]))
    ]


def work(request: Mapping[str, Any], reply: Callable[[Reply], None]) -> None:
    """Parse, and unless the request says otherwise build; `reply` gets one answer a step."""
    home = import_module(request["home"])
    captured = io.StringIO()
    with contextlib.redirect_stdout(captured), contextlib.redirect_stderr(captured):
        try:
            trt = import_module(request["module"])
            from polygraphy.backend.trt import create_network, get_trt_logger

            builder, network = create_network()
            if hasattr(trt, "init_libnvinfer_plugins"):
                trt.init_libnvinfer_plugins(get_trt_logger(), "")
        except Exception as error:  # a shared library that is missing, a driver that is too old, no GPU
            why = [*_messages(captured.getvalue()), f"{type(error).__name__}: {error}"]
            reply({"step": "parse", "verdict": "unavailable", "messages": why})
            return
        begin = time.perf_counter()
        parser = trt.OnnxParser(network, get_trt_logger())
        # From the file, so that the parser finds external data beside it.
        parsed = bool(parser.parse_from_file(request["model"]))
        answer: Reply = {
            "step": "parse",
            "verdict": "parsed" if parsed else "refused",
            "version": trt.__version__,
            "seconds": time.perf_counter() - begin,
            "errors": [_parser_error(parser.get_error(i)) for i in range(parser.num_errors)],
            "layers": network.num_layers if parsed else 0,
            "inputs": [_tensor(network.get_input(i)) for i in range(network.num_inputs)] if parsed else [],
            "outputs": [_tensor(network.get_output(i)) for i in range(network.num_outputs)] if parsed else [],
            "messages": _messages(captured.getvalue()),
        }
        reply(answer)
        if not parsed or request["output"] is None:
            return
        missing = _missing_profiles(network, request["profiles"])
        if missing:
            reply({"step": "build", "verdict": "no-profile", "inputs": missing})
            return
        known = [name[2:] for name in trt.ComputeCapability.__members__ if name.startswith("SM")] if request["sm"] else []
        if not set(request["sm"]) <= set(known):
            reply({"step": "build", "verdict": "no-architecture", "known": known})
            return
        captured.seek(0)
        captured.truncate()
        reply(_build(request, home, trt, (builder, network, parser), captured))


def _build(request: Mapping[str, Any], home: Any, trt: Any, network: tuple[Any, Any, Any], captured: io.StringIO) -> Reply:
    from polygraphy.backend.trt import Profile, engine_bytes_from_network

    options: dict[str, Any] = {}
    if request["profiles"]:
        profile = Profile()
        for name, shapes in request["profiles"].items():
            profile.add(name, *(tuple(shapes[kind]) for kind in ("min", "opt", "max")))
        options["profiles"] = [profile]
    if request["workspace"] is not None:
        options["memory_pool_limits"] = {trt.MemoryPoolType.WORKSPACE: request["workspace"]}
    begin = time.perf_counter()
    try:
        engine = engine_bytes_from_network(network, config=home.config_loader(request["sm"], **options))
    except Exception as error:  # Polygraphy raises its own, the binding others
        messages = list(dict.fromkeys([*_messages(captured.getvalue()), " ".join(str(error).split())]))
        return {"step": "build", "verdict": "failed", "seconds": time.perf_counter() - begin, "messages": messages}
    data = memoryview(engine)
    with open(request["output"], "wb") as file:
        file.write(data)
    return {
        "step": "build",
        "verdict": "built",
        "seconds": time.perf_counter() - begin,
        "bytes": data.nbytes,
        "messages": _messages(captured.getvalue()),
    }


def main() -> None:
    """Serve the one request."""
    request = json.load(sys.stdin)

    def reply(answer: Reply) -> None:
        with open(request["reply"], "a", encoding="utf-8") as file:
            file.write(json.dumps(answer) + "\n")

    work(request, reply)
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything is said; taking the native objects down is slow, and can crash.
    os._exit(0)


if __name__ == "__main__":
    main()
