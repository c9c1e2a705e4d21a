"""A call of one of the model's own functions as the nodes of its body; functions that those call are inlined with it.

For releases before 9.3, which know no functions, and for others where a body has a node to repair. The function itself stays in
the file, until an opset move that it stands in the way of. Guards: it is written in the model's own opset, and does not call
itself. The same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import onnx.inliner

from onnxfix.model.opsets import domain_of, opsets_of
from onnxfix.rewrites._functions import NUMBER, with_own_body
from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites.lowering import _body

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    proto = region.proto
    bodies: list[onnx.FunctionProto] = []
    call = onnx.NodeProto()
    call.CopyFrom(proto)
    declined = with_own_body(call, facts.functions, bodies)
    if declined is not None:
        return declined
    if not bodies:
        return Decline("it calls no function of the model", plain=True)
    for function in bodies:
        for domain, version in opsets_of(function.opset_import).items():
            if region.opsets.get(domain, version) != version:
                called = function.name.rpartition(NUMBER)[0]
                return Decline(f"function {called} is written in opset {version}, not {region.opsets[domain]}")
    names = [name for name in dict.fromkeys((*proto.input, *proto.output)) if name]
    values = {name: onnx.helper.make_tensor_value_info(name, facts.dtype(name) or 1, None) for name in names}
    inputs = [values[name] for name in dict.fromkeys(proto.input) if name]
    graph = onnx.helper.make_graph([call], "call", inputs, [values[name] for name in proto.output if name])
    imports = {domain: version for function in bodies for domain, version in opsets_of(function.opset_import).items()}
    model = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid(domain, version) for domain, version in (imports | region.opsets).items()],
        ir_version=10,
        functions=bodies,
    )
    try:
        flat = onnx.inliner.inline_local_functions(model)
    except Exception as error:  # the inliner raises its own errors from C++
        return Decline(f"the function cannot be inlined: {(str(error).splitlines() or [''])[0]}")
    nodes = list(flat.graph.node)
    if any(domain_of(node.domain) and node.domain not in region.opsets for node in nodes):
        return Decline("its body has operators of a domain that the model does not import")
    return [_body.placed(region, nodes)]
