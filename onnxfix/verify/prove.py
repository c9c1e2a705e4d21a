"""Proves two models equal by running both on the same inputs."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import onnx
from onnx import helper

from onnxfix.errors import UsageError
from onnxfix.model.opsets import RANDOM
from onnxfix.verify.bindings import Binding, binding_of, bindings, symbolic_shapes
from onnxfix.verify.compare import RTOL, OutputProof, budget, compare, failure
from onnxfix.verify.graph import all_nodes, real_inputs
from onnxfix.verify.inputs import make_inputs
from onnxfix.verify.regions import region_difference, room_for_noise, with_outputs
from onnxfix.verify.run import CannotRunError, Runner, RunRefusedError, brief, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from onnxfix.verify.aten import Array

# How many intermediate values are kept in memory at once when looking for the first that differs.
_VALUES_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Proof:
    """What running both models showed.

    Attributes:
        samples: how many inputs both models ran on.
        seed: the seed of the inputs.
        bindings: the sizes of the symbolic dimensions in each sample.
        outputs: one comparison for each output of the first model, the worst over the samples.
        exact: whether equal values were asked for.
        rtol: the relative error allowed, None for that of each element type.
        atol: the absolute error allowed, None for `rtol` times each output's largest magnitude.
        passed: whether all outputs passed.
        note: anything else to know, such as an interface that differs or a slower engine; empty where there is nothing.
        kind: what was compared: `models`, the outputs of the whole models; `regions`, the values that changed nodes make of made
            inputs, because the first model runs nowhere; `structure`, the graphs alone, and nothing ran.
        why: why the first model runs nowhere, for the kind `regions`, and `structure` where it passed; short.
        detail: the runtimes' own words on that, whole.
        measured: whether a difference is accepted, because a rewrite that gives other numbers on purpose was allowed.
        failing: the inputs of the first sample that shows a difference, None where none does.
    """

    samples: int
    seed: int
    bindings: tuple[Mapping[str, int], ...]
    outputs: tuple[OutputProof, ...]
    exact: bool
    rtol: float | None
    atol: float | None
    passed: bool
    note: str = ""
    kind: Literal["models", "regions", "structure"] = "models"
    why: str = ""
    detail: str = ""
    measured: bool = False
    failing: Mapping[str, Array] | None = field(default=None, repr=False, compare=False)

    @property
    def budget(self) -> str:
        """What was asked of the outputs, as text."""
        if self.exact:
            return "equal to the bit"
        types = sorted({output.dtype for output in self.outputs} & RTOL.keys())
        by_type = {name: budget(RTOL[name] if self.rtol is None else self.rtol, self.atol) for name in types}
        if len(set(by_type.values())) > 1:
            return ", ".join(f"{text} for {name}" for name, text in by_type.items())
        return next(iter(by_type.values()), "equal")

    @property
    def sizes(self) -> str:
        """`, batch = 1 2 5`: the sizes that each symbolic dimension had, empty where there is none."""
        sizes: dict[str, set[int]] = {}
        for binding in self.bindings:
            for name, size in binding.items():
                sizes.setdefault(name, set()).add(size)
        return "".join(f", {name} = {' '.join(map(str, sorted(values)))}" for name, values in sizes.items())


@dataclass(frozen=True, slots=True)
class _Sample:
    binding: Binding
    feeds: Mapping[str, Array]
    before: Mapping[str, Array]


def prove(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    *,
    base_dir: Path | None = None,
    after_base_dir: Path | None = None,
    samples: int = 8,
    seed: int = 0,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    inputs: Mapping[str, Array] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    exact: bool = False,
    regions: bool = False,
    retyped: bool = False,
    rebatched: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Proof:
    """Run both models on `samples` inputs and compare their outputs by name.

    Sizes that the first model refuses are passed over for others. Where only the second refuses an input, or onnxruntime the
    second model as a whole, it fails.

    Args:
        before: the model that says what is right.
        after: the model to prove equal to it.
        base_dir: the folder of the first model's external data.
        after_base_dir: that of the second's, by default the same.
        samples: how many inputs to make, at least 1.
        seed: the seed to make them with.
        shapes: whole shapes for inputs with symbolic dimensions, by name.
        inputs: the inputs to use instead, by name; then there is one sample.
        rtol: relative error allowed in floats, by default that of each element type.
        atol: absolute error allowed in floats, by default `rtol` times each output's largest magnitude.
        exact: ask for equal values.
        regions: on the first sample, compare every changed part on the first model's own values too. For an `after` that came
            from `before` by rewriting nodes in place, so that values of one name are meant to be the same.
        retyped: inputs and outputs may have other element types in the second model: both are given the same numbers, those that
            its types hold, and outputs are compared in its types.
        rebatched: inputs and outputs may have one more axis, of size 1, before theirs in the second model: it is given and gives
            the same elements.
        progress: called with the samples done and their number.

    Raises:
        CannotRunError: the first model cannot be run, or refuses every input.
        UsageError: shapes or inputs that do not fit the first model.
        ModelError: a model is too large to run, or its external data is missing.
    """
    different = _interface_difference(before, after, types=not retyped)
    if different:
        return Proof(0, seed, (), (), exact, rtol, atol, passed=False, note=different, kind="structure")
    first = Runner(before, base_dir)
    try:
        second = Runner(after, base_dir if after_base_dir is None else after_base_dir)
    except CannotRunError as error:
        return Proof(0, seed, (), (), exact, rtol, atol, passed=False, note=f"only the first model runs: {one_line(error)}")
    total = 1 if inputs is not None else samples
    worst: dict[str, OutputProof] = {}
    used: list[Mapping[str, int]] = []
    failing: Mapping[str, Array] | None = None
    refusals: list[str] = []

    others = _other_types(before, after) if retyped else {}
    batched = _with_batch(before, after) if rebatched else frozenset[str]()

    def inside(sample: _Sample) -> OutputProof | None:
        return region_difference(
            before,
            after,
            sample.feeds,
            base_dir=base_dir,
            after_base_dir=base_dir if after_base_dir is None else after_base_dir,
            exact=exact,
            by_reference=first.by_reference,
            seed=seed,
            others=others,
        )

    for sample in made_samples(before, first, total, seed, shapes, inputs, refusals, others):
        if first.by_reference and not second.by_reference:
            with contextlib.suppress(CannotRunError):
                second.use_reference("as the first model")
        try:
            feeds = in_types(sample.feeds, others)
            got = second.run({name: value[np.newaxis] if name in batched else value for name, value in feeds.items()})
            got = {name: value[0] if name in batched and np.shape(value)[:1] == (1,) else value for name, value in got.items()}
            if second.rejected and not first.by_reference:
                raise RunRefusedError(second.rejected)
        except RunRefusedError as error:
            text = f"the second model does not run: {one_line(error)}"
            results = [failure(name, text, _dtype(value), np.shape(value)) for name, value in sample.before.items()]
        else:
            wanted = in_types(sample.before, others)
            results = [compare(name, value, got[name], rtol=rtol, atol=atol, exact=exact) for name, value in wanted.items()]
            missed = not exact and rtol is None and atol is None and not all(result.passed for result in results)
            if not batched and (missed or (regions and not used)):
                wrong = inside(sample)
                if wrong is not None and regions:
                    results.append(wrong)
                elif wrong is None and missed:
                    results = _within_noise(first, sample, got, results, seed)
        if failing is None and not all(result.passed for result in results):
            failing = sample.feeds
        for result in results:
            worst[result.name] = worst[result.name].worst_with(result) if result.name in worst else result
        used.append(sample.binding.dims)
        if progress is not None:
            progress(len(used), total)
    notes = [f"{which} model {runner.note}" for which, runner in (("first", first), ("second", second)) if runner.note]
    if len(used) < total:
        notes.append(f"the first model ran on {len(used)} of {total} samples")
    if refusals:
        notes.append(f"the first model refuses {refusals[0]}")
    outputs = tuple(worst.values())
    passed = all(output.passed for output in outputs)
    drawn = sorted({node.op_type for node in all_nodes(before.graph.node)} & RANDOM)
    if drawn and not passed:
        notes.append(f"the model draws random numbers ({', '.join(drawn)}), so its outputs may differ from run to run")
    note = "; ".join(notes)
    return Proof(len(used), seed, tuple(used), outputs, exact, rtol, atol, passed, note, failing=None if passed else failing)


def _within_noise(
    runner: Runner, sample: _Sample, got: Mapping[str, Array], results: list[OutputProof], seed: int
) -> list[OutputProof]:
    """Compare again what missed the fixed budget, with room for the model's own rounding noise on this sample.

    A model may amplify roundings: a softmax over logits in the thousands turns their last bit into 1e-4. How much it does is
    measured by moving every floating-point input to a neighbouring number, NOISE_RUNS times; a rewrite that rounds elsewhere may
    move an output NOISE_FACTOR times as far as that. Noise alone excuses nothing: a model that rounds its input, or takes a
    small difference of large numbers, before a wrong node would hide its error. So this is asked only where every changed part
    gives the right values by itself (`region_difference`).
    """
    try:
        room = room_for_noise(sample.before, sample.feeds, runner.run, seed)
    except RunRefusedError:
        return results
    return [
        result
        if result.passed or result.name not in room or result.shape != np.shape(sample.before[result.name])
        else replace(compare(result.name, sample.before[result.name], got[result.name], atol=room[result.name]), noise=True)
        for result in results
    ]


def first_difference(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    feeds: Mapping[str, Array],
    *,
    base_dir: Path | None = None,
    after_base_dir: Path | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    exact: bool = False,
) -> OutputProof | None:
    """The first value, in the order of `before`'s nodes, that both main graphs have by name and that differs.

    Args:
        before: the model that says what is right.
        after: the model to compare with it.
        feeds: every input that is no initializer, by name.
        base_dir: the folder of the first model's external data.
        after_base_dir: that of the second's, by default the same.
        rtol: as in `prove`.
        atol: as in `prove`.
        exact: as in `prove`.

    Returns:
        Its comparison, or None where no common value differs.

    Raises:
        CannotRunError: one of the models cannot be run on `feeds`.
    """
    after_dir = base_dir if after_base_dir is None else after_base_dir
    made_after = {name for node in after.graph.node for name in node.output if name}
    common = [name for node in before.graph.node for name in node.output if name in made_after]
    for begin in range(0, len(common), _VALUES_AT_ONCE):
        names = common[begin : begin + _VALUES_AT_ONCE]
        expected = Runner(with_outputs(before, names), base_dir).run(feeds)
        got = Runner(with_outputs(after, names), after_dir).run(feeds)
        for name in names:
            result = compare(name, expected[name], got[name], rtol=rtol, atol=atol, exact=exact)
            if not result.passed:
                return result
    return None


def bisect(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    *,
    base_dir: Path | None = None,
    after_base_dir: Path | None = None,
    samples: int = 8,
    seed: int = 0,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    inputs: Mapping[str, Array] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    exact: bool = False,
) -> OutputProof | None:
    """`first_difference` on the first of `prove`'s samples that shows one; the arguments are those of `prove`."""
    if _interface_difference(before, after):
        return None
    total = 1 if inputs is not None else samples
    for sample in made_samples(before, Runner(before, base_dir), total, seed, shapes, inputs, []):
        found = first_difference(
            before,
            after,
            sample.feeds,
            base_dir=base_dir,
            after_base_dir=after_base_dir,
            rtol=rtol,
            atol=atol,
            exact=exact,
        )
        if found is not None:
            return found
    return None


def made_samples(
    model: onnx.ModelProto,
    runner: Runner,
    total: int,
    seed: int,
    shapes: Mapping[str, tuple[int, ...]] | None,
    inputs: Mapping[str, Array] | None,
    refusals: list[str],
    others: Mapping[str, np.dtype[Any]] | None = None,
) -> Iterator[_Sample]:
    """At most `total` samples on which the model runs, with its outputs; what it refuses goes into `refusals`.

    Feeds hold only numbers that the types of `others` hold too.

    Raises:
        CannotRunError: it runs on none.
    """
    if inputs is not None:
        feeds = _checked_inputs(model, inputs)
        binding = binding_of(model, {name: value.shape for name, value in feeds.items()})
        yield _Sample(binding, feeds, runner.run(feeds))
        return
    why: list[str] = []
    not_loaded = runner.why_reference
    for _ in range(1 if runner.by_reference else 2):
        if why:
            # A kernel may be narrower than its operator: onnxruntime interpolates over two axes, ONNX over all of them.
            runner.use_reference(why[0])
        done = 0
        for sample in _accepted(model, runner, total, seed, shapes, refusals, others or {}):
            yield sample
            done += 1
        if done:
            return
        why.append(refusals[0])
        refusals.clear()
    # What no runtime loads does not run on other inputs either, unless it is its sizes that do not fit.
    sizes = any(isinstance(dim, str) for shape in symbolic_shapes(model, shapes)[0].values() for dim in shape)
    reason = brief(not_loaded or why[0])
    raise CannotRunError(
        f"the first model runs on none of the inputs tried ({reason})",
        reason,
        "; ".join(filter(None, (not_loaded, *why))),
        other_inputs=sizes or not not_loaded,
    )


def _accepted(
    model: onnx.ModelProto,
    runner: Runner,
    total: int,
    seed: int,
    shapes: Mapping[str, tuple[int, ...]] | None,
    refusals: list[str],
    others: Mapping[str, np.dtype[Any]],
) -> Iterator[_Sample]:
    done = 0

    def attempt(binding: Binding, sample: int) -> _Sample | None:
        made = make_inputs(model, binding, seed, sample)
        feeds = in_types(in_types(made, others), {name: value.dtype for name, value in made.items()})
        try:
            return _Sample(binding, feeds, runner.run(feeds))
        except RunRefusedError as error:
            if binding.optional:
                return None
            sizes = ", ".join(f"{name}={size}" for name, size in binding.dims.items())
            refusals.append(f"{sizes}: {one_line(error)}" if sizes else one_line(error))
            return None

    taken: list[Binding] = []
    refused: set[tuple[int, ...]] = set()
    for binding in bindings(model, total, shapes):
        sizes = tuple(binding.dims.values())
        if done == total:
            return
        if sizes and sizes in refused:
            continue
        sample = attempt(binding, done)
        if sample is None:
            refused.add(sizes)
            continue
        taken.append(binding)
        yield sample
        done += 1
    # Sizes are scarce, values are not: the sizes that the model took serve for the rest.
    for turn in range(total - done if taken else 0):
        sample = attempt(taken[turn % len(taken)], done + turn)
        if sample is not None:
            yield sample


def _checked_inputs(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> dict[str, Array]:
    names = [value.name for value in real_inputs(model.graph)]
    for name in inputs:
        if name not in names:
            raise UsageError(f"the inputs given name {name}, which is no input; the inputs are {', '.join(names) or 'none'}")
    for value in real_inputs(model.graph):
        if value.name not in inputs:
            raise UsageError(f"the inputs given lack {value.name}")
        given = inputs[value.name].dtype
        wanted = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if given != wanted:
            raise UsageError(f"input {value.name}: the values given are {given}, the model takes {wanted}")
    return dict(inputs)


def in_types(values: Mapping[str, Array], types: Mapping[str, np.dtype[Any]]) -> dict[str, Array]:
    """The values, those that `types` names in that type: the nearest number that it holds."""
    made = dict(values)
    for name, kind in types.items():
        if name in made and made[name].dtype != kind:
            value = made[name]
            if kind.kind in "iu" and value.dtype.kind in "iuf":
                limits = np.iinfo(kind)
                value = np.clip(value, limits.min, limits.max)
            with np.errstate(over="ignore", invalid="ignore"):
                made[name] = value.astype(kind)
    return made


def _other_types(before: onnx.ModelProto, after: onnx.ModelProto) -> dict[str, np.dtype[Any]]:
    """The element types of `after` for those inputs and outputs whose type is another than in `before`."""
    found = {}
    for first, second in ((before.graph.input, after.graph.input), (before.graph.output, after.graph.output)):
        old = {value.name: value.type.tensor_type.elem_type for value in first}
        for value in second:
            kind = value.type.tensor_type.elem_type
            if kind and old.get(value.name, kind) != kind:
                found[value.name] = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
    return found


def _with_batch(before: onnx.ModelProto, after: onnx.ModelProto) -> frozenset[str]:
    """The inputs and outputs that have one more axis in `after`."""
    found = set()
    for first, second in ((before.graph.input, after.graph.input), (before.graph.output, after.graph.output)):
        old = {value.name: len(value.type.tensor_type.shape.dim) for value in first}
        found |= {value.name for value in second if len(value.type.tensor_type.shape.dim) == old.get(value.name, -1) + 1}
    return frozenset(found)


def _interface_difference(before: onnx.ModelProto, after: onnx.ModelProto, *, types: bool = True) -> str:
    """How inputs or outputs differ by name or element type, empty where they agree."""
    for word, first, second in (
        ("input", real_inputs(before.graph), real_inputs(after.graph)),
        ("output", list(before.graph.output), list(after.graph.output)),
    ):
        left = {value.name: value.type.tensor_type.elem_type for value in first}
        right = {value.name: value.type.tensor_type.elem_type for value in second}
        if gone := sorted(left.keys() - right.keys()):
            return f"the second model has no {word} {gone[0]}"
        if extra := sorted(right.keys() - left.keys()):
            return f"the second model has {word} {extra[0]}, the first does not"
        for name, elem_type in left.items():
            if types and elem_type and right[name] and elem_type != right[name]:
                names = [onnx.TensorProto.DataType.Name(t) for t in (elem_type, right[name])]
                return f"{word} {name} is {names[0]} in the first model, {names[1]} in the second"
    return ""


def _dtype(value: object) -> str:
    return value.dtype.name if isinstance(value, np.ndarray) else ""
