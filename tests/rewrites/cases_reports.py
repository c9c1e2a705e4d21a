"""What public reports name: scatters at run time, shape arithmetic that builders refuse, the batch that has to be in front."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from .cases import F32, I32, I64, ROUNDING, Case, Draw, Feeds, array, dims, model_around, model_of, pick, serves, whole

NOWHERE: tuple[str, ...] = ()


def node(op: str, inputs: str, outputs: str, name: str = "", **attributes: Any) -> onnx.NodeProto:
    return onnx.helper.make_node(op, inputs.split(), outputs.split(), name=name, **attributes)


@serves("scatter_by_equality")
def scattered(draw: Draw, name: str) -> Case:
    reduction = pick(draw, "none", "add", "mul", "max", "min")
    dtype = pick(draw, F32, I32, I64)
    shape = dims(draw, 1, 3)
    op = pick(draw, "ScatterElements", "ScatterND")
    random = np.random.default_rng(whole(draw, 0, 2**32 - 1))
    more: dict[str, Any] = {}
    if op == "ScatterElements":
        axis = whole(draw, 0, len(shape) - 1)
        places = (*shape[:axis], whole(draw, 1, 4), *shape[axis + 1 :])
        indices, updates = random.integers(-shape[axis], shape[axis], places), places
        more = {"axis": axis}
    else:
        depth, rows = whole(draw, 1, len(shape)), dims(draw, 1, 2)
        indices = np.stack([random.integers(-size, size, rows) for size in shape[:depth]], -1)
        updates = (*rows, *shape[depth:])
    feeds = {"x": array(draw, shape, dtype), "i": indices, "u": array(draw, updates, dtype)}
    model = model_of(op, ["x", "i", "u"], feeds, opset=18, reduction=reduction, **more)
    return Case(model, feeds, ROUNDING, target="trt7.1")


@serves("max_unpool_to_scatter")
def unpooled(draw: Draw, name: str) -> Case:
    batch, channels, side = whole(draw, 1, 2), whole(draw, 1, 2), whole(draw, 1, 3)
    shape = (batch, channels, side, side)
    x = array(draw, shape, delicate=True)
    corner = 2 * np.arange(side)
    rows = (np.arange(batch * channels) * (2 * side) ** 2).reshape(batch, channels, 1, 1)
    indices = rows + (corner[:, None] + whole(draw, 0, 1)) * 2 * side + corner + whole(draw, 0, 1)
    feeds = {"x": x, "i": indices}
    open_dims = pick(draw, {}, dict.fromkeys(feeds, ("n", *shape[1:])))
    model = model_of(
        "MaxUnpool", ["x", "i"], feeds, opset=pick(draw, 9, 11), open_dims=open_dims, kernel_shape=[2, 2], strides=[2, 2]
    )
    return Case(model, feeds, target="trt8.6")


@serves("topk_in_rounds")
def many_of_the_largest(draw: Draw, name: str) -> Case:
    feeds = {"x": np.random.default_rng(whole(draw, 0, 99)).standard_normal((1, 4000)).astype(np.float32)}
    constants = {"k": np.array([whole(draw, 3841, 4000)])}
    model = model_of("TopK", ["x", "k"], feeds, opset=11, constants=constants, outputs=["y", "i"], largest=pick(draw, 0, 1))
    return Case(model, feeds, ROUNDING, target="trt8.6")


@serves("round_to_integer")
def rounded_sizes(draw: Draw, name: str) -> Case:
    feeds = {"x": array(draw, dims(draw, 1, 3, side=9))}
    nodes = [
        node("Shape", "x", "s"),
        node("Cast", "s", "f", to=onnx.TensorProto.FLOAT),
        node("Mul", "f k", "m"),
        node(pick(draw, "Round", "Floor", "Ceil"), "m", "r", "node"),
        node("Cast", "r", "y", to=onnx.TensorProto.INT64),
    ]
    constants = {"k": np.array(pick(draw, 0.5, 1.5, 0.25, 2.0, 1.25), np.float32)}
    model = model_around(nodes, feeds, opset=13, constants=constants)
    return Case(model, feeds, target="trt8.2", places=NOWHERE)


@serves("moved_shape_to_gather")
def moved_numbers(draw: Draw, name: str) -> Case:
    feeds = {"x": array(draw, (2, 3))}
    nodes = [
        node("Shape", "x", "s"),
        node("Concat", "s s", "four", axis=0),
        node("Reshape", "four rows", "r", "node"),
        node("Transpose", "r", "t", perm=[1, 0]),
        node("Reshape", "t flat", "y"),
    ]
    constants = {"rows": np.array(pick(draw, [2, 2], [-1, 2], [1, 4])), "flat": np.array([-1])}
    return Case(model_around(nodes, feeds, opset=13, constants=constants), feeds, target="trt8.4", places=NOWHERE)


@serves("range_to_integers")
def range_of_floats(draw: Draw, name: str) -> Case:
    feeds = {"x": array(draw, (whole(draw, 1, 7), 2))}
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s at", "n", axis=0),
        node("Cast", "n", "limit", to=onnx.TensorProto.FLOAT),
        node("Range", "first limit by", "y", "node"),
    ]
    constants = {
        "at": np.array(0),
        "first": np.array(whole(draw, -3, 3), np.float32),
        "by": np.array(whole(draw, 1, 3), np.float32),
    }
    model = model_around(nodes, feeds, opset=11, constants=constants, kinds=[(F32, 1)])
    return Case(model, feeds, target="trt7.1", places=NOWHERE)


@serves("merge_axes")
def long_axes(draw: Draw, name: str) -> Case:
    feeds = {"x": array(draw, (2, 3, 4), delicate=True)}
    perm = pick(draw, [1, 0, *range(2, 9)], [0, 3, 1, 2, *range(4, 9)], list(range(9)))
    nodes = [
        node("Reshape", "x rows", "a", "node"),
        node("Transpose", "a", "b", perm=perm),
        node("Reshape", "b end", "y"),
    ]
    constants = {"rows": np.array([2, 3, 1, 2, 1, 2, 1, 1, 1]), "end": np.array(pick(draw, [6, 4], [-1, 2], [24]))}
    return Case(model_around(nodes, feeds, opset=11, constants=constants), feeds, target="trt8.0", places=NOWHERE)


@serves("prelu_slope_per_channel")
def slope_for_each_channel(draw: Draw, name: str) -> Case:
    feeds = {"x": array(draw, (2, 3, 4, 5))}
    slope = array(draw, (3,))
    kinds = [(F32, 4)]
    model = model_of("PRelu", ["x", "s"], feeds, opset=8, constants={"s": slope}, kinds=kinds)
    meant = model_of("PRelu", ["x", "s"], feeds, opset=8, constants={"s": slope.reshape(3, 1, 1)}, kinds=kinds)
    return Case(model, feeds, target="trt7.0", meant=meant, consent=("OFX301",), places=NOWHERE)


@serves("recurrent_factors_written_out")
def factors_of_gates(draw: Draw, name: str) -> Case:
    op, count, gates = pick(draw, ("LSTM", 3, 4), ("GRU", 2, 3))
    names = ["HardSigmoid", *["Tanh"] * (count - 1)] * 2
    feeds = {"x": array(draw, (3, 2, 4))}
    constants = {"w": array(draw, (2, gates * 2, 4)), "r": array(draw, (2, gates * 2, 2))}
    model = model_of(
        op,
        ["x", "w", "r"],
        feeds,
        opset=11,
        constants=constants,
        hidden_size=2,
        direction="bidirectional",
        activations=names,
        activation_alpha=[0.3, 0.3],
        activation_beta=[0.6, 0.6],
    )
    return Case(model, feeds, target="trt7.1")


@serves("slice_to_positions")
def cut_channels(draw: Draw, name: str) -> Case:
    x = array(draw, (2, 4, 5, 6), delicate=True)
    more = pick(
        draw,
        {"axes": [1], "starts": [1], "ends": [3]},
        {"axes": [1, 3], "starts": [-2, 1], "ends": [9, -1]},
        {"axes": [-3], "starts": [0], "ends": [-1]},
    )
    return Case(model_of("Slice", ["x"], {"x": x}, opset=9, **more), {"x": x}, target="trt5.0")


@serves("matmul_to_conv")
def product_of_rows(draw: Draw, name: str) -> Case:
    x = array(draw, (*dims(draw, 2, 3), 4))
    constants = {"w": array(draw, (4, whole(draw, 1, 3)))}
    return Case(model_of("MatMul", ["x", "w"], {"x": x}, opset=9, constants=constants), {"x": x}, ROUNDING, target="trt5.0")


@serves("batch_norm_into_gemm")
def normalized_layer(draw: Draw, name: str) -> Case:
    feeds = {"x": array(draw, (3, 4))}
    turned = whole(draw, 0, 1)
    constants = {"w": array(draw, (2, 4) if turned else (4, 2))}
    constants |= {key: array(draw, (2,)) for key in "bgem"} | {"v": array(draw, (2,), positive=True)}
    nodes = [
        node("Gemm", "x w b", "f", transB=turned),
        node("Unsqueeze", "f", "u", "node", axes=[2]),
        node("BatchNormalization", "u g e m v", "n", epsilon=1e-2),
        node("Squeeze", "n", "y", axes=[2]),
    ]
    return Case(model_around(nodes, feeds, opset=9, constants=constants), feeds, 1e-5, places=NOWHERE)


@serves("integers_as_floats")
def joined_integers(draw: Draw, name: str) -> Case:
    feeds = {"a": array(draw, (1, 2), I32), "b": array(draw, (1, 3), I32)}
    nodes = [node("Concat", "a b k", "j", axis=1), node("Cast", "j", "y", to=onnx.TensorProto.FLOAT)]

    def after(given: Feeds) -> Feeds:
        return {key: value.astype(np.float32) for key, value in given.items()}

    model = model_around(nodes, feeds, opset=9, constants={"k": np.array([[7]], np.int32)})
    return Case(model, feeds, node="", values=("a", "b", "k"), after=after, consent=("OFX201",), places=NOWHERE)


@serves("batch_in_interface")
def batch_before_time(draw: Draw, name: str) -> Case:
    feeds = {"x": array(draw, (4, 1, 3), delicate=True)}
    nodes = [node("Transpose", "x", "t", perm=[2, 1, 0]), node(pick(draw, "Neg", "Abs"), "t", "y")]

    def after(given: Feeds) -> Feeds:
        return {key: value[None] for key, value in given.items()}

    model = model_around(nodes, feeds, opset=9)
    model.graph.output[0].CopyFrom(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3, 1, 4]))
    turned = feeds["x"].transpose(2, 1, 0)
    reference = {"y": (-turned if nodes[1].op_type == "Neg" else np.abs(turned))[None]}
    return Case(model, feeds, node="", values=("t",), after=after, reference=reference, consent=("OFX302",), places=NOWHERE)
