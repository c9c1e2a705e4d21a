"""Rewrites of the whole model, and those that need consent."""

from __future__ import annotations

import numpy as np
import onnx

from .cases import I64, ROUNDING, U8, Case, Draw, Feeds, array, dims, model_around, model_of, pick, serves
from .cases_resizes import nearest_resize
from .harness import parse
from .test_nms_to_plugin import PATTERNS, nms

NOWHERE: tuple[str, ...] = ()


@serves("attributes_to_inputs")
def form_of_old(draw: Draw, name: str) -> Case:
    x = array(draw, (2, 6), delicate=False)
    op, attributes, constants, more, outputs = pick(
        draw,
        ("Clip", {"min": -0.5, "max": 0.5}, {"a": np.array(-0.5, np.float32), "b": np.array(0.5, np.float32)}, {}, ["y"]),
        ("Pad", {"pads": [0, 1, 0, 2], "value": 1.5}, {"p": np.array([0, 1, 0, 2]), "v": np.array(1.5, np.float32)}, {}, ["y"]),
        (
            "Slice",
            {"starts": [1], "ends": [4], "axes": [1]},
            {"s": np.array([1]), "e": np.array([4]), "a": np.array([1])},
            {},
            ["y"],
        ),
        ("Unsqueeze", {"axes": [0]}, {"a": np.array([0])}, {}, ["y"]),
        ("Split", {"split": [2, 4]}, {"s": np.array([2, 4])}, {"axis": 1}, ["y", "z"]),
        ("TopK", {"k": 2}, {"k": np.array([2])}, {}, ["y", "i"]),
    )
    opset = 13
    meant = model_of(op, ["x", *constants], {"x": x}, opset=opset, constants=constants, outputs=outputs, **more)
    model = onnx.ModelProto()
    model.CopyFrom(meant)
    del model.graph.initializer[:]
    model.graph.node[0].CopyFrom(onnx.helper.make_node(op, ["x"], outputs, name="node", **attributes, **more))
    return Case(model, {"x": x}, meant=meant, consent=("OFX702",), places=("read twice", "hidden"))


@serves("double_to_float")
def double_inside(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 3), positive=True)
    constants = {"k": array(draw, x.shape[-1:], np.dtype(np.float64), positive=True)}
    op = pick(draw, "Mul", "Add", "Div")
    nodes = [
        onnx.helper.make_node("Cast", ["x"], ["d"], to=onnx.TensorProto.DOUBLE),
        onnx.helper.make_node(op, ["d", "k"], ["p"]),
        onnx.helper.make_node(pick(draw, "Sqrt", "Abs", "Tanh"), ["p"], ["s"]),
        onnx.helper.make_node("Cast", ["s"], ["y"], to=onnx.TensorProto.FLOAT),
    ]
    model = model_around(nodes, {"x": x}, opset=13, constants=constants)
    return Case(model, {"x": x}, ROUNDING, target="trt7.1", node="", values=("d",))


@serves("interface_type")
def other_types(draw: Draw, name: str) -> Case:
    kind = pick(draw, U8, I64)
    x = array(draw, dims(draw, 1, 3), kind)
    nodes = [
        onnx.helper.make_node("Transpose", ["x"], ["t"]),
        onnx.helper.make_node("Cast", ["t"], ["f"], to=onnx.TensorProto.FLOAT),
        onnx.helper.make_node("Neg", ["f"], ["y"]),
    ]
    if pick(draw, True, False):
        nodes[1:] = [onnx.helper.make_node("Cast", ["t"], ["y"], to=onnx.TensorProto.FLOAT)]

    def after(feeds: Feeds) -> Feeds:
        return {key: value.astype(np.float32) for key, value in feeds.items()}

    return Case(
        model_around(nodes, {"x": x}, opset=13),
        {"x": x},
        target="trt5.1" if kind == U8 else "trt6.0",
        node="",
        values=("x",),
        after=after,
        consent=("OFX202",),
        places=("read twice",),
    )


@serves("list_initializers")
def unlisted(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 3), delicate=True)
    constants = {"a": array(draw, x.shape[-1:], delicate=True), "b": array(draw, (1,), delicate=True)}
    nodes = [onnx.helper.make_node("Add", ["x", "a"], ["s"]), onnx.helper.make_node("Mul", ["s", "b"], ["y"])]
    return Case(
        model_around(nodes, {"x": x}, opset=9, constants=constants), {"x": x}, node="", places=("read twice", "branch", "loop")
    )


@serves("resize_to_upsample")
def upsampled(draw: Draw, name: str) -> Case:
    model, x = nearest_resize(draw, pick(draw, 10, 11, 13))
    return Case(model, {"x": x}, node="", target="trt5.1", places=("read twice", "branch", "loop"))


@serves("opset_move")
def moved(draw: Draw, name: str) -> Case:
    """What moves as it is, with the same bits; each operator's own way is in the table of lowerings."""
    numbers = "int64[1] axes = {1}, int64[1] one = {1}, int64[2] pads = {0, 1}"
    model = parse(
        f"""<ir_version: 8, opset_import: ["" : {pick(draw, 13, 14, 16)}]> g (float[2,3] x) => (float[c, d] y) <{numbers}> {{
          a = ReduceSum <keepdims = 1> (x, axes)
          b = Slice (a, axes, one)
          u = Unsqueeze (x, axes)
          v = Squeeze (u, axes)
          w = {pick(draw, "Relu", "Neg", "Identity", "Abs")} (v)
          y = Sub (w, a)
        }}""".replace("b = Slice (a, axes, one)", "")
    )
    return Case(model, {"x": array(draw, (2, 3))}, node="", target="trt5.1", places=("read twice", "branch", "loop"))


@serves("nms_to_plugin")
def detections(draw: Draw, name: str) -> Case:
    """The plugin runs nowhere here, and gives other outputs: what it selects is told by the tests of its own."""
    found = nms(*PATTERNS[pick(draw, *PATTERNS)], coding=pick(draw, 0, 1), least=pick(draw, 0.25, 0.5))
    feeds = {"boxes": array(draw, (1, 12, 4)), "scores": array(draw, (1, 2, 12))}
    return Case(
        found,
        feeds,
        target="trt8.0",
        node="",
        values=("selected",),
        numbers=False,
        places=NOWHERE,
        options={"allow": "approximate"},
    )


@serves("constant_output_to_identity")
def constant_outputs(draw: Draw, name: str) -> Case:
    x = array(draw, (2, 3))
    constants = {"k": array(draw, dims(draw, 0, 3), delicate=True), "w": array(draw, (3,))}
    nodes = [onnx.helper.make_node("Add", ["x", "w"], ["y"])]
    model = model_around(nodes, {"x": x}, opset=13, constants=constants, outputs=["y"])
    known = model.graph.output.add()
    known.CopyFrom(onnx.helper.make_tensor_value_info("k", onnx.TensorProto.FLOAT, constants["k"].shape))
    return Case(model, {"x": x}, target="trt7.1", node="", values=("k",), places=NOWHERE)


@serves("drop_unread_initializer")
def unread(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 3), delicate=True)
    constants = {"w": array(draw, x.shape[-1:], delicate=True), "k": array(draw, (2,), pick(draw, np.dtype(np.float64), U8))}
    nodes = [onnx.helper.make_node("Add", ["x", "w"], ["y"])]
    return Case(model_around(nodes, {"x": x}, opset=9, constants=constants), {"x": x}, node="", values=("k",), places=NOWHERE)
