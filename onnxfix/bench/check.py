"""Checks the outputs of what is to be measured against onnxruntime's, before anything is timed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnxfix.verify.compare import compare

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from onnxfix.verify.compare import OutputProof

# The error allowed, relative to the largest value of the output, by the coarsest type that layers compute in. Twenty times the
# rounding of that type (2**-11, 2**-8 and, with three bits of fraction, 2**-4), as long sums of roundings with random signs
# stay below; float32 has room for other orders of summation and Winograd convolutions.
TOLERANCE: Mapping[str, float] = {"fp32": 1e-4, "tf32": 1e-2, "fp16": 1e-2, "bf16": 8e-2, "int8": 0.2, "fp8": 0.2}


def coarsest(precision: Collection[str]) -> str:
    """The type of those given, or `fp32`, that allows the largest error."""
    return max((*precision, "fp32"), key=lambda name: TOLERANCE[name])


def check_outputs(wanted: Mapping[str, Any], given: Mapping[str, Any], precision: Collection[str]) -> tuple[bool, str]:
    """Whether the outputs agree, and how well in words.

    Args:
        wanted: onnxruntime's outputs by name.
        given: those of what is to be measured; all names of `wanted` have to be there.
        precision: the types that layers may compute in besides float32.
    """
    name = coarsest(precision)
    allowed = TOLERANCE[name]
    proofs: list[OutputProof] = []
    for output, value in wanted.items():
        if output not in given:
            return False, f"output {output} is missing"
        proofs.append(compare(output, value, given[output], rtol=allowed))
    wrong = next((proof for proof in proofs if not proof.passed), None)
    if wrong is not None:
        what = wrong.message or wrong.figures
        return False, f"output {wrong.name} is wrong: {what} (allowed for {name}: {allowed:g} of the largest value)"
    worst = max((proof.max_abs for proof in proofs), default=0.0)
    return True, f"outputs agree with onnxruntime, max abs {worst:.2g} (allowed for {name}: {allowed:g} of the largest value)"
