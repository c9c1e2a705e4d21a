"""Lint and repair one loaded model; the command line and programs call these."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.errors import ModelError, UsageError
from onnxfix.model.facts import Facts
from onnxfix.model.load import check_external, external_locations, serialize
from onnxfix.model.view import ModelView
from onnxfix.results import Fidelity, LintReport, ModelInfo, RepairReport, TargetReport
from onnxfix.rewrites.options import RepairOptions
from onnxfix.rules.engine import lint
from onnxfix.rules.finding import verdict_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnxfix.model.load import LoadedModel
    from onnxfix.rewrites._driver import State
    from onnxfix.rules.finding import Finding
    from onnxfix.rules.select import Selection
    from onnxfix.targets import Target
    from onnxfix.verify.prove import Proof

# How often a failed proof may send the repair back without the fix that broke it.
MAX_CULPRITS = 5


def model_info(loaded: LoadedModel, view: ModelView) -> ModelInfo:
    """The head of a report."""
    proto = loaded.proto
    files = []
    for location in external_locations(proto):
        file = loaded.base_dir / location
        files.append((location, file.stat().st_size if file.is_file() else -1))
    return ModelInfo(
        path=str(loaded.path),
        sha256=loaded.sha256,
        size=len(loaded.data),
        ir_version=proto.ir_version,
        opset_imports=tuple((item.domain, item.version) for item in proto.opset_import),
        producer=f"{proto.producer_name} {proto.producer_version}".strip(),
        nodes=sum(len(scope.nodes) for scope in view.scopes),
        subgraphs=sum(scope.parent is not None for scope in view.scopes),
        functions=len(proto.functions),
        external_data=tuple(files),
    )


def check_shapes(proto: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raise UsageError where a fixed shape names no input, does not fit the declared one, or two give one name two sizes."""
    stored = {tensor.name for tensor in proto.graph.initializer}
    declared = {value.name: value for value in proto.graph.input if value.name not in stored}
    named: dict[str, int] = {}
    for name, shape in shapes.items():
        if name not in declared:
            raise UsageError(f"--shape: the model has no input {name!r}; its inputs are {', '.join(declared) or 'none'}")
        kind = declared[name].type.tensor_type
        if not kind.HasField("shape"):
            continue
        dims = kind.shape.dim
        fits = len(dims) == len(shape) and all(
            not dim.HasField("dim_value") or dim.dim_value == size for dim, size in zip(dims, shape, strict=True)
        )
        if not fits:
            wanted = "x".join(str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims)
            raise UsageError(f"--shape: input {name!r} is {wanted}, which {'x'.join(map(str, shape))} does not fit")
        for dim, size in zip(dims, shape, strict=True):
            if dim.dim_param and named.setdefault(dim.dim_param, size) != size:
                raise UsageError(f"--shape: {dim.dim_param} is {named[dim.dim_param]} in one input and {size} in {name!r}")


def lint_model(
    loaded: LoadedModel,
    targets: Sequence[Target],
    *,
    selection: Selection | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> LintReport:
    """Findings of one model for each target; weights in external files are not read.

    Raises:
        ModelError: the graph is no graph (cyclic, a value made twice). UsageError: a shape that does not fit.
    """
    check_shapes(loaded.proto, shapes or {})
    check_opsets(loaded.proto, str(loaded.path))
    view = ModelView(_frozen(loaded.proto, shapes or {})[0])
    facts = Facts(view)
    reports = []
    for target in targets:
        findings = lint(view, facts, target)
        reports.append(_target_report(target, findings if selection is None else selection.apply(findings)))
    return LintReport(model_info(loaded, view), tuple(reports))


def check_opsets(proto: onnx.ModelProto, path: str) -> None:
    """Raise ModelError where the model imports no opset of ONNX's own domain, or one newer than the installed onnx knows."""
    newest = onnx.defs.onnx_opset_version()
    versions = [item.version for item in proto.opset_import if item.domain in ("", "ai.onnx")]
    uses = any(node.domain in ("", "ai.onnx") for node in proto.graph.node)
    if not versions and uses:
        raise ModelError(f"{path}: imports no opset, so its operators have no version; export it again")
    if versions and versions[0] > newest:
        raise ModelError(f"{path}: opset {versions[0]} is newer than onnx {onnx.__version__} knows ({newest}); upgrade onnx")


def _target_report(target: Target, findings: list[Finding]) -> TargetReport:
    return TargetReport(target.id, target.title, verdict_of(findings), tuple(findings))


def repair_model(
    loaded: LoadedModel,
    targets: Sequence[Target],
    options: RepairOptions | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[RepairReport, bytes | None]:
    """Rewrite what the targets cannot parse, prove the result, and return it with what was done.

    The bytes are what may be written: those of the file itself where nothing was to do, None where nothing may be written.

    Raises:
        ModelError: the model cannot be read as a graph, or its external data is missing. UsageError: an option does not fit.
    """
    from onnxfix.rewrites._driver import Driver

    options = options or RepairOptions()
    proto = loaded.proto
    check_shapes(proto, options.shapes)
    check_opsets(proto, str(loaded.path))
    check_external(proto, loaded.base_dir)
    info = model_info(loaded, ModelView(proto))
    frozen, frozen_notes = _frozen(proto, options.shapes)
    driver = Driver(frozen, targets, options, loaded.base_dir, progress)
    _, first, _ = driver.lint(frozen)
    before = _reports(targets, driver.lint(proto)[1] if frozen_notes else first)
    state = driver.run()
    proof: Proof | None = None
    reason = ""
    if (state.applied or frozen_notes) and options.verify:
        state, proof, reason = _prove(driver, state, loaded, options, progress)
    after = _reports(targets, state.findings)
    changed = bool(state.applied or frozen_notes)
    errors = sum(report.count("error") for report in after)
    fidelity = ledger(proto, state, tuple(frozen_notes)) if changed else None
    notes = tuple(f"froze {note}" for note in frozen_notes)
    if not options.verify and changed:
        notes += ("not verified: --no-verify was given",)
    status, data = "clean", loaded.data
    output: bytes | None = data
    if reason:
        status, output = "unproven", None
    elif errors:
        status, output = ("partial", serialize(state.model) if changed else data) if options.partial else ("declined", None)
    elif changed:
        status, output = "repaired", serialize(state.model)
    report = RepairReport(
        model=info,
        status=status,
        passes=state.passes,
        before=before,
        after=after,
        applied=tuple(state.applied),
        declined=tuple(state.declined),
        fidelity=fidelity,
        proof=proof,
        notes=notes,
        reason=reason,
        diff=tuple(difference(proto, state.model)) if changed else (),
    )
    return report, output


def _reports(targets: Sequence[Target], findings: list[Finding]) -> tuple[TargetReport, ...]:
    return tuple(_target_report(target, [finding for finding in findings if finding.target == target.id]) for target in targets)


def _prove(
    driver: object, state: State, loaded: LoadedModel, options: RepairOptions, progress: Callable[[str], None] | None
) -> tuple[State, Proof | None, str]:
    """Run before and after; on a difference find the first fix that brings it, leave it out and repair again."""
    from onnxfix.rewrites._driver import Driver
    from onnxfix.verify.prove import prove
    from onnxfix.verify.run import CannotRunError

    assert isinstance(driver, Driver)

    def proven(candidate: State) -> tuple[Proof | None, str]:
        exact = all(fix.applicability == "exact" for fix in candidate.applied if not fix.consent)
        try:
            proof = prove(
                candidate.baseline,
                candidate.model,
                base_dir=loaded.base_dir,
                samples=options.samples,
                seed=options.seed,
                shapes=dict(options.shapes),
                inputs=None if options.inputs is None else dict(options.inputs),
                rtol=options.rtol,
                atol=options.atol,
                exact=exact,
                regions=True,
                progress=None if progress is None else lambda done, total: progress(f"proof: sample {done} of {total}"),
            )
        except CannotRunError as error:
            return None, f"cannot be proven: {error}"
        return proof, "" if proof.passed else "the rewritten model computes something else"

    proof, reason = proven(state)
    for _ in range(MAX_CULPRITS):
        if not reason or proof is None:
            break
        low, high = 0, len(state.keys)  # the first `high` fixes give a difference, the first `low` none
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if proven(driver.run(limit=middle))[1] else (middle, high)
        driver.quarantine[state.keys[high - 1]] = "its result computes something else than the model (numeric proof)"
        state = driver.run()
        if not state.applied:
            return state, None, ""
        proof, reason = proven(state)
    return state, proof, reason


def _frozen(proto: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> tuple[onnx.ModelProto, list[str]]:
    """A copy with the given shapes in place of dynamic dimensions, everywhere where those are named, and what was frozen.

    Without any it is the model itself.
    """
    from onnxfix.rewrites._edit import copy_model

    notes: list[str] = []
    if not shapes:
        return proto, notes
    model = copy_model(proto)
    known: dict[str, int] = {}
    for value in model.graph.input:
        shape = shapes.get(value.name)
        if shape is None:
            continue
        kind = value.type.tensor_type
        if not kind.HasField("shape"):
            kind.shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in shape)
        for axis, (dim, size) in enumerate(zip(kind.shape.dim, shape, strict=True)):
            if not dim.HasField("dim_value"):
                notes.append(f"{dim.dim_param or f'axis {axis}'} of input {value.name} to {size}")
                if dim.dim_param:
                    known[dim.dim_param] = size
                dim.dim_value = size
    for values, kind_of in ((model.graph.input, "input"), (model.graph.output, ""), (model.graph.value_info, "")):
        for value in values:
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param in known:
                    if kind_of:
                        notes.append(f"{dim.dim_param} of {kind_of} {value.name} to {known[dim.dim_param]}")
                    dim.dim_value = known[dim.dim_param]
    return (model, notes) if notes else (proto, notes)


def ledger(before: onnx.ModelProto, state: State, interface_changes: tuple[str, ...] = ()) -> Fidelity:
    """Every original node is identical, or some rule's fix touched it; a mismatch is an error of ours.

    Raises:
        RuntimeError: a node or an initializer changed that no fix has touched, or something that none ever touches.
    """
    from onnxfix.rewrites._edit import node_key, scope_key

    def nodes(model: onnx.ModelProto) -> dict[tuple[str, str], bytes]:
        return {
            node_key(key, node.proto): node.proto.SerializeToString(deterministic=True)
            for key, scope in ((scope_key(scope), scope) for scope in ModelView(model).scopes)
            for node in scope.nodes
        }

    old, new = nodes(before), nodes(state.model)
    identical = edited = removed = 0
    for key, content in old.items():
        if new.get(key) == content:
            identical += 1
        elif key not in state.log.touched:
            raise RuntimeError(f"fidelity: node {key[1]!r} changed, but no fix touched it")
        elif key in new:
            edited += 1
        else:
            removed += 1
    stored = {tensor.name: tensor.SerializeToString(deterministic=True) for tensor in state.model.graph.initializer}
    unchanged = 0
    for tensor in before.graph.initializer:
        if stored.get(tensor.name) == tensor.SerializeToString(deterministic=True):
            unchanged += 1
        elif tensor.name not in state.log.initializers_dropped:
            raise RuntimeError(f"fidelity: initializer {tensor.name!r} changed, but no fix touched it")
    for (what, first), (_, second) in zip(_untouchable(before), _untouchable(state.model), strict=True):
        if first != second:
            raise RuntimeError(f"fidelity: {what} changed")
    return Fidelity(
        nodes_before=len(old),
        nodes_after=len(new),
        identical=identical,
        edited=edited,
        removed=removed,
        added=len(new.keys() - old.keys()),
        initializers_unchanged=unchanged,
        interface_changes=interface_changes,
    )


def _untouchable(model: onnx.ModelProto) -> list[tuple[str, list[bytes]]]:
    """What no fix ever changes, as (name, bytes)."""
    graph = model.graph
    head = onnx.ModelProto(
        producer_name=model.producer_name,
        producer_version=model.producer_version,
        domain=model.domain,
        model_version=model.model_version,
        doc_string=model.doc_string,
        metadata_props=model.metadata_props,
    )
    rest = onnx.GraphProto(name=graph.name, doc_string=graph.doc_string, metadata_props=graph.metadata_props)
    parts = {
        "the model's metadata": [head],
        "the graph's metadata": [rest],
        "a function": model.functions,
        "a quantization annotation": graph.quantization_annotation,
        "a sparse initializer": graph.sparse_initializer,
        "the training information": model.training_info,
    }
    return [(what, [item.SerializeToString(deterministic=True) for item in items]) for what, items in parts.items()]


def difference(before: onnx.ModelProto, after: onnx.ModelProto) -> list[str]:
    """The changed nodes of the main graph as ONNX text, removed ones with `-`, new ones with `+`."""
    import difflib

    def lines(model: onnx.ModelProto) -> list[str]:
        imports = ", ".join(f"{item.domain or 'ai.onnx'}:{item.version}" for item in model.opset_import)
        stored = {tensor.name for tensor in model.graph.initializer}
        listed = sum(value.name in stored for value in model.graph.input)
        head = [f"ir_version {model.ir_version}, opset {imports}, {listed} of {len(stored)} initializers listed as inputs"]
        return head + [_node_line(node) for node in model.graph.node]

    changed = difflib.unified_diff(lines(before), lines(after), "before", "after", n=1, lineterm="")
    return list(changed)


def _node_line(node: onnx.NodeProto) -> str:
    bare = onnx.NodeProto()
    bare.CopyFrom(node)
    bare.doc_string = ""
    del bare.metadata_props[:]
    return " ".join(onnx.printer.to_text(bare).split())


__all__ = ["RepairOptions", "check_shapes", "lint_model", "repair_model"]
