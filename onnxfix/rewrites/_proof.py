"""Proves a repair: the model before and after, and on a difference the first fix that brings it is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from onnxfix.errors import OnnxfixError
from onnxfix.model.dims import Poly, value_at
from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rewrites.catalogue import REWRITES

if TYPE_CHECKING:
    from collections.abc import Callable

    import onnx

    from onnxfix.rewrites._driver import Driver, State
    from onnxfix.verify.prove import Proof

# How often a failed proof may send the repair back without the fix that broke it.
MAX_CULPRITS = 5
# Sizes of dynamic dimensions where changed nodes are run alone: small batches, and room for a kernel elsewhere.
BATCH, SIZE = 2, 16


def prove_repair(driver: Driver, state: State) -> tuple[State, Proof | None, OnnxfixError | None]:
    """The state that stands, its proof, and why it is unproven (None where it is proven).

    On a difference the first fix that brings it goes into quarantine and the repair runs again.
    """
    proof, wrong = _proven(driver, state)
    for _ in range(MAX_CULPRITS):
        if wrong is None or proof is None:
            break
        driver.failing = driver.failing or proof.failing
        low, high = 0, len(state.steps)  # the first `high` fixes give a difference, the first `low` none
        while high - low > 1:
            middle = (low + high) // 2
            shown, failed = _proven(driver, driver.run(limit=middle))
            if failed is None:
                low = middle
            else:
                high, proof = middle, shown
        driver.quarantine[state.steps[high - 1][0]] = _difference(proof)
        state = driver.run()
        if not state.applied:
            return state, None, None
        proof, wrong = _proven(driver, state)
    if wrong is not None and proof is not None:
        driver.failing = proof.failing or driver.failing
    return state, proof, wrong


def _difference(proof: Proof | None) -> str:
    """What a failed proof shows, with the tolerance that it missed."""
    if proof is None:
        return "numeric proof: the result does not run"
    failed = [output for output in proof.outputs if not output.passed]
    if not failed:
        return f"numeric proof: {proof.note}"
    worst = max(failed, key=lambda output: (not output.compared, output.max_abs))
    # the figures are of finite values alone: what became of an infinity or NaN is in the message
    shown = f"{worst.message}: {worst.figures}" if worst.compared else worst.message
    return f"numeric proof: {worst.name} is not what the model gives: {shown}; allowed: {proof.budget}"


def _proven(driver: Driver, state: State) -> tuple[Proof | None, OnnxfixError | None]:
    from onnxfix.verify.run import CannotRunError

    exact = all(fix.applicability == "exact" for fix in state.applied if not fix.consent)
    try:
        proof = _run(driver, state, exact)
        if exact and not proof.passed and driver.options.allow != "exact":
            # another version of an operator may be another kernel of the runtime, which rounds otherwise
            second = proof = _run(driver, state, exact=False)
            if second.passed:
                note = "the same operators, but not to the bit: another version is another kernel of the runtime"
                proof = replace(second, note="; ".join(filter(None, (second.note, note))))
        infos = [REWRITES[fix.rewrite] for fix in state.applied]
        if not proof.passed and any(info.lossy and not info.new_outputs for info in infos):
            proof, wrong = _measured(driver, state, proof)
            if wrong is not None:
                return proof, wrong
        if proof.passed and any(info.new_outputs for info in infos):
            return _with_damage(driver, state, proof), None
    except CannotRunError as error:
        return None, error
    except MemoryError:
        return None, CannotRunError("the values take more memory than there is")
    return proof, None if proof.passed else OnnxfixError("the rewritten model gives other results")


def _measured(driver: Driver, state: State, proof: Proof) -> tuple[Proof, OnnxfixError | None]:
    """How far a lossy rewrite moves the outputs, where everything else is proven without it.

    Raises:
        CannotRunError: the models cannot be run.
    """
    from onnxfix.rewrites._driver import Driver

    rest = Driver(driver.original, driver.targets, replace(driver.options, allow="equivalent"), driver.base_dir)
    others = rest.run()
    if others.applied:
        proven = _run(rest, others, exact=False)
        if not proven.passed:
            return proven, OnnxfixError("the rewritten model gives other results, without its lossy rewrites too")
    shown = _run(driver, state, exact=False, regions=False)
    if not all(output.compared for output in shown.outputs):
        return proof, OnnxfixError("the rewritten model gives other results")
    return replace(shown, passed=True, measured=not shown.passed), None


def _with_damage(driver: Driver, state: State, proof: Proof) -> Proof:
    """The proof, which starts from the model with its new outputs, with what they lose of the old ones."""
    from onnxfix.verify.detections import damage

    options = driver.options
    text = damage(
        driver.original,
        state.baseline,
        base_dir=driver.base_dir,
        samples=options.samples,
        seed=options.seed,
        shapes=dict(options.shapes),
        inputs=None if options.inputs is None else dict(options.inputs),
    )
    return replace(proof, note="; ".join(filter(None, (text, proof.note))))


def _run(driver: Driver, state: State, exact: bool, *, regions: bool = True) -> Proof:
    """Run the whole model, or its changed nodes alone where it runs nowhere.

    Raises:
        CannotRunError: not even those run.
    """
    from onnxfix.verify.prove import prove
    from onnxfix.verify.region_proof import prove_regions
    from onnxfix.verify.run import CannotRunError

    options = driver.options
    try:
        return prove(
            state.baseline,
            state.model,
            base_dir=driver.base_dir,
            samples=options.samples,
            seed=options.seed,
            shapes=dict(options.shapes),
            inputs=None if options.inputs is None else dict(options.inputs),
            rtol=options.rtol,
            atol=options.atol,
            exact=exact,
            regions=regions,
            rebatched=any(REWRITES[fix.rewrite].rebatches for fix in state.applied),
            retyped=any(REWRITES[fix.rewrite].retypes for fix in state.applied),
            progress=lambda done, total: driver.progress(f"proof: sample {done} of {total}"),
        )
    except CannotRunError as error:
        return prove_regions(
            state.baseline,
            state.model,
            _describer(state.baseline),
            base_dir=driver.base_dir,
            samples=options.samples,
            seed=options.seed,
            exact=exact,
            why=error,
        )


def _describer(model: onnx.ModelProto) -> Callable[[str], tuple[int, tuple[int, ...]] | None]:
    """Element type and shape of the main graph's values, for one size of every dynamic dimension."""
    view = ModelView(model)
    facts = Facts(view).of(view.main)
    sizes: dict[str, int] = {}
    for value in model.graph.input:
        for axis, dim in enumerate(facts.shape(value.name) or ()):
            if isinstance(dim, Poly):
                sizes.setdefault(str(dim), BATCH if axis == 0 else SIZE)

    def describe(name: str) -> tuple[int, tuple[int, ...]] | None:
        shape = facts.shape(name)
        numbers = None if shape is None else [value_at(dim, sizes) for dim in shape]
        if numbers is None or not facts.dtype(name) or any(n is None or n.denominator != 1 or n < 0 for n in numbers):
            return None
        return facts.dtype(name), tuple(int(number) for number in numbers if number is not None)

    return describe
