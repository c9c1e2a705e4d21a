"""List every initializer among the graph's inputs, as IR version 3 demands and the importers of 5.x need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    from onnxfix.model.facts import Facts

# The last IR version in which every initializer must be an input.
LISTING_IR = 3


def list_initializers(model: onnx.ModelProto, facts: Facts) -> Decline | None:
    """Add the missing inputs behind the real ones; the IR version goes down to 3 where nothing in the model needs a newer one."""
    if model.graph.sparse_initializer:
        return Decline("the model has sparse initializers, which cannot be inputs")
    listed = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer:
        if tensor.name not in listed:
            model.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    # IR 3 would want a subgraph's tensors among its inputs, and a branch of If has none
    inner = any(scope.initializers or scope.sparse_initializers for scope in facts.view.scopes if scope.parent is not None)
    newer = model.functions or model.training_info or model.graph.quantization_annotation or inner
    if model.ir_version > LISTING_IR and not newer:
        model.ir_version = LISTING_IR
    return None
