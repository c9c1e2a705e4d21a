"""What works on the batch axis gets another axis of 1 in front, where the batch is 1 and sizes are fixed."""

import numpy as np
import onnx
import pytest

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView

from .harness import applied, ask, error, noise, ops, parse, repair, rewrite, run, same_bits


def moved(body: str, opset: int = 13, stored: str = "") -> onnx.ModelProto:
    """`body` makes `u` of `t`, whose axis 0 is not the batch: shape [4, 1, 6]."""
    return parse(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[1,4,6] x) => (float[1,n] y) <int64[2] flat = {{1, -1}}'
        f"{', ' + stored if stored else ''}> {{ [node] t = Transpose <perm = [1, 0, 2]> (x)  {body}  y = Reshape (u, flat) }}"
    )


def begins_with_batch(model: onnx.ModelProto) -> bool:
    """Whether axis 0 of every value that depends on an input is 1."""
    facts = Facts(ModelView(model))
    of = facts.of(facts.view.main)
    names = [name for node in model.graph.node for name in node.output if not of.is_constant(name)]
    return all((of.static_shape(name) or (0,))[0] == 1 for name in names)


def holds(model: onnx.ModelProto, *, node: str = "node", exact: bool = True) -> onnx.ModelProto:
    result = rewrite(model, "batch_of_one", node=node)
    assert begins_with_batch(result)
    feeds = {
        value.name: noise([dim.dim_value for dim in value.type.tensor_type.shape.dim], seed=seed)
        for seed, value in enumerate(model.graph.input)
    }
    assert error(run(model, feeds), run(result, feeds)) <= (0 if exact else 2e-7)
    assert [value.SerializeToString() for value in model.graph.output] == [v.SerializeToString() for v in result.graph.output]
    return result


AXES = "int64[1] first = {0}, int64[1] second = {1}, int64[2] both = {0, 2}"


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ("u = Relu (t)", ""),
        ("u = Clip (t, low)", "float low = {0.1}"),
        ("u = LeakyRelu <alpha = 0.2> (t)", ""),
        ("u = Add (t, row)", "float[6] row = {1, 2, 3, 4, 5, 6}"),
        ("u = Sub (column, t)", "float[4,1,1] column = {1, 2, 3, 4}"),
        ("v = ReduceMean <axes = [0, 1], keepdims = 0> (t)  u = Mul (t, v)", ""),
        ("v = ReduceMax <keepdims = 0> (t)  u = Min (v, t)", ""),
        ("u = ReduceMax <keepdims = 0> (t)", ""),
        ("u = ReduceMin <axes = [-3], keepdims = 0> (t)", ""),
        ("u = ReduceSum <keepdims = 0> (t, both)", AXES),
        ("u = ReduceSum (t)", ""),
        ("u = ArgMax <axis = 0, keepdims = 0> (t)", ""),
        ("u = ArgMin <axis = -1> (t)", ""),
        ("u = Concat <axis = 0> (t, t)", ""),
        ("v = Neg (t)  u = Concat <axis = -1> (t, v)", ""),
        ("u = Concat <axis = 0> (t, more)", "float[1,1,6] more = {1, 2, 3, 4, 5, 6}"),
        ("a, b = Split <axis = 0> (t)  u = Sub (a, b)", ""),
        ("a, b = Split <axis = 0> (t, sizes)  u = Mul (a, b)", "int64[2] sizes = {1, 3}"),
        ("u = Softmax <axis = 0> (t)", ""),
        ("u = LogSoftmax (t)", ""),
        ("u, i = TopK <axis = 0> (t, k)", "int64[1] k = {2}"),
        ("u = Gather <axis = 0> (t, places)", "int64[3] places = {0, -1, 2}"),
        ("u = Gather <axis = 0> (t, place)", "int64 place = {3}"),
        ("u = Gather <axis = -1> (t, places)", "int64[2,2] places = {0, 1, 2, 3}"),
        ("u = Slice (t, first, second, first)", AXES),
        ("u = Slice (t, second, far)", "int64[1] second = {-2}, int64[1] far = {9}"),
        ("u = Squeeze (t, second)", AXES),
        ("u = Unsqueeze (t, first)", AXES),
        ("u = Flatten <axis = 2> (t)", ""),
        ("u = Reshape (t, target)", "int64[2] target = {0, -1}"),
        ("v = Reshape (t, target)  u = Transpose (v)", "int64[3] target = {4, 2, 3}"),
        ("v = Greater (t, low)  u = Where (v, t, low)", "float[1] low = {0.1}"),
        ("u = Cast <to = 10> (t)", ""),
    ],
)
def test_every_form_gives_the_same(body: str, stored: str) -> None:
    model = moved(body, stored=stored)
    if "Cast" in body or "Arg" in body:
        model.graph.output[0].type.tensor_type.elem_type = 7 if "Arg" in body else 10
    holds(model)


@pytest.mark.parametrize(
    ("body", "stored"),
    [
        ("u = MatMul (t, w)", "float[6,2] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}"),
        ("u = MatMul (w, t)", "float[2,1] w = {1, 2}"),
        ("v = Transpose <perm = [0, 2, 1]> (t)  u = MatMul (t, v)", ""),
        ("v = Reshape (t, grid)  w = Transpose <perm = [1, 0]> (v)  u = MatMul (w, t)", "int64[2] grid = {1, 24}"),
        (
            "v = Reshape (t, grid)  u = Gemm (v, w, b)",
            "int64[2] grid = {4, 6}, float[6,1] w = {1, 2, 3, 4, 5, 6}, float[1] b = {7}",
        ),
        (
            "v = Reshape (t, grid)  u = Gemm <transA = 1, transB = 1, alpha = 0.5> (v, w)",
            "int64[2] grid = {4, 6}, float[1,4] w = {1, 2, 3, 4}",
        ),
        ("v = Reshape (t, grid)  u = Gemm <transB = 1> (v, v)", "int64[2] grid = {4, 6}"),
        (
            "v = Reshape (t, grid)  u = BatchNormalization (v, s, b, m, d)",
            "int64[2] grid = {4, 6}, float[6] s = {1, 2, 3, 4, 5, 6}, float[6] b = {0, 1, 0, 1, 0, 1}, "
            "float[6] m = {1, 1, 1, 0, 0, 0}, float[6] d = {1, 2, 1, 2, 1, 2}",
        ),
        (
            "v = Reshape (t, grid)  u = BatchNormalization <epsilon = 0.01> (v, s, b, b, s)",
            "int64[4] grid = {4, 2, 3, 1}, float[2] s = {1, 2}, float[2] b = {0.5, 1}",
        ),
    ],
)
def test_products_are_equal_but_for_the_order_of_sums(body: str, stored: str) -> None:
    holds(moved(body, stored=stored), exact=False)


@pytest.mark.parametrize(
    ("body", "opset"),
    [
        ("u = Slice <starts = [1], ends = [3]> (t)", 9),
        ("u = Squeeze <axes = [1]> (t)", 9),
        ("u = Unsqueeze <axes = [0]> (t)", 9),
        ("a, b = Split <axis = 0, split = [1, 3]> (t)  u = Add (a, b)", 9),
        ("u = Softmax <axis = 1> (t)", 9),
        ("u = Softmax <axis = 0> (t)", 9),
        ("u = ReduceSum <axes = [0]> (t)", 9),
        ("a, b = Split <axis = 0, num_outputs = 2> (t)  u = Add (a, b)", 18),
        ("u = ReduceMean (t)", 18),
    ],
)
def test_older_and_newer_forms(body: str, opset: int) -> None:
    holds(moved(body, opset))


def test_attention_with_the_sequence_first() -> None:
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1,6,8] x) => (float[1,6,8] y)'
        " <int64[3] heads = {6, 4, 2}, int64[2] rows = {6, 8}, int64[3] back = {6, 1, 8}, float[1] half = {0.5}>"
        " { [node] t = Transpose <perm = [1, 0, 2]> (x)  r = Reshape (t, heads)  q = Transpose <perm = [1, 0, 2]> (r)"
        "   k = Transpose <perm = [1, 2, 0]> (r)  s = Mul (q, half)  p = MatMul (s, k)  a = Softmax <axis = -1> (p)"
        "   m = MatMul (a, q)  n = Transpose <perm = [1, 0, 2]> (m)  f = Reshape (n, rows)  b = Reshape (f, back)"
        "   y = Transpose <perm = [1, 0, 2]> (b) }"
    )
    holds(model, exact=False)
    report, repaired = repair(model, "trt5.1")
    assert repaired is not None
    assert "batch_of_one" in applied(report)
    assert not report.remaining


def test_a_value_is_given_plain_to_whom_it_is_plain() -> None:
    """Readers that leave the batch alone, and the outputs of the graph, get the value as it was."""
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1,4,6] x) => (float[1,4,6] y, float[1,4,6] z)'
        " { [node] t = Transpose <perm = [1, 0, 2]> (x)  r = Relu (t)  z = Transpose <perm = [1, 0, 2]> (r)  y = Neg (z) }"
    )
    assert ops(holds(model)) == ["Reshape", "Transpose", "Relu", "Transpose", "Reshape", "Neg"]


def test_a_shape_alone_needs_no_detour() -> None:
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1,4,6] x) => (float[1,1,4,6] y) <int64[1] a = {0}>'
        " { [node] y = Unsqueeze (x, a) }"
    )
    assert ops(holds(model)) == ["Reshape"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(float[2,4] x) => (float[4,2] y) { [node] y = Transpose (x) }", "does not begin with a batch of 1"),
        ("(float[1,4] x) => (float[4,1] y) { [node] y = Transpose (x) }", "output y of the graph does not begin"),
        ("(float[1,n] x) => (float[1,n] y) { [node] t = Transpose (x)  y = Transpose (t) }", "is dynamic"),
        ("(float[n,4] x) => (float[1,4] y) { [node] y = ReduceSum <axes = [0]> (x) }", "is dynamic"),
        ("(float[1,4] x) => (float[1,4] y) { [node] y = Transpose <perm = [0, 1]> (x) }", "it leaves the batch axis alone"),
        ("(float[1,4] x) => (float[1,4] y) { [node] y = Relu (x) }", "it leaves the batch axis alone"),
        ("(float[1,4] x) => (float[1,4] y) { [node] t = Transpose (x)  u = Tile (t, r)  y = Transpose (u) }", "Tile beside it"),
        (
            "(float[1,4] x, int64[1] i) => (float[1,4] y) { [node] t = Gather (x, i)  y = Relu (t) }",
            "positions of Gather are computed at run time",
        ),
        ("(float[1,4] x) => (float[1,4] y) { [node] c = Transpose (w)  y = Add (x, c) }", "it works on constants"),
    ],
)
def test_it_declines_with_the_reason(text: str, reason: str) -> None:
    model = parse(f'<ir_version: 8, opset_import: ["" : 9]> g {text}')
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((4, 1), np.float32), "w"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(2, np.int64), "r"))
    answer = ask(model, "batch_of_one")
    assert isinstance(answer, str)
    assert reason in answer


def test_it_declines_where_a_subgraph_reads_along() -> None:
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1,4] x, bool c) => (float[4,1] y) {'
        " [node] t = Transpose (x) "
        " y = If (c)"
        " <then_branch = a () => (float[4,1] p) { p = Relu (t) }, else_branch = b () => (float[4,1] q) { q = Neg (t) }> }"
    )
    assert "subgraph" in str(ask(model, "batch_of_one"))


class TestGatherAxisFromBack:
    def test_rows_of_a_table_are_the_same(self) -> None:
        model = parse(
            '<ir_version: 8, opset_import: ["" : 9]> g (int32[2,3] i) => (float[2,3,2] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}>'
            " { [node] y = Gather <axis = 0> (w, i) }"
        )
        result = rewrite(model, "gather_axis_from_back")
        (node,) = result.graph.node
        assert onnx.helper.get_node_attr_value(node, "axis") == -2
        feeds = {"i": np.array([[0, 3, 1], [2, 2, 0]], np.int32)}
        same_bits(run(model, feeds), run(result, feeds))

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("(int32[1,3] i, float[4] x) => (float[1,3] y) { [node] y = Gather (x, i) }", "the data is no constant"),
            ("(int32[1,3] i) => (float[4,1,3] y) { [node] y = Gather <axis = 1> (w, i) }", "another axis than the first"),
            ("(float[1,2] x) => (float[1,2] y) { [node] g = Gather (w, r)  y = Add (x, g) }", "the positions are constant too"),
        ],
    )
    def test_it_declines_with_the_reason(self, text: str, reason: str) -> None:
        model = parse(f'<ir_version: 8, opset_import: ["" : 9]> g {text}')
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((4, 2), np.float32), "w"))
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(1, np.int64), "r"))
        assert reason in str(ask(model, "gather_axis_from_back"))


@pytest.mark.parametrize("op", ["Squeeze", "Unsqueeze", "Reshape"])
def test_a_shape_that_is_only_declared_is_not_believed(op: str) -> None:
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1,3,1,5] x, int64[1] a) => (float[1,3,5] y)'
        f" {{ [node] y = {op} (x, a) }}"
    )
    assert "computed at run time" in str(ask(model, "batch_of_one"))
