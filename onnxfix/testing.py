"""`RuleTester`: runs the examples of a rule file, for this project's rules and for those of plugin authors.

    def test_my_rule() -> None:
        RuleTester(load_rule("OFX901")).run()

An example is a model in ONNX text. `bad` must give findings of the rule on exactly the nodes (or values) that `finds` names, for
every target that it lists; `clean` must give none; `good` must be what `repair` makes of `bad`, and repair proves by running both
that the two compute the same. The tester refuses examples that show nothing: see `RuleTester.check_rule`.
"""

from __future__ import annotations

import difflib
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnx.parser
import onnx.printer

from onnxfix.errors import UsageError
from onnxfix.model.facts import Facts
from onnxfix.model.load import LoadedModel, parse_model, serialize
from onnxfix.model.view import ModelView
from onnxfix.rewrites._edit import RULE_KEY
from onnxfix.rewrites.options import LEVELS, RepairOptions
from onnxfix.rules.engine import lint
from onnxfix.targets import find_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    from onnxfix.results import RepairReport
    from onnxfix.rules.finding import Finding
    from onnxfix.rules.rule import Example, Rule
    from onnxfix.targets import Target


class RuleTestError(AssertionError):
    """An example does not hold, or shows nothing; the message names rule and example."""


class RuleTester:
    """Runs the examples of one rule.

    Every method raises RuleTestError where something does not hold.
    """

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    def run(self) -> None:
        """Check the rule's examples as a whole, then every one of them."""
        self.check_rule()
        for example in self.rule.examples:
            self.check_example(example)

    def check_rule(self) -> None:
        """Refuse what shows nothing.

        A rule without a bad example; two examples of the same model for the same target; a rule with rewrites and no `good`;
        `good` without a rewrite, equal to `bad`, or in a clean example; `allow` without `good`.
        """
        examples = self.rule.examples
        if not any(example.bad for example in examples):
            raise RuleTestError(f"{self.rule.code}: no example is bad; nothing shows what the rule finds")
        if self.rule.rewrites and not any(example.good for example in examples):
            raise RuleTestError(f"{self.rule.code}: the rule names rewrites, but no example has a `good` that shows one")
        seen: dict[tuple[str, bytes], str] = {}
        for example in examples:
            where = self._where(example)
            if example.good and not self.rule.rewrites:
                raise RuleTestError(f"{where}: has a `good`, but the rule names no rewrite")
            if example.good and not example.bad:
                raise RuleTestError(f"{where}: has a `good` and no `bad`")
            if example.allow and not example.good:
                raise RuleTestError(f"{where}: has `allow`, but no `good` that would need it")
            if not example.targets:
                raise RuleTestError(f"{where}: lists no target")
            content = serialize(self._model(example.bad or example.clean, where, invalid=example.invalid))
            for name in example.targets:
                target = self._target(name, where)
                if (target.id, content) in seen:
                    raise RuleTestError(f"{where}: is the model of {seen[target.id, content]} for the same target {target.id}")
                seen[target.id, content] = where

    def check_example(self, example: Example) -> None:
        """Lint the example for each of its targets, and repair it where it has a `good`."""
        for name in example.targets:
            target = self._target(name, self._where(example))
            if example.clean:
                self._check_clean(example, target)
            else:
                self._check_bad(example, target)

    def _check_clean(self, example: Example, target: Target) -> None:
        where = self._where(example)
        found = self._findings(self._model(example.clean, where), target)
        if found:
            raise RuleTestError(f"{where}: is no clean example for {target.id}: {found[0].message}")

    def _check_bad(self, example: Example, target: Target) -> None:
        where = self._where(example)
        model = self._model(example.bad, where, invalid=example.invalid)
        known = set(_labels(model))
        for label in example.finds:
            if label not in known:
                hint = f"; its nodes and values are {', '.join(sorted(known))}"
                raise RuleTestError(f"{where}: `finds` names {label!r}, which the model does not have{hint}")
        if len(set(example.finds)) < len(example.finds):
            raise RuleTestError(f"{where}: `finds` names a node twice")
        found = {_label(finding) for finding in self._findings(model, target)}
        if found != set(example.finds):
            raise RuleTestError(
                f"{where}: {target.id} finds {', '.join(sorted(found)) or 'nothing'}, the example says {', '.join(example.finds)}"
            )
        if self.rule.rewrites:
            self._check_repair(example, model, target)

    def _check_repair(self, example: Example, model: onnx.ModelProto, target: Target) -> None:
        from onnxfix.api import repair_model

        where = self._where(example)
        data = serialize(model)
        loaded = LoadedModel(model, Path("example.onnx"), data, hashlib.sha256(data).hexdigest())
        levels = [word for word in example.allow if word in LEVELS]
        options = RepairOptions(consent=frozenset(example.allow) - {*levels}, allow=levels[0] if levels else "equivalent")
        report, output = repair_model(loaded, [target], options)
        if not example.good:
            if report.status == "repaired" and any(fix.rule == self.rule.code for fix in report.applied):
                assert output is not None
                text = _text(parse_model(output, where))
                raise RuleTestError(f"{where}: {target.id} repairs it, so the example needs a `good`:\n{text}")
            return
        if report.status != "repaired" or output is None:
            raise RuleTestError(f"{where}: {target.id} does not repair it ({report.status}): {_reasons(report)}")
        if report.proof is None or not report.proof.passed:
            raise RuleTestError(f"{where}: the repair for {target.id} is not proven")
        good = self._model(example.good, where)
        difference = model_difference(good, parse_model(output, where))
        if difference:
            raise RuleTestError(f"{where}: repair for {target.id} gives something else than `good`:\n{difference}")
        left = self._findings(good, target)
        if left:
            raise RuleTestError(f"{where}: `good` is not clean for {target.id}: {left[0].message}")
        if example.allow:
            self._check_consent(example, loaded, target)

    def _check_consent(self, example: Example, loaded: LoadedModel, target: Target) -> None:
        """Without `allow` the rule's own fix is not made."""
        from onnxfix.api import repair_model

        report, _ = repair_model(loaded, [target], RepairOptions())
        if any(fix.rule == self.rule.code for fix in report.applied):
            raise RuleTestError(f"{self._where(example)}: is repaired for {target.id} without `allow` too; leave `allow` out")

    def _findings(self, model: onnx.ModelProto, target: Target) -> list[Finding]:
        view = ModelView(model)
        return [finding for finding in lint(view, Facts(view), target) if finding.code == self.rule.code]

    def _where(self, example: Example) -> str:
        return f"{self.rule.code}, example {self.rule.examples.index(example) + 1}"

    def _target(self, name: str, where: str) -> Target:
        try:
            return find_target(name)
        except UsageError as error:
            raise RuleTestError(f"{where}: {error}") from None

    def _model(self, text: str, where: str, *, invalid: bool = False) -> onnx.ModelProto:
        try:
            model: onnx.ModelProto = onnx.parser.parse_model(text)
            if not invalid:
                onnx.checker.check_model(model)
        except (onnx.parser.ParseError, onnx.checker.ValidationError) as error:
            raise RuleTestError(f"{where}: is no valid model: {str(error).strip()}\n{text}") from None
        return model


def _label(finding: Finding) -> str:
    """How an example names the finding's place: the node's name, else the value's name, else the graph's path."""
    location = finding.location
    return location.node_name or next(iter(location.outputs), location.path)


def _labels(model: onnx.ModelProto) -> Iterator[str]:
    """The names that `finds` may hold."""
    for scope in ModelView(model).scopes:
        yield scope.path
        yield from (node.name for node in scope.nodes)
        yield from (*scope.inputs, *scope.initializers, *scope.sparse_initializers, *scope.outputs)


def _reasons(report: RepairReport) -> str:
    declined = [f"{fix.rule} {fix.rewrite or 'no rewrite'} on {fix.node_name}: {fix.reason}" for fix in report.declined]
    return "; ".join([report.reason, *declined] if report.reason else declined) or "nothing was declined, errors remain"


def model_difference(wanted: onnx.ModelProto, got: onnx.ModelProto) -> str:
    """How two models differ, as a diff of ONNX text; empty where they are equal.

    Compared are IR version, opsets, graph inputs and outputs, initializers with their values (in any order), and nodes with names,
    operators, inputs, outputs and attributes (in any order). Doc strings, recorded value shapes, producer names and the mark that a
    repair leaves on nodes are not.
    """
    left, right = _comparable(wanted), _comparable(got)
    if serialize(left) == serialize(right):
        return ""
    lines = difflib.unified_diff(_text(left).splitlines(), _text(right).splitlines(), "good", "repaired", lineterm="")
    return "\n".join(lines) or "they differ in what ONNX text does not show: metadata, or the bits of a tensor"


def _comparable(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in one form: tensors as raw bytes, unordered things sorted, nothing that does not matter."""
    copy = onnx.ModelProto(ir_version=model.ir_version)
    imports = sorted(model.opset_import, key=lambda item: str(item.domain))
    copy.opset_import.extend(imports)
    copy.functions.extend(model.functions)
    copy.graph.CopyFrom(_comparable_graph(model.graph))
    return copy


def _comparable_graph(graph: onnx.GraphProto) -> onnx.GraphProto:
    copy = onnx.GraphProto(name="g", input=graph.input, output=graph.output)
    for value in (*copy.input, *copy.output):
        value.ClearField("doc_string")
    copy.initializer.extend(sorted(map(_comparable_tensor, graph.initializer), key=lambda tensor: str(tensor.name)))
    copy.sparse_initializer.extend(graph.sparse_initializer)
    for node in graph.node:
        entry = copy.node.add()
        entry.CopyFrom(node)
        entry.ClearField("doc_string")
        for field in ("name", "domain", "overload"):  # empty and absent mean the same
            if not getattr(node, field):
                entry.ClearField(field)
        marks = [item for item in node.metadata_props if item.key != RULE_KEY]
        del entry.metadata_props[:]
        entry.metadata_props.extend(marks)
        attributes = sorted(map(_comparable_attribute, node.attribute), key=lambda attribute: str(attribute.name))
        del entry.attribute[:]
        entry.attribute.extend(attributes)
    return copy


def _comparable_attribute(attribute: onnx.AttributeProto) -> onnx.AttributeProto:
    copy = onnx.AttributeProto()
    copy.CopyFrom(attribute)
    copy.ClearField("doc_string")
    if attribute.HasField("t"):
        copy.t.CopyFrom(_comparable_tensor(attribute.t))
        copy.t.name = ""
    if attribute.HasField("g"):
        copy.g.CopyFrom(_comparable_graph(attribute.g))
    return copy


def _comparable_tensor(tensor: onnx.TensorProto) -> onnx.TensorProto:
    array = onnx.numpy_helper.to_array(tensor)
    copy: onnx.TensorProto = onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), tensor.name)
    copy.data_type = tensor.data_type
    return copy


def _text(model: onnx.ModelProto) -> str:
    return str(onnx.printer.to_text(model))


__all__ = ["RuleTestError", "RuleTester", "model_difference"]
