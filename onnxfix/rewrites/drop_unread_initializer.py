"""An initializer that nothing reads goes; parsers read it all the same, and stop at one of a type that they do not know.

Guard: no node, subgraph or output reads it, and it is no default of an input of the model. Bit-equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxfix.model.interface import FIRST_IR_OF_DEFAULTS
from onnxfix.rewrites._region import Decline

if TYPE_CHECKING:
    import onnx

    from onnxfix.rewrites._passes import Edit, Request


def check(request: Request) -> Decline | None:
    """Why the pass does not serve; None where it does."""
    return None if _unread(request) else Decline("a node reads it", plain=True)


def run(model: onnx.ModelProto, request: Request, edit: Edit) -> Decline | None:
    """Change the model."""
    for name in _unread(request):
        for items in (model.graph.initializer, model.graph.input):
            for position in [index for index, item in enumerate(items) if item.name == name]:
                del items[position]
        edit.log.initializers_dropped.add(name)
    return None


def _unread(request: Request) -> list[str]:
    main, proto = request.facts.view.main, request.facts.view.proto
    read = {name for name, readers in main.consumers.items() if readers}
    inputs = set(main.inputs) if proto.ir_version >= FIRST_IR_OF_DEFAULTS else set()
    return [n for n in request.values if n in main.initializers and n not in read and n not in main.outputs and n not in inputs]
