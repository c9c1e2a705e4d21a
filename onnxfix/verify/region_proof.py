"""Proves a rewritten model by its changed parts alone, where the whole model runs nowhere.

A custom operator, or a node that every runtime refuses, keeps a model from running; its other nodes can be repaired all the same.
What the change did not touch is the same bytes in both models. Each changed part is cut out, with the values around it that both
models share as its ends, and both forms run on made values. What follows from initializers and shapes alone is no such end: it is
computed. A value that `after` stores as an initializer is a changed part too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.opsets import RANDOM, domain_of
from onnxfix.verify.compare import OutputProof, compare
from onnxfix.verify.graph import all_nodes, initializer_names, reads, real_inputs
from onnxfix.verify.inputs import check_size
from onnxfix.verify.prove import Proof
from onnxfix.verify.regions import Region, changed_values, region_of
from onnxfix.verify.run import CannotRunError, Runner, brief

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from onnxfix.verify.aten import Array


def prove_regions(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    describe: Callable[[str], tuple[int, tuple[int, ...]] | None],
    *,
    base_dir: Path | None = None,
    samples: int = 8,
    seed: int = 0,
    exact: bool = False,
    why: CannotRunError | None = None,
) -> Proof:
    """Compare every changed part of `after` with the part of `before` that it stands for, on seeded values.

    Args:
        before: the model that says what is right.
        after: the same with nodes rewritten in place.
        describe: (TensorProto.DataType, shape) of a value of `before`, None where it is not known.
        base_dir: the folder of the models' external data.
        samples: how many sets of values to make.
        seed: to make them with.
        exact: ask for equal values.
        why: why the whole model does not run.

    Raises:
        CannotRunError: a part cannot be run either, or the values around it are not known.
    """
    _check_constants(before, after)
    wanted = changed_values(before, after, describe)
    reason, detail = (why.reason, why.detail) if why is not None else ("", "")
    if not wanted:
        return Proof(0, seed, (), (), exact, None, None, passed=True, kind="structure", why=reason, detail=detail)
    made = {name for node in before.graph.node for name in node.output if name}
    common = made & {name for node in after.graph.node for name in node.output if name}
    common -= _settled(before.graph, describe)
    ends = [region_of(model, wanted, common) for model in (before, after)]
    described = {name: describe(name) for name in dict.fromkeys((*ends[0][1], *ends[1][1]))}
    unknown = sorted(name for name, found in described.items() if found is None)
    for name, found in described.items():
        if found is not None:
            check_size(name, found[1])
    if unknown:
        text = f"the model runs nowhere ({reason}), nor do its changed nodes alone: the shape of {unknown[0]} is not known"
        raise CannotRunError(text, detail=detail, other_inputs=why is not None and why.other_inputs)
    worst: dict[str, OutputProof] = {}
    for sample in range(samples):
        rng = np.random.default_rng((seed, sample))
        values = {name: _values(rng, *found) for name, found in described.items() if found is not None}
        models = zip(ends, (before, after), strict=True)
        try:
            old, new = (Region(*end, wanted, model, values, Runner, base_dir) for end, model in models)
            expected, got = old.run(values), new.run(values)
            if new.rejected and not old.rejected:
                raise CannotRunError(new.rejected)
        except CannotRunError as error:
            own = brief(str(error))
            text = f"the model runs nowhere ({reason}), nor do its changed nodes alone" + (f" ({own})" if own != reason else "")
            raise CannotRunError(text, detail=f"{detail}; {error}", other_inputs=why is not None and why.other_inputs) from None
        for name in wanted:
            result = compare(name, expected[name], got[name], exact=exact)
            worst[name] = worst[name].worst_with(result) if name in worst else result
    outputs = tuple(worst.values())
    passed = all(output.passed for output in outputs)
    return Proof(samples, seed, ({},) * samples, outputs, exact, None, None, passed, "", "regions", reason, detail)


def _check_constants(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    """Raise CannotRunError where an initializer or an input of one name is another thing in `after`: that is no change of nodes."""
    old, new = (
        {**{t.name: t for t in model.graph.initializer}, **{t.values.name: t for t in model.graph.sparse_initializer}}
        for model in (before, after)
    )
    made = {name for node in after.graph.node for name in node.output}
    for name, tensor in old.items():
        if name in made:
            raise CannotRunError(f"initializer {name} is computed in the rewritten model")
        other = new.get(name)
        if other is not None and other.SerializeToString(deterministic=True) != tensor.SerializeToString(deterministic=True):
            raise CannotRunError(f"initializer {name} is another one in the rewritten model")
    for value in real_inputs(before.graph):
        if value.name in new:
            raise CannotRunError(f"input {value.name} is an initializer in the rewritten model")


def _settled(graph: onnx.GraphProto, describe: Callable[[str], object]) -> set[str]:
    """The values that follow from initializers and from described shapes alone, by operators of ONNX."""
    known = initializer_names(graph)
    for node in graph.node:
        if domain_of(node.domain) or any(each.op_type in RANDOM for each in all_nodes([node])):
            continue
        if reads(node) <= known or (node.op_type in ("Shape", "Size") and describe(node.input[0]) is not None):
            known.update(name for name in node.output if name)
    return known


def _values(rng: np.random.Generator, dtype: int, shape: tuple[int, ...]) -> Array:
    """Standard normal numbers, or 0 and 1 where the type holds integers."""
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    if kind.kind in "iub":
        return rng.integers(0, 2, shape).astype(kind)
    return rng.standard_normal(shape).astype(kind)
