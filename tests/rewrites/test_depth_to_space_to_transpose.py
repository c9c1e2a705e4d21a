"""DepthToSpace in both modes: the same bits as onnxruntime."""

import numpy as np
import onnx
import pytest

from .harness import ask, noise, one_node, ops, rewrite, run, same_bits


def depth_to_space(
    shape: tuple[object, ...], block: int, dtype: int = onnx.TensorProto.FLOAT, opset: int = 11, **more: str
) -> onnx.ModelProto:
    return one_node("DepthToSpace", ["x"], {"x": shape}, opset=opset, dtype=dtype, blocksize=block, **more)


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize(
    ("shape", "block"), [((1, 4, 2, 3), 2), ((2, 12, 3, 5), 2), ((3, 18, 2, 2), 3), ((1, 16, 1, 1), 4), ((1, 3, 2, 2), 1)]
)
def test_both_modes(shape: tuple[int, ...], block: int, mode: str, opset: int) -> None:
    model = depth_to_space(shape, block, mode=mode, opset=opset)
    result = rewrite(model, "depth_to_space_to_transpose")
    assert ops(result) == ["Reshape", "Transpose", "Reshape"]
    x = noise(shape)
    same_bits(run(model, {"x": x}), run(result, {"x": x}))


def test_without_a_mode_it_is_dcr_and_half_precision_moves_as_well() -> None:
    x = noise((1, 8, 2, 3), np.float16)
    got = run(rewrite(depth_to_space(x.shape, 2, onnx.TensorProto.FLOAT16), "depth_to_space_to_transpose"), {"x": x})["y"]
    right = x.reshape(1, 2, 2, 2, 2, 3).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 4, 6)
    np.testing.assert_array_equal(got, right)


def test_a_dynamic_batch_stays() -> None:
    model = depth_to_space(("n", 8, 3, 2), 2, mode="CRD")
    result = rewrite(model, "depth_to_space_to_transpose")
    for batch in (1, 3):
        x = noise((batch, 8, 3, 2))
        same_bits(run(model, {"x": x}), run(result, {"x": x}))


@pytest.mark.parametrize("shape", [(1, 4, "h", 2), (1, "c", 2, 2)])
def test_dynamic_sizes_are_declined(shape: tuple[object, ...]) -> None:
    assert ask(depth_to_space(shape, 2, mode="CRD"), "depth_to_space_to_transpose") == "channels, height or width are dynamic"
