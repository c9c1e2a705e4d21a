"""Which inputs a node has."""

from __future__ import annotations

from onnxfix.checks._registry import Context, Problem, check
from onnxfix.checks.limits import input_label
from onnxfix.checks.parser_values import BROADCAST, Kind

# Importers that look at the axes of their first operand; those of BROADCAST compare the ranks of all.
# fmt: off
_BY_AXIS = frozenset((
    "ArgMax", "ArgMin", "AveragePool", "BatchNormalization", "Concat", "Conv", "ConvTranspose", "CumSum", "Flatten",
    "Gather", "Gemm", "GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization", "LogSoftmax", "MaxPool", "Pad",
    "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSum", "ReduceSumSquare", "Resize", "Scan", "Slice", "Softmax", "Split", "TopK", "Unsqueeze",
))
# fmt: on

_FLOATS = ("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE")


@check("inputs.at_most")
def at_most(context: Context) -> Problem | None:
    """The importer reads `count` inputs; what newer versions of the operator moved to an input it refuses."""
    given = len(context.node.inputs)
    return Problem(f"has {given} inputs; only {context.args['count']} is read") if given > int(context.args["count"]) else None


@check("inputs.left_out")
def left_out(context: Context) -> Problem | None:
    """An empty name in `slot` counts as a run-time tensor; the list may end before it.

    Source: onnx-tensorrt tags release/7.0 to 8.0-GA, builtin_op_importers.cpp, Clip.
    """
    slot = int(context.args["slot"])
    inputs = context.node.inputs
    if len(inputs) <= slot or inputs[slot]:
        return None
    return Problem(f"leaves out input {slot} by an empty name, which the importer takes for a run-time tensor", (slot,))


@check("inputs.values")
def values(context: Context) -> Problem | None:
    """Where input `slot` is constant, all its elements must be among `allowed`."""
    slot = int(context.args["slot"])
    name = context.node.input(slot)
    found = context.facts.constant(name) if name else None
    if found is None or all(item in context.args["allowed"] for item in found.ravel().tolist()):
        return None
    allowed = " or ".join(map(str, context.args["allowed"]))
    return Problem(f"takes {input_label(context.node, slot)} only where all of it is {allowed}", (slot,))


@check("inputs.graph_input")
def graph_input(context: Context) -> Problem | None:
    """Input `slot` may be computed, but not be an input of the graph itself; it does not count where input `unless` is given."""
    slot = int(context.args["slot"])
    name = context.node.input(slot)
    if "unless" in context.args and context.node.input(int(context.args["unless"])):
        return None
    scope = context.node.scope
    if not name or name not in scope.inputs or name in scope.initializers:
        return None
    return Problem(f"does not take a graph input as {input_label(context.node, slot)}", (slot,))


@check("inputs.elements")
def elements(context: Context) -> Problem | None:
    """No input may be a constant without elements: the parser has no weights for it.

    Source: onnx-tensorrt branches 6.0 to 7.0, convertOnnxWeights.
    """
    for slot, name in enumerate(context.node.inputs):
        if name and context.facts.is_constant(name) and 0 in (context.facts.shape(name) or ()):
            return Problem(f"reads a constant without elements as {input_label(context.node, slot)}", (slot,))
    return None


@check("inputs.float_graph_input")
def float_graph_input(context: Context) -> Problem | None:
    """None of the inputs `slots`, which shape the output, may be computed from a graph input of floating point.

    They do not count where input `unless` is given.
    """
    node = context.node
    if "unless" in context.args and node.input(int(context.args["unless"])):
        return None
    for slot in context.args["slots"]:
        source = _float_source(context, node.input(slot)) if node.input(slot) else ""
        if source:
            return Problem(f"takes its {input_label(node, slot)} from graph input {source!r} of floating point", (slot,))
    return None


def _float_source(context: Context, name: str) -> str:
    """The first graph input of floating point from which `name` is computed without leaving floating point, else nothing."""
    scope, todo, seen = context.node.scope, [name], set()
    while todo:
        value = todo.pop()
        if value in seen or context.facts.dtype_name(value) not in _FLOATS or context.facts.is_constant(value):
            continue
        seen.add(value)
        if value in scope.inputs and scope.parent is None:
            return value
        maker = scope.producers.get(value)
        todo.extend(maker.inputs if maker is not None else ())
    return ""


def without_dims(context: Context) -> Problem | None:
    """An operand is the tensor of a layer that has no valid dimensions: rank -1 to whatever looks at it.

    Source: onnx-tensorrt tags release/7.0 to 10.1-GA, broadcastTensors (`nbDims == maxNbDims`) and convertAxis.
    """
    node = context.node
    kinds = [context.values.kind(name) for name in node.inputs if name]
    if Kind.INVALID not in kinds or node.domain:
        return None
    slot = kinds.index(Kind.INVALID)
    if node.op_type in _BY_AXIS and slot == 0:
        pass
    elif node.op_type not in BROADCAST | {"MatMul"} or all(kind is Kind.INVALID for kind in kinds):
        return None
    return Problem(f"reads {node.inputs[slot]!r}, which has no valid dimensions there (more than 8, or from such a value)", (slot,))


@check("inputs.from_front")
def from_front(context: Context) -> Problem | None:
    """Constant positions in input `slot` must not count from the end, which the importer does not undo.

    Source: onnx-tensorrt tags release/7.0 to 8.0-GA, builtin_op_importers.cpp, Gather (8.0 has it as a compile option, off).
    """
    slot = int(context.args["slot"])
    name = context.node.input(slot)
    found = context.facts.constant(name) if name else None
    if found is None or not (found < 0).any():
        return None
    return Problem("counts positions from the end, which the importer takes as they are", (slot,))
