"""Every DOUBLE inside the model as FLOAT.

Guard: no input or output of the model is DOUBLE, no constant is beyond FLOAT's range, 0 in FLOAT alone or a whole number that FLOAT
rounds (above 2**24), no integers that may be above that pass through DOUBLE to become integers or truth values again, no value that
the proof's own inputs lead to is beyond that range, and nothing of it is in a model-local function. An input with a default that is
DOUBLE becomes a constant. Equal to the precision of FLOAT: 1e-7 of the largest value over 16 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model.interface import FIRST_IR_OF_DEFAULTS
from onnxfix.rewrites._bounds import MAX_DEPTH, WHOLE, bound
from onnxfix.rewrites._forms import MOVES
from onnxfix.rewrites._functions import all_nodes, called_functions
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from onnxfix.model.facts import Facts, ScopeFacts
    from onnxfix.model.view import Node, Scope
    from onnxfix.rewrites._passes import Edit, Request

DOUBLE, FLOAT = onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT
# How many inputs are tried in search of values that FLOAT does not hold.
SAMPLES = 8
# FLOAT holds every whole number up to this one, from minus it on.
EXACT_IN_FLOAT = 1 << 24
# Integers that may be larger.
WIDE = frozenset((onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.UINT32, onnx.TensorProto.UINT64))
# Attributes that name an element type.
TYPES = ("to", "dtype", "output_dtype")


def check(request: Request) -> Decline | None:
    """Why the pass does not serve; None where it does."""
    facts = request.facts
    main = facts.of(facts.view.main)
    if not any(facts.of(scope).dtype(name) == DOUBLE for scope in facts.view.scopes for name in request.values):
        return Decline("nothing here is DOUBLE", plain=True)
    for kind, names, code in (("input", facts.view.main.inputs, "OFX202"), ("output", facts.view.main.outputs, "OFX205")):
        wide = [name for name in names if main.dtype(name) == DOUBLE and not (kind == "input" and facts.view.main.stores(name))]
        if wide:
            return Decline(f"{kind} {wide[0]} is DOUBLE; --allow {code} declares it FLOAT")
    if any(_has_double(all_nodes(function.node)) for function in called_functions(facts.view.proto)):
        return Decline("a model-local function computes with DOUBLE")
    if any(sparse.values.data_type == DOUBLE for scope in facts.view.scopes for sparse in scope.sparse_initializers.values()):
        return Decline("a sparse constant is DOUBLE")
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
    return _rounded(facts)


def run(model: onnx.ModelProto, request: Request, edit: Edit) -> Decline | None:
    """Change the model; values that were DOUBLE get new names, since nobody else should take one for the other."""
    facts = request.facts
    declined = _beyond(facts)
    if declined is not None:
        return declined
    arrays = dict(_constants(facts))
    if model.ir_version >= FIRST_IR_OF_DEFAULTS:
        main = facts.of(facts.view.main)
        stay = [value for value in model.graph.input if main.dtype(value.name) != DOUBLE]
        del model.graph.input[:]
        model.graph.input.extend(stay)
    renamed: dict[tuple[Scope, str], str] = {}
    taken: set[str] = set()
    for scope, known in zip(edit.view.scopes, facts.view.scopes, strict=True):
        graph = scope.graph
        if graph is None or scope.root.function is not None:
            continue
        of = facts.of(known)

        def name_of(name: str, of: ScopeFacts = of, known: Scope = known) -> str:
            if not name or of.dtype(name) != DOUBLE:
                return name
            key = (known.owner(name) or known, name)
            if key not in renamed:
                renamed[key] = edit.names.free(f"{name}/float", taken)
            return renamed[key]

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


def _rounded(facts: Facts) -> Decline | None:
    """Integers that DOUBLE holds, FLOAT rounds, and that somebody asks for again: whole numbers or what compares them."""
    for node in facts.view.nodes():
        of = facts.of(node.scope)
        if node.op_type not in ("Cast", "CastLike") or of.dtype(node.outputs[0]) != DOUBLE or _exact_in_float(of, node.input(0)):
            continue
        asked = _asked_exactly(facts, node)
        if asked:
            kind = of.dtype_name(node.input(0))
            return Decline(f"{kind} {node.input(0)} may be above 2**24, which FLOAT rounds, and {asked} is made of it")
    return None


def _exact_in_float(of: ScopeFacts, name: str, depth: int = 0) -> bool:
    """No integers of a type that holds more than FLOAT does, or sizes and positions: none is above 2**24 in earnest."""
    if of.dtype(name) not in WIDE:
        return True
    if of.is_constant(name):
        array = of.constant(name)
        return array is not None and (not array.size or max(int(array.max()), -int(array.min())) <= EXACT_IN_FLOAT)
    limit = bound(of, name)
    if of.array(name) is not None or (limit is not None and limit <= EXACT_IN_FLOAT + 1):
        return True
    node = of.scope.producers.get(name)
    if node is None or node.domain or depth > MAX_DEPTH:
        return False
    if node.op_type in ("Shape", "Size", "NonZero", "ArgMax", "ArgMin", "TopK"):
        return True
    if node.op_type in ("Range", "Concat", "Where"):
        return all(_exact_in_float(of, each, depth + 1) for each in node.inputs)
    if node.op_type in MOVES or (node.op_type == "Cast" and of.dtype(node.input(0)) in WHOLE):
        return _exact_in_float(of, node.input(0), depth + 1)
    return False


def _asked_exactly(facts: Facts, cast: Node) -> str:
    """A value of integers or booleans that what the Cast makes leads to by way of DOUBLE; empty where there is none."""
    waiting = [(cast.scope, name) for name in cast.outputs]
    seen = set(waiting)
    while waiting:
        scope, name = waiting.pop()
        dtype = facts.of(scope).dtype(name)
        if dtype in WHOLE or dtype == onnx.TensorProto.BOOL:
            return name
        if dtype != DOUBLE:
            continue
        reached = [
            (each.scope, each.outputs, each.subgraphs.values())
            for each, _ in scope.consumers.get(name, ())
            if each.op_type not in ("Shape", "Size")
        ]
        nodes = [(where, output) for where, outputs, _ in reached for output in outputs]
        nodes += [(inner, given) for _, _, subgraphs in reached for inner in subgraphs for given in inner.inputs]
        if name in scope.outputs and scope.parent is not None:
            outer = scope.parent
            nodes += [
                (outer, output)
                for index, graphs in outer.subgraphs.items()
                if scope in graphs.values()
                for output in outer.nodes_by_index[index].outputs
            ]
        for each in nodes:
            if each[1] and each not in seen:
                seen.add(each)
                waiting.append(each)
    return ""


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
        if scope.graph is None or scope.root.function is not None:
            continue
        for index, node in enumerate(scope.graph.node):
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.TENSOR and attribute.t.data_type == DOUBLE:
                    yield f"{scope.path}/{index}/{attribute.name}", onnx.numpy_helper.to_array(attribute.t)
