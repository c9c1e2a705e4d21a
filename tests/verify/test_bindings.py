from itertools import islice

import pytest

from onnxfix.errors import UsageError
from onnxfix.verify.bindings import binding_of, bindings

from .conftest import parse

HEAD = '<ir_version: 8, opset_import: ["" : 13]> g '
TWO = HEAD + "(float[batch, 3, h, w] x, float[batch, 3, h, w] z) => (float[batch, 3, h, w] y) { y = Add(x, z) }"


def unnamed():
    model = parse(TWO)
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.Clear()
    return model


def test_a_symbol_has_one_size_in_all_inputs_and_symbols_differ():
    found = list(islice((b for b in bindings(parse(TWO), 6) if not b.optional), 6))
    assert [b.dims["batch"] for b in found] == [1, 2, 3, 1, 2, 3]
    assert len({(b.dims["h"], b.dims["w"]) for b in found}) == 6
    for binding in found:
        assert binding.shapes["x"] == binding.shapes["z"]
        assert binding.dims["h"] != binding.dims["w"]


def test_every_second_binding_is_of_small_odd_sizes_that_the_model_may_refuse():
    found = list(islice(bindings(parse(TWO), 8), 8))
    assert [b.optional for b in found] == [False, True] * 4
    assert {size for b in found if b.optional for name, size in b.dims.items() if name != "batch"} == {1, 3, 5, 7}


def test_a_model_of_which_only_the_batch_is_open_has_no_odd_sizes():
    model = parse(HEAD + "(float[batch, 3, 8, 8] x) => (float[batch, 3, 8, 8] y) { y = Relu(x) }")
    assert not any(b.optional for b in bindings(model, 8))


def test_unnamed_sizes_are_symbols_of_their_own():
    first = next(bindings(unnamed(), 2))
    assert set(first.dims) == {f"{name}[{axis}]" for name in "xz" for axis in (0, 2, 3)}


def test_a_model_without_symbols_has_one_binding():
    model = parse('<ir_version: 8, opset_import: ["" : 13]> g (float[2, 3] x) => (float[2, 3] y) { y = Relu(x) }')
    assert [b.shapes for b in bindings(model, 3)] == [{"x": (2, 3)}] * 3


def test_a_given_shape_fixes_the_symbol_everywhere():
    binding = next(bindings(parse(TWO), 1, {"x": (4, 3, 20, 30)}))
    assert binding.shapes["z"] == (4, 3, 20, 30)
    assert binding.dims == {"batch": 4, "h": 20, "w": 30}
    assert binding_of(parse(TWO), {"x": (4, 3, 20, 30), "z": (4, 3, 20, 30)}) == binding


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ({"x": (4, 3, 20)}, "3 dimensions, the model 4"),
        ({"x": (4, 5, 20, 30)}, "5 at axis 1, the model 3"),
        ({"x": (4, 3, 20, 30), "z": (5, 3, 20, 30)}, "5 at axis 0"),
        ({"q": (1,)}, "q, which is no input; the inputs are x, z"),
    ],
)
def test_a_shape_that_does_not_fit_is_a_usage_error(shapes, said):
    with pytest.raises(UsageError, match=said):
        next(bindings(parse(TWO), 1, shapes))


def test_an_input_of_unknown_rank_asks_for_a_shape():
    model = parse(TWO)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(UsageError, match="--shape x:"):
        next(bindings(model, 1))
    assert next(bindings(model, 1, {"x": (1, 3, 8, 8)})).shapes["x"] == (1, 3, 8, 8)


def test_inputs_stay_of_a_size_that_runs():
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[n, 64, d, h, w] x) => (float[n, 64, d, h, w] y) { y = Relu(x) }'
    )
    for binding in bindings(model, 8):
        n, c, d, h, w = binding.shapes["x"]
        assert n * c * d * h * w <= 1 << 22
