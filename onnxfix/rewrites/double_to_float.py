"""Every DOUBLE inside the model as FLOAT.

Guard: no input or output of the model is DOUBLE, no constant is beyond FLOAT's range, 0 in FLOAT alone or a whole number that FLOAT
rounds (above 2**24), no value that the proof's own inputs lead to is beyond that range, and nothing of it is in a model-local
function. Equal to the precision of FLOAT: 1e-7 of the largest value
over 16 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.rewrites._functions import all_nodes, called_functions
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnxfix.model.facts import Facts, ScopeFacts
    from onnxfix.rewrites._passes import Edit, Request

DOUBLE, FLOAT = onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT
# Attributes that name an element type.
# How many inputs are tried in search of values that FLOAT does not hold.
SAMPLES = 8
TYPES = ("to", "dtype", "output_dtype")


def check(request: Request) -> Decline | None:
    """Why the pass does not serve; None where it does."""
    facts = request.facts
    main = facts.of(facts.view.main)
    if not any(facts.of(scope).dtype(name) == DOUBLE for scope in facts.view.scopes for name in request.values):
        return Decline("nothing here is DOUBLE", plain=True)
    for kind, names, code in (("input", facts.view.main.inputs, "OFX202"), ("output", facts.view.main.outputs, "OFX205")):
        wide = [name for name in names if main.dtype(name) == DOUBLE and not facts.view.main.stores(name)]
        if wide:
            return Decline(f"{kind} {wide[0]} is DOUBLE; --allow {code} declares it FLOAT")
    if any(_has_double(all_nodes(function.node)) for function in called_functions(facts.view.proto)):
        return Decline("a model-local function computes with DOUBLE")
    for name, array in _constants(facts):
        if array is None:
            return Decline(f"constant {name} cannot be read")
        finite = array[np.isfinite(array)]
        if (np.abs(finite) > np.finfo(np.float32).max).any():
            return Decline(f"constant {name} holds {finite[np.abs(finite).argmax()]:g}, which is beyond FLOAT")
        lost = finite[(finite != 0) & (finite.astype(np.float32) == 0)]
        if lost.size:
            return Decline(f"constant {name} holds {lost[0]:g}, which is 0 in FLOAT")
        whole = finite[(finite == np.round(finite)) & (finite != finite.astype(np.float32))]
        if whole.size:
            return Decline(f"constant {name} holds {whole[0]:.17g}, a whole number that FLOAT rounds")
    return None


def run(model: onnx.ModelProto, request: Request, edit: Edit) -> Decline | None:
    """Change the model; values that were DOUBLE get new names, since nobody else should take one for the other."""
    facts = request.facts
    declined = _beyond(facts)
    if declined is not None:
        return declined
    arrays = dict(_constants(facts))
    for scope, known in zip(edit.view.scopes, facts.view.scopes, strict=True):
        graph = scope.graph
        if graph is None or scope.root.function is not None:
            continue
        of = facts.of(known)

        def name_of(name: str, of: ScopeFacts = of) -> str:
            return f"{name}/float" if name and of.dtype(name) == DOUBLE else name

        for index, node in enumerate(graph.node):
            if not any(of.dtype(name) == DOUBLE for name in (*node.input, *node.output) if name) and not _has_double([node]):
                continue
            edit.touch(scope, node)
            for position, name in enumerate(node.input):
                node.input[position] = name_of(name)
            for position, name in enumerate(node.output):
                node.output[position] = name_of(name)
            _retype(node, arrays, f"{scope.path}/{index}")
            source = known.nodes_by_index[index].inputs[0] if node.op_type == "Cast" else ""
            if of.dtype(source) in (FLOAT, DOUBLE) and onnx.helper.get_node_attr_value(node, "to") == FLOAT:
                node.op_type = "Identity"
                del node.attribute[:]
        for tensor in graph.initializer:
            if tensor.data_type == DOUBLE:
                if scope.parent is None:
                    edit.log.initializers_dropped.add(tensor.name)
                array = arrays[tensor.name]
                assert array is not None
                tensor.CopyFrom(onnx.numpy_helper.from_array(array.astype(np.float32), name_of(tensor.name)))
        for value in (*graph.input, *graph.output, *graph.value_info):
            if of.dtype(value.name) == DOUBLE:
                value.name = name_of(value.name)
                value.type.tensor_type.elem_type = FLOAT
    return None


def _beyond(facts: Facts) -> Decline | None:
    """A value of the main graph that DOUBLE holds and FLOAT does not, with inputs as the proof makes them."""
    from onnxfix.verify.bindings import bindings
    from onnxfix.verify.inputs import make_inputs
    from onnxfix.verify.regions import with_outputs
    from onnxfix.verify.run import CannotRunError, Runner, RunRefusedError

    main = facts.view.main
    names = [name for name in main.producers if facts.of(main).dtype(name) == DOUBLE]
    if not names:
        return None
    largest = float(np.finfo(np.float32).max)
    try:
        runner = Runner(with_outputs(facts.view.proto, names), facts.base_dir)
        for sample, binding in zip(range(SAMPLES), bindings(facts.view.proto, SAMPLES), strict=False):
            try:
                values = runner.run(make_inputs(facts.view.proto, binding, 0, sample))
            except RunRefusedError:
                continue
            for name in names:
                size = np.abs(values[name])
                over = size[np.isfinite(size) & (size > largest)]
                if over.size:
                    return Decline(f"{name} gets as large as {over.max():.3g}, which is beyond FLOAT")
    except CannotRunError:
        return None  # nor can it be proven
    return None


def _retype(node: onnx.NodeProto, arrays: dict[str, np.ndarray | None], where: str) -> None:
    for attribute in node.attribute:
        if attribute.name in TYPES and attribute.i == DOUBLE:
            attribute.i = FLOAT
        elif attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == DOUBLE:
            array = arrays[f"{where}/{attribute.name}"]
            assert array is not None
            attribute.t.CopyFrom(onnx.numpy_helper.from_array(array.astype(np.float32), attribute.t.name))


def _has_double(nodes: Iterable[onnx.NodeProto]) -> bool:
    return any(
        (attribute.name in TYPES and attribute.i == DOUBLE)
        or (attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == DOUBLE)
        for node in nodes
        for attribute in node.attribute
    )


def _constants(facts: Facts) -> Iterator[tuple[str, np.ndarray | None]]:
    """The DOUBLE constants: initializers by name, tensors in attributes by scope, position and attribute."""
    for scope in facts.view.scopes:
        for name, tensor in scope.initializers.items():
            if tensor.data_type == DOUBLE:
                yield name, facts.of(scope).constant(name)
        if scope.graph is None:
            continue
        for index, node in enumerate(scope.graph.node):
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == DOUBLE:
                    yield f"{scope.path}/{index}/{attribute.name}", onnx.numpy_helper.to_array(attribute.t)
