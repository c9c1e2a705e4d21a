"""Which parts of a model count as changed, and their proof by themselves."""

import numpy as np
import onnx
import pytest

from onnxfix.verify.region_proof import prove_regions
from onnxfix.verify.regions import changed_values, region_difference
from onnxfix.verify.run import CannotRunError

from .conftest import parse

SOFTMAX = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax (x) }"


def in_opset(version: int, text: str = SOFTMAX, domain: str = "") -> onnx.ModelProto:
    return parse(f'<ir_version: 8, opset_import: ["{domain}" : {version}]> {text}')


@pytest.mark.parametrize("domains", [("", ""), ("ai.onnx", "ai.onnx"), ("ai.onnx", ""), ("", "ai.onnx")])
def test_a_softmax_over_other_axes_is_found_by_either_name_of_the_domain(domains: tuple[str, str]) -> None:
    before, after = (in_opset(version, domain=domain) for version, domain in zip((13, 11), domains, strict=True))
    assert changed_values(before, after) == ["y"]
    proof = prove_regions(before, after, lambda name: (onnx.TensorProto.FLOAT, (2, 3, 4)))
    assert (proof.passed, proof.samples) == (False, 8)


def test_opsets_between_which_no_node_changes_need_no_run() -> None:
    proof = prove_regions(in_opset(13), in_opset(14, domain="ai.onnx"), lambda name: None)
    assert (proof.passed, proof.samples, proof.kind) == (True, 0, "structure")


def test_a_node_that_means_something_else_inside_a_branch_counts() -> None:
    text = (
        "g (bool c, float[1,1,2,2] x) => (float[1,1,4,4] y) <float[0] n = {}, float[4] s = {1, 1, 2, 2}> { y = If (c) <"
        "then_branch = t () => (float[1,1,4,4] u) { u = Resize (x, n, s) }, "
        "else_branch = e () => (float[1,1,4,4] v) { v = Resize (x, n, s) }> }"
    )
    assert changed_values(in_opset(18, text), in_opset(17, text)) == ["y"]
    assert changed_values(in_opset(15, text), in_opset(14, text)) == []


def test_a_new_node_does_not_stand_for_an_old_one_of_its_kind() -> None:
    before = in_opset(13, "g (float[2,3,4] x) => (float[2,3,4] y) { a = Relu (x) y = Softmax (a) }")
    after = in_opset(11, "g (float[2,3,4] x) => (float[2,3,4] y) { new = Softmax (x) a = Relu (new) y = Softmax (a) }")
    assert changed_values(before, after) == ["a", "y"]


def described(name: str) -> tuple[int, tuple[int, ...]]:
    return (onnx.TensorProto.INT64, (2,)) if name in ("s", "d") else (onnx.TensorProto.FLOAT, (2, 3))


def folded(before: str, after: str, stored: str) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """Two models of opset 13 with the constant k, of which the second stores one more."""
    head = "g (float[2,3] x) => (float[2,3] y) <float[3] k = {1, 2, 3}, int64 zero = {0}"
    return in_opset(13, f"{head}> {{ {before} }}"), in_opset(13, f"{head}, {stored}> {{ {after} }}")


@pytest.mark.parametrize(
    ("before", "after", "right", "wrong"),
    [
        ("c = Neg (k) y = Add (x, c)", "y = Add (x, c)", "float[3] c = {-1, -2, -3}", "float[3] c = {9, 9, 9}"),
        # what it is computed from stays in the model
        (
            "a = Neg (k) c = Exp (a) z = Mul (x, a) y = Add (z, c)",
            "a = Neg (k) z = Mul (x, a) y = Add (z, c)",
            "float[3] c = {0.36787944, 0.13533528, 0.04978707}",
            "float[3] c = {0.36787944, 0.13533528, 0.05}",
        ),
        # a shape decides it
        (
            "s = Shape (x) c = Gather (s, zero) d = Mul (s, c) y = Relu (x)",
            "s = Shape (x) d = Mul (s, c) y = Relu (x)",
            "int64 c = {2}",
            "int64 c = {3}",
        ),
        # its reader is changed too
        ("c = Neg (k) y = Add (x, c)", "y = Sum (x, c)", "float[3] c = {-1, -2, -3}", "float[3] c = {9, 9, 9}"),
        # what it is computed by is stored too
        (
            "a = Neg (k) c = Abs (a) y = Add (x, c)",
            "y = Add (x, c)",
            "float[3] c = {1, 2, 3}, float[3] a = {-1, -2, -3}",
            "float[3] c = {1, 2, 3}, float[3] a = {1, 2, 3}",
        ),
    ],
)
def test_a_value_that_became_an_initializer_is_compared_with_it(before: str, after: str, right: str, wrong: str) -> None:
    feeds = {"x": np.ones((2, 3), np.float32)}
    proof = prove_regions(*folded(before, after, right), described)
    assert (proof.passed, proof.samples) == (True, 8)
    assert "c" in [output.name for output in proof.outputs]
    assert not prove_regions(*folded(before, after, wrong), described).passed
    assert region_difference(*folded(before, after, right), feeds) is None
    assert region_difference(*folded(before, after, wrong), feeds) is not None


def test_a_value_that_depends_on_an_input_is_no_initializer() -> None:
    models = folded("c = Mul (x, k) y = Neg (c)", "y = Neg (c)", "float[2,3] c = {1, 2, 3, 4, 5, 6}")
    assert not prove_regions(*models, described).passed


def test_an_initializer_whose_computation_does_not_run_is_not_proven() -> None:
    head = '<ir_version: 8, opset_import: ["" : 13, "my" : 1]> g (float[3] x) => (float[3] y) <float[3] k = {1, 2, 3}'
    before = parse(f"{head}> {{ c = my.Secret (k) y = Add (x, c) }}")
    after = parse(f"{head}, float[3] c = {{1, 2, 3}}> {{ y = Add (x, c) }}")
    with pytest.raises(CannotRunError, match="Secret"):
        prove_regions(before, after, lambda name: (onnx.TensorProto.FLOAT, (3,)))


def test_constants_that_nodes_compute_have_their_own_values() -> None:
    body = "i = Neg (zero) row = Gather (x, {}) y = Add (x, row)"
    models = folded(body.format("i"), body.format("zero"), "int64 unused = {1}")
    proof = prove_regions(*models, lambda name: (onnx.TensorProto.INT64, ()) if name == "i" else described(name))
    assert (proof.passed, [output.name for output in proof.outputs]) == (True, ["row"])


def test_values_drawn_by_chance_are_ends_of_a_region() -> None:
    before, after = (
        in_opset(13, f"g (float[2,3] x) => (float[2,3] y) {{ r = RandomNormal <shape = [2, 3]> () y = {sum_} (x, r) }}")
        for sum_ in ("Add", "Sum")
    )
    assert prove_regions(before, after, described).passed


def sparse(value: float) -> onnx.SparseTensorProto:
    return onnx.helper.make_sparse_tensor(
        onnx.helper.make_tensor("p", onnx.TensorProto.FLOAT, [1], [value]),
        onnx.helper.make_tensor("p_at", onnx.TensorProto.INT64, [1], [0]),
        [3],
    )


def test_inputs_and_initializers_that_are_another_thing_are_not_proven() -> None:
    before, after = folded("y = Add (x, k)", "y = Add (x, k)", "float[2,3] x = {1, 2, 3, 4, 5, 6}")
    with pytest.raises(CannotRunError, match="input x is an initializer"):
        prove_regions(before, after, described)
    before, after = folded("y = Add (x, k)", "k = Neg (m) y = Add (x, k)", "float[3] m = {1, 2, 3}")
    with pytest.raises(CannotRunError, match="initializer k is computed"):
        prove_regions(before, after, described)
    before, after = folded("y = Add (x, p)", "y = Add (x, p)", "float[3] unused = {1, 2, 3}")
    before.graph.sparse_initializer.append(sparse(1.0))
    after.graph.sparse_initializer.append(sparse(2.0))
    with pytest.raises(CannotRunError, match="initializer p is another one"):
        prove_regions(before, after, described)


@pytest.mark.parametrize("harmless", [(2, 3), (2, 3, 1)])
def test_a_node_does_not_stand_for_one_whose_input_has_another_shape(harmless: tuple[int, ...]) -> None:
    declared = f"g (float{list(harmless)} h, float[2,3,4] x) => (float{list(harmless)} v, float[2,3,4] y)"
    text = f"{declared} {{ v = Softmax <axis = 1> (h) y = Softmax <axis = 1> (x) }}"
    before, after = in_opset(13, text), in_opset(11, text)
    shapes = {"h": harmless, "x": (2, 3, 4)}
    proof = prove_regions(before, after, lambda name: (onnx.TensorProto.FLOAT, shapes[name]))
    assert [(output.name, output.passed) for output in proof.outputs] == [("v", True), ("y", False)]
    wrong = region_difference(before, after, {name: np.ones(shape, np.float32) for name, shape in shapes.items()})
    assert wrong is not None
    assert wrong.name == "y"


def test_one_node_stands_for_those_of_its_kind_where_shapes_are_known() -> None:
    text = "g (float[2,3] x) => (float[2,3] y) { a = Softmax <axis = 1> (x) y = Softmax <axis = 1> (a) }"
    before, after = in_opset(13, text), in_opset(11, text)
    assert changed_values(before, after, described) == ["a"]
    assert changed_values(before, after) == ["a", "y"]
    assert changed_values(before, after, lambda name: None if name == "x" else described(name)) == ["a", "y"]
