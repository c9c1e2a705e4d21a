"""What differs between two models, as lines of ONNX text."""

from __future__ import annotations

import difflib

import onnx


def difference(before: onnx.ModelProto, after: onnx.ModelProto) -> list[str]:
    """The changed nodes of the main graph as ONNX text, removed ones with `-`, new ones with `+`."""

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
