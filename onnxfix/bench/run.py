"""Loads what is to be measured, checks its outputs, and measures it."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxfix.bench import gpu_state
from onnxfix.bench.check import check_outputs
from onnxfix.bench.measure import Plan, measure, warm_up
from onnxfix.bench.raw import Bench, Variant
from onnxfix.engines.options import BuildOptions
from onnxfix.errors import MissingToolError, OnnxfixError, UsageError
from onnxfix.model.load import load_model

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import onnx

    from onnxfix.engines.tool import Tool
    from onnxfix.model.load import LoadedModel
    from onnxfix.verify.aten import Array

# The package tensorrt has no attribute for it: files of these names are engines, all others are models.
_ENGINE_SUFFIXES = frozenset({".engine", ".plan", ".trt"})


@dataclass(frozen=True, slots=True)
class BenchOptions:
    """How to measure.

    Attributes:
        engine: onnxruntime, tensorrt or tensorrt-rtx; None for the TensorRT that can be used here.
        plan: how long.
        shapes: the inputs' shapes; sizes that the model leaves open get a usual one otherwise.
        seed: of the inputs.
        device: of onnxruntime: `cpu` or `cuda`.
        threads: of one run of onnxruntime.
        graph: record CUDA graphs.
        transfers: copy inputs and outputs in every run, and time it.
        repeat: engines to build from each model.
        layers: time each layer too.
        build: how engines are built.
        timeout: seconds for one build.
    """

    engine: str | None = None
    plan: Plan = field(default_factory=Plan)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    seed: int = 0
    device: str = "cpu"
    threads: int = 1
    graph: bool = True
    transfers: bool = True
    repeat: int = 3
    layers: bool = False
    build: BuildOptions = field(default_factory=BuildOptions)
    timeout: float = 600.0


class NothingMeasuredError(OnnxfixError):
    """Nothing of what was given can be measured."""

    exit_code = 1


@dataclass(slots=True)
class _Loaded:
    """A variant before it is measured; `check` is None until its outputs were compared."""

    name: str
    path: Path
    sha256: str
    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    runners: list[Any] = field(default_factory=list)
    check: str = ""
    steady: bool = True
    layers: list[Any] = field(default_factory=list)


def is_engine(path: Path) -> bool:
    """Whether a file is taken for an engine, by its name."""
    return path.suffix in _ENGINE_SUFFIXES


def bench(paths: Sequence[Path], options: BenchOptions, progress: Callable[[str], None] | None = None) -> Bench:
    """Measure models or engines against each other, by turns.

    Raises:
        MissingToolError: GPU times are asked for, and there is no GPU, or a package is missing.
        ModelError: a model cannot be read. UsageError: a file or option does not fit.
        NothingMeasuredError: none of them runs, or all have wrong outputs.
    """
    for path in paths:
        if not path.is_file():
            raise UsageError(f"{path}: no such file")
    say = progress or (lambda text: None)
    if options.engine == "onnxruntime":
        return _on_onnxruntime(paths, options, say)
    return _on_tensorrt(paths, options, say)


def names_of(paths: Sequence[Path]) -> list[str]:
    """Short names, longer where two would be the same."""
    stems = [path.name.removesuffix(path.suffix) for path in paths]
    names = [stem if stems.count(stem) == 1 else str(path) for stem, path in zip(stems, paths, strict=True)]
    return [name if names.count(name) == 1 else f"{name} ({number + 1})" for number, name in enumerate(names)]


def make_feeds(model: onnx.ModelProto, reference: Any, options: BenchOptions) -> dict[str, Array]:
    """Seeded inputs that the model runs on.

    Raises:
        CannotRunError: it runs on none that were tried. UsageError: a shape does not fit.
    """
    from onnxfix.verify.bindings import bindings
    from onnxfix.verify.inputs import make_inputs
    from onnxfix.verify.run import RunRefusedError

    refusal: OnnxfixError | None = None
    for binding in bindings(model, 1, options.shapes):
        feeds = make_inputs(model, binding, options.seed, 0)
        try:
            reference.run(feeds)
        except RunRefusedError as error:
            refusal = refusal or error
            continue
        return feeds
    assert refusal is not None
    raise refusal


def _on_onnxruntime(paths: Sequence[Path], options: BenchOptions, say: Callable[[str], None]) -> Bench:
    from onnxfix.bench import onnxruntime as ort
    from onnxfix.verify.run import Runner

    for path in paths:
        if is_engine(path):
            raise UsageError(f"{path}: is an engine, which onnxruntime does not run; give its model")
    provider = ort.provider_of(options.device)
    feeds: dict[str, Array] = {}
    left_out: dict[str, str] = {}
    ready: list[_Loaded] = []
    for name, path in zip(names_of(paths), paths, strict=True):
        say(f"loading {path}")
        model = load_model(path)
        reference = Runner(model.proto, model.base_dir)
        if not feeds:
            feeds = make_feeds(model.proto, reference, options)
        _check_inputs(model, feeds, paths[0])
        one = _Loaded(name, path, model.sha256, [len(model.data)])
        try:
            one.runners.append(ort.OnnxRuntimeRunner(path, feeds, device=options.device, threads=options.threads))
        except ort.CannotLoadError as error:
            left_out[name] = str(error)
            continue
        right, one.check = check_outputs(reference.run(feeds), one.runners[0].outputs(), ())
        if not right:
            left_out[name] = one.check
            continue
        ready.append(one)
    settings = {
        "provider": provider,
        "graph optimization": "all",
        "threads": options.threads,
        **_common_settings(options, feeds),
    }
    before = ort.load_average()
    variants = _measured(ready, ort.HEADLINE, options, say, left_out)
    device = "cpu" if options.device == "cpu" else "gpu by onnxruntime, timed on the host"
    return Bench(ort.version(), device, ort.HEADLINE, ort.processor(), settings, before, ort.load_average(), variants, left_out)


def _common_settings(options: BenchOptions, feeds: Mapping[str, Array]) -> dict[str, Any]:
    return {
        "shapes": {name: list(array.shape) for name, array in feeds.items()},
        "seed": options.seed,
        "rounds": options.plan.rounds,
        "seconds": options.plan.duration,
    }


def _check_inputs(model: LoadedModel, feeds: Mapping[str, Array], first: Path) -> None:
    from onnxfix.verify.graph import real_inputs

    missing = [value.name for value in real_inputs(model.proto.graph) if value.name not in feeds]
    if missing:
        raise UsageError(
            f"{model.path}: has an input {missing[0]}, which {first} has not; only models with the same inputs compare"
        )


def _measured(
    ready: Sequence[_Loaded],
    headline: str,
    options: BenchOptions,
    say: Callable[[str], None],
    left_out: Mapping[str, str],
) -> tuple[Variant, ...]:
    """Warm up and measure what is ready.

    Raises:
        NothingMeasuredError: nothing is.
    """
    if not ready:
        raise NothingMeasuredError(f"nothing measured: {'; '.join(f'{name}: {why}' for name, why in left_out.items())}")
    for one in ready:
        say(f"warming up {one.name}")
        for runner in one.runners:
            one.steady &= warm_up(runner, headline, options.plan)
    rounds = measure([one.runners for one in ready], options.plan, progress=say)
    return tuple(
        Variant(
            one.name,
            str(one.path),
            one.sha256,
            tuple(one.sizes),
            tuple(one.seconds),
            one.check,
            one.steady,
            tuple(found),
            tuple(one.layers),
        )
        for one, found in zip(ready, rounds, strict=True)
    )


def _on_tensorrt(paths: Sequence[Path], options: BenchOptions, say: Callable[[str], None]) -> Bench:
    from importlib import import_module

    from onnxfix.bench.cuda import Cuda, runtime
    from onnxfix.bench.tensorrt import HEADLINE, RunError
    from onnxfix.engines.choice import choose
    from onnxfix.engines.fault import fault_of_outputs, fault_of_run
    from onnxfix.engines.tool import gpu_present

    if not gpu_present():
        raise MissingToolError(
            "GPU times need an NVIDIA GPU and its driver, none is here; --engine onnxruntime compares models on the CPU"
        )
    tool = choose(options.engine)
    cuda = Cuda(runtime())
    trt = import_module(tool.module)
    nvml = gpu_state.library()
    left_out: dict[str, str] = {}
    ready: list[_Loaded] = []
    feeds: dict[str, Array] = {}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onnxfix-")))
        for number, (name, path) in enumerate(zip(names_of(paths), paths, strict=True)):
            one = _Loaded(name, path, hashlib.sha256(path.read_bytes()).hexdigest())
            try:
                model, precision, built_for = _source_of(path, options)
                expected, feeds = _expected(model, feeds, options, built_for)
                for data in _engines_of(path, model, feeds, tool, folder / str(number), options, one, say):
                    one.runners.append(_open(trt, cuda, data, feeds, options))
                    stack.callback(one.runners[-1].close)
            except (MissingToolError, UsageError):
                raise
            except RunError as error:
                left_out[name] = f"{error}; {fault_of_run(tool.name)}"
                continue
            except OnnxfixError as error:
                left_out[name] = str(error)
                continue
            right, one.check = _checked(one.runners, expected, precision)
            if not right:
                left_out[name] = f"{one.check}; {fault_of_outputs(precision, tool.name)}"
                continue
            if options.layers:
                one.layers = one.runners[0].profile()
            ready.append(one)
        settings = {
            "CUDA graph": all(runner.uses_graph for one in ready for runner in one.runners) if ready else options.graph,
            "data transfers": options.transfers,
            "builds": options.repeat,
            "timing cache": str(options.build.timing_cache) if options.build.timing_cache is not None else "none",
            **_common_settings(options, feeds),
        }
        before = gpu_state.gpu_state(nvml)
        variants = _measured(ready, HEADLINE, options, say, left_out)
        after = gpu_state.gpu_state(nvml)
    facts = gpu_state.gpu_facts(nvml)
    machine = ", ".join(str(value) if key == "name" else f"{key} {value}" for key, value in facts.items())
    runner = f"{tool.title} {tool.version()}".strip()
    return Bench(runner, "gpu", HEADLINE, machine or "a GPU (nvidia-ml-py is missing)", settings, before, after, variants, left_out)


def _open(trt: Any, cuda: Any, data: bytes, feeds: Mapping[str, Array], options: BenchOptions) -> Any:
    from onnxfix.bench.tensorrt import TensorRTRunner

    return TensorRTRunner(trt, cuda, data, feeds, graph=options.graph, transfers=options.transfers)


def _source_of(path: Path, options: BenchOptions) -> tuple[LoadedModel, frozenset[str], dict[str, tuple[int, ...]]]:
    """The model that outputs are checked against, the types that it may compute in, and shapes that an engine was built for.

    Raises:
        UsageError: an engine has no record, or its model has changed since.
    """
    if not is_engine(path):
        return load_model(path), options.build.precision, {name: each.opt for name, each in options.build.profiles.items()}
    from onnxfix.engines.record import record_path

    file = record_path(path)
    try:
        written = json.loads(file.read_text(encoding="utf-8"))
        given, digest = Path(written["model"]["path"]), written["model"]["sha256"]
        precision = frozenset(written["options"].get("precision", ()))
        shapes = {name: tuple(each["opt"]) for name, each in written["options"].get("profiles", {}).items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(
            f"{path}: no record of how it was made is beside it ({file.name}), so its outputs cannot be checked; "
            "give the model, or build it with `onnxfix build`"
        ) from None
    # The record has the path as it was given, from the folder where that was.
    model = load_model(given if given.is_file() else path.parent / given.name)
    if model.sha256 != digest:
        raise UsageError(f"{path}: was built from another {given} than the one that is there now; build it again")
    return model, precision, shapes


def _engines_of(
    path: Path,
    model: LoadedModel,
    feeds: Mapping[str, Array],
    tool: Tool,
    folder: Path,
    options: BenchOptions,
    one: _Loaded,
    say: Callable[[str], None],
) -> list[bytes]:
    """The engine in a file, or the engines that are built of a model, for the shapes of its inputs where none are given."""
    from onnxfix.engines import ShapeRange, build
    from onnxfix.engines.profile import usual_profile

    if is_engine(path):
        one.sizes.append(path.stat().st_size)
        return [path.read_bytes()]
    open_inputs = usual_profile(model.proto) if not options.build.profiles else {}
    profiles = {name: ShapeRange(shape, shape, shape) for name in open_inputs for shape in [tuple(feeds[name].shape)]}
    settings = dataclasses.replace(options.build, profiles=profiles or options.build.profiles)
    engines: list[bytes] = []
    folder.mkdir()
    for number in range(options.repeat):
        say(f"building {path}, {number + 1} of {options.repeat}")
        output = folder / f"{number}.engine"
        result = build(path, output, settings, engine=tool.name, timeout=options.timeout)
        if result.verdict != "built":
            words = [*(error.message for error in result.parse.errors), *result.messages, *result.parse.messages]
            why = words[0] if words else "no reason given"
            raise NothingMeasuredError(f"{tool.title} does not build it ({result.verdict}): {why}")
        engines.append(output.read_bytes())
        one.sizes.append(result.size)
        one.seconds.append(result.seconds)
    return engines


def _expected(
    model: LoadedModel, feeds: dict[str, Array], options: BenchOptions, built_for: Mapping[str, tuple[int, ...]]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """What onnxruntime gives for the model, and the inputs; they are made where there are none yet."""
    from onnxfix.verify.run import Runner

    reference = Runner(model.proto, model.base_dir)
    if not feeds:
        shapes = {**built_for, **options.shapes}
        feeds = make_feeds(model.proto, reference, dataclasses.replace(options, shapes=shapes))
    _check_inputs(model, feeds, model.path)
    return reference.run(feeds), feeds


def _checked(runners: Sequence[Any], expected: Mapping[str, Any], precision: frozenset[str]) -> tuple[bool, str]:
    right, words = True, ""
    for runner in runners:
        right, words = check_outputs(expected, runner.outputs(), precision)
        if not right:
            break
    return right, words
