"""Nodes of newer opsets on their way to older ones, by operator; and of opsets 1 to 6 on their way to opset 7."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import onnx
from hypothesis import assume

from .cases import (
    BOOL,
    EVERYWHERE,
    F16,
    F32,
    F64,
    I32,
    I64,
    LOWERED,
    RAISED,
    ROUNDING,
    U8,
    Case,
    Draw,
    array,
    dims,
    model_around,
    model_of,
    pick,
    serves,
    whole,
)
from .cases_places import bounds_of
from .cases_products import sampled
from .cases_resizes import interpolated, nearest_resize
from .cases_windows import volume, windows
from .harness import parse

lowers = partial(serves, table=LOWERED)
raises = partial(serves, table=RAISED)
I8, U32 = np.dtype(np.int8), np.dtype(np.uint32)


@lowers("ArgMax", "ArgMin")
def places(draw: Draw, op: str) -> Case:
    x = array(draw, dims(draw), pick(draw, F32, I32))
    more = {"axis": whole(draw, -x.ndim, x.ndim - 1), "keepdims": pick(draw, 0, 1), "select_last_index": pick(draw, 0, 1)}
    return Case(model_of(op, ["x"], {"x": x}, opset=13, **more), {"x": x})


@lowers("AveragePool", "MaxPool")
def pools(draw: Draw, op: str) -> Case:
    x = volume(draw, 2)
    more = {**windows(draw, 2), "ceil_mode": pick(draw, 0, 1)}
    if op == "AveragePool":
        more["count_include_pad"] = 0 if more["ceil_mode"] else pick(draw, 0, 1)
    elif pick(draw, True, False):
        more["dilations"] = [1, 2]
    opset = 12 if op == "MaxPool" else pick(draw, 11, 19)
    # what onnx's inference makes of ceil_mode differs between versions, and onnxruntime believes it in a subgraph
    where = ("read twice", "hidden") if more["ceil_mode"] else EVERYWHERE
    return Case(model_of(op, ["x"], {"x": x}, opset=opset, ir=9, **more), {"x": x}, ROUNDING, places=where)


@lowers("BatchNormalization")
def batch_normalization(draw: Draw, op: str) -> Case:
    x = array(draw, (2, *dims(draw, 1, 3)))
    constants = {key: array(draw, x.shape[1:2], positive=key == "v") for key in "sbmv"}
    if pick(draw, True, False):
        outputs = ["y", "mean", "var"]
        kinds = [(F32, x.ndim), (F32, 1), (F32, 1)]
        model = model_of(
            op, ["x", *"sbmv"], {"x": x}, opset=15, constants=constants, outputs=outputs, kinds=kinds, training_mode=1, momentum=0.7
        )
        return Case(model, {"x": x}, 1e-4)
    return Case(model_of(op, ["x", *"sbmv"], {"x": x}, opset=pick(draw, 9, 14, 15), constants=constants), {"x": x}, ROUNDING)


@lowers("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "BitShift")
def bits(draw: Draw, op: str) -> Case:
    dtype = pick(draw, np.dtype(np.uint8), U32) if op == "BitShift" else pick(draw, I8, U8, I32, U32)
    x = array(draw, (2, 3), dtype)
    if op == "BitwiseNot":
        return Case(model_of(op, ["x"], {"x": x}, opset=18), {"x": x}, reference={"y": ~x}, places=("read twice", "hidden"))
    if op == "BitShift":
        amount, side = np.array([whole(draw, 0, 7)], dtype), pick(draw, "LEFT", "RIGHT")
        model = model_of(op, ["x", "z"], {"x": x}, opset=11, constants={"z": amount}, direction=side)
        y = (np.left_shift if side == "LEFT" else np.right_shift)(x, amount)
        return Case(model, {"x": x}, reference={"y": y}, places=("read twice", "hidden"))
    feeds = {"x": x, "z": array(draw, (3,), dtype)}
    y = {"And": np.bitwise_and, "Or": np.bitwise_or, "Xor": np.bitwise_xor}[op[7:]](*feeds.values())
    return Case(model_of(op, ["x", "z"], feeds, opset=18), feeds, reference={"y": y}, places=("read twice", "hidden"))


@lowers("Cast", "CastLike")
def casts(draw: Draw, op: str) -> Case:
    # a float that no integer holds becomes another one in every runtime
    kinds = pick(draw, (F32, F64), (F64, F32), (F32, F16), (I32, F32), (F32, BOOL), (I64, I32), (U8, F32))
    x = np.clip(array(draw, dims(draw, 0, 3), kinds[0], delicate=kinds[1] != BOOL), -60000, 60000)
    if op == "CastLike":
        return Case(model_of(op, ["x", "k"], {"x": x}, opset=15, constants={"k": np.zeros(1, kinds[1])}), {"x": x})
    to = onnx.helper.np_dtype_to_tensor_dtype(kinds[1])
    opset = pick(draw, 13, 19)
    return Case(model_of(op, ["x"], {"x": x}, opset=opset, ir=9, to=to, **({"saturate": 1} if opset == 19 else {})), {"x": x})


@lowers("Clip")
def bounds(draw: Draw, op: str) -> Case:
    dtype = pick(draw, F32, F32, I32)
    x = array(draw, dims(draw, 0, 3), dtype)
    constants = {"a": np.array(-1, dtype), "b": np.array(2, dtype)}
    names = pick(draw, ["x", "a", "b"], ["x", "", "b"], ["x", "a"])
    return Case(model_of(op, names, {"x": x}, opset=13, constants=constants), {"x": x})


@lowers("Constant")
def constants(draw: Draw, op: str) -> Case:
    given = pick(draw, {"value_float": 1.5}, {"value_floats": [1.5, 2.0]}, {"value_int": 3}, {"value_ints": [3, 4]})
    whole_numbers = "value_int" in given or "value_ints" in given
    x = array(draw, (3, 2), I64 if whole_numbers else F32)
    nodes = [onnx.helper.make_node("Constant", [], ["c"], name="node", **given), onnx.helper.make_node("Mul", ["x", "c"], ["y"])]
    return Case(model_around(nodes, {"x": x}, opset=13), {"x": x})


@lowers("QuantizeLinear", "DequantizeLinear")
def quantized(draw: Draw, op: str) -> Case:
    constants = {"s": np.array(0.5, np.float32), "z": np.array(3, pick(draw, np.uint8, np.int8))}
    x = array(draw, dims(draw), F32 if op == "QuantizeLinear" else constants["z"].dtype)
    more = {"saturate": 1} if op == "QuantizeLinear" else {}
    return Case(model_of(op, ["x", "s", "z"], {"x": x}, opset=19, ir=9, constants=constants, axis=0, **more), {"x": x})


@lowers("Dropout")
def dropout(draw: Draw, op: str) -> Case:
    x = array(draw, dims(draw), delicate=True)
    constants = pick(draw, {}, {"r": np.array(0.3, np.float32)}, {"r": np.array(0.3, np.float32), "t": np.array(False)})
    return Case(
        model_of(op, ["x", *constants], {"x": x}, opset=13, constants=constants, outputs=pick(draw, ["y"], ["y", "m"])), {"x": x}
    )


@lowers("Equal")
def equal(draw: Draw, op: str) -> Case:
    dtype = pick(draw, F32, F64, I32, I64, BOOL)
    feeds = {"x": array(draw, (2, 3), dtype, delicate=True), "z": array(draw, (3,), dtype, delicate=True)}
    return Case(model_of(op, ["x", "z"], feeds, opset=13), feeds)


@lowers("Max", "Min", "Sum", "Mean")
def several(draw: Draw, op: str) -> Case:
    dtype = pick(draw, F32, F64, I32, I64) if op in ("Max", "Min") else F32
    feeds = {"x": array(draw, (2, 3), dtype), "z": array(draw, pick(draw, (3,), (2, 3)), dtype)}
    return Case(model_of(op, ["x", "z"], feeds, opset=13), feeds)


@lowers("Gemm")
def gemm(draw: Draw, op: str) -> Case:
    feeds = {"x": array(draw, (2, 3)), "w": array(draw, (3, 2))}
    more = pick(draw, {}, {"alpha": 0.5}, {"beta": 2.0})
    return Case(model_of(op, ["x", "w"], feeds, opset=pick(draw, 11, 13), **more), feeds, ROUNDING)


@lowers("GridSample")
def grid(draw: Draw, op: str) -> Case:
    return sampled(draw, op)


@lowers("Hardmax", "LogSoftmax", "Softmax")
def shares(draw: Draw, op: str) -> Case:
    x = array(draw, dims(draw, 1, 4))
    return Case(model_of(op, ["x"], {"x": x}, opset=13, axis=whole(draw, -x.ndim, x.ndim - 1)), {"x": x}, ROUNDING)


@lowers("IsInf")
def is_inf(draw: Draw, op: str) -> Case:
    x = array(draw, dims(draw), delicate=True)
    return Case(model_of(op, ["x"], {"x": x}, opset=10, **pick(draw, {}, {"detect_negative": 0}, {"detect_positive": 0})), {"x": x})


@lowers("Mod")
def remainders(draw: Draw, op: str) -> Case:
    dtype = pick(draw, I32, I64)
    feeds = {"x": array(draw, (2, 3), dtype), "z": array(draw, (3,), dtype)}
    feeds["z"][feeds["z"] == 0] = 5
    return Case(model_of(op, ["x", "z"], feeds, opset=13, fmod=pick(draw, 0, 1)), feeds)


@lowers("OneHot")
def one_hot(draw: Draw, op: str) -> Case:
    x = array(draw, (2, 3), I64) % 7 - pick(draw, 0, 3)
    constants = {"d": np.array(4), "v": np.array([-1, 2], np.float32)}
    return Case(
        model_of(op, ["x", "d", "v"], {"x": x}, opset=11, constants=constants, axis=pick(draw, -1, 0, 1), kinds=[(F32, 3)]),
        {"x": x},
    )


@lowers("Pad")
def pads(draw: Draw, op: str) -> Case:
    x = array(draw, (2, *dims(draw, 1, 2), 4), pick(draw, F32, F32, I32, F64), delicate=True)
    mode = pick(draw, "constant", "reflect", "edge")
    amounts = [0] * x.ndim * 2
    amounts[x.ndim - 1], amounts[-1] = whole(draw, 0, 3), whole(draw, 0, 3)
    given = {"p": np.array(amounts), "v": np.array(2, x.dtype)}
    names = ["x", "p", "v"] if mode == "constant" else ["x", "p"]
    return Case(
        model_of(op, names, {"x": x}, opset=pick(draw, 13, 18), constants={key: given[key] for key in names[1:]}, mode=mode),
        {"x": x},
    )


@lowers("Pow")
def powers(draw: Draw, op: str) -> Case:
    x = array(draw, (2, 3), positive=True)
    constants = {"e": np.array([2, 3, 0], pick(draw, I64, I32, F32, F64))}
    return Case(model_of(op, ["x", "e"], {"x": x}, opset=13, constants=constants), {"x": x}, ROUNDING)


REDUCTIONS = (
    *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"),
    *("ReduceProd", "ReduceSum", "ReduceSumSquare"),
)


@lowers(*REDUCTIONS)
def reductions(draw: Draw, op: str) -> Case:
    x = array(draw, dims(draw), positive=True)
    axes = pick(draw, None, np.zeros(0, np.int64), np.array([whole(draw, -x.ndim, x.ndim - 1)]))
    names = ["x"] if axes is None else ["x", "a"]
    model = model_of(op, names, {"x": x}, opset=18, constants={} if axes is None else {"a": axes}, keepdims=pick(draw, 0, 1))
    return Case(model, {"x": x}, ROUNDING)


@lowers("Reshape")
def reshaped(draw: Draw, op: str) -> Case:
    x = array(draw, (2, 6), pick(draw, F32, I64, BOOL), delicate=True)
    constants = {"s": np.array(pick(draw, [3, 4], [-1], [2, 3, -1]))}
    return Case(model_of(op, ["x", "s"], {"x": x}, opset=pick(draw, 13, 14), constants=constants), {"x": x})


@lowers("Resize", "Upsample")
def resized(draw: Draw, op: str) -> Case:
    draw_one = pick(draw, nearest_resize, interpolated)
    model, x = draw_one(draw, 9 if op == "Upsample" else pick(draw, 10, 11, 13))
    return Case(model, {"x": np.nan_to_num(x, posinf=7, neginf=-7).clip(-100, 100)}, 1e-5)


@lowers("RoiAlign")
def regions(draw: Draw, op: str) -> Case:
    x = array(draw, (1, 2, 6, 6))
    constants = {"r": np.array([[0, 0, 4, 5]], np.float32), "i": np.array([0])}
    more = {"coordinate_transformation_mode": "output_half_pixel", "output_height": 2, "output_width": 2}
    return Case(model_of(op, ["x", "r", "i"], {"x": x}, opset=16, constants=constants, **more), {"x": x}, ROUNDING)


@lowers("Shape")
def shapes(draw: Draw, op: str) -> Case:
    x = array(draw, dims(draw))
    start = whole(draw, -x.ndim, x.ndim - 1)
    assume(len(x.shape[start:]))
    return Case(model_of(op, ["x"], {"x": x}, opset=15, open_dims={"x": ["n", *x.shape[1:]]}, start=start), {"x": x})


@lowers("Slice")
def slices(draw: Draw, op: str) -> Case:
    x = array(draw, dims(draw, 2, 3, 6), pick(draw, F32, I64), delicate=True)
    constants = bounds_of(draw, x.shape, plain=pick(draw, True, False))
    return Case(model_of(op, ["x", *constants], {"x": x}, opset=pick(draw, 10, 13), constants=constants), {"x": x})


@lowers("Split")
def pieces(draw: Draw, op: str) -> Case:
    x = array(draw, (2, 6), delicate=True)
    if pick(draw, True, False):
        model = model_of(op, ["x"], {"x": x}, opset=18, outputs=["a", "b"], axis=pick(draw, 1, -1), num_outputs=2)
    else:
        constants = {"s": np.array(pick(draw, [2, 4], [1, 5]))}
        model = model_of(op, ["x", "s"], {"x": x}, opset=13, constants=constants, outputs=["a", "b"], axis=pick(draw, 1, -1))
    return Case(model, {"x": x})


@lowers("Squeeze", "Unsqueeze")
def axes(draw: Draw, op: str) -> Case:
    x = array(draw, (1, *dims(draw, 1, 2), 1), pick(draw, F32, I64, BOOL), delicate=True)
    where = np.array(pick(draw, [0], [-1], [0, -1]))
    return Case(model_of(op, ["x", "a"], {"x": x}, opset=13, constants={"a": where}), {"x": x})


@lowers("ThresholdedRelu")
def thresholds(draw: Draw, op: str) -> Case:
    x = array(draw, dims(draw), delicate=True)
    return Case(model_of(op, ["x"], {"x": x}, opset=10, alpha=pick(draw, 0.5, 1.0)), {"x": x})


@lowers("TopK")
def best(draw: Draw, op: str) -> Case:
    x = array(draw, dims(draw, 1, 3, 5), pick(draw, F32, I32))
    axis = whole(draw, -x.ndim, x.ndim - 1)
    constants = {"k": np.array([whole(draw, 1, x.shape[axis])])}
    return Case(
        model_of(op, ["x", "k"], {"x": x}, opset=11, constants=constants, outputs=["y", "i"], axis=axis, largest=pick(draw, 0, 1)),
        {"x": x},
    )


# upwards ---------------------------------------------------------------------------------------------------------------------


def _old(text: str, inputs: str, opset: int = 6) -> onnx.ModelProto:
    return parse(f'<ir_version: 4, opset_import: ["" : {opset}]> g ({inputs}) => (float[2,3,4,5] y) {{ {text} }}')


@raises("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less")
def broadcasting(draw: Draw, op: str) -> Case:
    given, shape, aligned = pick(
        draw, ("axis = 1, ", (3,), (3, 1, 1)), ("axis = -3, ", (3,), (3, 1, 1)), ("", (5,), (5,)), ("axis = 1, ", (3, 4), (3, 4, 1))
    )
    dtype = BOOL if op in ("And", "Or", "Xor") else I32 if op == "Equal" else F32
    feeds = {
        "x": array(draw, (2, 3, 4, 5), dtype, positive=op == "Pow"),
        "b": array(draw, shape, dtype, positive=op in ("Pow", "Div")),
    }
    word = {BOOL: "bool", I32: "int32", F32: "float"}[dtype]
    model = _old(f"y = {op} <{given}broadcast = 1> (x, b)", f"{word}[2,3,4,5] x, {word}[{','.join(map(str, shape))}] b")
    function: Any = {
        "Add": np.add,
        "Sub": np.subtract,
        "Mul": np.multiply,
        "Div": np.divide,
        "Pow": np.power,
        "And": np.logical_and,
        "Or": np.logical_or,
        "Xor": np.logical_xor,
        "Equal": np.equal,
        "Greater": np.greater,
        "Less": np.less,
    }[op]
    y = np.asarray(function(feeds["x"], feeds["b"].reshape(aligned)))
    model.graph.output[0].type.tensor_type.elem_type = onnx.helper.np_dtype_to_tensor_dtype(y.dtype)
    return Case(model, feeds, ROUNDING if op == "Pow" else 0, reference={"y": y})


@raises("PRelu")
def slopes(draw: Draw, op: str) -> Case:
    feeds = {"x": array(draw, (2, 3, 4, 5)), "b": array(draw, (3,))}
    x = feeds["x"]
    y = np.where(x < 0, x * feeds["b"].reshape(3, 1, 1), x)
    return Case(_old("y = PRelu (x, b)", "float[2,3,4,5] x, float[3] b"), feeds, reference={"y": y})


@raises("BatchNormalization", "Dropout", "Cast", "Concat", "Reshape", "Pad", "Upsample", "Gemm")
def forms_of_old(draw: Draw, op: str) -> Case:
    shape, inputs = (2, 3, 4, 5), "float[2,3,4,5] x"
    x = array(draw, shape)
    feeds = {"x": x}
    y: np.ndarray = x
    text, opset = f"y = {op} <is_test = 1> (x)", 6
    if op == "BatchNormalization":
        feeds |= {key: array(draw, (3,), positive=key == "v") for key in "sbmv"}
        inputs += "".join(f", float[3] {key}" for key in "sbmv")
        text = "y = BatchNormalization <is_test = 1, epsilon = 0.001> (x, s, b, m, v)"
        s, b, m, v = (feeds[key].reshape(3, 1, 1) for key in "sbmv")
        y = (x - m) / np.sqrt(v + np.float32(1e-3)) * s + b
    elif op == "Cast":
        text, opset = 'c = Cast <to = "DOUBLE"> (x) y = Cast <to = "FLOAT"> (c)', 5
    elif op == "Concat":
        text, opset, y = "y = Concat (x, x)", 1, np.concatenate([x, x], 1)
    elif op == "Reshape":
        text, opset = "a = Reshape <shape = [6, 20]> (x) y = Reshape <shape = [2, 3, 4, 5]> (a)", 1
    elif op == "Pad":
        text, opset = "y = Pad <paddings = [0, 0, 1, 0, 0, 0, 0, 2]> (x)", 1
        y = np.pad(x, [(0, 0), (0, 0), (1, 0), (0, 2)])
    elif op == "Upsample":
        text, opset = "y = Upsample <height_scale = 2.0, width_scale = 1.0> (x)", 1
        y = x.repeat(2, 2)
    elif op == "Gemm":
        feeds = {"x": array(draw, (2, 3)), "w": array(draw, (3, 4)), "c": array(draw, (4,))}
        inputs = "float[2,3] x, float[3,4] w, float[4] c"
        text, y = "y = Gemm <broadcast = 1> (x, w, c)", feeds["x"] @ feeds["w"] + feeds["c"]
    model = _old(text, inputs, opset)
    model.graph.output[0].type.tensor_type.shape.ClearField("dim")
    for size in y.shape:
        model.graph.output[0].type.tensor_type.shape.dim.add().dim_value = size
    return Case(model, feeds, 1e-5 if op in ("BatchNormalization", "Gemm") else 0, reference={"y": y})
