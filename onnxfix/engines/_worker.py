"""Child process that parses and builds with a native library, so that its crash is not ours.

One request comes as JSON on standard input. Each step's answer is one JSON line in the file whose descriptor the request names:
first the parser's, then the builder's, and lines of progress between. A step without an answer is where the library died.
The engine goes into a file whose descriptor the request names too. What the library prints goes to standard output, which is a
file that this process reads as well. None of these files has a name, so that nothing is left of a process that is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import os
import signal
import sys
import time
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Reply = dict[str, Any]
_STDOUT = 1
# Of what a builder says, which may be a line for each kernel that it times.
LARGEST_LOG = 1 << 25
# How often progress is told, in seconds.
_INTERVAL = 0.2
# Precision: the builder flag that it is, up to TensorRT 10.
_PRECISION_FLAGS = {"fp16": "FP16", "bf16": "BF16", "int8": "INT8", "fp8": "FP8", "tf32": "TF32"}
_OPTION_FLAGS = {"refit": "REFIT", "strip": "STRIP_PLAN", "version_compatible": "VERSION_COMPATIBLE"}


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


def _printed(begin: int) -> str:
    """What the library has printed from position `begin` on, at most the last LARGEST_LOG bytes."""
    sys.stdout.flush()
    end = os.fstat(_STDOUT).st_size
    begin = max(begin, end - LARGEST_LOG)
    return os.pread(_STDOUT, end - begin, begin).decode("utf-8", "replace")


def _missing_profiles(network: Any, given: Mapping[str, Any]) -> list[Reply]:
    inputs = [network.get_input(i) for i in range(network.num_inputs)]
    return [
        _tensor(tensor)
        for tensor in inputs
        if tensor.name not in given and (tensor.is_shape_tensor or -1 in (_shape(tensor) or [-1]))
    ]


def _load_plugins(trt: Any, plugins: list[str]) -> None:
    for library in plugins:
        registry = trt.get_plugin_registry()
        if hasattr(registry, "load_library"):
            if registry.load_library(library) is None:
                raise OSError(f"{library}: no library of plugins")
        else:  # before 8.6 a plugin registers itself when its library is loaded
            ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)


def _refused_options(trt: Any, request: Mapping[str, Any]) -> Reply | None:
    """The answer to options that this release does not have, None where it has all."""
    if request["sm"]:
        known = [name[2:] for name in trt.ComputeCapability.__members__ if name.startswith("SM")]
        if not set(request["sm"]) <= set(known):
            return {"step": "build", "verdict": "no-architecture", "known": known}
    flags = getattr(trt, "BuilderFlag", None)
    wanted = {f"--{name}": flag for name, flag in _PRECISION_FLAGS.items() if name in request["precision"]}
    wanted |= {f"--{name.replace('_', '-')}": flag for name, flag in _OPTION_FLAGS.items() if request[name]}
    lacking = [option for option, flag in wanted.items() if not hasattr(flags, flag)]
    if request["hardware_compatible"] and not hasattr(trt, "HardwareCompatibilityLevel"):
        lacking.append("--hardware-compatible")
    if request["strongly_typed"] and not hasattr(trt.NetworkDefinitionCreationFlag, "STRONGLY_TYPED"):
        lacking.append("--strongly-typed")
    return {"step": "build", "verdict": "no-option", "lacking": lacking} if lacking else None


def work(request: Mapping[str, Any], reply: Callable[[Reply], None]) -> None:
    """Parse, and unless the request says otherwise build; `reply` gets one answer a step."""
    home = import_module(request["home"])
    begin = os.fstat(_STDOUT).st_size
    try:
        trt = import_module(request["module"])
        from polygraphy.backend.trt import create_network, get_trt_logger
        from polygraphy.logger import G_LOGGER

        if request["verbose"]:
            G_LOGGER.module_severity = G_LOGGER.VERBOSE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            builder, network = create_network(**({"strongly_typed": True} if request["strongly_typed"] else {}))
            if hasattr(trt, "init_libnvinfer_plugins"):
                trt.init_libnvinfer_plugins(get_trt_logger(), "")
    except Exception as error:  # a shared library that is missing, a driver that is too old, no GPU
        why = [*_messages(_printed(begin)), f"{type(error).__name__}: {error}"]
        reply({"step": "parse", "verdict": "unavailable", "messages": why})
        return
    try:
        _load_plugins(trt, request["plugins"])
    except Exception as error:  # the registry raises its own
        why = [*_messages(_printed(begin)), f"{error}"]
        reply({"step": "parse", "verdict": "no-plugin", "messages": why})
        return
    start = time.perf_counter()
    parser = trt.OnnxParser(network, get_trt_logger())
    # From the file, so that the parser finds external data beside it.
    parsed = bool(parser.parse_from_file(request["model"]))
    answer: Reply = {
        "step": "parse",
        "verdict": "parsed" if parsed else "refused",
        "version": trt.__version__,
        "seconds": time.perf_counter() - start,
        "errors": [_parser_error(parser.get_error(i)) for i in range(parser.num_errors)],
        "layers": network.num_layers if parsed else 0,
        "inputs": [_tensor(network.get_input(i)) for i in range(network.num_inputs)] if parsed else [],
        "outputs": [_tensor(network.get_output(i)) for i in range(network.num_outputs)] if parsed else [],
        "messages": _messages(_printed(begin)),
    }
    reply(answer)
    if not parsed or request["output"] is None:
        return
    missing = _missing_profiles(network, request["profiles"])
    if missing:
        reply({"step": "build", "verdict": "no-profile", "inputs": missing})
        return
    refused = _refused_options(trt, request)
    reply(refused or _build(request, home, trt, (builder, network, parser), reply))


def _monitor(trt: Any, reply: Callable[[Reply], None]) -> Any:
    """TensorRT's progress monitor, from 9.0 on, that tells the outermost phase; None where there is none."""
    if not hasattr(trt, "IProgressMonitor"):
        return None

    class Monitor(trt.IProgressMonitor):  # type: ignore[misc]
        def __init__(self) -> None:
            trt.IProgressMonitor.__init__(self)
            self.steps: dict[str, int] = {}
            self.told = 0.0

        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
            self.steps[phase_name] = num_steps
            self.tell(phase_name, 0)

        def phase_finish(self, phase_name: str) -> None:
            self.steps.pop(phase_name, None)

        def step_complete(self, phase_name: str, step: int) -> bool:
            self.tell(phase_name, step + 1)
            return True

        def tell(self, phase: str, done: int) -> None:
            now = time.monotonic()
            if now - self.told >= _INTERVAL:
                self.told = now
                reply({"step": "progress", "phase": phase, "done": done, "of": self.steps.get(phase, 0)})

    return Monitor()


def _configuration(request: Mapping[str, Any], home: Any, trt: Any, reply: Callable[[Reply], None]) -> tuple[Any, Any]:
    """Polygraphy's loader of the configuration, and a function that gives the settings of what it loaded."""
    from polygraphy.backend.trt import PostprocessConfig, Profile

    options: dict[str, Any] = {}
    if request["profiles"]:
        profile = Profile()
        for name, shapes in request["profiles"].items():
            profile.add(name, *(tuple(shapes[kind]) for kind in ("min", "opt", "max")))
        options["profiles"] = [profile]
    if request["workspace"] is not None:
        options["memory_pool_limits"] = {trt.MemoryPoolType.WORKSPACE: request["workspace"]}
    if request["timing_cache"] is not None and os.path.exists(request["timing_cache"]):
        options["load_timing_cache"] = request["timing_cache"]
    if request["hardware_compatible"]:
        level = {"ampere+": "AMPERE_PLUS", "same-compute-capability": "SAME_COMPUTE_CAPABILITY"}[request["hardware_compatible"]]
        options["hardware_compatibility_level"] = getattr(trt.HardwareCompatibilityLevel, level)
    monitor = _monitor(trt, reply)
    if monitor is not None:
        options["progress_monitor"] = monitor
    for name, option in (("opt_level", "builder_optimization_level"), ("refit", "refittable"), ("strip", "strip_plan")):
        if request[name]:
            options[option] = request[name]
    if request["opt_level"] == 0:
        options["builder_optimization_level"] = 0
    if request["version_compatible"]:
        options["version_compatible"] = True
    loaded: list[Any] = []

    def finish(builder: Any, network: Any, config: Any) -> Any:
        # By flag, as Polygraphy's loader for TensorRT-RTX has no option for them.
        for name in request["precision"]:
            config.set_flag(getattr(trt.BuilderFlag, _PRECISION_FLAGS[name]))
        loaded.append(config)
        return config

    def settings() -> Reply:
        config = loaded[0]
        found: Reply = {"flags": [name for name, flag in trt.BuilderFlag.__members__.items() if config.get_flag(flag)]}
        with contextlib.suppress(Exception):  # an older release
            found["builder_optimization_level"] = int(config.builder_optimization_level)
        with contextlib.suppress(Exception):
            found["workspace_bytes"] = int(config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE))
        return found

    return PostprocessConfig(home.config_loader(request["sm"], **options), finish), settings


def _network_layers(network: Any) -> list[Reply]:
    def one(layer: Any) -> Reply:
        outputs = [layer.get_output(i) for i in range(layer.num_outputs)]
        return {"name": layer.name, "type": _enum_name(layer.type), "outputs": [_tensor(tensor) for tensor in outputs if tensor]}

    return [one(layer) for layer in network]


def _engine_layers(trt: Any, engine: Any, request: Mapping[str, Any]) -> tuple[list[Any] | None, str]:
    """The layers of a built engine, or why they cannot be listed."""
    if not request["gpu"]:
        return None, "the engine inspector needs a GPU, none is here"
    from polygraphy.backend.trt import get_trt_logger

    try:
        runtime = trt.Runtime(get_trt_logger())
        inspector = runtime.deserialize_cuda_engine(engine).create_engine_inspector()
        found = json.loads(inspector.get_engine_information(trt.LayerInformationFormat.JSON))
        return list(found.get("Layers", [])), ""
    except Exception as error:  # an engine for another GPU, a release without inspector
        return None, f"the engine inspector failed: {' '.join(str(error).split())}"


def _build(request: Mapping[str, Any], home: Any, trt: Any, network: tuple[Any, Any, Any], reply: Callable[[Reply], None]) -> Reply:
    from polygraphy.backend.trt import engine_bytes_from_network

    layers = _network_layers(network[1])
    begin = os.fstat(_STDOUT).st_size
    start = time.perf_counter()
    cache = {"save_timing_cache": request["timing_cache"]} if request["timing_cache"] is not None else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations of the binding, which nobody here can act on
            config, settings = _configuration(request, home, trt, reply)
            engine = engine_bytes_from_network(network, config=config, **cache)
    except Exception as error:  # Polygraphy raises its own, the binding others
        messages = list(dict.fromkeys([*_messages(_printed(begin)), " ".join(str(error).split())]))
        return {"step": "build", "verdict": "failed", "seconds": time.perf_counter() - start, "messages": messages}
    seconds = time.perf_counter() - start
    data = memoryview(engine)
    with open(request["output"], "wb", closefd=False) as file:
        file.write(data)
    found, why = _engine_layers(trt, engine, request)
    return {
        "step": "build",
        "verdict": "built",
        "seconds": seconds,
        "bytes": data.nbytes,
        "sha256": hashlib.sha256(data).hexdigest(),
        "messages": _messages(_printed(begin)),
        "settings": settings(),
        "network": layers,
        "layers": found,
        "no_layers": why,
    }


def _die_with_parent() -> None:
    """Let the kernel end this process when its parent ends, however that happens; Linux only."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def main() -> None:
    """Serve the one request."""
    _die_with_parent()
    request = json.load(sys.stdin)

    def reply(answer: Reply) -> None:
        os.write(request["reply"], (json.dumps(answer) + "\n").encode())

    work(request, reply)
    sys.stdout.flush()
    sys.stderr.flush()
    # Everything is said; taking the native objects down is slow, and can crash.
    os._exit(0)


if __name__ == "__main__":
    main()
