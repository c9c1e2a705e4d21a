"""Slices and outputs written so that importers which miscount them read the same, against onnxruntime."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from .harness import ask, noise, one_node, rewrite, run, same_bits
from .properties import examples, holds

BOUNDS = st.lists(st.tuples(st.sampled_from([1, 2, 3]), st.integers(-6, 6), st.integers(-6, 9)), min_size=1, max_size=3)


@examples(30)
@given(BOUNDS, st.sampled_from([9, 11]))
def test_every_axis_has_its_entry(bounds: list[tuple[int, int, int]], opset: int) -> None:
    shape = (2, 3, 4, 5)
    axes, starts, ends = (list(column) for column in zip(*bounds, strict=True))
    assume(len(set(axes)) == len(axes))
    assume(all(np.arange(shape[axis])[start:end].size for axis, start, end in bounds))
    if opset < 10:
        model = one_node("Slice", ["x"], {"x": ("n", *shape[1:])}, opset=opset, axes=axes, starts=starts, ends=ends)
    else:
        values = {"s": np.array(starts), "e": np.array(ends), "a": np.array(axes)}
        model = one_node("Slice", ["x", *values], {"x": ("n", *shape[1:])}, opset=opset, constants=values)
    holds(model, "slice_every_axis", {"x": noise(shape)})


@pytest.mark.parametrize("given", [0, 1, 2])
def test_axes_and_steps_are_written_out(given: int) -> None:
    values = {"s": np.array([0, 1]), "e": np.array([9, 3]), "a": np.array([0, 1]), "t": np.array([1, 1])}
    kept = dict(list(values.items())[: 2 + given])
    model = one_node("Slice", ["x", *kept], {"x": (2, 4)}, opset=10, constants=kept)
    if given == 2:
        assert "leaves nothing out" in str(ask(model, "slice_all_inputs"))
        return
    result = rewrite(model, "slice_all_inputs")
    (node,) = result.graph.node
    assert len(node.input) == 5
    same_bits(run(model, {"x": noise((2, 4))}), run(result, {"x": noise((2, 4))}))


def test_a_batch_that_is_cut_stays() -> None:
    model = one_node("Slice", ["x"], {"x": (2, 3)}, opset=9, axes=[0], starts=[0], ends=[1])
    assert ask(model, "slice_every_axis") == "it cuts the batch"


@pytest.mark.parametrize("outputs", [("y", ""), ("y", "", "", "t")])
def test_outputs_without_names(outputs: tuple[str, ...]) -> None:
    values = {"g": noise((4,), seed=1), "b": noise((4,), seed=2)}
    model = one_node(
        "SkipLayerNormalization",
        ["x", "s", "g", "b"],
        {"x": (2, 4), "s": (2, 4)},
        opset=12,
        domain="com.microsoft",
        constants=values,
        outputs=outputs,
    )
    holds(model, "name_outputs", {"x": noise((2, 4)), "s": noise((2, 4), seed=3)})
    (node,) = rewrite(model, "name_outputs").graph.node
    assert all(node.output)
    assert ask(one_node("Relu", ["x"], {"x": (2,)}, opset=9), "name_outputs") == "all its outputs have names"
