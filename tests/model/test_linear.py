"""Facts of a shape-heavy model cost in proportion to its nodes."""

import time
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView


def islands(count: int) -> onnx.ModelProto:
    """`count` nodes: Shape, Gather, Cast, Mul, Floor, Cast, Unsqueeze, Concat, Resize, Relu again and again, sizes growing by 1."""
    nodes, tensors = (
        [],
        [onnx.numpy_helper.from_array(array, name) for name, array in (("two", np.array(2)), ("half", np.array(0.5, "float32")))],
    )
    data = "x"
    for number in range(count // 8):
        p = f"i{number}/"
        nodes += [
            helper.make_node("Shape", [data], [p + "shape"]),
            helper.make_node("Gather", [p + "shape", "two"], [p + "h"], axis=0),
            helper.make_node("Cast", [p + "h"], [p + "real"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [p + "real", "half"], [p + "scaled"]),
            helper.make_node("Floor", [p + "scaled"], [p + "rounded"]),
            helper.make_node("Cast", [p + "rounded"], [p + "whole"], to=TensorProto.INT64),
            helper.make_node("Unsqueeze", [p + "whole"], [p + "list"], axes=[0]),
            helper.make_node("Concat", [data, data], [p + "y"], axis=2)
            if number % 64 == 0
            else helper.make_node("Relu", [data], [p + "y"]),
        ]
        data = p + "y"
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"])
    y = helper.make_tensor_value_info(data, TensorProto.FLOAT, None)
    return helper.make_model(helper.make_graph(nodes, "g", [x], [y], tensors), opset_imports=[helper.make_opsetid("", 11)])


def seconds(action: Callable[[], object]) -> float:
    start = time.process_time()
    action()
    return time.process_time() - start


def test_four_times_the_nodes_take_less_than_six_times_the_time() -> None:
    small, large = ModelView(islands(1000)), ModelView(islands(4000))
    Facts(small)  # what is loaded and cached once
    # by turns, so that a machine that is slow for a while is slow for both
    times = [(seconds(lambda: Facts(large)), seconds(lambda: Facts(small))) for _ in range(7)]
    ratio = min(time for time, _ in times) / min(time for _, time in times)
    assert ratio < 6, ratio


@pytest.mark.parametrize("count", [1000, 4000])
def test_the_sizes_are_known_to_the_end(count: int) -> None:
    view = ModelView(islands(count))
    last = f"i{count // 8 - 1}/list"
    array = Facts(view).of(view.main).array(last)
    assert array is not None
    assert "floor" in str(array[0]) or "h" in str(array[0])
