import contextlib

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from onnxfix.errors import ModelError
from onnxfix.verify.run import CannotRunError, Runner, RunRefusedError

from .conftest import parse


def test_initializers_listed_as_inputs_need_no_value():
    model = parse(
        '<ir_version: 3, opset_import: ["" : 9]> g (float[N] x, float[1] w) => (float[N] y) <float[1] w = {2}> { y = Mul(x, w) }'
    )
    assert Runner(model).run({"x": np.ones(2, np.float32)})["y"].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("folder", [".", "weights"])
def test_external_data_is_read_from_the_models_folder(tmp_path, folder):
    weights = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 8])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    (tmp_path / folder).mkdir(exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    location = f"{folder}/w.bin" if folder != "." else "w.bin"
    onnx.save_model(model, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    if folder != ".":
        (tmp_path / "w.bin").rename(tmp_path / location)
    model = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    for entry in model.graph.initializer[0].external_data:
        if entry.key == "location":
            entry.value = location
    x = np.eye(8, dtype=np.float32)
    np.testing.assert_array_equal(Runner(model, tmp_path).run({"x": x})["y"], weights)
    (tmp_path / location).unlink()
    with pytest.raises(ModelError, match=r"w\.bin"):
        Runner(model, tmp_path)


def test_bfloat16_runs_by_the_reference():
    model = parse('<ir_version: 8, opset_import: ["" : 13]> g (bfloat16[2] x) => (bfloat16[2] y) { y = Add(x, x) }')
    runner = Runner(model)
    assert runner.run({"x": np.array([1, 2], ml_dtypes.bfloat16)})["y"].astype(float).tolist() == [2.0, 4.0]
    assert runner.by_reference


def test_a_custom_operator_cannot_be_run_and_is_named():
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13, "com.acme" : 1]> g (float[2] x) => (float[2] y) { y = com.acme.Spin(x) }'
    )
    with pytest.raises(CannotRunError, match="Spin") as caught:
        Runner(model)
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)


def test_sizes_that_do_not_fit_are_a_refusal_not_a_crash(capfd):
    model = parse('<ir_version: 8, opset_import: ["" : 13]> g (float[N] x, float[M] z) => (float[K] y) { y = Add(x, z) }')
    runner = Runner(model)
    with pytest.raises(RunRefusedError, match="Add"):
        runner.run({"x": np.ones(2, np.float32), "z": np.ones(3, np.float32)})
    with pytest.raises(RunRefusedError, match="input z"):
        runner.run({"x": np.ones(2, np.float32)})
    assert capfd.readouterr() == ("", "")


def test_nodes_run_as_they_are_written():
    """Optimization folds the pair of casts away and keeps the bits that float16 loses."""
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[1] x) => (float[1] y) { h = Cast<to=10>(x)  y = Cast<to=1>(h) }'
    )
    assert Runner(model).run({"x": np.array([1.0001], np.float32)})["y"].tolist() == [1.0]


def test_a_sparse_initializer_that_an_aten_node_reads_is_no_crash():
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13, "org.pytorch.aten" : 1]> g (float[1,1,4,4] x) => (float[1,1,2,2] y) '
        "{ y = org.pytorch.aten.adaptive_avg_pool2d (x, s) }"
    )
    sparse = model.graph.sparse_initializer.add(dims=[2])
    sparse.values.CopyFrom(onnx.helper.make_tensor("s", onnx.TensorProto.INT64, [2], [2, 2]))
    sparse.indices.CopyFrom(onnx.helper.make_tensor("", onnx.TensorProto.INT64, [2], [0, 1]))
    with pytest.raises(CannotRunError, match="s is a sparse initializer, and crosses an ATen node"):
        Runner(model)


def test_a_session_that_fails_prints_nothing(capfd, monkeypatch):
    def refuse(*_):
        raise ValueError("no")

    monkeypatch.setattr("onnxruntime.InferenceSession._create_inference_session", refuse)
    model = parse('<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { y = Relu(x) }')
    with contextlib.suppress(CannotRunError):
        Runner(model)
    assert capfd.readouterr() == ("", "")


def test_what_is_given_stays_as_it_is():
    """BatchNormalization in training writes the new statistics over the ones that onnxruntime is given."""
    model = parse(
        """<ir_version: 8, opset_import: ["" : 15]>
        g (float[2,3] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[2,3] y, float[3] n, float[3] w)
        { y, n, w = BatchNormalization <training_mode = 1> (x, s, b, m, v) }"""
    )
    feeds = {name: np.full(3, number, np.float32) for number, name in enumerate("sbmv", 1)}
    feeds["x"] = np.arange(6, dtype=np.float32).reshape(2, 3)
    before = {name: array.copy() for name, array in feeds.items()}
    first, second = Runner(model).run(feeds), Runner(model).run(feeds)
    for name, array in before.items():
        np.testing.assert_array_equal(feeds[name], array)
    np.testing.assert_array_equal(first["w"], second["w"])


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64, ml_dtypes.bfloat16])
def test_large_weights_give_what_they_give_inside_the_model(kind, tmp_path):
    size = 4200
    weights = np.random.default_rng(0).standard_normal(size).astype(kind)
    word = {"bfloat16": "bfloat16", "float32": "float", "float64": "double"}.get(np.dtype(kind).name, np.dtype(kind).name)
    text = f'<ir_version: 8, opset_import: ["" : 13]> g (float[{size}] x) => ({word}[{size}] z, float[{size}] y)'
    model = parse(text + " { z = Identity (w)  c = Cast <to = 1> (w)  y = Mul (x, c) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "w"))
    data = model.SerializeToString()
    x = np.random.default_rng(1).standard_normal(size).astype(np.float32)
    for folder in (None, tmp_path):
        got = Runner(model, folder).run({"x": x})
        assert got["z"].tobytes() == weights.tobytes()
        assert got["y"].tobytes() == (x * weights.astype(np.float32)).tobytes()
    assert model.SerializeToString() == data


def test_large_weights_that_are_cut_short_are_refused_in_the_runtimes_words():
    model = parse('<ir_version: 8, opset_import: ["" : 13]> g (float[4200] x) => (float[4200] y) { y = Mul (x, w) }')
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(4200, np.float32), "w"))
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-4]
    with pytest.raises(CannotRunError, match="onnxruntime"):
        Runner(model)
