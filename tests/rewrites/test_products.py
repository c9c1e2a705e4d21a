"""Gemm, MatMul, Expand and Tile in the forms that older importers take, against onnxruntime."""

from typing import Any

import numpy as np
import onnx
import pytest

from .harness import ask, noise, one_node, ops, rewrite
from .properties import holds

BOUND = 1e-6


def gemm(*, computed: bool = False, biased: bool = True, bias: tuple[int, ...] = (4,), **attributes: Any) -> onnx.ModelProto:
    left = (3, 2) if attributes.get("transA") else (2, 3)
    right = (4, 3) if attributes.get("transB") else (3, 4)
    values = {"b": noise(right, seed=1), "c": noise(bias, seed=2)}
    shapes: dict[str, tuple[object, ...]] = {"a": left, **({"b": right, "c": bias} if computed else {})}
    names = ["a", "b", "c"] if biased else ["a", "b"]
    constants = {} if computed else {name: values[name] for name in names[1:]}
    if not biased:
        shapes.pop("c", None)
    return one_node("Gemm", names, shapes, opset=11, constants=constants, out_rank=2, **attributes)


def feeds(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    stored = {tensor.name for tensor in model.graph.initializer}
    return {
        value.name: noise([dim.dim_value for dim in value.type.tensor_type.shape.dim], seed=index)
        for index, value in enumerate(model.graph.input)
        if value.name not in stored
    }


@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("attributes", [{"alpha": 0.5}, {"alpha": 2.0, "beta": 0.25}, {"beta": 3.0, "transA": 1}, {"transB": 1}])
def test_factors_and_biases(computed: bool, biased: bool, attributes: dict[str, Any]) -> None:
    model = gemm(computed=computed, biased=biased, **attributes)
    holds(model, "gemm_to_matmul", feeds(model), bound=BOUND)
    if biased and "alpha" not in attributes and "beta" not in attributes:
        assert ask(model, "gemm_plain") == "its factors are 1 and it has a bias"
        return
    holds(model, "gemm_plain", feeds(model), bound=BOUND)
    (node,) = [node for node in rewrite(model, "gemm_plain").graph.node if node.op_type == "Gemm"]
    assert len(node.input) == 3
    assert not {"alpha", "beta"} & {attribute.name for attribute in node.attribute}


@pytest.mark.parametrize(
    ("tensor", "constant", "first", "becomes"),
    [
        ((2, 3, 4, 5), (5, 6), False, (1, 5, 6)),
        ((2, 3, 4, 5), (1, 1, 5, 6), False, (1, 5, 6)),
        ((2, 4, 5), (1, 5, 6), False, (5, 6)),
        ((2, 3, 4, 5), (6, 4), True, (1, 6, 4)),
        ((2, 5), (5, 6), False, (5, 6)),
    ],
)
def test_constants_beside_an_implicit_batch(
    tensor: tuple[int, ...], constant: tuple[int, ...], first: bool, becomes: tuple[int, ...]
) -> None:
    names = ["w", "x"] if first else ["x", "w"]
    model = one_node("MatMul", names, {"x": tensor}, opset=9, constants={"w": noise(constant, seed=1)}, out_rank=len(tensor))
    holds(model, "matmul_constant_rank", {"x": noise(tensor)}, bound=BOUND)
    result = rewrite(model, "matmul_constant_rank")
    assert any(tuple(item.dims) == becomes for item in result.graph.initializer)
    assert ops(result) == (["Gemm"] if len(tensor) == 2 else ["MatMul"])


def test_a_constant_with_a_batch_of_its_own_or_of_that_rank_stays() -> None:
    more = one_node("MatMul", ["x", "w"], {"x": (2, 3, 4)}, opset=9, constants={"w": noise((1, 1, 4, 5))}, out_rank=4)
    assert "4 axes, and with it the product" in str(ask(more, "matmul_constant_rank"))
    for names, tensor, constant in ((["x", "w"], (2, 3, 4, 5), (3, 5, 6)), (["w", "x"], (2, 4, 5), (6, 4))):
        right = one_node("MatMul", names, {"x": tensor}, opset=9, constants={"w": noise(constant)})
        assert ask(right, "matmul_constant_rank") == "the constant has that rank"
    model = one_node("MatMul", ["x", "w"], {"x": (2, 3, 4)}, opset=9, constants={"w": noise((2, 4, 5))})
    assert ask(model, "matmul_constant_rank") == "the constant has 3 axes that are not 1 beside a tensor of rank 3"


@pytest.mark.parametrize(
    ("before", "wanted", "after"),
    [
        ((2, 1, 4), [2, 3, 4], 3),
        ((4,), [2, 3, 4], 3),
        ((2, 3), [1, 1], 2),
        ((2, 3), [3], 2),
        (("n", 1, 4), [1, 3, 1], 3),
        ((1, 2), [5, 3, 2], 3),
    ],
)
@pytest.mark.parametrize("dtype", [onnx.TensorProto.FLOAT, onnx.TensorProto.INT32])
def test_expanding(before: tuple[object, ...], wanted: list[int], after: int, dtype: int) -> None:
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    model = one_node("Expand", ["x", "s"], {"x": before}, opset=8, constants={"s": np.array(wanted)}, dtype=dtype, out_rank=after)
    x = (noise([size if isinstance(size, int) else 2 for size in before]) * 9).astype(kind)
    x.flat[0] = -0.0
    holds(model, "expand_to_mul", {"x": x})


def test_an_axis_that_may_grow_stays() -> None:
    model = one_node("Expand", ["x", "s"], {"x": ("n", 2)}, opset=8, constants={"s": np.array([3, 2])})
    assert ask(model, "expand_to_mul") == "whether axis 0 grows is known at run time alone"
    booleans = one_node(
        "Expand", ["x", "s"], {"x": (1, 2)}, opset=8, constants={"s": np.array([3, 2])}, dtype=onnx.TensorProto.BOOL
    )
    assert ask(booleans, "expand_to_mul") == "the data is BOOL"


@pytest.mark.parametrize("repeats", [[1, 2, 3], [1, 1, 1], [1, 1, 70], [2, 1, 1]])
@pytest.mark.parametrize("dtype", [onnx.TensorProto.FLOAT, onnx.TensorProto.INT64])
def test_tiling(repeats: list[int], dtype: int) -> None:
    kind = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    model = one_node("Tile", ["x", "r"], {"x": (2, 3, 4)}, opset=9, constants={"r": np.array(repeats)}, dtype=dtype)
    holds(model, "tile_to_concat", {"x": (noise((2, 3, 4)) * 9).astype(kind)})
    if max(repeats) <= 64:
        dynamic = one_node("Tile", ["x", "r"], {"x": ("n", 3, "w")}, opset=9, constants={"r": np.array(repeats)}, dtype=dtype)
        holds(dynamic, "tile_to_concat", {"x": (noise((2, 3, 4)) * 9).astype(kind)})
