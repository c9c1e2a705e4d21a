"""The repair loop: lint, choose, rewrite, gates, again; bounded, transactional, and nothing kept that a gate refuses."""

from __future__ import annotations

import hashlib
import importlib
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from onnxfix.model.declared import declared_otherwise
from onnxfix.model.facts import Facts
from onnxfix.model.load import is_large, serialize, without_weights
from onnxfix.model.opsets import opsets_of
from onnxfix.model.view import ModelView
from onnxfix.results import AppliedFix, DeclinedFix
from onnxfix.rewrites._edit import EditLog, apply_changes, copy_model, drop_unused_import
from onnxfix.rewrites._gates import Refusal, broken_gate, checker_level, still_found
from onnxfix.rewrites._passes import Edit, Request
from onnxfix.rewrites._region import Change, Decline, Names, Region
from onnxfix.rewrites.catalogue import REWRITES, Applicability, Phase, RewriteInfo
from onnxfix.rewrites.list_initializers import list_initializers
from onnxfix.rewrites.lowering._general import foreign_attribute
from onnxfix.rewrites.opset_move import Moved, form_of, move, way_of
from onnxfix.rewrites.options import LEVELS
from onnxfix.rewrites.raising import raise_node
from onnxfix.rules.engine import lint_shadowed
from onnxfix.rules.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import onnx

    from onnxfix.model.view import Node, Scope
    from onnxfix.rewrites.options import RepairOptions
    from onnxfix.rules.finding import Finding
    from onnxfix.targets import Target

# What a fix was for: the key of the finding, and the rewrite that the finding asked for.
FixKey = tuple[tuple[str, str, str, str], str]


@dataclass(slots=True)
class Proposal:
    """A rewrite bound to the findings that it is to fix: changes of single nodes, or a pass over the whole model."""

    info: RewriteInfo
    findings: list[Finding]
    changes: list[Change] = field(default_factory=list)
    opset: int = 0
    domain: str = ""
    moved: Moved | None = None
    makes_way: bool = False  # the findings stay, on nodes that can be repaired then

    @property
    def places(self) -> set[tuple[str, int]]:
        """The nodes that it replaces."""
        return {(change.scope, change.index) for change in self.changes}


@dataclass(slots=True)
class State:
    """Where a repair stands."""

    model: onnx.ModelProto
    baseline: onnx.ModelProto
    steps: list[tuple[FixKey, AppliedFix]] = field(default_factory=list)
    declined: list[DeclinedFix] = field(default_factory=list)
    log: EditLog = field(default_factory=EditLog)
    findings: list[Finding] = field(default_factory=list)
    shadowed: set[str] = field(default_factory=set)
    passes: int = 0

    @property
    def applied(self) -> list[AppliedFix]:
        """The fixes that were kept, in order."""
        return [fix for _, fix in self.steps]


class Driver:
    """Repairs one model for one or more targets; `run` may be called again with more in quarantine."""

    def __init__(
        self,
        model: onnx.ModelProto,
        targets: Sequence[Target],
        options: RepairOptions,
        base_dir: Path,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self.original = model
        self.targets = targets
        self.options = options
        self.base_dir = base_dir
        self.progress = progress or (lambda text: None)
        self.level = checker_level(model)
        self.quarantine: dict[FixKey, str] = {}
        self.failing: Mapping[str, Any] | None = None
        self._known: Facts | None = None
        self.first = self.lint(model)

    @property
    def _promise(self) -> Applicability:
        """The weakest promise that rewrites within an opset move may make."""
        return Applicability.EXACT if self.options.allow == "exact" else Applicability.EQUIVALENT

    def lint(self, model: onnx.ModelProto) -> tuple[Facts, list[Finding], set[str], set[str]]:
        """Facts and findings of a model for all targets, and the outputs of which not all is known yet (`lint_shadowed`)."""
        view = ModelView(model)
        facts = self._known = Facts(view, self.base_dir, like=self._known, again=True)
        findings: list[Finding] = []
        shadowed: set[str] = set()
        misread: set[str] = set()
        for target in self.targets:
            found, behind, otherwise = lint_shadowed(view, facts, target)
            findings.extend(finding for finding in found if self.options.counts(finding.code))
            shadowed |= behind
            misread |= otherwise
        return facts, findings, shadowed, misread

    def hidden(self, model: onnx.ModelProto) -> list[Finding]:
        """What the rules that do not count find in a model."""
        if self.options.selection is None or not self.options.selection.words:
            return []
        view = ModelView(model)
        facts = Facts(view, self.base_dir)
        found = [finding for target in self.targets for finding in lint_shadowed(view, facts, target)[0]]
        return [finding for finding in found if not self.options.counts(finding.code)]

    def run(self, limit: int | None = None) -> State:
        """Repair from the start; with `limit`, stop once that many fixes are applied."""
        state = State(self.original, self.original)
        facts, state.findings, state.shadowed, _ = self.first
        seen = {_digest(state.model)}
        most = self.options.max_passes
        over = f"it takes more than {most} pass{'' if most == 1 else 'es'} (--max-passes)"
        while state.passes < self.options.max_passes:
            count = len(state.findings)
            self.progress(f"pass {state.passes + 1}: {count} finding{'' if count == 1 else 's'}")
            names = Names(state.model)
            batch, state.declined = self._choose(state, facts, names)
            if not batch or (limit is not None and len(state.steps) >= limit):
                return state
            if limit is not None:
                batch = batch[: limit - len(state.steps)]
            state.passes += 1
            kept = self._apply_best(state, facts, batch, names)
            if kept is None:
                state.passes -= 1  # everything in the batch is in quarantine now; choose again
                continue
            facts = kept
            digest = _digest(state.model)
            if digest in seen:
                over = "the rewrites go round in circles"
                break
            seen.add(digest)
        _, state.declined = self._choose(state, facts, Names(state.model), over)
        return state

    # choosing ------------------------------------------------------------------------------------------------------------

    def _choose(self, state: State, facts: Facts, names: Names, over: str = "") -> tuple[list[Proposal], list[DeclinedFix]]:
        """The proposals of the earliest phase, disjoint; where there are none, what was declined for each finding.

        `over` says why nothing more is done: then there are none, and what could be done is declined for that.
        """
        found: dict[int, Proposal] = {}
        declined: dict[int, list[DeclinedFix]] = {}
        nodes = {node.path: node for node in facts.view.nodes()}
        fixes = [_in_turn(finding) for finding in state.findings]
        phase = max(Phase)
        # those that may be early first: where one is found, what can only come later need not be asked
        for index in sorted(range(len(fixes)), key=lambda index: _earliest(fixes[index])):
            finding = state.findings[index]
            left_out = self._left_out(finding)
            if left_out:
                if finding.severity is Severity.ERROR:
                    declined[index] = [_declined(finding, "", f"left out by {left_out}")]
                continue
            refused: dict[str, DeclinedFix] = {}
            for place, (name, own) in enumerate(fixes[index]):
                if _earliest(fixes[index][place:]) > phase:
                    break
                answer = self._propose(finding, REWRITES[name], nodes.get(finding.location.path), facts, names, state, own=own)
                if isinstance(answer, Proposal) and over:
                    declined[index] = [_declined(finding, name, over)]
                    break
                if isinstance(answer, Proposal):
                    found[index] = answer
                    phase = min(phase, answer.info.phase)
                    break
                refused[name] = answer
            else:
                if finding.severity is Severity.ERROR or refused:
                    telling = [item for item in refused.values() if not item.plain]
                    why = "no rewrite is known for it" + (", and an input decides its value" if refused else "")
                    declined[index] = telling or [_declined(finding, "", why)]
        if not found:
            return [], [item for index in sorted(declined) for item in declined[index]]
        passes: dict[tuple[str, int], Proposal] = {}
        batch: list[Proposal] = []
        taken: set[tuple[str, int]] = set()
        for _, proposal in sorted(found.items()):
            if proposal.info.phase != phase:
                continue
            if proposal.info.whole_model:
                key = ("opset" if phase is Phase.OPSET else proposal.info.name, 0)
                if key in passes:
                    passes[key].findings.extend(proposal.findings)
                    passes[key].opset = min(passes[key].opset, proposal.opset)
                else:
                    passes[key] = proposal
                    batch.append(proposal)
            elif not taken & proposal.places:
                taken |= proposal.places
                batch.append(proposal)
        return batch, []

    def _left_out(self, finding: Finding) -> str:
        """The option that says not to repair it; empty where none does."""
        only, skip = self.options.only, self.options.skip
        if only and not finding.code.startswith(only):
            return "--only"
        return "--skip" if skip and finding.code.startswith(skip) else ""

    def _propose(
        self, finding: Finding, info: RewriteInfo, node: Node | None, facts: Facts, names: Names, state: State, *, own: bool
    ) -> Proposal | DeclinedFix:
        reason = self.quarantine.get((finding.key, info.name))
        if reason is not None:
            return _declined(finding, info.name, reason)
        if info.applicability is Applicability.CONSENT:
            if finding.code not in self.options.consent:
                return _declined(finding, info.name, "it changes what the file says", consent=finding.code)
            changed = any(REWRITES[fix.rewrite].phase > Phase.EXPORTER_FAULTS for fix in state.applied)
            if info.phase is Phase.EXPORTER_FAULTS and changed:
                return _declined(finding, info.name, "the model has been rewritten already")
        weaker = LEVELS.index(self.options.allow) < (LEVELS.index(info.applicability.value) if info.applicability in LEVELS else 0)
        too_weak = _declined(finding, info.name, f"it is {info.applicability.value}", consent=info.applicability.value)
        if weaker and not info.lossy:
            return too_weak
        if node is not None and not info.over_model and node.scope.root.function is not None:
            return too_weak if weaker else self._propose_inlining(finding, node, facts, names)
        if info.whole_model:
            proposal = self._propose_pass(finding, info, node, facts, names, own=own)
            if not isinstance(proposal, Proposal):
                return proposal
            if info.new_outputs and any(REWRITES[fix.rewrite].phase > Phase.EXPORTER_FAULTS for fix in state.applied):
                # the proof starts from the model with the new outputs, and would not see what was done before
                return _declined(finding, info.name, "the model has been rewritten already")
            return too_weak if weaker else proposal
        if node is None:
            return _declined(finding, info.name, "the finding is about no single node")
        region = _region(node, facts, names)
        foreign = None if info.applicability is Applicability.CONSENT else foreign_attribute(region)
        if foreign is not None:
            return _declined(finding, info.name, foreign.reason)
        rewrite = importlib.import_module(f"onnxfix.rewrites.{info.name}").rewrite
        target = next(target for target in self.targets if target.id == finding.target)
        answer = rewrite(region, facts.of(node.scope), target)
        if isinstance(answer, Decline):
            return _declined(finding, info.name, answer.reason, plain=answer.plain or weaker)
        if weaker:
            return too_weak
        changes = answer if isinstance(answer, list) else [answer if answer is not None else region.change()]
        return Proposal(info, [finding], changes, domain=node.domain)

    def _propose_inlining(self, finding: Finding, node: Node, facts: Facts, names: Names) -> Proposal | DeclinedFix:
        """What a node in a model-local function needs first: its calls give way to the nodes, of which each is repaired then."""
        info = REWRITES["inline_function"]
        reason = self.quarantine.get((finding.key, info.name))
        if reason is not None:
            return _declined(finding, info.name, reason)
        rewrite = importlib.import_module(f"onnxfix.rewrites.{info.name}").rewrite
        target = next(target for target in self.targets if target.id == finding.target)
        changes: list[Change] = []
        for scope in facts.view.scopes:
            for call in scope.nodes if scope.root.function is None else ():
                if call.called is None or not _reaches(call.called, node.scope.root.path):
                    continue
                answer = rewrite(_region(call, facts, names), facts.of(scope), target)
                if isinstance(answer, Decline):
                    return _declined(finding, info.name, f"the node is in a model-local function, and {answer.reason}")
                changes += answer
        if not changes:
            return _declined(finding, info.name, "the node is in a model-local function, no call of which is followed")
        return Proposal(info, [finding], changes, makes_way=True)

    def _propose_pass(
        self, finding: Finding, info: RewriteInfo, node: Node | None, facts: Facts, names: Names, *, own: bool
    ) -> Proposal | DeclinedFix:
        if info.over_model:
            request = Request(facts, _values_of(finding, node), finding.code, self.targets)
            answer = importlib.import_module(f"onnxfix.rewrites.{info.name}").check(request)
            if answer is not None:
                return _declined(finding, info.name, answer.reason, plain=answer.plain)
        if info.phase is not Phase.OPSET:
            return Proposal(info, [finding])
        assert node is not None
        opset = finding.data.get("opset")
        if opset is None or node.opset == opset:
            return _declined(finding, info.name, "no other opset helps")
        if opset > (node.opset or 0):
            declined = raise_node(_region(node, facts, names), opset)
            return Proposal(info, [finding], opset=opset) if declined is None else _declined(finding, info.name, declined.reason)
        if own:  # a form of its own in the older opset is asked for
            region = _region(node, facts, names)
            declined = form_of(region, opset)
            if declined is None and region.is_replaced:
                declined = Decline(f"{node.op_type} has no form of its own in opset {opset}")
            return Proposal(info, [finding], opset=opset) if declined is None else _declined(finding, info.name, declined.reason)
        target = next(target for target in self.targets if target.id == finding.target)
        way = way_of(lambda: _region(node, facts, names), opset, target, self._promise)
        if isinstance(way, Decline):
            return _declined(finding, info.name, way.reason)
        return Proposal(info, [finding], opset=opset)

    # applying ------------------------------------------------------------------------------------------------------------

    def _apply_best(self, state: State, facts: Facts, batch: list[Proposal], names: Names) -> Facts | None:
        """Apply what passes the gates of the batch, or of its first part; culprits go into quarantine with the reason.

        A fix that has not fixed what it was for is left out, and the others are tried again. Where another gate refuses, it takes
        halves to find which fix is at fault.
        """
        while batch:
            refusal, kept = self._try(state, facts, batch, names)
            if refusal is None:
                return kept
            if refusal.left:
                batch = self._without(batch, refusal.left)
            elif len(batch) == 1:
                for finding in batch[0].findings:
                    self.quarantine[finding.key, _name_for(finding, batch[0])] = refusal.reason
                return None
            else:
                half = len(batch) // 2
                return self._apply_best(state, facts, batch[:half], names) or self._apply_best(state, facts, batch[half:], names)
        return None

    def _without(self, batch: list[Proposal], left: Sequence[Finding]) -> list[Proposal]:
        """The batch without the fixes that have left a finding; those go into quarantine."""
        keys = {finding.key for finding in left}
        kept = []
        for proposal in batch:
            if any(finding.key in keys for finding in proposal.findings):
                reason = still_found(next(finding for finding in proposal.findings if finding.key in keys))
                for finding in proposal.findings:
                    self.quarantine[finding.key, _name_for(finding, proposal)] = reason
            else:
                kept.append(proposal)
        return kept

    def _try(self, state: State, facts: Facts, batch: list[Proposal], names: Names) -> tuple[Refusal | None, Facts | None]:
        model, log = copy_model(state.model), state.log.copy()
        changes = [(change, proposal.findings[0].code) for proposal in batch for change in proposal.changes]
        if changes:
            apply_changes(model, changes, log, facts.view)
        for domain in dict.fromkeys(proposal.domain for proposal in batch if proposal.domain):
            drop_unused_import(model, domain)
        for proposal in batch:
            if proposal.info.whole_model:
                declined = self._run_pass(model, facts, proposal, names, log)
                if declined is not None:
                    return Refusal(declined.reason), None
        new_facts, findings, shadowed, misread = self.lint(model)
        fixed = [finding for proposal in batch if not proposal.makes_way for finding in proposal.findings]
        rewrites = [proposal.info for proposal in batch]
        excused = state.shadowed | misread
        refusal = broken_gate(state.model, model, state.findings, findings, fixed, rewrites, self.level, excused)
        if refusal is None and batch[0].info.phase is Phase.EXPORTER_FAULTS:
            # what the file declares as its outputs tells whether the exporter meant it
            had, has = (declared_otherwise(each.view, each.of(each.view.main)) for each in (facts, new_facts))
            refusal = Refusal(has[1]) if has is not None and had is None else None
        if refusal is not None:
            return refusal, None
        for proposal in batch:
            finding = proposal.findings[0]
            state.steps.append(((finding.key, _name_for(finding, proposal)), self._record(state, facts, model, proposal)))
        state.model, state.log, state.findings, state.shadowed = model, log, findings, shadowed
        if batch[0].info.phase is Phase.EXPORTER_FAULTS:
            state.baseline = model
        return None, new_facts

    def _run_pass(self, model: onnx.ModelProto, facts: Facts, proposal: Proposal, names: Names, log: EditLog) -> Decline | None:
        if proposal.info.phase is Phase.OPSET:
            target = next(target for target in self.targets if target.id == proposal.findings[0].target)
            code = proposal.findings[0].code
            answer = move(model, facts, proposal.opset, code, names, log, target, self._promise)
            if isinstance(answer, Decline):
                return answer
            proposal.moved = answer
            return None
        if proposal.info.over_model:
            values = dict.fromkeys(name for finding in proposal.findings for name in _values_of(finding, None))
            code = proposal.findings[0].code
            module = importlib.import_module(f"onnxfix.rewrites.{proposal.info.name}")
            # other proposals of the batch may have moved nodes already
            view = ModelView(model)
            now = Request(Facts(view, self.base_dir), tuple(values), code, self.targets)
            answered: Decline | None = module.run(model, now, Edit(view, names, log, code))
            return answered
        return list_initializers(model, facts)

    def _record(self, state: State, facts: Facts, model: onnx.ModelProto, proposal: Proposal) -> AppliedFix:
        finding = proposal.findings[0]
        title, removed, added = proposal.info.title, tuple[str, ...](), tuple[str, ...]()
        if proposal.info.phase is Phase.OPSET:
            before = opsets_of(state.model.opset_import)[""]
            title = f"write the model in opset {proposal.opset} instead of {before}"
            if proposal.moved is not None and proposal.moved.rewrites:
                title = f"{title}, with {', '.join(proposal.moved.rewrites)}"
            old = {node.output[0]: node.op_type for node in state.model.graph.node if node.output}
            changed = [node for node in model.graph.node if node.output and old.get(node.output[0]) != node.op_type]
            removed = tuple(old[node.output[0]] for node in changed if node.output[0] in old)
            added = tuple(node.op_type for node in changed)
        place: Node | None = None
        if proposal.changes:
            nodes = [_node_at(facts, change) for change in proposal.changes]
            place = nodes[0]
            removed = tuple(node.op_type for node in nodes)
            added = tuple(node.op_type for change in proposal.changes for node in change.nodes)
        return AppliedFix(
            pass_number=state.passes,
            rule=finding.code,
            rewrite=proposal.info.name if proposal.info.phase is not Phase.OPSET else "opset_move",
            title=title,
            applicability=(proposal.moved.promise if proposal.moved is not None else proposal.info.applicability).value,
            path=place.path if place is not None else "graph",
            node_name=place.name if place is not None else "",
            op_type=place.op_type if place is not None else "",
            removed=removed,
            added=added,
            consent=finding.code if proposal.info.applicability is Applicability.CONSENT else "",
        )


def _values_of(finding: Finding, node: Node | None) -> tuple[str, ...]:
    """The values that a finding is about."""
    names = [*finding.location.outputs, *(value.name for value in finding.values), *(node.inputs if node is not None else ())]
    return tuple(dict.fromkeys(filter(None, names)))


def _in_turn(finding: Finding) -> list[tuple[str, bool]]:
    """The rewrites to ask for a finding, each with whether an opset move has to be one by nodes' own forms.

    A move by way of other nodes comes last: what makes them may do without a move.
    """
    return [*((name, True) for name in finding.fixes), *((name, False) for name in finding.fixes if name == "opset_move")]


def _earliest(fixes: Sequence[tuple[str, bool]]) -> Phase:
    return min((REWRITES[name].phase for name, _ in fixes), default=max(Phase))


def _region(node: Node, facts: Facts, names: Names) -> Region:
    return Region(node.proto, node.scope.path, node.index, facts.of(node.scope), node.scope.opsets, names)


def _reaches(called: Scope, path: str) -> bool:
    """Whether a function's body is the one of that path, or calls it."""
    inner = (each for named in called.subgraphs.values() for each in named.values())
    return called.path == path or any(_reaches(each, path) for each in (*called.calls.values(), *inner))


def _node_at(facts: Facts, change: Change) -> Node:
    scope = next(scope for scope in facts.view.scopes if scope.path == change.scope)
    return scope.nodes_by_index[change.index]


def _name_for(finding: Finding, proposal: Proposal) -> str:
    """The rewrite that the finding itself asked for: a shared opset move stands for several."""
    if proposal.info.phase is not Phase.OPSET:
        return proposal.info.name
    return next((name for name in finding.fixes if REWRITES[name].phase is Phase.OPSET), proposal.info.name)


def _declined(finding: Finding, rewrite: str, reason: str, consent: str = "", plain: bool = False) -> DeclinedFix:
    return DeclinedFix(
        rule=finding.code,
        rewrite=rewrite,
        path=finding.location.path,
        node_name=finding.location.node_name or ", ".join(finding.location.outputs),
        op_type=finding.location.op_type,
        reason=reason,
        consent=consent,
        key=finding.key,
        plain=plain,
    )


def _digest(model: onnx.ModelProto) -> bytes:
    """What tells states of one repair apart; of large weights their names, shapes and a checksum."""
    digest = hashlib.sha256(serialize(without_weights(model)))
    for tensor in model.graph.initializer:
        if is_large(tensor):
            digest.update(f"{tensor.name}{tensor.dims}{zlib.crc32(tensor.raw_data)}".encode())
    return digest.digest()
