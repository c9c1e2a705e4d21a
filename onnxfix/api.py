"""Lint and repair one loaded model; the command line and programs call these."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from onnxfix.errors import UsageError
from onnxfix.model.difference import difference
from onnxfix.model.facts import Facts
from onnxfix.model.interface import check_opsets, check_shapes, freeze, lost_overrides, new_outputs, open_inputs, rebatched, retyped
from onnxfix.model.load import LoadedModel, check_external, external_locations, serialize
from onnxfix.model.view import ModelView
from onnxfix.results import LintReport, ModelInfo, RepairReport, TargetReport
from onnxfix.rewrites.catalogue import REWRITES, Applicability
from onnxfix.rewrites.options import RepairOptions
from onnxfix.rules.engine import lint
from onnxfix.rules.finding import Severity, verdict_of
from onnxfix.targets import Target, find_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnxfix.errors import OnnxfixError
    from onnxfix.rules.finding import Finding
    from onnxfix.rules.select import Selection
    from onnxfix.verify.prove import Proof


def model_info(loaded: LoadedModel, view: ModelView) -> ModelInfo:
    """The head of a report."""
    proto = loaded.proto
    files = []
    for location in external_locations(proto):
        file = loaded.base_dir / location
        files.append((location, file.stat().st_size if os.path.isfile(file) else -1))
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


def lint_model(
    loaded: LoadedModel,
    targets: Sequence[Target | str],
    *,
    selection: Selection | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> LintReport:
    """Findings of one model for each target; weights in external files are not read.

    Raises:
        ModelError: the graph is no graph (cyclic, a value made twice). UsageError: an unknown target, or a shape that does not fit.
    """
    _check_loaded(loaded)
    targets = _found(targets)
    check_shapes(loaded.proto, shapes or {})
    check_opsets(loaded.proto, str(loaded.path))
    view = ModelView(freeze(loaded.proto, shapes or {})[0])
    facts = Facts(view)
    reports = []
    for target in targets:
        findings = lint(view, facts, target)
        counting = findings if selection is None else selection.apply(findings)
        hidden = [] if selection is None else [finding for finding in findings if finding.code not in selection]
        reports.append(_target_report(target, counting, hidden))
    return LintReport(model_info(loaded, view), tuple(reports))


def _check_loaded(loaded: object) -> None:
    if not isinstance(loaded, LoadedModel):
        raise UsageError(f"a {type(loaded).__name__} is no loaded model: pass what onnxfix.load_model(path) gives")


def _found(targets: Sequence[Target | str]) -> tuple[Target, ...]:
    given = [targets] if isinstance(targets, (str, Target)) else targets
    return tuple(dict.fromkeys(each for item in given for each in (find_targets(item) if isinstance(item, str) else (item,))))


def _target_report(target: Target, findings: list[Finding], hidden: Sequence[Finding] = ()) -> TargetReport:
    return TargetReport(target.id, target.title, verdict_of(findings), tuple(findings), tuple(hidden))


def repair_model(
    loaded: LoadedModel,
    targets: Sequence[Target | str],
    options: RepairOptions | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[RepairReport, bytes | None]:
    """Rewrite what the targets cannot parse, prove the result, and return it with what was done.

    A target may be given by its id, such as `trt5.1`.

    The bytes are what may be written: those of the file itself where nothing was to do, None where nothing may be written.

    Raises:
        ModelError: the model cannot be read as a graph, or its external data is missing. UsageError: an option does not fit.
    """
    _check_loaded(loaded)
    targets = _found(targets)
    from onnxfix.rewrites._driver import Driver
    from onnxfix.rewrites._ledger import ledger
    from onnxfix.rewrites._proof import prove_repair
    from onnxfix.verify.run import CannotRunError

    options = options or RepairOptions()
    proto = loaded.proto
    check_shapes(proto, options.shapes)
    check_shapes(proto, {name: array.shape for name, array in (options.inputs or {}).items()}, "the inputs given")
    check_opsets(proto, str(loaded.path))
    check_external(proto, loaded.base_dir)
    info = model_info(loaded, ModelView(proto))
    frozen, frozen_notes = freeze(proto, options.shapes)
    start, simplified = frozen, ""
    if options.simplify:
        from onnxfix.rewrites._simplify import simplify

        start, simplified = simplify(frozen, loaded.base_dir, options, progress or (lambda text: None))
    driver = Driver(start, targets, options, loaded.base_dir, progress)
    _, first, *_ = driver.first
    before = _reports(targets, driver.lint(proto)[1] if frozen_notes or simplified else first)
    state = driver.run()
    proof: Proof | None = None
    wrong: OnnxfixError | None = None
    faults: tuple[str, ...] = ()
    blocked = any(finding.severity is Severity.ERROR for finding in state.findings) and not options.partial
    if (state.applied or frozen_notes) and options.verify and not blocked:
        state, proof, wrong = prove_repair(driver, state)
        if wrong is not None:
            faults = tuple(sorted({finding.code for finding in first if _needs_consent(finding)} - options.consent))
    after = _reports(targets, state.findings, driver.hidden(state.model))
    changed = bool(state.applied or frozen_notes) or start is not frozen
    errors = sum(report.count("error") for report in after)
    changes = (change(frozen, state.model) for change in (retyped, rebatched, new_outputs, lost_overrides))
    interface = (*frozen_notes, *(text for texts in changes for text in texts))
    fidelity = ledger(start if simplified else proto, state, interface) if changed else None
    notes = (*filter(None, (simplified,)), *(f"froze {note}" for note in frozen_notes))
    if not options.verify and changed:
        notes += ("not verified",)
    status, data = "clean", loaded.data
    output: bytes | None = data
    if wrong is not None:
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
        reason=str(wrong) if wrong is not None else "",
        detail=wrong.detail if isinstance(wrong, CannotRunError) else "",
        faults=faults,
        other_inputs=isinstance(wrong, CannotRunError) and wrong.other_inputs,
        failing=driver.failing,
        dynamic=tuple(open_inputs(frozen).items()),
        diff=tuple(difference(proto, state.model)) if changed else (),
    )
    return report, output


def _needs_consent(finding: Finding) -> bool:
    return any(REWRITES[name].applicability is Applicability.CONSENT for name in finding.fixes)


def _reports(targets: Sequence[Target], findings: list[Finding], hidden: Sequence[Finding] = ()) -> tuple[TargetReport, ...]:
    def of(target: Target, those: Sequence[Finding]) -> list[Finding]:
        return [finding for finding in those if finding.target == target.id]

    return tuple(_target_report(target, of(target, findings), of(target, hidden)) for target in targets)


__all__ = ["RepairOptions", "check_shapes", "lint_model", "repair_model"]
