"""`lint`: every rule on every node of a model, for one target; pure, so that facts serve many targets."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import onnx

from onnxfix.checks import Context, find_check
from onnxfix.checks.inputs import without_dims
from onnxfix.checks.limits import broken, input_label
from onnxfix.checks.parser_values import MAX_RANK, Kind, ParserValues
from onnxfix.checks.whole_graph import unsorted_names, wide_integer
from onnxfix.model.constants import stored_in
from onnxfix.model.declared import declared_otherwise
from onnxfix.model.dims import Poly
from onnxfix.model.load import is_external
from onnxfix.model.opsets import domain_of
from onnxfix.model.paths import function_path
from onnxfix.model.view import bound
from onnxfix.rewrites.catalogue import candidates
from onnxfix.rules.finding import Finding, Location, Severity, ValueRef
from onnxfix.rules.plausible import plausible
from onnxfix.rules.rule import advice_rules, load_rule
from onnxfix.targets import first_accepting, neighbours, op_support, unrecorded_status
from onnxfix.targets.builds import build_limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxfix.checks import Problem
    from onnxfix.model.facts import Facts, ScopeFacts
    from onnxfix.model.view import ModelView, Node, Scope
    from onnxfix.targets import Limit, OpSupport, Target


# ModelImporter.cpp of release 6.0 reads graph.initializer itself.
LISTING_ENDS = "trt6.0"

# The rewrite for whatever is found on a node that nothing needs: parsers import those too.
DROP_DEAD = "drop_dead_nodes"
# ModelImporter.cpp of 5.0 to 7.1.
CONSTANT_OUTPUT = "Assertion failed: tensors.at(output.name()).is_tensor()"

# ShapedWeights.cpp of release 6.0-full-dims cuts what those before it refuse.
CLAMPING_BEGINS = "trt6.0-fulldims"


def lint(view: ModelView, facts: Facts, target: Target) -> list[Finding]:
    """The findings for one target, in the order in which its parser would meet them."""
    return lint_shadowed(view, facts, target)[0]


def lint_shadowed(view: ModelView, facts: Facts, target: Target) -> tuple[list[Finding], set[str], set[str]]:
    """The findings, and the outputs of nodes of which it is not known yet what the parser would say.

    The first set is of nodes behind a refused one, the second of those that get other shapes than ONNX gives, from a node that the
    parser reads otherwise (`unread` of the target).
    """
    linter = _Linter(view, facts, target)
    return list(linter.run()), linter.shadowed, linter.misread


class _Linter:
    def __init__(self, view: ModelView, facts: Facts, target: Target) -> None:
        self.view = view
        # shapes as the target's parser computes them, which need not be ONNX's
        self.facts = facts.without(target.unread)
        self.onnx_facts = facts
        self.target = target
        self.listed = set(view.main.inputs)
        self.shadowed: set[str] = set()
        self.misread: set[str] = set()
        self.main_values: ParserValues | None = None
        self.functions = frozenset((domain_of(function.domain), function.name) for function in view.proto.functions)
        self.by_name = {function.name: function for function in reversed(view.proto.functions)}
        self.said: set[tuple[str, str, str]] = set()

    def run(self) -> Iterator[Finding]:
        yield from self._inputs()
        yield from self._weights()
        yield from self._scope(self.view.main, None)
        yield from self._outputs()

    # the model's interface -------------------------------------------------------------------------------------------

    def _inputs(self) -> Iterator[Finding]:
        graph = self.view.proto.graph
        facts = self.facts.of(self.view.main)
        for value in graph.input:
            if self.view.main.stores(value.name):
                continue
            dtype = facts.dtype_name(value.name)
            shape = facts.shape(value.name)
            if dtype != "?" and dtype not in self.target.input_types:
                yield self._on_value(
                    "OFX202",
                    value.name,
                    f"input {value.name!r} has element type {dtype}; {self.target.id} takes {_listing(self.target.input_types)}",
                )
            if not self.target.unnamed_dims and _has_unnamed(value):
                yield self._on_value(
                    "OFX303", value.name, f"input {value.name!r} has dimensions without size and name, or of size 0"
                )
            if shape is not None and len(shape) - self.target.implicit_batch > MAX_RANK:
                yield self._on_value(
                    "OFX301", value.name, f"input {value.name!r} has {len(shape)} axes; a tensor has at most {MAX_RANK}"
                )
            if shape is None or self.target.dynamic_inputs:
                continue
            dynamic = [str(dim) for dim in shape[1:] if isinstance(dim, Poly) or dim == 0]
            if dynamic or not shape:
                what = f"has dynamic dimensions {', '.join(dynamic)} beside the batch" if dynamic else "is a scalar"
                yield self._on_value("OFX303", value.name, f"input {value.name!r} {what}; {self.target.id} takes static ones only")

    def _weights(self) -> Iterator[Finding]:
        facts = self.facts.of(self.view.main)
        yield from self._unlisted_as_shipped()
        for name in (*self.view.main.initializers, *self.view.main.sparse_initializers):
            dtype = onnx.TensorProto.DataType.Name(facts.dtype(name))
            if self.target.lists_initializers and name not in self.listed:
                continue
            if 0 in (facts.shape(name) or ()) and not self.target.empty_weights:
                yield self._on_value("OFX206", name, f"initializer {name!r} has no elements; {self.target.id} cannot read it")
            tensor = self.view.main.initializers.get(name)
            if tensor is not None and is_external(tensor) and not self.target.external_weights:
                text = f"initializer {name!r} is stored in a file of its own, which {self.target.id} does not read"
                yield self._on_value("OFX206", name, text)
                continue
            field = stored_in(tensor) if tensor is not None and self.target.typed_fields else "raw_data"
            if field != "raw_data" and field not in self.target.typed_fields:
                text = f"initializer {name!r} of {dtype} is stored in {field}, which {self.target.id} does not read"
                yield self._on_value("OFX204", name, text)
                continue
            if not self.target.weight_types or dtype in self.target.weight_types:
                continue
            yield self._on_value(
                "OFX204",
                name,
                f"initializer {name!r} has element type {dtype}; {self.target.id} takes {_listing(self.target.weight_types)}",
            )

    def _unlisted_as_shipped(self) -> Iterator[Finding]:
        evidence = self.target.shipped_lists
        main = self.view.main
        unlisted = [name for name in main.initializers if name not in self.listed and main.consumers.get(name)]
        if evidence is not None and unlisted:
            text = (
                f"initializers {_listing(unlisted)} are not among the graph's inputs, as a parser shipped with this release wants"
            )
            yield dataclasses.replace(self._on_value("OFX705", unlisted[0], text), evidence=(evidence,))

    def _outputs(self) -> Iterator[Finding]:
        facts = self.facts.of(self.view.main)
        contradiction = declared_otherwise(self.view, self.onnx_facts.of(self.view.main))
        if contradiction is not None:
            yield self._on_value("OFX703", *contradiction)
        yield from self._weight_outputs()
        for value in self.view.proto.graph.output:
            name, declared = value.name, value.type.tensor_type.elem_type
            if not declared:
                yield self._on_value("OFX205", name, f"output {name!r} is declared without an element type, which the parser reads")
                continue
            dtype, given = onnx.TensorProto.DataType.Name(declared), facts.dtype_name(name)
            integers = {"INT32"} if self.target.int64 == "native" else {"INT32", "INT64"}
            if given in integers and dtype not in integers and dtype in self.target.output_types:
                text = f"output {name!r} is declared {dtype}, its nodes give {given}"
                yield self._on_value("OFX205", name, text)
            if dtype != "?" and dtype not in self.target.output_types:
                yield self._on_value(
                    "OFX205",
                    name,
                    f"output {name!r} has element type {dtype}; {self.target.id} gives {_listing(self.target.output_types)}",
                )

    def _weight_outputs(self) -> Iterator[Finding]:
        """Outputs that the parser holds as weights; what Shape and Size give becomes a tensor where it is an output."""
        scope = self.view.main
        if self.target.weight_outputs or self.main_values is None:
            return
        for name in scope.outputs:
            maker = scope.producers.get(name)
            if self.main_values.kind(name) is not Kind.WEIGHTS or (maker is not None and maker.op_type in ("Shape", "Size")):
                continue
            if maker is None:
                yield self._on_value("OFX012", name, f"output {name!r} is an initializer, which {self.target.id} cannot give")
            else:
                text = f"gives output {name!r}, which {self.target.id} holds as a constant and cannot give"
                yield self._make("OFX012", maker, text, slots=(), message=CONSTANT_OUTPUT)

    def _on_value(self, code: str, name: str, message: str) -> Finding:
        value = self._value(self.facts.of(self.view.main), name, "value")
        rule = load_rule(code)
        return Finding(
            code=code,
            name=rule.name,
            severity=rule.severity,
            target=self.target.id,
            message=message,
            location=Location(path="graph", outputs=(name,)),
            values=(value,),
            evidence=(self.target.evidence,),
            fixes=candidates(rule.rewrites, ""),
        )

    # nodes -----------------------------------------------------------------------------------------------------------

    def _scope(self, scope: Scope, outer: ParserValues | None) -> Iterator[Finding]:
        yield from self._walk(scope, ParserValues(scope, self.facts.of(scope), self.target, outer))

    def _call(self, node: Node, called: Scope, values: ParserValues) -> Iterator[Finding]:
        """The findings in a function's body, which parsers import once for each call; what was said before is left out."""
        if len(node.inputs) != len(called.inputs):
            yield self._make(
                "OFX304",
                node,
                f"calls a function of {len(called.inputs)} inputs with {len(node.inputs)}",
                slots=(),
                message="node.input().size() == function.input().size()",
            )
            return
        inner = ParserValues(called, self.facts.of(called), self.target)
        for name, given in zip(called.inputs, node.inputs, strict=True):
            inner.set(name, values.kind(given) if given else Kind.TENSOR)
        refused = False
        for finding in self._walk(called, inner):
            refused = refused or finding.refuses
            key = (finding.code, finding.location.path, finding.message)
            if key not in self.said:
                self.said.add(key)
                yield finding
        for name, given in zip(node.outputs, called.outputs, strict=False):
            values.set(name, Kind.LOST if refused else inner.kind(given))

    def _walk(self, scope: Scope, values: ParserValues) -> Iterator[Finding]:
        facts = self.facts.of(scope)
        if scope is self.view.main:
            self.main_values = values
        unsorted = None if self.target.empty_names else unsorted_names(scope)
        if unsorted is not None:
            yield self._make("OFX011", unsorted.node, unsorted.text, slots=(), message=unsorted.message)
        for node in scope.nodes:
            refused, kind = False, None
            if any(values.kind(name) is Kind.LOST for name in node.inputs if name):
                self.shadowed.update(node.outputs)
            if self.facts is not self.onnx_facts and self._gets_other_shapes(node, facts):
                self.misread.update(node.outputs)
            for finding in self._node(node, facts, values):
                refused = refused or finding.refuses
                # an initializer that is not listed hides nothing: its numbers are there; a Reshape that the parser reads
                # otherwise (OFX806) gives it other dimensions than ONNX
                if (finding.refuses and finding.code != "OFX010") or finding.code == "OFX806":
                    kind = Kind.LOST
                elif finding.code == "OFX805" and kind is None:
                    kind = Kind.INVALID
                yield finding
            values.add(node, kind)
            if not refused and node.called is not None and self._expands(node):
                if self._other_function(node):
                    values.add(node, Kind.LOST)
                else:
                    yield from self._call(node, node.called, values)
            if not refused:
                for inner in node.subgraphs.values():
                    yield from self._scope(inner, values)

    def _node(self, node: Node, facts: ScopeFacts, values: ParserValues) -> Iterator[Finding]:
        yield from self._inputs_by_name(node)
        if self.target.int64 != "native":
            yield from self._wide_integers(node, facts)
        for rule in advice_rules():
            if node.op_type in rule.ops and not node.domain:
                problem = find_check(rule.check)(Context(node, facts, values, self.target, {}))
                if problem is not None:
                    yield self._make(rule.code, node, problem.text, slots=problem.slots)
        imported = None
        if self._expands(node):
            other = self._other_function(node)
            if other:
                yield self._make("OFX817", node, other, slots=())
            imported = op_support("", node.op_type, self.target) if self._is_registered(node) else None
            if imported is None or imported.status != "no":
                return
        if values.has_invalid and not self.target.implicit_batch:
            problem = without_dims(Context(node, facts, values, self.target, {}))
            if problem is not None:
                yield self._make("OFX301", node, problem.text, slots=problem.slots)
        support = imported or op_support(node.domain, node.op_type, self.target)
        if support is None:
            yield self._unrecorded(node)
            return
        if support.status != "yes":
            code = "OFX101" if support.status == "no" else "OFX103"
            yield self._make(code, node, self._refused_text(support), support=support, newest=support.newest)
            return
        for limit in support.limits:
            problem = broken(limit, Context(node, facts, values, self.target, limit.args))
            if problem is not None:
                found = self._broken(node, support, limit, problem)
                yield found if limit.evidence is None else dataclasses.replace(found, evidence=(limit.evidence,))
        for entry in build_limits(node.op_type, self.target) if not node.domain else ():
            problem = broken(entry.limit, Context(node, facts, values, self.target, entry.limit.args))
            if problem is not None:
                found = self._broken(node, support, entry.limit, problem)
                yield dataclasses.replace(found, evidence=(entry.evidence,))

    def _gets_other_shapes(self, node: Node, facts: ScopeFacts) -> bool:
        in_onnx = self.onnx_facts.of(node.scope)
        return any(facts.shape(name) != in_onnx.shape(name) for name in node.inputs if name)

    def _expands(self, node: Node) -> bool:
        """True where the parser puts a function's body in the place of a node."""
        return self.target.local_functions and (node.domain, node.op_type) in self.functions

    def _other_function(self, node: Node) -> str:
        """What the parser takes a call of a function for, where that is not the function."""
        if self._is_registered(node):
            return f"is taken for ONNX's {node.op_type}, not for the model's function of that name"
        called, first = node.called, self.by_name[node.op_type]
        mine = called.function if called is not None else None
        # of two of one body it does not matter which is taken
        if mine is None or _body(first, node) == _body(mine, node):
            return ""
        return f"is taken for {function_path(first.domain, first.name, first.overload)}, the first function of that name"

    def _is_registered(self, node: Node) -> bool:
        return node.op_type in (self.target.registered or ())

    def _inputs_by_name(self, node: Node) -> Iterator[Finding]:
        scope = self.view.main
        names = []
        if self.target.lists_initializers:
            names = [name for name in dict.fromkeys(node.inputs) if scope.stores(name) and name not in self.listed]
        if names:
            yield self._make(
                "OFX010",
                node,
                f"reads {_listing(names)}, stored but not listed among the graph's inputs",
                slots=tuple(node.inputs.index(name) for name in names),
                message="Assertion failed: tensors.count(input_name)",
                since=LISTING_ENDS,
            )
        missing = node.scope.unmade.get(node.index)
        if missing is not None:
            yield self._make(
                "OFX304",
                node,
                f"reads {missing!r}, which nothing in the model gives",
                slots=(node.inputs.index(missing),),
                message="Assertion failed: (ctx->tensors().count(inputName)): Node input was not registered.",
            )
        if "" in node.inputs and not self.target.optional_inputs:
            slot = node.inputs.index("")
            yield self._make(
                "OFX304",
                node,
                f"leaves out input {input_label(node, slot)}, which {self.target.id} looks up all the same",
                message="Assertion failed: tensors.count(input_name)",
            )

    def _wide_integers(self, node: Node, facts: ScopeFacts) -> Iterator[Finding]:
        found = wide_integer(node, facts, cut=self.target.int64 == "clamped")
        if found is None:
            return
        slot, label, value = found
        if self.target.int64 == "refused":
            text = f"reads {value} in {label}, which does not go into 32 bits"
            yield self._make(
                "OFX207", node, text, slots=(slot,), message="Weights cannot be cast down to INT32.", since=CLAMPING_BEGINS
            )
        else:
            limit = 2**31 - 1 if value > 0 else -(2**31)
            text = f"reads {value} in {label}, which the parser makes {limit}"
            yield self._make("OFX811", node, text, slots=(slot,), message="is out of range. Clamping to", since="trt9.0")

    def _unrecorded(self, node: Node) -> Finding:
        status = unrecorded_status(node.domain, node.op_type, self.target)
        if status != "unknown":
            plugin = " and no plugin of that name comes with it" if self.target.unregistered == "plugin" else ""
            message = self.target.unregistered_message.replace("{op}", node.op_type)
            code = "OFX103" if status == "plugin" else "OFX101"
            return self._make(code, node, f"has no importer in {self.target.id}{plugin}", message=message)
        words = {"yes": "takes it", "no": "does not take it", "plugin": "takes it with a plugin of that name"}
        known = neighbours(node.domain, node.op_type, self.target)
        others = "; ".join(f"{other.id} {words[support.status]}" for other, support in known)
        return self._make(
            "OFX005", node, f"has no record for {self.target.id}" + (f": {others}" if others else ", so nobody knows"), unknown=True
        )

    def _refused_text(self, support: OpSupport) -> str:
        if support.status == "plugin":
            return f"is taken by {self.target.id} only with a plugin of that name"
        return f"is not parsed by {self.target.id}"

    def _broken(self, node: Node, support: OpSupport, limit: Limit, problem: Problem) -> Finding:
        return self._make(
            limit.rule,
            node,
            problem.text + (f"; {limit.why}" if limit.why else ""),
            support=support,
            slots=problem.slots,
            message=problem.message or limit.message,
            since=limit.since,
            newest=limit.taken_opset(node.opset or 0),
        )

    def _make(
        self,
        code: str,
        node: Node,
        text: str,
        *,
        support: OpSupport | None = None,
        slots: tuple[int, ...] = (0,),
        message: str = "",
        since: str = "",
        unknown: bool = False,
        newest: int | None = None,
    ) -> Finding:
        rule = load_rule(code)
        facts = self.facts.of(node.scope)
        if not since and support is not None and support.status != "yes":
            later = first_accepting(node.domain, node.op_type, self.target)
            since = support.since or (later.id if later is not None else "")
        refs = tuple(self._value(facts, node.inputs[slot], input_label(node, slot)) for slot in slots if slot < len(node.inputs))
        fixes = plausible(candidates(rule.rewrites, node.op_type), node, self.onnx_facts.of(node.scope), self.functions)
        if rule.severity is Severity.ERROR and node.index in node.scope.dead:
            fixes = (DROP_DEAD, *(name for name in fixes if name != DROP_DEAD))
        return Finding(
            code=code,
            name=rule.name,
            severity=rule.severity,
            target=self.target.id,
            message=f"{node.op_type} {text}",
            location=Location(node.path, node.op_type, node.domain, node.name, node.outputs),
            values=tuple(ref for ref in refs if ref.name),
            parser_message=message or (support.message if support is not None and support.status != "yes" else ""),
            since=since,
            evidence=(support.evidence if support is not None else self.target.evidence,),
            fixes=fixes,
            unknown=unknown,
            data={} if newest is None else {"opset": newest},
        )

    def _value(self, facts: ScopeFacts, name: str, role: str) -> ValueRef:
        shape = facts.shape(name)
        return ValueRef(name, role, facts.dtype_name(name), None if shape is None else tuple(map(str, shape)))


def _body(function: onnx.FunctionProto, call: Node) -> bytes:
    copy = onnx.FunctionProto()
    copy.CopyFrom(bound(function, call.proto))
    for field in ("domain", "overload", "doc_string", "value_info", "metadata_props", "attribute", "attribute_proto"):
        copy.ClearField(field)
    return bytes(copy.SerializeToString(deterministic=True))


def _has_unnamed(value: onnx.ValueInfoProto) -> bool:
    return any(not dim.dim_value and not dim.dim_param for dim in value.type.tensor_type.shape.dim)


def _listing(names: object) -> str:
    items = sorted(names) if isinstance(names, frozenset) else list(names)  # type: ignore[call-overload]
    shown = [str(item) for item in items[:6]]
    return ", ".join(shown) + (f" and {len(items) - 6} more" if len(items) > 6 else "")
