"""Compares the changed parts of a model by themselves: each gets the first model's own values and has to give its results.

Whole outputs do not tell everything. What comes before a changed node may amplify roundings until they hide its error, and one
output may hold numbers of several magnitudes (boxes in pixels beside scores), of which only the largest set the budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from onnxfix.model.facts import Facts
from onnxfix.model.load import serialize
from onnxfix.model.opsets import domain_of, opsets_of, schema_of
from onnxfix.model.view import ModelView
from onnxfix.verify.compare import RTOL, compare, failure, largest_difference
from onnxfix.verify.graph import all_nodes, initializer_names, reads
from onnxfix.verify.run import CannotRunError, Runner, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from pathlib import Path

    from onnxfix.verify.aten import Array
    from onnxfix.verify.compare import OutputProof

# How many values are kept in memory at once.
VALUES_AT_ONCE = 64
NOISE_RUNS = 4
NOISE_FACTOR = 4.0
_FIRST_IR_OF_FREE_INITIALIZERS = 4
_MADE = "made again: "


def neighbours(value: Array, rng: np.random.Generator) -> Array:
    """Every finite floating-point element moved to the next number above or below, by chance."""
    if value.dtype.kind != "f":
        return value
    towards = np.where(rng.random(value.shape) < 0.5, -np.inf, np.inf).astype(value.dtype)
    with np.errstate(over="ignore"):  # the largest number's neighbour is infinite
        return np.where(np.isfinite(value), np.nextafter(value, towards), value).astype(value.dtype)


def room_for_noise(
    expected: Mapping[str, Any], feeds: Mapping[str, Array], run: Callable[[Mapping[str, Array]], Mapping[str, Any]], seed: int
) -> dict[str, float]:
    """How far outputs may move by rounding alone: the budget of their type, and NOISE_FACTOR times what neighbouring inputs do.

    Args:
        expected: the outputs for `feeds`; those that are no floating-point arrays get no room, and none does where a second
            run gives others.
        feeds: the inputs.
        run: computes the outputs.
        seed: of the choice of neighbours.

    Raises:
        CannotRunError: as `run`.
    """
    again = run(feeds)
    if not all(compare(name, value, again[name], exact=True).passed for name, value in expected.items()):
        return {}  # it draws random numbers: those are no roundings
    rng = np.random.default_rng(seed)
    noise: dict[str, float] = {}
    for _ in range(NOISE_RUNS):
        outputs = run({name: neighbours(value, rng) for name, value in feeds.items()})
        for name, value in expected.items():
            if isinstance(value, np.ndarray) and value.dtype.name in RTOL and value.shape == np.shape(outputs[name]):
                noise[name] = max(noise.get(name, 0.0), largest_difference(value, outputs[name]))
    room = {}
    for name, moved in noise.items():
        finite = expected[name][np.isfinite(expected[name])]
        room[name] = RTOL[expected[name].dtype.name] * float(np.abs(finite).max(initial=0)) + NOISE_FACTOR * moved
    return room


def changed_values(
    before: onnx.ModelProto, after: onnx.ModelProto, describe: Callable[[str], Hashable] = lambda name: None
) -> list[str]:
    """The values of `before`'s main graph that `after` makes by another node, by one that may mean another thing, or stores.

    Of equal nodes whose operator has another version in the other opset, one of each kind (operator, attributes, inputs of the
    same type and shape) stands for all.

    Args:
        before: the model that says what is right.
        after: the model that is compared with it.
        describe: type and shape of a value of `before`, None where they are not known; then no other node stands in.
    """
    makers = {name: node for node in before.graph.node for name in node.output if name}
    versions = [opsets_of(model.opset_import) for model in (before, after)]
    stored = initializer_names(after.graph)
    changed = [name for name in makers if name in stored]
    kinds: set[Hashable] = set()
    for node in after.graph.node:
        names = [name for name in node.output if name in makers]
        if not names:
            continue
        if all(serialize(node) == serialize(makers[name]) for name in names):
            if all(_same_meaning(each, versions) for each in all_nodes([node])):
                continue
            inputs = tuple(describe(name) if name else () for name in node.input)
            kind = (node.domain, node.op_type, inputs, tuple(serialize(attribute) for attribute in node.attribute))
            if kind in kinds:
                continue
            if None not in inputs:
                kinds.add(kind)
        changed += names
    return changed


def _describer(model: onnx.ModelProto, base_dir: Path | None) -> Callable[[str], Hashable]:
    view = ModelView(model)
    facts = Facts(view, base_dir=base_dir).of(view.main)

    def describe(name: str) -> Hashable:
        shape = facts.shape(name)
        return (facts.dtype(name), shape) if facts.dtype(name) and shape is not None else None

    return describe


def _same_meaning(node: onnx.NodeProto, versions: list[dict[str, int]]) -> bool:
    domain = domain_of(node.domain)
    old, new = (each.get(domain) for each in versions)
    if old == new:
        return True
    known = [None if each is None else schema_of(node.op_type, each, domain) for each in (old, new)]
    return known[0] is not None and known[1] is not None and known[0].since_version == known[1].since_version


def region_difference(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    feeds: Mapping[str, Array],
    *,
    base_dir: Path | None = None,
    after_base_dir: Path | None = None,
    exact: bool = False,
    by_reference: bool = False,
    seed: int = 0,
    others: Mapping[str, np.dtype[Any]] | None = None,
) -> OutputProof | None:
    """The first changed value of `after` that differs where its region reads `before`'s own values.

    A region reaches from a changed value back to the values that both main graphs make, their inputs and their constants. A value
    that became an initializer is compared with it. What misses the budget of its element type is compared again with room for
    the region's own rounding noise.

    Args:
        before: the model that says what is right.
        after: the model whose changed parts are compared with it.
        feeds: every input that is no initializer, by name.
        base_dir: the folder of the first model's external data.
        after_base_dir: that of the second's.
        exact: ask for equal values.
        by_reference: compute both by onnx.reference.
        seed: of the rounding noise.
        others: the element types of `after` for inputs and outputs that have another there; such outputs are passed over.

    Returns:
        Its comparison, or None where every region agrees, or nothing is changed.

    Raises:
        CannotRunError: a region cannot be run.
    """
    made = {name for node in before.graph.node for name in node.output if name}
    common = made & {name for node in after.graph.node for name in node.output if name}
    others = others or {}
    wanted = [name for name in changed_values(before, after, _describer(before, base_dir)) if name not in others]

    def runner(model: onnx.ModelProto, folder: Path | None) -> Runner:
        found = Runner(model, folder)
        if by_reference and not found.by_reference:
            found.use_reference("as the whole model")
        return found

    for begin in range(0, len(wanted), VALUES_AT_ONCE):
        names = wanted[begin : begin + VALUES_AT_ONCE]
        ends = [region_of(model, names, common) for model in (before, after)]
        stored = [name for name in dict.fromkeys((*names, *ends[0][1], *ends[1][1])) if name in made]
        values: dict[str, Any] = {**feeds, **runner(with_outputs(before, stored), base_dir).run(feeds)}
        ours = {name: value.astype(others[name]) if name in others else value for name, value in values.items()}
        if any(not isinstance(values[name], np.ndarray) for name in stored):
            continue  # sequences are compared as outputs only
        expected = {name: values[name] for name in names}
        old, new = (
            Region(*end, names, model, given, runner, folder)
            for end, model, given, folder in zip(ends, (before, after), (values, ours), (base_dir, after_base_dir), strict=True)
        )
        try:
            got = new.run(ours)
        except CannotRunError as error:
            return failure(names[0], f"the changed nodes do not run on the first model's values: {one_line(error)}")
        results = {name: compare(name, expected[name], got[name], exact=exact) for name in names}
        if not exact and not all(result.passed for result in results.values()):
            room = room_for_noise(expected, {name: values[name] for name in old.inputs}, old.run, seed)
            for name in names:
                if not results[name].passed and name in room:
                    results[name] = compare(name, expected[name], got[name], atol=room[name])
        for result in results.values():
            if not result.passed:
                return result
    return None


class Region:
    """Nodes cut out of a model, as a model of their own that reads the values around them."""

    def __init__(
        self,
        nodes: list[onnx.NodeProto],
        inputs: list[str],
        names: list[str],
        model: onnx.ModelProto,
        values: Mapping[str, Any],
        runner: Callable[[onnx.ModelProto, Path | None], Runner],
        base_dir: Path | None,
    ) -> None:
        self.inputs = [name for name in inputs if name in values]
        cut = onnx.ModelProto(ir_version=max(model.ir_version, _FIRST_IR_OF_FREE_INITIALIZERS))
        cut.opset_import.extend(model.opset_import)
        cut.functions.extend(model.functions)
        cut.graph.name = "region"
        used = {name for node in nodes for name in reads(node)}
        # a value that is read from outside, or stored, as well as made here has its plain name there
        given = {*self.inputs, *initializer_names(model.graph)}
        renamed = {name: _MADE + name for node in nodes for name in node.output if name in given}
        for node in nodes:
            copy = cut.graph.node.add()
            copy.CopyFrom(node)
            copy.output[:] = [renamed.get(name, name) for name in node.output]
        cut.graph.initializer.extend(tensor for tensor in model.graph.initializer if tensor.name in used)
        cut.graph.sparse_initializer.extend(t for t in model.graph.sparse_initializer if t.values.name in used)
        for name in self.inputs:
            kind = onnx.helper.np_dtype_to_tensor_dtype(values[name].dtype)
            cut.graph.input.append(onnx.helper.make_tensor_value_info(name, kind, None))
        cut.graph.output.extend(onnx.ValueInfoProto(name=renamed.get(name, name)) for name in names)
        self._runner = runner(cut, base_dir)

    @property
    def rejected(self) -> str:
        """Why onnxruntime refuses the nodes themselves; empty where it does not."""
        return self._runner.rejected

    def run(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What the nodes make of `values`, by the plain names."""
        got = self._runner.run({name: values[name] for name in self.inputs})
        return {name.removeprefix(_MADE): value for name, value in got.items()}


def region_of(model: onnx.ModelProto, names: list[str], common: set[str]) -> tuple[list[onnx.NodeProto], list[str]]:
    """The nodes that make `names` from values in `common`, inputs and constants, in order; and what they read from outside.

    A name that is a constant of the model is made by an Identity node.
    """
    maker = {name: index for index, node in enumerate(model.graph.node) for name in node.output if name}
    constant = initializer_names(model.graph)
    chosen: set[int] = set()
    outside: dict[str, None] = {}
    waiting = [maker[name] for name in names if name not in constant]
    while waiting:
        index = waiting.pop()
        if index in chosen:
            continue
        chosen.add(index)
        for name in sorted(reads(model.graph.node[index])):
            if name in constant:
                continue
            if name in common or name not in maker:
                outside[name] = None
            else:
                waiting.append(maker[name])
    stored = [onnx.NodeProto(op_type="Identity", input=[name], output=[name]) for name in names if name in constant]
    return [*(model.graph.node[index] for index in sorted(chosen)), *stored], list(outside)


def with_outputs(model: onnx.ModelProto, names: list[str]) -> onnx.ModelProto:
    """A copy of `model` whose outputs are the values `names`."""
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    declared = {value.name: value for value in model.graph.output}
    del probe.graph.output[:]
    probe.graph.output.extend(declared.get(name, onnx.ValueInfoProto(name=name)) for name in names)
    return probe
