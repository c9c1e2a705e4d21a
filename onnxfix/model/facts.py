"""What is known of every value: element type, shape with named dimensions, constants, and what shape arithmetic computes.

Facts are computed once, front to back, in time linear in the number of nodes. Shape arithmetic and the shapes that depend on it
are ours (`_arithmetic`, `_shapes`); everything else is onnx's own inference of the single operator.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import onnx

from onnxfix.model import _arithmetic, constants
from onnxfix.model._shapes import output_shape
from onnxfix.model.dims import Names, Number, Poly
from onnxfix.model.opsets import RANDOM, schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction
    from pathlib import Path

    from onnxfix.model._arithmetic import Array
    from onnxfix.model._shapes import Shape
    from onnxfix.model.view import ModelView, Node, Scope

# Operators of whose floating-point inputs an output's shape may depend.
_READS_FLOATS = {"OneHot", "Range", "Resize", "Upsample"}
_FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16}
ATEN_DOMAINS = ("org.pytorch.aten", "aten")
# Nodes of more bytes (constants) are not kept for the next model.
_MAX_KEPT = 1 << 14


@dataclass(slots=True)
class _Value:
    """Facts of one value; `dtype` is a TensorProto.DataType (0: unknown), `constant` says that no input changes it.

    Values of equal `token` are the same to whoever reads them.
    """

    dtype: int = 0
    shape: Shape | None = None
    array: Array | None = None
    constant: bool = False
    tensor: onnx.TensorProto | None = None
    read: bool = False
    token: object = field(default_factory=object)


_NOTHING = _Value()


class _Memory:
    """What inference said so far: the same for the same node, in whatever model it stands.

    `values` are those that a node gives for inputs that are the same, for models that are edited and looked at again; None where
    one model is looked at once.
    """

    def __init__(self, *, again: bool) -> None:
        self.names = Names()
        self.evaluator = _arithmetic.Evaluator(self.names)
        self.types: dict[tuple[int, Shape | None], onnx.TypeProto] = {}
        self.placeholders: dict[str, Poly] = {}
        self.inferred: dict[tuple[object, ...], list[tuple[int, tuple[Number | None, ...] | None]]] = {}
        self.values: dict[tuple[object, ...], tuple[_Value, ...]] | None = {} if again else None


class Facts:
    """Facts of all scopes of a model.

    Args:
        view: the model.
        base_dir: where external data lies; without it external tensors are never read.
        unread: attributes, written `Shape.start`, and inputs, written `ReduceMax[1]`, that are taken as if they were not there.
        like: facts of a model that has many nodes in common with this one; what they learned is not asked again.
        again: facts of other models will be asked for with these as `like`: keep what each node gives.
    """

    def __init__(
        self,
        view: ModelView,
        base_dir: Path | None = None,
        unread: frozenset[str] = frozenset(),
        like: Facts | None = None,
        *,
        again: bool = False,
    ) -> None:
        self.view = view
        self.base_dir = base_dir
        self._unread = unread
        self._without: dict[frozenset[str], Facts] = {}
        self._memory: _Memory = _Memory(again=again) if like is None else like._memory
        self._names = self._memory.names
        self._scopes: dict[str, ScopeFacts] = {}
        # of the bodies that calls have; those of the functions as written are under their paths
        self._calls: dict[Scope, ScopeFacts] = {}
        for scope in view.scopes:
            if scope.parent is None:
                self._run_scope(scope)

    def again(self, model: onnx.ModelProto) -> Facts:
        """Facts of the model after an edit."""
        return Facts(type(self.view)(model), self.base_dir, like=self)

    def of(self, scope: Scope) -> ScopeFacts:
        """The facts of one scope's values, those of enclosing scopes included."""
        return self._calls.get(scope) or self._scopes[scope.path]

    def without(self, names: frozenset[str]) -> Facts:
        """What a reader computes that does not read attributes and inputs `names`; these facts where no node has one of them."""
        unread = names & self._read
        if not unread:
            return self
        if unread not in self._without:
            self._without[unread] = Facts(self.view, self.base_dir, unread, self)
        return self._without[unread]

    @cached_property
    def _read(self) -> frozenset[str]:
        """Every attribute that a node has, written `Shape.start`, and every input that is given, written `ReduceMax[1]`."""
        nodes = [node for scope in self.view.scopes for node in scope.nodes if not node.domain]
        attributes = {f"{node.op_type}.{name}" for node in nodes for name in node.attributes}
        return frozenset(
            attributes | {f"{node.op_type}[{slot}]" for node in nodes for slot, name in enumerate(node.inputs) if name}
        )

    def _attribute(self, node: Node, name: str, default: int | None = None) -> int | None:
        return default if f"{node.op_type}.{name}" in self._unread else node.attr(name, default)

    def _run_scope(self, scope: Scope, outer: ScopeFacts | None = None, inputs: Sequence[_Value] | None = None) -> ScopeFacts:
        """Facts of a scope within `outer`; `inputs`: of a called body those of the call, none for subgraphs in it."""
        facts = ScopeFacts(self, scope, outer)
        if inputs is None:
            self._scopes[scope.path] = facts
        else:
            self._calls[scope] = facts
            facts.values.update(zip(scope.inputs, inputs, strict=False))
        if scope.graph is not None:
            for value in scope.graph.input:
                facts.values[value.name] = self._declared(value)
        for name, tensor in scope.initializers.items():
            facts.values[name] = self._stored(tensor)
        for name, sparse in scope.sparse_initializers.items():
            facts.values[name] = _Value(sparse.values.data_type, tuple(sparse.dims), constant=True)
        for node in scope.nodes:
            self._run_node(node, facts)
        if scope.graph is not None:
            # what inference cannot tell (custom operators), the exporter may have declared
            for value in (*scope.graph.value_info, *scope.graph.output):
                known = facts.values.get(value.name)
                if known is not None and (not known.dtype or known.shape is None):
                    declared = self._declared(value)
                    shape = known.shape if known.shape is not None else declared.shape
                    completed = dataclasses.replace(known, dtype=known.dtype or declared.dtype, shape=shape, token=object())
                    facts.values[value.name] = completed
        return facts

    def _stored(self, tensor: onnx.TensorProto) -> _Value:
        shape: Shape = tuple(tensor.dims)
        value = _Value(tensor.data_type, shape, constant=True, tensor=tensor)
        if self._memory.values is not None:
            # of what is larger no numbers are read here
            small = constants.element_count(tensor) <= _arithmetic.MAX_ITEMS
            value.token = ("stored", tensor.SerializeToString() if small else (tensor.data_type, shape))
        return value

    def _declared(self, value: onnx.ValueInfoProto) -> _Value:
        kind = value.type.tensor_type
        if not value.type.HasField("tensor_type"):
            return _Value()
        if not kind.HasField("shape"):
            return _Value(kind.elem_type, token=("declared", kind.elem_type))
        dims: list[Number] = []
        for axis, dim in enumerate(kind.shape.dim):
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                dims.append(dim.dim_value)
            else:
                dims.append(Poly.name(dim.dim_param or f"{value.name}.{axis}"))
        return _Value(kind.elem_type, tuple(dims), token=("declared", kind.elem_type, tuple(dims)))

    def _run_node(self, node: Node, facts: ScopeFacts) -> None:
        known = self._memory.values
        if known is None or node.subgraphs or node.called is not None:
            self._find(node, facts)
            return
        content = node.proto.SerializeToString()
        if len(content) > _MAX_KEPT:
            self._find(node, facts)
            return
        key = (facts.surroundings, content, *(facts.value(name).token if name else None for name in node.inputs))
        values = known.get(key)
        if values is None:
            self._find(node, facts)
            known[key] = tuple(_kept(facts.values[name]) if name else _NOTHING for name in node.outputs)
        else:
            facts.values.update((name, value) for name, value in zip(node.outputs, values, strict=True) if name)

    def _find(self, node: Node, facts: ScopeFacts) -> None:
        """The facts of what a node gives, from those of its inputs and the node itself."""
        inputs = [
            facts.value(name) if name and f"{node.op_type}[{slot}]" not in self._unread else _NOTHING
            for slot, name in enumerate(node.inputs)
        ]
        for inner in node.subgraphs.values():
            self._run_scope(inner, facts, () if facts.scope in self._calls else None)
        constant = node.op_type not in RANDOM and all(
            value.constant for name, value in zip(node.inputs, inputs, strict=True) if name
        )
        if node.called is not None:
            self._run_call(node, node.called, inputs, facts)
            return
        if node.subgraphs:
            results = self._subgraph_outputs(node)
            constant = False
        elif node.op_type == "Constant" and not node.domain:
            results = self._constant_outputs(node)
        else:
            results = self._infer(node, inputs)
        for name, result in zip(node.outputs, results, strict=True):
            if name:
                result.constant = constant and not node.domain
                facts.values[name] = result
        if node.domain or not node.outputs or not node.outputs[0]:
            return
        first = facts.values[node.outputs[0]]
        array = self._computed(node, inputs, first.dtype, facts)
        if array is not None:
            first.array, first.read = array, True
            first.shape = array.shape
            first.constant = first.constant or not any(isinstance(item, Poly) for item in array.ravel())

    def _run_call(self, node: Node, called: Scope, inputs: list[_Value], facts: ScopeFacts) -> None:
        body = self._run_scope(called, None, inputs)
        for name, output in zip(node.outputs, called.outputs, strict=False):
            value = body.value(output)
            # a constant that has to be evaluated has its nodes in the function
            known = value.tensor is not None or value.array is not None
            facts.values[name] = dataclasses.replace(value, constant=value.constant and known, token=object())

    def _computed(self, node: Node, inputs: list[_Value], dtype: int, facts: ScopeFacts) -> Array | None:
        if node.op_type == "Shape":
            shape = inputs[0].shape if inputs else None
            if shape is None:
                return None
            dims = shape[slice(self._attribute(node, "start", 0), self._attribute(node, "end"))]
            return _arithmetic.make(dims, (len(dims),))
        if node.op_type == "Size":
            shape = inputs[0].shape if inputs else None
            if shape is None:
                return None
            total: Number = 1
            for dim in shape:
                total = total * dim
            return _arithmetic.make([total], ())
        if node.op_type == "ConstantOfShape":
            return self._constant_of_shape(node, facts)
        if node.op_type not in _arithmetic.EVALUATED:
            return None
        arrays: list[Array | None] = []
        for name in node.inputs:
            array = facts.array(name) if name else None
            if name and array is None:
                return None
            arrays.append(array)
        return self._memory.evaluator.run(node, arrays, dtype, inputs[0].dtype if inputs else 0)

    def _constant_of_shape(self, node: Node, facts: ScopeFacts) -> Array | None:
        target = facts.numbers(node.input(0))
        if target is None or any(size < 0 for size in target) or math.prod(map(int, target)) > _arithmetic.MAX_ITEMS:
            return None
        tensor = node.attr("value")
        fill = 0 if tensor is None else constants.read_tensor(tensor, None)
        if fill is None:
            return None
        return _arithmetic.from_numbers(np.full(tuple(target), np.ravel(fill)[0]))

    def _constant_outputs(self, node: Node) -> list[_Value]:
        tensor = constants.constant_of_node(node.proto)
        if tensor is None:
            return [_Value() for _ in node.outputs]
        return [_Value(tensor.data_type, tuple(tensor.dims), tensor=tensor)]

    def _subgraph_outputs(self, node: Node) -> list[_Value]:
        branches = list(node.subgraphs.values())
        results = []
        # the first output of a Loop's body is its condition
        skipped = 1 if node.op_type == "Loop" else 0
        for position in range(len(node.outputs)):
            found = [
                self.of(branch).value(branch.outputs[position + skipped])
                for branch in branches
                if node.op_type in ("If", "Loop", "Scan") and position + skipped < len(branch.outputs)
            ]
            dtype = found[0].dtype if found else 0
            # what a body gives of a state may have another shape every time, and of a scan it is one element
            shapes = [value.shape for value in found] if node.op_type == "If" else []
            same = bool(shapes) and all(shape == shapes[0] for shape in shapes)
            results.append(_Value(dtype, shapes[0] if same else None))
        return results

    def _infer(self, node: Node, inputs: list[_Value]) -> list[_Value]:
        """Element types and shapes of the outputs: onnx's inference, completed by ours where dimensions stay open."""
        inferred = self._onnx_infer(node, inputs) or [(0, None)] * len(node.outputs)
        results = []
        for position, (name, (dtype, dims)) in enumerate(zip(node.outputs, inferred, strict=True)):
            if position == 0 and (dims is None or None in dims) and (not node.domain or node.domain in ATEN_DOMAINS):
                arrays = [self._array(value) for value in inputs]
                ours = output_shape(node, [value.shape for value in inputs], arrays, self._names)
                if dims is None:
                    dims = ours
                elif ours is not None and len(ours) == len(dims):
                    dims = tuple(b if a is None else a for a, b in zip(dims, ours, strict=True))
                if node.domain in ATEN_DOMAINS and not dtype and inputs:
                    dtype = inputs[0].dtype
            shape = None
            if dims is not None:
                # both branches of an If may use one name for values of their own
                unique = name if node.scope.parent is None else f"{node.scope.path}:{name}"
                shape = tuple(Poly.name(f"{unique}.{axis}") if dim is None else dim for axis, dim in enumerate(dims))
            results.append(_Value(dtype, shape))
        return results

    def _onnx_infer(self, node: Node, inputs: list[_Value]) -> list[tuple[int, tuple[Number | None, ...] | None]] | None:
        opset = node.opset
        schema = None if opset is None else schema_of(node.op_type, opset, node.domain)
        if schema is None:
            return None
        data = {}
        for name, value in zip(node.inputs, inputs, strict=True):
            if name and value.shape is not None and len(value.shape) <= 1 and self._reads(node, value):
                numbers = _arithmetic.to_numbers(self._array(value), value.dtype)
                if numbers is not None:
                    data[name] = numbers
        signature = (
            self._unread,
            node.op_type,
            node.domain,
            opset,
            len(node.outputs),
            tuple(attribute.SerializeToString(deterministic=True) for attribute in node.proto.attribute),
            tuple((value.dtype, value.shape) if name else None for name, value in zip(node.inputs, inputs, strict=True)),
            tuple((name in data) and (str(data[name].dtype), data[name].tobytes()) for name in node.inputs),
        )
        known = self._memory.inferred.get(signature)
        if known is None:
            known = self._ask_onnx(schema, node, inputs, data)
            self._memory.inferred[signature] = known
        return known

    def _reads(self, node: Node, value: _Value) -> bool:
        """Whether shapes may depend on the numbers of an input: on those of weights they never do."""
        return value.dtype not in _FLOATS or node.op_type in _READS_FLOATS

    def _ask_onnx(
        self, schema: onnx.defs.OpSchema, node: Node, inputs: list[_Value], data: dict[str, np.ndarray]
    ) -> list[tuple[int, tuple[Number | None, ...] | None]]:
        types = {
            name: self._type_proto(value)
            for name, value in zip(node.inputs, inputs, strict=True)
            if name and (value.dtype or value.shape is not None)
        }
        proto = self._as_read(node)
        tensors = {name: onnx.numpy_helper.from_array(array, name) for name, array in data.items()}
        imports = [onnx.helper.make_opsetid(domain, version) for domain, version in node.scope.opsets.items()]
        nothing: list[tuple[int, tuple[Number | None, ...] | None]] = [
            (_dtype_by_schema(schema, position, inputs), None) for position in range(len(node.outputs))
        ]
        try:
            results = onnx.shape_inference.infer_node_outputs(
                schema, proto, types, input_data=tensors, opset_imports=imports, ir_version=self.view.proto.ir_version
            )
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError, ValueError, KeyError):
            return nothing
        return [self._from_type(results[name]) if name in results else (0, None) for name in node.outputs]

    def _as_read(self, node: Node) -> onnx.NodeProto:
        """The node without the attributes and inputs that are not read; itself where it has none of them."""
        attributes = [item for item in node.proto.attribute if f"{node.op_type}.{item.name}" not in self._unread]
        inputs = ["" if f"{node.op_type}[{slot}]" in self._unread else name for slot, name in enumerate(node.inputs)]
        if len(attributes) == len(node.proto.attribute) and inputs == list(node.inputs):
            return node.proto
        while inputs and not inputs[-1]:
            inputs.pop()
        return onnx.NodeProto(
            op_type=node.op_type, domain=node.domain, name=node.name, input=inputs, output=node.outputs, attribute=attributes
        )

    def _type_proto(self, value: _Value) -> onnx.TypeProto:
        key = (value.dtype, value.shape)
        proto = self._memory.types.get(key)
        if proto is None:
            proto = onnx.TypeProto()
            proto.tensor_type.elem_type = value.dtype
            if value.shape is not None:
                proto.tensor_type.shape.SetInParent()
                for dim in value.shape:
                    entry = proto.tensor_type.shape.dim.add()
                    if isinstance(dim, Poly):
                        entry.dim_param = f"\N{SECTION SIGN}{dim!r}"
                        self._memory.placeholders[entry.dim_param] = dim
                    elif dim <= _arithmetic.LARGEST:
                        entry.dim_value = int(dim)
            self._memory.types[key] = proto
        return proto

    def _from_type(self, proto: onnx.TypeProto) -> tuple[int, tuple[Number | None, ...] | None]:
        if not proto.HasField("tensor_type"):
            return 0, None
        kind = proto.tensor_type
        if not kind.HasField("shape"):
            return kind.elem_type, None
        return kind.elem_type, tuple(
            dim.dim_value if dim.HasField("dim_value") else self._memory.placeholders.get(dim.dim_param) for dim in kind.shape.dim
        )

    def _array(self, value: _Value) -> Array | None:
        """The value's elements as numbers and polynomials; small constant tensors are read on first use."""
        if not value.read:
            value.read = True
            if value.tensor is not None and constants.element_count(value.tensor) <= _arithmetic.MAX_ITEMS:
                array = constants.read_tensor(value.tensor, self.base_dir)
                value.array = None if array is None else _arithmetic.from_numbers(array)
        return value.array


def _kept(value: _Value) -> _Value:
    """The value, whose tensor keeps no model in memory."""
    if value.tensor is not None:
        tensor = onnx.TensorProto()
        tensor.CopyFrom(value.tensor)
        value.tensor = tensor
    return value


def _dtype_by_schema(schema: onnx.defs.OpSchema, position: int, inputs: list[_Value]) -> int:
    """The element type of an output where the shapes of the inputs contradict each other: the schema ties it to an input's."""
    if not schema.outputs:
        return 0
    wanted = schema.outputs[min(position, len(schema.outputs) - 1)].type_str
    for slot, value in enumerate(inputs):
        if value.dtype and schema.inputs and schema.inputs[min(slot, len(schema.inputs) - 1)].type_str == wanted:
            return value.dtype
    allowed = next((item.allowed_type_strs for item in schema.type_constraints if item.type_param_str == wanted), [wanted])
    name = allowed[0].removeprefix("tensor(").removesuffix(")").upper()
    return int(getattr(onnx.TensorProto, name, 0)) if len(allowed) == 1 else 0


class ScopeFacts:
    """Facts of the values that one scope sees; every method takes a value's name and answers for unknown names too."""

    __slots__ = ("_constants", "_facts", "_parent", "memo", "scope", "surroundings", "values")

    def __init__(self, facts: Facts, scope: Scope, parent: ScopeFacts | None) -> None:
        self._facts = facts
        self._parent = parent
        self.scope = scope
        # what a node's facts depend on beside itself and its inputs
        path = "" if scope.parent is None else scope.path
        self.surroundings = (facts._unread, path, facts.view.proto.ir_version, *scope.opsets.items())
        self.values: dict[str, _Value] = {}
        self._constants: dict[str, np.ndarray | None] = {}
        # what a reader concludes of a node from these facts alone, kept for the next release that it asks about
        self.memo: dict[tuple[str, int], bool] = {}

    @property
    def functions(self) -> Sequence[onnx.FunctionProto]:
        """The functions that the model itself defines."""
        functions: Sequence[onnx.FunctionProto] = self._facts.view.proto.functions
        return functions

    def value(self, name: str) -> _Value:
        """The record of a value, of the enclosing scopes where this one does not define it."""
        found = self.values.get(name)
        if found is not None:
            return found
        return self._parent.value(name) if self._parent is not None else _NOTHING

    def inner(self, scope: Scope) -> ScopeFacts:
        """The facts of a subgraph."""
        return self._facts.of(scope)

    def dtype(self, name: str) -> int:
        """The TensorProto.DataType, 0 where it is unknown."""
        return self.value(name).dtype

    def dtype_name(self, name: str) -> str:
        """The element type's name, e.g. `FLOAT`; `?` where it is unknown."""
        dtype = self.value(name).dtype
        return onnx.TensorProto.DataType.Name(dtype) if dtype else "?"

    def shape(self, name: str) -> Shape | None:
        """The dimensions, numbers or polynomials; None where the rank is unknown."""
        return self.value(name).shape

    def rank(self, name: str) -> int | None:
        """The number of axes."""
        shape = self.value(name).shape
        return None if shape is None else len(shape)

    def static_shape(self, name: str) -> tuple[int, ...] | None:
        """The dimensions where all of them are numbers."""
        shape = self.value(name).shape
        if shape is None or any(isinstance(dim, Poly) for dim in shape):
            return None
        return tuple(int(dim) for dim in shape if not isinstance(dim, Poly))

    def smallest(self, dim: Number) -> int | Fraction:
        """A lower bound of a dimension, where every named one is at least 1."""
        return self._facts._names.smallest(dim)

    def never_negative(self, value: Number) -> bool:
        """Whether a number in terms of dimensions is 0 or more at every size of them."""
        return self._facts._names.never_negative(value)

    def array(self, name: str) -> Array | None:
        """The elements, numbers or polynomials, where shape arithmetic or a small constant tells them."""
        return self._facts._array(self.value(name))

    def numbers(self, name: str) -> np.ndarray | None:
        """The elements of a small value that is the same for every input: an array of the element type (integers: int64)."""
        return _arithmetic.to_numbers(self.array(name), self.value(name).dtype)

    def is_constant(self, name: str) -> bool:
        """True where no graph input changes the value, whether or not its numbers are known."""
        return self.value(name).constant

    def constant(self, name: str) -> np.ndarray | None:
        """The array of a constant value, evaluated node by node where it is computed; None where it cannot be had."""
        waiting = [name]
        while waiting:
            node = None if waiting[-1] in self._constants else self._evaluated(waiting[-1])
            sources = [source for source in node.inputs if source and source not in self._constants] if node is not None else []
            if sources:
                waiting += sources
                continue
            known = waiting.pop()
            if known not in self._constants:
                self._constants[known] = self._constant(known)
        return self._constants[name]

    def _evaluated(self, name: str) -> Node | None:
        """The node that has to be evaluated for a constant's array, None where none has to."""
        value = self.value(name)
        if value.tensor is not None or not value.constant or (value.array is not None and value.dtype):
            return None
        owner = self.scope.owner(name)
        return owner.producers.get(name) if owner is not None else None

    def _constant(self, name: str) -> np.ndarray | None:
        value = self.value(name)
        if value.tensor is not None:
            return constants.read_tensor(value.tensor, self._facts.base_dir)
        if not value.constant:
            return None
        if value.array is not None and value.dtype:
            numbers = _arithmetic.to_numbers(value.array, value.dtype)
            return None if numbers is None else numbers.astype(onnx.helper.tensor_dtype_to_np_dtype(value.dtype))
        node = self._evaluated(name)
        if node is None:
            return None
        inputs: dict[str, np.ndarray] = {}
        for source in node.inputs:
            if source:
                array = self.constant(source)
                if array is None:
                    return None
                inputs[source] = array
        results = constants.evaluate(node.proto, inputs, node.scope.opsets)
        return None if results is None else results.get(name)
