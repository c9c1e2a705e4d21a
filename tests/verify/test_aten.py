from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from onnxfix.verify import aten
from onnxfix.verify.run import CannotRunError, Runner

from .conftest import SEED_MODELS, seed_model

ATEN_MODELS = sorted(path.name for path in SEED_MODELS.glob("*aten*.onnx")) or ["torch1.7.1_adaptive_pool_14x14_aten_opset11.onnx"]


def pooled(x, size, reduce):
    """The same definition, window by window, in the slowest words."""
    height, width = x.shape[-2:]
    y = np.zeros((*x.shape[:-2], *size), x.dtype)
    for i in range(size[0]):
        for j in range(size[1]):
            rows = slice(int(np.floor(i * height / size[0])), int(np.ceil((i + 1) * height / size[0])))
            columns = slice(int(np.floor(j * width / size[1])), int(np.ceil((j + 1) * width / size[1])))
            y[..., i, j] = reduce(x[..., rows, columns], axis=(-2, -1))
    return y


def aten_model(node, outputs=("y",), version=1, shape=(1, 2, 7, 9)):
    """Conv-like work before and after the ATen node, whose output feeds another ATen node as well."""
    graph = helper.make_graph(
        [
            helper.make_node("Relu", ["x"], ["a"]),
            node,
            helper.make_node("Add", ["p", "bias"], ["y"]),
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.INT64 if name == "i" else TensorProto.FLOAT, None) for name in outputs],
        [
            onnx.numpy_helper.from_array(np.array([4, 3], np.int64), "size"),
            onnx.numpy_helper.from_array(np.float32(1.5), "bias"),
        ],
    )
    imports = [helper.make_opsetid("", 11), helper.make_opsetid("org.pytorch.aten", version)]
    return helper.make_model(graph, opset_imports=imports, ir_version=6)


@pytest.mark.parametrize(("size", "out"), [(8, 4), (7, 3), (3, 7), (256, 14), (5, 1), (5, 5)])
def test_windows_cover_the_axis_and_never_are_empty(size, out):
    found = aten.windows(size, out)
    assert len(found) == out
    assert found[0][0] == 0
    assert found[-1][1] == size
    assert all(begin < end for begin, end in found)
    assert all(left[1] >= right[0] for left, right in pairwise(found))


@pytest.mark.parametrize("size", [(1, 1), (4, 3), (14, 14), (9, 20)])
def test_pools_equal_their_definition(size):
    x = np.random.default_rng(1).standard_normal((2, 3, 13, 10)).astype(np.float32)
    np.testing.assert_allclose(aten.adaptive_avg_pool2d(x, size), pooled(x, size, np.mean), rtol=1e-5, atol=1e-6)
    values, indices = aten.adaptive_max_pool2d(x, size)
    np.testing.assert_array_equal(values, pooled(x, size, np.max))
    np.testing.assert_array_equal(np.take_along_axis(x.reshape(2, 3, -1), indices.reshape(2, 3, -1), -1), values.reshape(2, 3, -1))


def test_max_pool_passes_nan_on():
    x = np.array([[[[1.0, np.nan], [2.0, 3.0]]]], np.float32)
    assert np.isnan(aten.adaptive_max_pool2d(x, (1, 1))[0]).all()


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("adaptive_avg_pool2d", ["a", "size"], ["p"], domain="org.pytorch.aten"),
        helper.make_node("adaptive_avg_pool2d", ["a"], ["p"], domain="org.pytorch.aten", output_size=[4, 3]),
        helper.make_node("ATen", ["a", "size"], ["p"], domain="org.pytorch.aten", operator="adaptive_avg_pool2d"),
    ],
    ids=["size as input", "size as attribute", "operator as attribute"],
)
def test_an_aten_node_runs_between_two_stages(node, version):
    model = aten_model(node, version=version)
    before = model.SerializeToString()
    x = np.random.default_rng(2).standard_normal((1, 2, 7, 9)).astype(np.float32)
    runner = Runner(model)
    for _ in range(2):
        y = runner.run({"x": x})["y"]
        np.testing.assert_allclose(y, pooled(np.maximum(x, 0), (4, 3), np.mean) + 1.5, rtol=1e-5)
    assert runner.note == ""
    assert model.SerializeToString() == before


def test_a_max_pool_with_indices_gives_both_outputs():
    node = helper.make_node("adaptive_max_pool2d", ["a", "size"], ["p", "i"], domain="org.pytorch.aten")
    out = Runner(aten_model(node, outputs=("y", "i"))).run({"x": np.ones((1, 2, 7, 9), np.float32)})
    assert out["y"].shape == out["i"].shape == (1, 2, 4, 3)
    assert out["i"].dtype == np.int64


def test_an_aten_node_in_a_subgraph_runs_by_the_reference():
    def branch(name, **attributes):
        node = helper.make_node("adaptive_avg_pool2d", ["x"], [name], domain="org.pytorch.aten", **attributes)
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])

    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("t", output_size=[1, 1]), else_branch=branch("e", output_size=[2, 2])
    )
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 4, 4]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("org.pytorch.aten", 1)])
    runner = Runner(model)
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    assert runner.run({"c": np.array(True), "x": x})["y"].tolist() == [[[[7.5]]]]
    assert runner.run({"c": np.array(False), "x": x})["y"].shape == (1, 1, 2, 2)
    assert "onnx.reference" in runner.note


def test_an_unknown_aten_operator_is_named():
    node = helper.make_node("ATen", ["a"], ["p"], domain="org.pytorch.aten", operator="einsum")
    with pytest.raises(CannotRunError, match="einsum"):
        Runner(aten_model(node))


@pytest.mark.parametrize("name", ATEN_MODELS)
def test_seed_models_with_aten_nodes_run(name):
    model = onnx.load(seed_model(name))
    before = model.SerializeToString()
    out = Runner(model).run({"image": np.random.default_rng(0).standard_normal((1, 3, 256, 256)).astype(np.float32)})
    assert out["out"].shape == (1, 8, 14, 14)
    assert model.SerializeToString() == before
