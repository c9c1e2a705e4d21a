"""LSTM, GRU and RNN."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.model.dims import Poly

# What getActivationDefaultAlpha and …Beta of onnx2trt_utils.cpp put in for the entries that the attributes leave out, by place.
_ALPHA = {"Elu": 1.0, "HardSigmoid": 0.2, "LeakyRelu": 0.01, "ScaledTanh": 1.0, "ThresholdedRelu": 1.0}
_BETA = {"HardSigmoid": 0.5, "ScaledTanh": 1.0}


@check("recurrent.same_directions")
def same_directions(context: Context) -> Problem | None:
    """The backward pass has the activations of the forward pass, `count` of them, and their parameters.

    With `by_place` the importer fills in missing parameters by place, so that a short list shifts them.

    Source: onnx-tensorrt 7.0 to 10.1, importers of LSTM, GRU and RNN.
    """
    node, count = context.node, int(context.args["count"])
    if node.attr("direction", "forward") != "bidirectional":
        return None
    names = node.attr("activations")
    if names is None or len(names) != 2 * count:
        return None
    if names[:count] != names[count:]:
        return Problem(f"has activations {', '.join(names[:count])} forwards and {', '.join(names[count:])} backwards")
    if not context.args.get("by_place"):
        return None
    for attribute, defaults in (("activation_alpha", _ALPHA), ("activation_beta", _BETA)):
        given = [float(value) for value in node.attr(attribute, ())]
        values = (given + [defaults.get(name, 0.0) for name in names[len(given) :]])[: 2 * count]
        if values[:count] != values[count:]:
            return Problem(f"has {attribute} of other values backwards than forwards, as the importer counts them")
    return None


@check("recurrent.sequence_count")
def sequence_count(context: Context) -> Problem | None:
    """ReverseSequence needs the number of sequences: from the lengths, else from the batch axis of the data.

    Source: onnx-tensorrt 7.2.1 to 8.5-GA, builtin_op_importers.cpp, ReverseSequence. It reads batch_axis alone and takes the
    other of the first two axes for time, which is the only one that ONNX allows.
    """
    node = context.node
    lengths, data = context.facts.shape(node.input(1)), context.facts.shape(node.input(0))
    if lengths is None or data is None or not any(isinstance(dim, Poly) for dim in lengths):
        return None
    batch = node.attr("batch_axis", 1)
    if not 0 <= batch < len(data) or not isinstance(data[batch], Poly):
        return None
    return Problem("of an unknown number of sequences is not taken", (0, 1))
