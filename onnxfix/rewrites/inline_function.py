"""A call of one of the model's own functions as the nodes of its body; functions that those call are inlined with it.

For releases before 9.3, which know no functions, and for others where a body has a node to repair. The function itself stays in
the file. Guard: it is written in the model's own opset. The same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import onnx.inliner

from onnxfix.rewrites._region import Change, Decline
from onnxfix.rewrites.lowering import _body

if TYPE_CHECKING:
    from onnxfix.model.facts import ScopeFacts
    from onnxfix.rewrites._region import Region
    from onnxfix.targets import Target


def rewrite(region: Region, facts: ScopeFacts, target: Target) -> list[Change] | Decline:
    """See the module."""
    proto = region.proto
    called = next((item for item in facts.functions if (item.domain, item.name) == (proto.domain, proto.op_type)), None)
    if called is None:
        return Decline("it calls no function of the model", plain=True)
    for function in facts.functions:
        for item in function.opset_import:
            if region.opsets.get(item.domain, item.version) != item.version:
                return Decline(f"function {function.name} is written in opset {item.version}, not {region.opsets[item.domain]}")
    names = [name for name in dict.fromkeys((*proto.input, *proto.output)) if name]
    values = {name: onnx.helper.make_tensor_value_info(name, facts.dtype(name) or 1, None) for name in names}
    inputs = [values[name] for name in dict.fromkeys(proto.input) if name]
    graph = onnx.helper.make_graph([proto], "call", inputs, [values[name] for name in proto.output if name])
    imports = {item.domain: item.version for function in facts.functions for item in function.opset_import} | region.opsets
    model = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid(domain, version) for domain, version in imports.items()],
        ir_version=10,
        functions=list(facts.functions),
    )
    try:
        flat = onnx.inliner.inline_local_functions(model)
    except Exception as error:  # the inliner raises its own errors from C++
        return Decline(f"the function cannot be inlined: {(str(error).splitlines() or [''])[0]}")
    nodes = list(flat.graph.node)
    if any(node.domain and node.domain not in region.opsets for node in nodes):
        return Decline("its body has operators of a domain that the model does not import")
    return [_body.placed(region, nodes)]
