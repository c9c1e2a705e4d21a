"""What a pass over the whole model is given: rewrites for which one node is the wrong unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxfix.rewrites._edit import mark, node_key, scope_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from onnxfix.model.facts import Facts
    from onnxfix.model.view import Scope
    from onnxfix.rewrites._edit import EditLog
    from onnxfix.rewrites._region import Names
    from onnxfix.targets import Target


@dataclass(frozen=True, slots=True)
class Request:
    """What a pass is asked for.

    Attributes:
        facts: of the model as it is.
        values: the names that the findings are about.
        code: the code of the first finding's rule.
        targets: the releases that the model is repaired for.
    """

    facts: Facts
    values: tuple[str, ...]
    code: str
    targets: Sequence[Target]


@dataclass(frozen=True, slots=True)
class Edit:
    """Where a pass notes what it does: `touch` a node before changing it."""

    names: Names
    log: EditLog
    code: str

    def touch(self, scope: Scope, node: onnx.NodeProto) -> None:
        """Note that the node is about to change, and with it the nodes that its scope lies in."""
        self.log.touched.setdefault(node_key(scope_key(scope), node), self.code)
        mark(node, self.code)
        around = scope
        while around.parent is not None:
            outer = around.parent
            holder = next(outer.nodes_by_index[index] for index, inner in outer.subgraphs.items() if around in inner.values())
            self.log.touched.setdefault(node_key(scope_key(outer), holder.proto), self.code)
            around = outer
