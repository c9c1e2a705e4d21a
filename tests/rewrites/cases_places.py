"""What moves elements to places known beforehand, or is a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from hypothesis import assume

from .cases import F16, F32, F64, I32, I64, ROUNDING, U8, Case, Draw, array, dims, model_around, model_of, pick, serves, whole
from .harness import parse
from .test_sequences import SEQUENCE, model


@serves("eye_like_to_constant")
def identity_matrix(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 2, 2), pick(draw, F32, I64))
    more: dict[str, Any] = pick(draw, {}, {"dtype": onnx.TensorProto.DOUBLE}, {"k": whole(draw, -2, 2)})
    return Case(model_of("EyeLike", ["x"], {"x": x}, opset=9, **more), {"x": x})


@serves("depth_to_space_to_transpose")
def depth_to_space(draw: Draw, name: str) -> Case:
    block = whole(draw, 1, 3)
    x = array(draw, (2, block * block * whole(draw, 1, 2), *dims(draw, 2, 2)), delicate=True)
    return Case(
        model_of("DepthToSpace", ["x"], {"x": x}, opset=pick(draw, 11, 13), blocksize=block, mode=pick(draw, "DCR", "CRD")),
        {"x": x},
    )


@serves("expand_to_mul")
def expanded(draw: Draw, name: str) -> Case:
    shape = dims(draw, 1, 3)
    dtype = pick(draw, F32, F16, F64, I32, I64)
    x = array(draw, tuple(pick(draw, size, 1) for size in shape), dtype, delicate=True)
    wanted = np.array([*dims(draw, 0, 1), *shape])
    return Case(model_of("Expand", ["x", "s"], {"x": x}, opset=pick(draw, 8, 13), constants={"s": wanted}), {"x": x})


@serves("tile_to_concat")
def tiled(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 3), pick(draw, F32, I64, U8), delicate=True)
    repeats = np.array([whole(draw, 1, 3) for _ in x.shape])
    return Case(model_of("Tile", ["x", "r"], {"x": x}, opset=pick(draw, 6, 13), constants={"r": repeats}), {"x": x})


@serves("flatten_to_reshape")
def flattened(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 4), delicate=True)
    return Case(model_of("Flatten", ["x"], {"x": x}, opset=pick(draw, 11, 13), axis=pick(draw, 0, x.ndim, -x.ndim)), {"x": x})


@serves("pad_to_gather")
def padded(draw: Draw, name: str) -> Case:
    mode = pick(draw, "constant", "reflect", "edge", "wrap")
    x = array(draw, (*dims(draw, 0, 3, 3), 4))
    low = -1 if mode == "constant" else 0
    pads = [whole(draw, low if x.shape[axis % x.ndim] > 2 else 0, min(x.shape[axis % x.ndim] - 1, 2)) for axis in range(2 * x.ndim)]
    fill = pick(draw, 0.0, -2.5)
    opset = 19 if mode == "wrap" else pick(draw, 9, 13)
    if opset == 9:
        return Case(model_of("Pad", ["x"], {"x": x}, opset=9, mode=mode, pads=pads, value=fill), {"x": x})
    constants = {"p": np.array(pads), "v": np.array(fill, np.float32)}
    return Case(model_of("Pad", ["x", *constants], {"x": x}, opset=opset, ir=9, constants=constants, mode=mode), {"x": x})


def bounds_of(draw: Draw, shape: tuple[int, ...], *, plain: bool) -> dict[str, np.ndarray]:
    axes = sorted({whole(draw, 1 if plain else 0, len(shape) - 1) for _ in range(2)})
    starts = [whole(draw, -shape[axis], shape[axis] - 1) for axis in axes]
    steps = [1 if plain else pick(draw, -2, -1, 2, 3) for _ in axes]
    ends = [
        pick(draw, 2**31 - 1, whole(draw, -2, shape[a])) if c > 0 else pick(draw, -(2**31), 0)
        for a, c in zip(axes, steps, strict=True)
    ]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        assume(len(range(*slice(start, None if end < -shape[axis] else end, step).indices(shape[axis]))))
    return {"s": np.array(starts), "e": np.array(ends), "a": np.array(axes), "t": np.array(steps)}


@serves("slice_to_gather")
def stepped(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 3, 6), pick(draw, F32, I64), delicate=True)
    constants = bounds_of(draw, x.shape, plain=False)
    return Case(model_of("Slice", ["x", *constants], {"x": x}, opset=pick(draw, 10, 13), constants=constants), {"x": x})


@serves("slice_every_axis")
def every_axis(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 2, 4, 6), delicate=True)
    constants = bounds_of(draw, x.shape, plain=True)
    if pick(draw, True, False):
        bounds = {key: constants[short].tolist() for key, short in (("starts", "s"), ("ends", "e"), ("axes", "a"))}
        return Case(model_of("Slice", ["x"], {"x": x}, opset=9, **bounds), {"x": x}, target="trt6.0")
    return Case(model_of("Slice", ["x", *constants], {"x": x}, opset=11, constants=constants), {"x": x}, target="trt6.0")


@serves("slice_all_inputs")
def first_axes(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 2, 4, 6), delicate=True)
    count = whole(draw, 1, x.ndim)
    constants = {"s": np.zeros(count, np.int64), "e": np.array([whole(draw, 1, 6) for _ in range(count)])}
    if pick(draw, True, False):
        constants["a"] = np.arange(count)
    return Case(
        model_of("Slice", ["x", *constants], {"x": x}, opset=pick(draw, 10, 13), constants=constants), {"x": x}, target="trt6.0"
    )


@serves("concat_constant_to_tensor")
def constants_beside_data(draw: Draw, name: str) -> Case:
    shape = (1, *dims(draw, 1, 3))
    axis = whole(draw, 1, len(shape) - 1)
    x, k = array(draw, shape), array(draw, shape)
    return Case(
        model_of("Concat", pick(draw, ["x", "k"], ["k", "x", "k"]), {"x": x}, opset=9, constants={"k": k}, axis=axis), {"x": x}
    )


@serves("center_crop_pad_to_slice")
def centred(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 2, 3, 6), delicate=True)
    axes = sorted({whole(draw, 0, x.ndim - 1), x.ndim - 1})
    wanted = np.array([whole(draw, 1, 8) for _ in axes])
    model = model_of("CenterCropPad", ["x", "s"], {"x": x}, opset=18, constants={"s": wanted}, axes=axes, kinds=[(F32, x.ndim)])
    return Case(model, {"x": x}, target="trt8.6")


@serves("split_sizes")
def uneven(draw: Draw, name: str) -> Case:
    size, count = pick(draw, (7, 3), (5, 2), (6, 3), (9, 4))
    x = array(draw, (2, size), delicate=True)
    outputs = [f"y{number}" for number in range(count)]
    return Case(model_of("Split", ["x"], {"x": x}, opset=18, outputs=outputs, axis=pick(draw, 1, -1), num_outputs=count), {"x": x})


@serves("gather_from_front")
def from_the_end(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 3), delicate=True)
    axis = whole(draw, -x.ndim, x.ndim - 1)
    size = x.shape[axis]
    places = np.array([whole(draw, -size, size - 1), -1], pick(draw, I32, I64))
    places = pick(draw, places, places[1:], places[1], places.reshape(2, 1))
    return Case(model_of("Gather", ["x", "i"], {"x": x}, opset=11, constants={"i": np.asarray(places)}, axis=axis), {"x": x})


def _given(draw: Draw, places: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Indices as a constant or as an input."""
    return ({"i": places}, {}) if pick(draw, True, False) else ({}, {"i": places})


@serves("gather_elements_to_gather")
def elements(draw: Draw, name: str) -> Case:
    shape = dims(draw, 1, 3)
    axis = whole(draw, -len(shape), len(shape) - 1)
    size = shape[axis]
    random = np.random.default_rng(whole(draw, 0, 999))
    places = random.integers(-size, size, shape).astype(pick(draw, np.int32, np.int64))
    constants, more = _given(draw, places)
    feeds = {"x": array(draw, shape, delicate=True), **more}
    return Case(model_of("GatherElements", ["x", "i"], feeds, opset=11, constants=constants, axis=axis), feeds, target="trt7.1")


@serves("gather_nd_to_gather")
def tuples(draw: Draw, name: str) -> Case:
    shape = dims(draw, 2, 4)
    batch = whole(draw, 0, 1)
    depth = whole(draw, 1, len(shape) - batch)
    random = np.random.default_rng(whole(draw, 0, 999))
    lead = (*shape[:batch], *dims(draw, 1, 2, 3))
    places = np.stack([random.integers(-size, size, lead) for size in shape[batch : batch + depth]], -1)
    constants, more = _given(draw, places)
    feeds = {"x": array(draw, shape, delicate=True), **more}
    return Case(model_of("GatherND", ["x", "i"], feeds, opset=12, constants=constants, batch_dims=batch), feeds, target="trt7.1")


@serves("scatter_to_gather")
def scattered(draw: Draw, name: str) -> Case:
    shape = dims(draw, 1, 3)
    x = array(draw, shape, delicate=True)
    random = np.random.default_rng(whole(draw, 0, 999))
    reduction = pick(draw, "none", "none", "add", "mul")
    if pick(draw, True, False):
        axis = whole(draw, 0, len(shape) - 1)
        places = np.argsort(random.random(shape), axis)
        places = places - shape[axis] * random.integers(0, 2, shape)
        constants = {"i": places}
        feeds = {"x": x, "u": array(draw, shape, delicate=reduction == "none")}
        op, more = "ScatterElements", {"axis": axis}
    else:
        depth = whole(draw, 1, len(shape))
        spots = random.permutation(int(np.prod(shape[:depth])))[: whole(draw, 1, 3)]
        constants = {"i": np.stack(np.unravel_index(spots, shape[:depth]), -1)}
        feeds = {"x": x, "u": array(draw, (len(spots), *shape[depth:]), delicate=reduction == "none")}
        op, more = "ScatterND", {}
    if reduction != "none":
        feeds["x"] = np.nan_to_num(x, posinf=3, neginf=-3).astype(np.float32) % np.float32(5)
    opset = 11 if reduction == "none" and op == "ScatterElements" else 16
    if opset == 16:
        more["reduction"] = reduction
    return Case(model_of(op, ["x", "i", "u"], feeds, opset=opset, constants=constants, **more), feeds, target="trt7.1")


@serves("reverse_sequence_to_gather")
def reversed_parts(draw: Draw, name: str) -> Case:
    time = pick(draw, 0, 1)
    x = array(draw, (*dims(draw, 2, 2), *dims(draw, 0, 2)), delicate=True)
    lengths = np.array([whole(draw, 1, x.shape[time]) for _ in range(x.shape[1 - time])])
    model = model_of(
        "ReverseSequence", ["x", "l"], {"x": x}, opset=10, constants={"l": lengths}, time_axis=time, batch_axis=1 - time
    )
    return Case(model, {"x": x}, target="trt8.0")


@serves("compress_to_gather")
def compressed(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 3), delicate=True)
    axis = pick(draw, None, whole(draw, -x.ndim, x.ndim - 1))
    size = x.size if axis is None else x.shape[axis]
    condition = np.array([True] + [pick(draw, True, False) for _ in range(min(size, 5) - 1)])
    more = {} if axis is None else {"axis": axis}
    rank = 1 if axis is None else x.ndim
    return Case(
        model_of("Compress", ["x", "c"], {"x": x}, opset=11, constants={"c": condition}, kinds=[(F32, rank)], **more),
        {"x": x},
        target="trt8.0",
    )


@serves("one_hot_to_gather")
def one_hot(draw: Draw, name: str) -> Case:
    depth = whole(draw, 1, 4)
    x = np.random.default_rng(whole(draw, 0, 999)).integers(-depth - 2, depth + 2, dims(draw, 1, 2)).astype(I64)
    values = np.array([pick(draw, 0, -2), pick(draw, 1, 5)], pick(draw, F32, I64))
    constants = {"d": np.array(depth), "v": values}
    axis = whole(draw, -x.ndim - 1, x.ndim)
    model = model_of(
        "OneHot", ["x", "d", "v"], {"x": x}, opset=11, constants=constants, axis=axis, kinds=[(values.dtype, x.ndim + 1)]
    )
    return Case(model, {"x": x}, target="trt8.0")


@serves("trilu_to_mask")
def triangles(draw: Draw, name: str) -> Case:
    target = pick(draw, "trt5.1", "trt7.1", "trt8.0")
    x = array(draw, dims(draw, 2, 4), pick(draw, F32, F32, I64, np.dtype(bool)))
    k = np.array(whole(draw, -3, 3))
    model = model_of("Trilu", ["x", "k"], {"x": x}, opset=14, constants={"k": k}, upper=pick(draw, 0, 1))
    return Case(model, {"x": x}, target=target)


@serves("shape_to_slice")
def part_of_a_shape(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 4))
    more = pick(draw, {"start": 1}, {"end": -1}, {"start": -2, "end": 3}, {})
    start, end = more.get("start", 0), more.get("end", x.ndim)
    assume(len(x.shape[start:end]))
    open_dims = {"x": [f"d{axis}" for axis in range(x.ndim)]}
    return Case(model_of("Shape", ["x"], {"x": x}, opset=15, open_dims=open_dims, **more), {"x": x}, target="trt8.0")


@serves("sequence_to_concat")
def sequences(draw: Draw, name: str) -> Case:
    making = pick(draw, *SEQUENCE)
    rank, axis = (1, 0) if making == "bare" else (2, 1)
    reading = pick(draw, f"[node] y = ConcatFromSequence <axis = {axis}> (s)", "[node] y = SequenceAt (s, last)")
    feeds = {"x": array(draw, (2, 3), delicate=True), "z": array(draw, (2, 3), delicate=True)}
    return Case(model(making, reading, rank), feeds, target="trt8.4")


@serves("drop_empty_operand")
def empty_operand(draw: Draw, name: str) -> Case:
    x = array(draw, (1, *dims(draw, 1, 3)), delicate=True)
    axis = whole(draw, 1, x.ndim - 1)
    nodes = [
        onnx.helper.make_node("Slice", ["x"], ["e"], name="node", axes=[axis], starts=[0], ends=[0]),
        onnx.helper.make_node("Concat", pick(draw, ["e", "x"], ["x", "e", "x"], ["e", "x", "e"]), ["y"], axis=axis),
    ]
    return Case(model_around(nodes, {"x": x}, opset=9), {"x": x}, target="trt7.0")


@serves("reshape_without_allowzero")
def without_zero(draw: Draw, name: str) -> Case:
    wanted = np.array(pick(draw, [2, -1], [3, 4], [-1, 2, 2], [12]))
    x = array(draw, (2, 6), delicate=True)
    model = model_of("Reshape", ["x", "s"], {"x": x}, opset=14, constants={"s": wanted}, allowzero=pick(draw, 0, 1))
    return Case(model, {"x": x}, target="trt8.6")


@serves("drop_unread_outputs")
def unread_outputs(draw: Draw, name: str) -> Case:
    x = array(draw, (1, 2, 5, 5))
    op, more = pick(draw, ("MaxPool", {"kernel_shape": [2, 2]}), ("Dropout", {}), ("TopK", {}))
    if op == "TopK":
        return Case(model_of(op, ["x", "k"], {"x": x}, opset=13, constants={"k": np.array([2])}, outputs=["y", "more"]), {"x": x})
    model = model_of(op, ["x"], {"x": x}, opset=13, outputs=["y", "more"], **more)
    del model.graph.output[1:]
    return Case(model, {"x": x}, target="trt7.1")


@serves("name_outputs")
def unnamed_outputs(draw: Draw, name: str) -> Case:
    x, scale = array(draw, (2, 6)), {"s": np.ones(6, np.float32)}
    outputs = pick(draw, ["y", ""], ["y", "", ""], ["y", "", "inverse"])
    model = model_of("LayerNormalization", ["x", "s"], {"x": x}, opset=17, constants=scale, outputs=outputs)
    return Case(model, {"x": x})


@serves("drop_default_attribute")
def defaults(draw: Draw, name: str) -> Case:
    x = array(draw, (4, 3), delicate=True)
    if pick(draw, True, False):
        constants = {"i": np.array([[0], [1]]), "u": array(draw, (2, 3))}
        model = model_of("ScatterND", ["x", "i", "u"], {"x": x}, opset=16, constants=constants, reduction="none")
    else:
        model = model_of("Gather", ["x", "i"], {"x": x}, opset=13, constants={"i": np.array([1])}, axis=0)
    return Case(model, {"x": x}, target="trt8.6")


@serves("drop_empty_inputs")
def empty_names(draw: Draw, name: str) -> Case:
    op, shape, constants = pick(
        draw,
        ("Clip", (2, 3), {"a": np.array(0, np.float32)}),
        ("Conv", (1, 1, 4, 4), {"w": np.ones((2, 1, 2, 2), np.float32)}),
        ("Gemm", (2, 3), {"w": np.ones((3, 4), np.float32)}),
        ("Slice", (4,), {"a": np.array([0]), "b": np.array([2])}),
        ("Trilu", (3, 3), {}),
    )
    x = array(draw, shape)
    model = model_of(
        op,
        ["x", *constants, *[""] * (1 if op in ("Conv", "Gemm", "Trilu") else whole(draw, 1, 1))],
        {"x": x},
        opset=17,
        constants=constants,
    )
    return Case(model, {"x": x}, target="rtx1.7")


@serves("fold_constant")
def constant_node(draw: Draw, name: str) -> Case:
    constants = {"a": array(draw, (2, 3), delicate=True), "b": array(draw, (3,), delicate=True)}
    x = array(draw, (2, 3))
    op = pick(draw, "Add", "Mul", "Sub", "Div")
    nodes = [
        onnx.helper.make_node(op, ["a", "b"], ["c"], name="node"),
        onnx.helper.make_node("Relu", ["c"], ["r"]),
        onnx.helper.make_node("Add", ["r", "x"], ["y"]),
    ]
    outputs = pick(draw, ["y"], ["y", "c"])
    return Case(model_around(nodes, {"x": x}, opset=13, constants=constants, outputs=outputs), {"x": x})


@serves("fold_parameter")
def computed_parameter(draw: Draw, name: str) -> Case:
    body = pick(
        draw,
        "n0 = Gather (s, i0)  t = Concat <axis = 0> (n0, minus)  y = Reshape (x, t)",
        "hh = Gather (s, i2)  hm = Sub (hh, i1)  y = Slice (x, i0, hm, i2)",
        "head = Slice (s, i0, i2)  tail = Slice (s, i2, i4)  e = Mul (tail, i2)  t = Concat <axis = 0> (head, e)"
        '  y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , , t)',
    )
    rank = 2 if "Reshape" in body else 4
    numbers = ", ".join(f"int64[1] {key} = {{{value}}}" for key, value in {"i0": 0, "i1": 1, "i2": 2, "i4": 4, "minus": -1}.items())
    model = parse(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[n, 3, h, w] x) => (float[{", ".join("abcd"[:rank])}] y)
        <{numbers}> {{ [node] s = Shape (x) {body} }}"""
    )
    x = array(draw, (whole(draw, 1, 3), 3, *(whole(draw, 2, 5) for _ in range(2))), delicate=True)
    return Case(model, {"x": x}, places=("read twice", "hidden", "branch", "loop"))


@serves("squeeze_to_reshape")
def squeezed(draw: Draw, name: str) -> Case:
    x = array(draw, tuple(pick(draw, 1, 1, 3) for _ in range(whole(draw, 1, 4))), pick(draw, F32, I64), delicate=True)
    model = model_of("Squeeze", ["x"], {"x": x}, opset=pick(draw, 9, 13), kinds=[(x.dtype, sum(size != 1 for size in x.shape))])
    return Case(model, {"x": x})


@serves("batch_of_one")
def on_the_batch_axis(draw: Draw, name: str) -> Case:
    x = array(draw, (1, *dims(draw, 2, 2)))
    op, attributes = pick(
        draw,
        ("ReduceMax", {"axes": [0]}),
        ("ReduceMean", {"axes": [0, 1]}),
        ("Softmax", {"axis": 0}),
        ("Transpose", {"perm": [2, 0, 1]}),
        ("Concat", {"axis": 0}),
        ("Slice", {"axes": [0], "starts": [0], "ends": [1]}),
    )
    nodes = [
        onnx.helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2]),
        onnx.helper.make_node(op, ["t", "t"] if op == "Concat" else ["t"], ["u"], name="node", **attributes),
        onnx.helper.make_node("Reshape", ["u", "flat"], ["y"]),
    ]
    model = model_around(nodes, {"x": x}, opset=9, constants={"flat": np.array([1, -1])})
    return Case(model, {"x": x}, ROUNDING, places=("read twice", "hidden", "branch", "loop"))


@serves("gather_axis_from_back")
def rows_of_a_table(draw: Draw, name: str) -> Case:
    table = {"k": array(draw, dims(draw, 1, 3), delicate=True)}
    size = table["k"].shape[0]
    x = np.random.default_rng(whole(draw, 0, 999)).integers(0, size, (1, *dims(draw, 0, 2))).astype(pick(draw, I32, I64))
    more = pick(draw, {}, {"axis": 0})
    return Case(model_of("Gather", ["k", "x"], {"x": x}, opset=11, constants=table, **more), {"x": x})


@serves("integers_to_table")
def functions_of_a_place(draw: Draw, name: str) -> Case:
    op, kind = pick(
        draw,
        ("[node] y = Cast <to = 1> (i)", "float"),
        ("[node] y = Mod (i, three)", "int64"),
        ("[node] y = Div (i, three)", "int64"),
        ("[node] y = Mul (i, three)", "int64"),
        ("[node] y = Sub (three, i)", "int64"),
    )
    found = parse(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[1,6,4] x) => ({kind}[a,b,c] y) <int64 three = {{3}}> {{
          i = {pick(draw, "ArgMax", "ArgMin")} <axis = {pick(draw, 1, 2)}> (x)
          {op}
        }}"""
    )
    return Case(found, {"x": array(draw, (1, 6, 4))})


@serves("cast_before_moving")
def casts_behind_what_moves(draw: Draw, name: str) -> Case:
    between, last = pick(draw, (F64, F32), (I64, F32), (F64, F16))
    x = array(draw, (2, 3, 4), F32 if between == F64 else I32)
    number = onnx.helper.np_dtype_to_tensor_dtype
    move, more = pick(draw, ("Transpose", {"perm": [2, 0, 1]}), ("Flatten", {}), ("Reshape", {}))
    nodes = [
        onnx.helper.make_node("Cast", ["x"], ["c"], to=number(between)),
        onnx.helper.make_node(move, ["c", "s"] if move == "Reshape" else ["c"], ["m"], **more),
        onnx.helper.make_node("Cast", ["m"], ["y"], name="node", to=number(last)),
    ]
    return Case(model_around(nodes, {"x": x}, opset=13, constants={"s": np.array([4, -1])}), {"x": x})


@serves("reshape_keep_batch")
def there_and_back(draw: Draw, name: str) -> Case:
    x = array(draw, (whole(draw, 2, 3), 4, whole(draw, 1, 3)), delicate=True)
    between = pick(draw, "Relu", "Neg", "Identity", "Abs")
    nodes = [
        onnx.helper.make_node("Reshape", ["x", "there"], ["t"], name="node"),
        onnx.helper.make_node(between, ["t"], ["u"]),
        onnx.helper.make_node("Reshape", ["u", "back"], ["y"]),
    ]
    constants = {"there": np.array([-1, x.shape[2]]), "back": np.array(pick(draw, [*x.shape], [x.shape[0], -1]))}
    return Case(model_around(nodes, {"x": x}, opset=13, constants=constants), {"x": x})


@serves("drop_dead_nodes")
def dead(draw: Draw, name: str) -> Case:
    x = array(draw, dims(draw, 1, 3), delicate=True)
    nodes = [
        onnx.helper.make_node(pick(draw, "Neg", "Exp", "Relu"), ["x"], ["d"], name="node"),
        onnx.helper.make_node("Abs", ["d"], ["e"]),
        onnx.helper.make_node("Neg", ["x"], ["y"]),
    ]
    return Case(model_around(nodes, {"x": x}, opset=13), {"x": x})
