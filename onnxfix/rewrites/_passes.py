"""What a pass over the whole model is given: rewrites for which one node is the wrong unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxfix.model.view import topological_order
from onnxfix.rewrites._edit import mark, node_key, scope_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    import onnx

    from onnxfix.model.facts import Facts
    from onnxfix.model.view import ModelView, Scope
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
    """The model that a pass changes, and where it notes what it does: `touch` a node before changing it."""

    view: ModelView
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

    def sort(self) -> None:
        """Put the nodes of the main graph in an order again."""
        graph = self.view.proto.graph
        nodes = [graph.node[index] for index in topological_order(graph.node)]
        del graph.node[:]
        graph.node.extend(nodes)
