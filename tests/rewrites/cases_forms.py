"""Shape arithmetic, places known at run time, and what the builders or the interfaces of single releases want."""

from __future__ import annotations

import numpy as np

from .cases import F32, ROUNDING, Case, Draw, Feeds, array, dims, model_of, pick, serves, whole
from .harness import parse
from .test_batch_in_interface import MOVED
from .test_batch_norm_into_gemm import layer
from .test_builder_refusals import topk
from .test_integers_as_floats import JOIN
from .test_places_at_run_time import UNPOOLED, one, pooled
from .test_shape_arithmetic_forms import LONG, PADS, long_axes, rounded
from .test_unroll_recurrent import feeds as recurrent_feeds
from .test_unroll_recurrent import layer as recurrent

NOWHERE: tuple[str, ...] = ()


@serves("scatter_by_equality")
def places_of_updates(draw: Draw, name: str) -> Case:
    shape = (whole(draw, 2, 4), whole(draw, 1, 3))
    count = whole(draw, 1, 3)
    random = np.random.default_rng(whole(draw, 0, 999))
    reduction = pick(draw, "none", "add", "max")
    feeds = {"x": array(draw, shape), "i": random.integers(0, shape[0], (count, 1)), "u": array(draw, (count, shape[1]))}
    if reduction == "none":
        feeds["i"] = random.permutation(shape[0])[:count].reshape(-1, 1)
        feeds["u"] = feeds["u"][: len(feeds["i"])]
    model = model_of("ScatterND", list(feeds), feeds, opset=18, reduction=reduction)
    return Case(model, feeds, ROUNDING, target="trt7.1")


@serves("max_unpool_to_scatter")
def unpooled(draw: Draw, name: str) -> Case:
    shape, kernel, strides, pads = pick(draw, *UNPOOLED)
    feeds = pooled(shape, kernel, strides, pads)
    model = one("MaxUnpool", feeds, opset=pick(draw, 9, 11), kernel_shape=kernel, strides=strides, pads=pads)
    return Case(model, feeds, target="trt8.0")


@serves("topk_in_rounds")
def long_topk(draw: Draw, name: str) -> Case:
    size = whole(draw, 3900, 4000)
    return Case(topk(whole(draw, 3841, 3900), size, largest=pick(draw, 0, 1)), {"x": array(draw, (2, size))}, target="trt8.6")


@serves("round_to_integer")
def rounded_sizes(draw: Draw, name: str) -> Case:
    model = rounded(pick(draw, "Round", "Floor", "Ceil"), pick(draw, "Mul", "Div"), [pick(draw, 0.5, 1.5, 0.25, 2.0, 3.0)])
    return Case(model, {"x": array(draw, dims(draw, 2, 2))}, target="trt7.1")


@serves("moved_shape_to_gather")
def moved_numbers(draw: Draw, name: str) -> Case:
    model = parse(PADS.replace("int64[1] zero = {0}", "int64[1] zero = {0}, int64[1] rows_end = {1}"))
    return Case(model, {"x": array(draw, dims(draw, 2, 2))}, target="trt7.1", node=model.graph.node[2].name, places=NOWHERE)


@serves("range_to_integers")
def ranges(draw: Draw, name: str) -> Case:
    model = parse(
        f"""<ir_version: 7, opset_import: ["" : 13]> g (float[A,B] x) => (float[n] y)
        <int64 zero = {{0}}, float start = {{{pick(draw, 0, 1, -2)}}}, float step = {{{pick(draw, 1, 2)}}}> {{
          s = Shape (x)  i = Gather (s, zero)  f = Cast <to = 1> (i)  [node] y = Range (start, f, step)
        }}"""
    )
    return Case(model, {"x": array(draw, (whole(draw, 1, 5), 2))}, target="trt8.0")


@serves("merge_axes")
def many_axes(draw: Draw, name: str) -> Case:
    shape, rows, perm, end = pick(draw, *LONG)
    model = long_axes(shape, rows, perm, end)
    return Case(model, {"x": array(draw, (2, 3, 4), delicate=True)}, target="trt8.0", node=model.graph.node[0].name)


@serves("prelu_slope_per_channel")
def slopes_of_channels(draw: Draw, name: str) -> Case:
    channels = whole(draw, 2, 3)
    x, slope = array(draw, (2, channels, 4, 5)), array(draw, (channels,))
    model = model_of("PRelu", ["x", "s"], {"x": x}, opset=9, constants={"s": slope}, kinds=[(F32, 4)])
    meant = model_of("PRelu", ["x", "s"], {"x": x}, opset=9, constants={"s": slope.reshape(-1, 1, 1)})
    return Case(model, {"x": x}, ROUNDING, meant=meant, consent=("OFX704",), places=("read twice", "hidden"))


@serves("slice_to_positions")
def cut_channels(draw: Draw, name: str) -> Case:
    x = array(draw, (2, 4, *dims(draw, 2, 3)), delicate=True)
    start = whole(draw, -4, 2)
    model = model_of("Slice", ["x"], {"x": x}, opset=9, axes=[1], starts=[start], ends=[2**31 - 1])
    return Case(model, {"x": x}, target="trt5.0")


@serves("matmul_to_conv")
def products_as_convolutions(draw: Draw, name: str) -> Case:
    x = array(draw, (*dims(draw, 2, 3), 4))
    matrix = array(draw, pick(draw, (4, 5), (1, 4, 5)))
    return Case(model_of("MatMul", ["x", "w"], {"x": x}, opset=9, constants={"w": matrix}), {"x": x}, ROUNDING, target="trt5.0")


@serves("batch_norm_into_gemm")
def normalised_layers(draw: Draw, name: str) -> Case:
    return Case(layer(trans=pick(draw, 0, 1), bias=pick(draw, True, False)), {"x": array(draw, (3, 6))}, 1e-5)


@serves("recurrent_factors_written_out")
def factors(draw: Draw, name: str) -> Case:
    op = pick(draw, "LSTM", "GRU")
    names = {"LSTM": ["HardSigmoid", "Tanh", "Tanh"], "GRU": ["HardSigmoid", "Tanh"]}[op] * 2
    given = {"activation_alpha": [0.3] * 2, "activation_beta": [0.6] * 2}
    model = recurrent(op, direction="bidirectional", activations=names, **given)
    return Case(model, recurrent_feeds(model), target="trt8.0")


@serves("batch_in_interface")
def batched(draw: Draw, name: str) -> Case:
    """Inputs and outputs get an axis: what the two compute is told by the tests of its own."""
    model = parse(MOVED)
    return Case(
        model,
        {"x": array(draw, (1, 3, 5))},
        node="",
        values=("y",),
        numbers=False,
        places=NOWHERE,
        consent=("OFX302",),
        bound=ROUNDING,
    )


@serves("integers_as_floats")
def joined_integers(draw: Draw, name: str) -> Case:
    def after(feeds: Feeds) -> Feeds:
        return {key: value.astype(np.float32) for key, value in feeds.items()}

    feeds = {"a": array(draw, (1, 2, 3), np.dtype(np.int32)), "b": array(draw, (1, 4, 3), np.dtype(np.int32))}
    model = parse(JOIN.format(ir=4))
    return Case(
        model,
        feeds,
        node="",
        values=("a", "b", "y"),
        after=after,
        numbers=False,
        places=NOWHERE,
        consent=("OFX201",),
        target="trt5.1",
    )
