"""Gemm, Unsqueeze, BatchNormalization, Squeeze as one Gemm: how PyTorch up to 1.1 exports BatchNorm1d behind a Linear layer.

Columns of the weights times scale / sqrt(variance + epsilon), and what is left in the bias. Guard: constant weights, bias and
statistics, and nothing else reads the values between. 3e-7 of the largest value over 8 cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.model.view import Node
    from onnxfix.rewrites._region import Change, Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    gemm = facts.scope.producers.get(region.proto.input[0])
    norm = _only_reader(facts, region.proto.output[0])
    end = None if norm is None else _only_reader(facts, norm.outputs[0])
    if gemm is None or gemm.op_type != "Gemm" or facts.rank(region.proto.output[0]) != 3:
        return Decline("it does not add an axis to what a Gemm gives", plain=True)
    if norm is None or end is None or norm.op_type != "BatchNormalization" or end.op_type != "Squeeze":
        return Decline("no BatchNormalization and Squeeze alone read it")
    if _only_reader(facts, gemm.outputs[0]) is None or facts.rank(end.outputs[0]) != 2:
        return Decline("the Gemm has other readers, or the Squeeze leaves other axes")
    if norm.attr("training_mode", 0) or norm.attr("spatial", 1) != 1 or any(norm.outputs[1:]):
        return Decline("the normalisation computes statistics")
    values = [facts.constant(name) for name in (*norm.inputs[1:5], *gemm.inputs[1:3])]
    if any(value is None for value in values):
        return Decline("weights, bias or statistics are computed at run time")
    scale, shift, mean, variance, weights, *bias = (np.asarray(value, np.float64) for value in values)
    kind = np.asarray(values[4]).dtype
    factor = scale / np.sqrt(variance + float(norm.attr("epsilon", 1e-5)))
    given = gemm.attr("beta", 1.0) * bias[0] if bias else np.zeros(1)
    columns = factor[:, None] if gemm.attr("transB", 0) else factor
    here = region.beside(end.proto, end.index)
    parameters = [
        here.constant("weights", (gemm.attr("alpha", 1.0) * weights * columns).astype(kind)),
        here.constant("bias", (given * factor + shift - mean * factor).astype(kind)),
    ]
    turned = {name: gemm.attr(name) for name in ("transA", "transB") if gemm.attr(name, 0)}
    here.replace(here.layer("Gemm", "normalized", [here.outer(gemm.inputs[0]), *parameters], **turned))
    return [here.change()]


def _only_reader(facts: ScopeFacts, name: str) -> Node | None:
    """The one node that reads the value, where nothing else does and it is no output."""
    readers = facts.scope.consumers.get(name, ())
    return readers[0][0] if len(readers) == 1 and name not in facts.scope.outputs else None
