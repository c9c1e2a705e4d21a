"""Quantized pairs as floats, to the bit; DFT and STFT as products, within rounding."""

from typing import Any

import numpy as np
import onnx
import pytest

from .harness import ask, error, noise, one_node, ops, repair, rewrite, run, same_bits

WORST = 1e-5


def pair(kind: type, *, axis: int | None = None, zero: int = 0, opset: int = 13, readers: int = 1) -> onnx.ModelProto:
    scale = np.array(0.05, np.float32) if axis is None else np.array([0.05, 0.1, 0.013], np.float32)
    point = np.full(scale.shape, zero, kind)
    more = {} if axis is None else {"axis": axis}
    nodes = [onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], name="node", **more)]
    nodes += [onnx.helper.make_node("DequantizeLinear", ["q", "s", "z"], [f"y{k}"], name=f"d{k}", **more) for k in range(readers)]
    value = onnx.helper.make_tensor_value_info
    shape = [2, 3, 4]
    outputs = [value(f"y{k}", 1, shape) for k in range(readers)]
    tensors = [onnx.numpy_helper.from_array(scale, "s"), onnx.numpy_helper.from_array(point, "z")]
    graph = onnx.helper.make_graph(nodes, "g", [value("x", 1, shape)], outputs, tensors)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("kind", [np.int8, np.uint8])
@pytest.mark.parametrize("axis", [None, 1, -2])
@pytest.mark.parametrize("zero", [0, 3, 100])
@pytest.mark.parametrize("node", ["node", "d0"])
def test_a_pair_is_arithmetic_on_floats(kind: type, axis: int | None, zero: int, node: str) -> None:
    model = pair(kind, axis=axis, zero=zero)
    result = rewrite(model, "quantized_pair_to_float", node=node)
    assert not {"QuantizeLinear", "DequantizeLinear"} & set(ops(result))
    for x in (noise((2, 3, 4)) * 5, np.array([0.025, 0.075, -0.025, 1e6, -1e6, np.inf] * 4, np.float32).reshape(2, 3, 4)):
        same_bits(run(model, {"x": x}), run(result, {"x": x}))


def test_several_readers_share_the_levels() -> None:
    model = pair(np.uint8, zero=7, readers=2)
    result = rewrite(model, "quantized_pair_to_float")
    assert ops(result).count("Div") == 1
    x = noise((2, 3, 4))
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


def test_levels_that_others_read_stay() -> None:
    model = pair(np.int8)
    model.graph.output.append(onnx.helper.make_tensor_value_info("q", onnx.TensorProto.INT8, [2, 3, 4]))
    assert ask(model, "quantized_pair_to_float") == "others than DequantizeLinear read the levels"
    assert ask(pair(np.int8, opset=10), "quantized_pair_to_float") == "before opset 11 there is no Round"


def test_a_zero_point_that_no_release_takes() -> None:
    report, result = repair(pair(np.int8, zero=5), "trt8.6")
    assert report.status == "repaired"
    assert result is not None
    assert "QuantizeLinear" not in ops(result)
    assert report.proof is not None
    assert report.proof.exact


def dft(shape: tuple[Any, ...], opset: int = 17, length: int | None = None, **more: Any) -> onnx.ModelProto:
    constants = {} if length is None else {"n": np.array(length)}
    names = ["x"] + (["n"] if length is not None else [])
    return one_node("DFT", names, {"x": shape}, opset=opset, constants=constants, **more)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(("more", "length"), [({}, None), ({"inverse": 1}, None), ({"onesided": 1}, None), ({}, 5), ({}, 11)])
@pytest.mark.parametrize(("shape", "axis"), [((2, 8), 1), ((2, 8, 3), 1), ((2, 3, 8), 2), ((1, 2, 6, 3), 2)])
def test_dft(shape: tuple[int, ...], axis: int, more: dict[str, int], length: int | None, parts: int) -> None:
    if more.get("onesided") and parts == 2:
        pytest.skip("ONNX has no one-sided transform of complex numbers")
    model = dft((*shape, parts), length=length, axis=axis, **more)
    result = rewrite(model, "dft_to_matmul")
    x = {"x": noise((*shape, parts))}
    assert "DFT" not in ops(result)
    assert error(run(model, x), run(result, x)) < WORST


def test_dft_of_opset_20_and_a_dynamic_batch() -> None:
    model = dft(("n", 6, 1), opset=20)
    result = rewrite(model, "dft_to_matmul")
    x = {"x": noise((3, 6, 1))}
    assert error(run(model, x), run(result, x)) < WORST
    assert "dynamic" in str(ask(dft((2, "t", 1), axis=1), "dft_to_matmul"))
    assert "one-sided inverse" in str(ask(dft((2, 6, 1), axis=1, inverse=1, onesided=1), "dft_to_matmul"))


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("rank", [2, 3])
def test_stft(rank: int, windowed: bool, onesided: int) -> None:
    constants = {"step": np.array(3), "length": np.array(8)}
    if windowed:
        constants["window"] = np.hanning(8).astype(np.float32)
    inputs = ["x", "step", "window" if windowed else "", "length"]
    shape = (2, 20) if rank == 2 else (2, 20, 1)
    model = one_node("STFT", inputs, {"x": shape}, opset=17, constants=constants, out_rank=4, onesided=onesided)
    result = rewrite(model, "dft_to_matmul")
    assert ops(result) == (["Gather", "MatMul", "Reshape"] if rank == 2 else ["Reshape", "Gather", "MatMul", "Reshape"])
    x = {"x": noise(shape)}
    expected = np.array(
        [[np.fft.fft(s[k : k + 8] * constants.get("window", 1)) for k in range(0, 13, 3)] for s in x["x"].reshape(2, 20)]
    )
    expected = expected[..., :5] if onesided else expected
    got = run(result, x)["y"]
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], expected, atol=1e-5)
