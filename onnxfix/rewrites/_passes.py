"""What a pass over the whole model is given: rewrites for which one node is the wrong unit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onnxfix.model.view import topological_order
from onnxfix.rewrites._edit import mark, node_around, node_key, scope_key, touch

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
    """The model that a pass changes, and where it notes what it does: `touch` a node before changing it.

    Scopes are known by the names around them as they were before the pass, which may rename those from the outside in.
    """

    view: ModelView
    names: Names
    log: EditLog
    code: str
    _keys: dict[Scope, str] = field(init=False, default_factory=dict)
    _around: dict[Scope, tuple[str, str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for scope in self.view.scopes:
            self._keys[scope] = scope_key(scope)
            holder = node_around(scope)
            if holder is not None and scope.parent is not None:
                self._around[scope] = node_key(self._keys[scope.parent], holder)

    def touch(self, scope: Scope, node: onnx.NodeProto) -> None:
        """Note that the node is about to change, and with it the nodes that its scope lies in and those that lie in it."""
        touch(self.log, self._keys[scope], node, self.code)
        mark(node, self.code)
        around: Scope | None = scope
        while around is not None and around in self._around:
            self.log.touched.setdefault(self._around[around], self.code)
            around = around.parent

    def sort(self) -> None:
        """Put the nodes of the main graph in an order again."""
        graph = self.view.proto.graph
        nodes = [graph.node[index] for index in topological_order(graph.node)]
        del graph.node[:]
        graph.node.extend(nodes)
