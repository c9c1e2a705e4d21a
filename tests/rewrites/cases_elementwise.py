"""Operators of single elements, their comparisons and casts."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from .cases import (
    BOOL,
    BUT_BRANCH,
    EVERYWHERE,
    F16,
    F32,
    F64,
    I32,
    I64,
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
from .harness import parse

T = onnx.TensorProto


def _plain(draw: Draw, op: str, opset: int, *, dtype: np.dtype = F32, bound: float = ROUNDING, **attributes: Any) -> Case:
    x = array(draw, dims(draw, 0, 4), dtype, delicate=bound == 0)
    if bound:
        x.ravel()[:1] = 1.5  # errors are measured by the largest value: one that is not tiny
    return Case(model_of(op, ["x"], {"x": x}, opset=opset, ir=9, **attributes), {"x": x}, 2e-3 if dtype == F16 else bound)


@serves("gelu_to_erf")
def gelu(draw: Draw, name: str) -> Case:
    return _plain(draw, "Gelu", 20, approximate=pick(draw, "none", "tanh"))


@serves("erf_to_rational")
def erf(draw: Draw, name: str) -> Case:
    return _plain(draw, "Erf", pick(draw, 9, 13))


@serves("hard_swish_to_hard_sigmoid")
def hard_swish(draw: Draw, name: str) -> Case:
    return _plain(draw, "HardSwish", pick(draw, 14, 18))


@serves("mish_to_tanh")
def mish(draw: Draw, name: str) -> Case:
    return _plain(draw, "Mish", 18)


@serves("swish_to_sigmoid")
def swish(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 0, 4))
    x.ravel()[:1] = 1.5
    alpha = pick(draw, 1.0, 0.5, 1.702)
    model = model_of("Swish", ["x"], {"x": x}, opset=24, ir=10, alpha=alpha)
    wide = x.astype(np.float64)
    y = (wide / (1 + np.exp(-alpha * wide))).astype(np.float32)
    return Case(model, {"x": x}, ROUNDING, reference={"y": y}, places=BUT_BRANCH)


@serves("celu_to_elu")
def celu(draw: Draw, name: str) -> Case:
    return _plain(draw, "Celu", 12, alpha=pick(draw, 1.0, 0.3, 2.0))


@serves("shrink_to_ceil")
def shrink(draw: Draw, name: str) -> Case:
    return _plain(draw, "Shrink", pick(draw, 9, 13), lambd=pick(draw, 0.5, 1.5, 0.0), bias=pick(draw, 0.0, 0.5))


@serves("sin_to_cos")
def sine(draw: Draw, name: str) -> Case:
    op = pick(draw, "Sin", "Sinh")
    x = array(draw, dims(draw, 0, 4))
    x = np.clip(x, -20, 20) if op == "Sinh" else x
    return Case(model_of(op, ["x"], {"x": x}, opset=pick(draw, 9, 13)), {"x": x}, 1e-5)


@serves("prelu_to_relu")
def prelu(draw: Draw, name: str) -> Case:
    shape = dims(draw, 1, 4)
    slope = array(draw, pick(draw, shape, shape[-1:], (1,), (1,) * len(shape)))
    x = array(draw, shape)
    if draw_constant := pick(draw, True, False):
        return Case(model_of("PRelu", ["x", "s"], {"x": x}, opset=pick(draw, 9, 13), constants={"s": slope}), {"x": x}, ROUNDING)
    assert not draw_constant
    feeds = {"x": x, "s": slope}
    return Case(model_of("PRelu", ["x", "s"], feeds, opset=9), feeds, ROUNDING)


@serves("round_to_floor")
def rounding(draw: Draw, name: str) -> Case:
    return _plain(draw, "Round", pick(draw, 11, 13), bound=1e-30)


@serves("sign_to_clip")
def sign(draw: Draw, name: str) -> Case:
    dtype = pick(draw, F32, I32, I64)
    return _plain(draw, "Sign", 13, dtype=dtype, bound=1e-30)


@serves("mod_to_div")
def remainder(draw: Draw, name: str) -> Case:
    dtype, shape = pick(draw, I32, I64), dims(draw, 1, 3)
    feeds = {"x": array(draw, shape, dtype), "z": array(draw, pick(draw, shape, shape[-1:]), dtype)}
    feeds["z"][feeds["z"] == 0] = 7
    return Case(model_of("Mod", ["x", "z"], feeds, opset=pick(draw, 10, 13), fmod=pick(draw, 0, 1)), feeds)


@serves("mod_to_floor")
def remainder_of_floats(draw: Draw, name: str) -> Case:
    shape = dims(draw, 1, 3)
    feeds = {"x": np.round(array(draw, shape) * 8) / 8, "z": np.full(shape[-1:], pick(draw, 3.0, -3.0, 2.5), np.float32)}
    feeds["x"] = feeds["x"].astype(np.float32)
    return Case(model_of("Mod", ["x", "z"], feeds, opset=pick(draw, 10, 13), fmod=1), feeds, 1e-5, options={"allow": "approximate"})


@serves("is_nan_to_equal")
def is_nan(draw: Draw, name: str) -> Case:
    return _plain(draw, "IsNaN", pick(draw, 9, 13), bound=0)


@serves("is_inf_to_greater")
def is_inf(draw: Draw, name: str) -> Case:
    positive, negative = pick(draw, (1, 1), (0, 1), (1, 0))
    return _plain(draw, "IsInf", 10, bound=0, detect_positive=positive, detect_negative=negative)


@serves("greater_or_equal_to_or")
def orders(draw: Draw, name: str) -> Case:
    op, shape = pick(draw, "GreaterOrEqual", "LessOrEqual", "Xor"), dims(draw, 1, 3)
    dtype = BOOL if op == "Xor" else pick(draw, F32, I32, F64)
    feeds = {"x": array(draw, shape, dtype, delicate=True), "z": array(draw, shape[-1:], dtype, delicate=True)}
    return Case(model_of(op, ["x", "z"], feeds, opset=pick(draw, 12, 16)), feeds)


@serves("pow_exponent_to_float")
def power(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 3), positive=True)
    exponent = np.array(pick(draw, [2], [3], [-1], [0]), pick(draw, I32, I64))
    opset = pick(draw, 12, 15)
    if pick(draw, True, False):
        return Case(model_of("Pow", ["x", "e"], {"x": x}, opset=opset, constants={"e": exponent}), {"x": x}, ROUNDING)
    feeds = {"x": x, "e": exponent}
    return Case(model_of("Pow", ["x", "e"], feeds, opset=opset), feeds, ROUNDING)


@serves("clip_to_max_min")
def bounds(draw: Draw, name: str) -> Case:
    dtype = pick(draw, F32, I32, F64)
    feeds = {"x": array(draw, dims(draw, 0, 3), dtype), "a": array(draw, (), dtype), "b": array(draw, (), dtype)}
    names = pick(draw, ["x", "a", "b"], ["x", "", "b"], ["x", "a"])
    feeds = {key: value for key, value in feeds.items() if key in names}
    constants = {key: feeds.pop(key) for key in ("a", "b") if key in feeds} if pick(draw, True, False) else {}
    return Case(model_of("Clip", names, feeds, opset=13, constants=constants), feeds)


@serves("abs_to_max")
def size(draw: Draw, name: str) -> Case:
    dtype = pick(draw, I32, I64)
    x = array(draw, dims(draw, 0, 3), dtype)
    if x.ndim:
        x.flat[0] = np.iinfo(dtype).min
    return Case(model_of(pick(draw, "Abs", "Neg"), ["x"], {"x": x}, opset=pick(draw, 9, 11, 13)), {"x": x})


@serves("cast_to_identity")
def cast_to_own(draw: Draw, name: str) -> Case:
    dtype = pick(draw, F32, F16, F64, I32, I64, BOOL, U8)
    x = array(draw, dims(draw, 0, 3), dtype, delicate=True)
    return Case(model_of("Cast", ["x"], {"x": x}, opset=13, to=onnx.helper.np_dtype_to_tensor_dtype(dtype)), {"x": x})


@serves("cast_chain")
def casts(draw: Draw, name: str) -> Case:
    first, between, last = pick(
        draw, (F32, F64, F32), (I32, I64, F32), (U8, F16, F32), (BOOL, I64, F32), (F32, I32, F32), (F32, I64, F32), (F16, F32, F64)
    )
    number = onnx.helper.np_dtype_to_tensor_dtype
    x = array(draw, dims(draw, 1, 3), first, delicate=between.kind == "f")
    nodes = [
        onnx.helper.make_node("Cast", ["x"], ["c"], name="node", to=number(between)),
        onnx.helper.make_node("Cast", ["c"], ["y"], to=number(last)),
    ]
    return Case(model_around(nodes, {"x": x}, opset=13), {"x": x}, places=("read twice", "branch", "loop"))


@serves("alias_to_identity")
def alias(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 0, 3), delicate=True)
    domain = "org.pytorch._caffe2"
    model = model_of("AliasWithName", ["x"], {"x": x}, opset=9, domain=domain, kinds=[(x.dtype, x.ndim)])
    return Case(model, {"x": x}, reference={"y": x}, places=BUT_BRANCH)


@serves("leaky_relu_plugin")
def leaky(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 4))
    slope = np.float32(pick(draw, 0.1, 0.25))
    model = model_of("LReLU_TRT", ["x"], {"x": x}, opset=11, domain="trt.plugins", kinds=[(F32, x.ndim)], negSlope=float(slope))
    return Case(model, {"x": x}, reference={"y": np.where(x < 0, x * slope, x)}, target="trt11.0", places=BUT_BRANCH)


@serves("quantized_pair_to_float")
def quantized(draw: Draw, name: str) -> Case:
    shape, axis = (2, 3, 4), pick(draw, None, 1, -2)
    scale = np.array(0.05, np.float32) if axis is None else np.array([0.05, 0.1, 0.013], np.float32)
    point = np.full(scale.shape, whole(draw, 0, 100), pick(draw, np.int8, np.uint8))
    more = {} if axis is None else {"axis": axis}
    nodes = [
        onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], name="node", **more),
        *(onnx.helper.make_node("DequantizeLinear", ["q", "s", "z"], [f"y{k}"], name=f"d{k}", **more) for k in range(2)),
    ]
    x = array(draw, shape)
    model = model_around(nodes, {"x": x}, opset=13, constants={"s": scale, "z": point}, outputs=["y0", "y1"])
    node = pick(draw, "node", "d0")
    return Case(model, {"x": x}, target="trt7.0", node=node, places=EVERYWHERE if node == "node" else BUT_BRANCH)


@serves("logic_to_float")
def logic(draw: Draw, name: str) -> Case:
    op = pick(draw, "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal")
    model = parse(
        f"""<ir_version: 7, opset_import: ["" : {12 if "Or" in op or op == "Equal" else pick(draw, 9, 12)}]>
        g (float[2,6] x, float[6] z) => (float[2,6] y, float[2,6] w)
        <float[1] k = {{0.5}}, int64[2] shape = {{2, 6}}, bool[6] b = {{1, 0, 1, 0, 1, 1}}> {{
          [node] c = {op} (x, z)
          d = Less (x, k)
          e = And (c, d)
          f = {pick(draw, "Or", "Xor")} (c, b)
          h = Not (f)
          y = Where (h, x, z)
          t = Transpose <perm = [1, 0]> (e)
          r = Reshape (t, shape)
          i = Cast <to = 1> (r)
          w = Add (i, x)
        }}"""
    )
    feeds = {"x": array(draw, (2, 6)), "z": array(draw, (6,))}
    return Case(model, feeds, ROUNDING)


@serves("bool_through_int32")
def moved_booleans(draw: Draw, name: str) -> Case:
    x, z = array(draw, (2, 3, 4), BOOL), array(draw, (2, 3, 4), BOOL)
    op, inputs, constants, more = pick(
        draw,
        ("Concat", ["x", "z"], {}, {"axis": 1}),
        ("Concat", ["x", "k", "x"], {"k": array(draw, (2, 1, 4), BOOL)}, {"axis": 1}),
        ("Transpose", ["x"], {}, {"perm": [2, 0, 1]}),
        ("Reshape", ["x", "s"], {"s": np.array([4, -1])}, {}),
        ("Gather", ["x", "i"], {"i": np.array([2, 0])}, {"axis": 1}),
        ("Split", ["x", "p"], {"p": np.array([1, 2])}, {"axis": 1}),
        ("Expand", ["x", "e"], {"e": np.array([2, 2, 3, 4])}, {}),
        ("Tile", ["x", "t"], {"t": np.array([1, 2, 1])}, {}),
        ("Slice", ["x", "a", "b"], {"a": np.array([1]), "b": np.array([2])}, {}),
        ("Unsqueeze", ["x", "u"], {"u": np.array([0])}, {}),
        ("Flatten", ["x"], {}, {}),
    )
    feeds = {key: value for key, value in {"x": x, "z": z}.items() if key in inputs}
    outputs = ["y", "w"] if op == "Split" else ["y"]
    return Case(model_of(op, inputs, feeds, opset=13, constants=constants, outputs=outputs, **more), feeds, target="trt8.0")


@serves("cast_first")
def moved_before_a_cast(draw: Draw, name: str) -> Case:
    first, last = pick(draw, (U8, F32), (I64, F32), (F32, F16), (BOOL, F32), (F64, F32))
    x = np.clip(array(draw, (2, 3, 4), first, delicate=True), -6e4, 6e4) if first.kind == "f" else array(draw, (2, 3, 4), first)
    op, more = pick(draw, ("Transpose", {"perm": [2, 0, 1]}), ("Flatten", {}), ("Identity", {}))
    nodes = [
        onnx.helper.make_node(op, ["x"], ["m"], name="node", **more),
        onnx.helper.make_node("Cast", ["m"], ["y"], to=onnx.helper.np_dtype_to_tensor_dtype(last)),
    ]
    return Case(model_around(nodes, {"x": x}, opset=13), {"x": x}, target="rtx1.7", places=("read twice", "branch", "loop"))


@serves("compare_within_int32")
def beyond_32_bits(draw: Draw, name: str) -> Case:
    """The data is of 32 bits, as all that such a release holds."""
    feeds = {"x": array(draw, (2, 3), I64)}
    feeds["x"].flat[:2] = pick(draw, [2**31 - 1, -(2**31)], [0, 1])
    constants = {"k": np.array(pick(draw, [2**40], [-(2**33)], [2**31, 2**50, 2**33]))}
    names = pick(draw, ["x", "k"], ["k", "x"])
    op = pick(draw, "Greater", "Less", "GreaterOrEqual", "LessOrEqual")
    return Case(model_of(op, names, feeds, opset=13, constants=constants), feeds, target="trt8.6")
