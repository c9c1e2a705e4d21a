"""The view: who makes and who reads which value, over the main graph, subgraphs and functions."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

from onnxfix.errors import ModelError
from onnxfix.model.view import MAX_DEPTH, ModelView, Node, captured_names, topological_order

HEAD = '<ir_version: 8, opset_import: ["" : 13]>'


def view(text: str) -> ModelView:
    return ModelView(onnx.parser.parse_model(text))


def readers(model: ModelView, name: str, scope: int = 0) -> list[tuple[str, int]]:
    return [(node.path, slot) for node, slot in model.scopes[scope].consumers.get(name, [])]


class TestDefUse:
    def test_every_reader_is_listed_with_its_slot_also_twice(self) -> None:
        model = view(f"{HEAD} g (float[1] x) => (float[1] y) {{ a = Relu (x) b = Add (a, a) y = Mul (x, b) }}")
        assert readers(model, "x") == [("graph/node[0]", 0), ("graph/node[2]", 0)]
        assert readers(model, "a") == [("graph/node[1]", 0), ("graph/node[1]", 1)]
        assert model.main.producers["b"].op_type == "Add"

    def test_absent_inputs_are_no_values(self) -> None:
        model = view(f"{HEAD} g (float[1] x, float m) => (float[1] y) {{ y = Clip (x, , m) }}")
        node = model.main.nodes[0]
        assert node.inputs == ("x", "", "m")
        assert [node.input(slot) for slot in range(4)] == ["x", "", "m", ""]
        assert "" not in model.main.consumers

    def test_graph_outputs_inputs_and_initializers_are_defined(self) -> None:
        model = view(f"{HEAD} g (float[1] x) => (float[1] y) <float[1] w = {{1}}> {{ y = Add (x, w) }}")
        assert [model.main.defines(name) for name in ("x", "w", "y", "z")] == [True, True, True, False]

    def test_names_fall_back_to_the_first_output_and_then_the_path(self) -> None:
        protos = [
            helper.make_node("Relu", ["x"], ["a"], name="act"),
            helper.make_node("Relu", ["a"], ["b"]),
            helper.make_node("Relu", ["b"], []),
        ]
        graph = helper.make_graph(protos, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])], [])
        names = [node.name for node in ModelView(helper.make_model(graph)).main.nodes]
        assert names == ["act", "b", "graph/node[2]"]

    def test_ai_onnx_is_the_default_domain(self) -> None:
        model = onnx.parser.parse_model(f"{HEAD} g (float[1] x) => (float[1] y) {{ y = Relu (x) }}")
        model.opset_import[0].domain = model.graph.node[0].domain = "ai.onnx"
        (node,) = ModelView(model).main.nodes
        assert (node.domain, node.opset) == ("", 13)

    def test_what_a_sparse_initializer_of_a_branch_defines_is_not_captured(self) -> None:
        model = onnx.parser.parse_model(
            f"{HEAD} g (bool c) => (float[1] y) {{ y = If (c) <then_branch = t () => (float[1] u) {{ u = Relu (s) }}, "
            "else_branch = e () => (float[1] v) { v = Relu (outside) }> }"
        )
        sparse = model.graph.node[0].attribute[0].g.sparse_initializer.add(dims=[1])
        sparse.values.name = "s"
        assert list(captured_names(model.graph.node[0])) == ["outside"]


class TestOrder:
    def test_an_unsorted_node_list_is_walked_makers_first_and_keeps_its_positions(self) -> None:
        model = onnx.parser.parse_model(f"{HEAD} g (float[1] x) => (float[1] y) {{ a = Relu (x) b = Sigmoid (a) y = Tanh (b) }}")
        nodes = list(model.graph.node)
        del model.graph.node[:]
        model.graph.node.extend(nodes[::-1])
        main = ModelView(model).main
        assert [(node.op_type, node.index) for node in main.nodes] == [("Relu", 2), ("Sigmoid", 1), ("Tanh", 0)]
        assert main.nodes[0].path == "graph/node[2]"
        assert main.nodes_by_index[0].op_type == "Tanh"

    def test_a_sorted_list_stays_as_it_is_and_so_do_independent_nodes(self) -> None:
        nodes = [helper.make_node("Relu", ["x"], [name]) for name in "cab"]
        assert topological_order(nodes) == [0, 1, 2]
        nodes = [helper.make_node("Relu", ["c"], ["d"]), *nodes]
        assert topological_order(nodes) == [1, 0, 2, 3]

    def test_a_node_waits_for_what_its_subgraph_reads(self) -> None:
        model = onnx.parser.parse_model(
            f"{HEAD} g (bool c, float[1] x) => (float[1] y) {{ a = Relu (x) y = If (c) <then_branch = t () => (float[1] u) "
            "{ u = Identity (a) }, else_branch = e () => (float[1] v) { v = Identity (x) }> }"
        )
        nodes = list(model.graph.node)
        assert topological_order(nodes[::-1]) == [1, 0]

    def test_a_cycle_is_refused_and_a_node_on_it_named(self) -> None:
        with pytest.raises(ModelError, match=r"graph/node\[1\] \(Add\): the graph is cyclic; the node waits for its own output"):
            view(f"{HEAD} g (float[1] x) => (float[1] y) {{ a = Relu (x) b = Add (a, c) c = Relu (b) y = Relu (c) }}")

    def test_a_node_that_reads_its_own_output_is_refused(self) -> None:
        with pytest.raises(ModelError, match="is cyclic"):
            view(f"{HEAD} g (float[1] x) => (float[1] y) {{ y = Add (x, y) }}")

    def test_a_cycle_in_a_subgraph_is_refused_with_its_path(self) -> None:
        with pytest.raises(ModelError, match=r"graph/node\[0\]/then_branch/node\[0\] \(Add\): the graph is cyclic"):
            view(
                f"{HEAD} g (bool c, float[1] x) => (float[1] y) {{ y = If (c) <then_branch = t () => (float[1] u) "
                "{ u = Add (x, v) v = Relu (u) }, else_branch = e () => (float[1] w) { w = Identity (x) }> }"
            )

    def test_a_value_that_is_made_twice_is_refused(self) -> None:
        with pytest.raises(ModelError, match=r"graph/node\[1\]: value 'y' is made twice"):
            view(f"{HEAD} g (float[1] x) => (float[1] y) {{ y = Relu (x) y = Sigmoid (x) }}")

    def test_one_node_with_one_output_twice_is_refused(self) -> None:
        nodes = [helper.make_node("Split", ["x"], ["y", "y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])], [])
        with pytest.raises(ModelError, match="'y' is made twice"):
            ModelView(helper.make_model(graph))

    def test_absent_outputs_may_be_many(self) -> None:
        nodes = [helper.make_node("LSTM", ["x", "w", "r"], ["", "", name], hidden_size=1) for name in "ab"]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1])], [])
        assert len(ModelView(helper.make_model(graph)).main.nodes) == 2


IF = (
    f"{HEAD} g (bool c, float[1] x) => (float[1] y) {{ a = Relu (x) y = If (c) <then_branch = t () => (float[1] u) "
    "{ p = Add (a, a) u = Mul (p, x) }, else_branch = e () => (float[1] a) { }> }"
)


class TestScopes:
    def test_subgraphs_are_scopes_with_paths_and_parents(self) -> None:
        model = view(IF)
        assert [scope.path for scope in model.scopes] == ["graph", "graph/node[1]/then_branch", "graph/node[1]/else_branch"]
        assert [scope.parent for scope in model.scopes] == [None, model.main, model.main]
        assert [node.path for node in model.nodes()] == [
            "graph/node[0]",
            "graph/node[1]",
            "graph/node[1]/then_branch/node[0]",
            "graph/node[1]/then_branch/node[1]",
        ]
        assert sorted(model.main.nodes[1].subgraphs) == ["else_branch", "then_branch"]

    def test_a_capture_is_a_reader_in_the_scope_that_defines_the_value(self) -> None:
        model = view(IF)
        assert readers(model, "a") == [
            ("graph/node[1]/then_branch/node[0]", 0),
            ("graph/node[1]/then_branch/node[0]", 1),
            ("graph/node[1]", -1),
        ]
        assert readers(model, "x") == [("graph/node[0]", 0), ("graph/node[1]/then_branch/node[1]", 1)]
        assert readers(model, "p", 1) == [("graph/node[1]/then_branch/node[1]", 0)]

    def test_the_nearest_scope_that_defines_a_name_owns_it(self) -> None:
        model = view(IF)
        then = model.scopes[1]
        assert then.owner("p") is then
        assert then.owner("x") is model.main
        assert then.owner("nowhere") is None

    def test_a_name_that_the_subgraph_defines_is_no_capture(self) -> None:
        model = view(
            f"{HEAD} g (bool c, float[1] x) => (float[1] y) {{ a = Relu (x) y = If (c) <then_branch = t () => (float[1] u) "
            "{ s = Neg (x) u = Identity (s) }, else_branch = e () => (float[1] v) { s = Exp (x) v = Identity (s) }> }"
        )
        assert readers(model, "a") == []
        assert readers(model, "s", 1) == [("graph/node[1]/then_branch/node[1]", 0)]
        assert sorted(set(captured_names(model.main.nodes[1].proto))) == ["x"]

    def test_functions_are_scopes_of_their_own_opset_and_see_no_value_of_the_graph(self) -> None:
        model = view(
            '<ir_version: 8, opset_import: ["" : 13, "local" : 1]> g (float[1] x) => (float[1] y) { y = local.f (x) } '
            '<domain: "local", opset_import: ["" : 11]> f (v) => (u) { u = Relu (v) }'
        )
        function = model.scopes[1]
        assert function.path == "function(local:f)"
        assert function.parent is None
        assert (function.inputs, function.outputs) == (("v",), ("u",))
        assert function.nodes[0].opset == 11
        assert function.owner("x") is None
        assert function.nodes[0].path == "function(local:f)/node[0]"

    def test_graphs_in_a_list_have_their_number_in_the_path(self) -> None:
        inner = helper.make_graph([helper.make_node("Relu", ["x"], ["u"])], "i", [], [])
        node = helper.make_node("Choose", ["x"], ["y"], domain="com.acme", branches=[inner, inner])
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])], [])
        assert [scope.path for scope in ModelView(helper.make_model(graph)).scopes] == [
            "graph",
            "graph/node[0]/branches[0]",
            "graph/node[0]/branches[1]",
        ]

    def test_nesting_has_a_limit(self) -> None:
        model = onnx.ModelProto()
        graph = model.graph  # built in place: protobuf reads no file that is nested so deeply
        for _ in range(MAX_DEPTH + 1):
            node = graph.node.add(op_type="If", output=["y"])
            graph = node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g
        with pytest.raises(ModelError, match=f"nested deeper than {MAX_DEPTH} levels"):
            ModelView(model)


class TestAttributes:
    def test_values_are_plain_python(self) -> None:
        proto = helper.make_node(
            "Anything",
            [],
            ["y"],
            i=3,
            f=0.5,
            s="text",
            ints=[1, 2],
            floats=[0.5],
            strings=["a", "b"],
            t=helper.make_tensor("", 1, [1], [2.0]),
        )
        proto.attribute.add(name="raw", type=onnx.AttributeProto.STRING, s=b"\xff")
        graph = helper.make_graph([proto], "g", [], [])
        node: Node = ModelView(helper.make_model(graph)).main.nodes[0]
        assert (node.attr("i"), node.attr("f"), node.attr("s")) == (3, 0.5, "text")
        assert (node.attr("ints"), node.attr("floats"), node.attr("strings")) == ((1, 2), (0.5,), ("a", "b"))
        assert node.attr("t").dims == [1]
        assert node.attr("raw") == "\N{REPLACEMENT CHARACTER}"
        assert node.attr("absent", 7) == 7


@pytest.mark.parametrize("body", ["x = Relu (x)", "w = Relu (x)"])
def test_a_node_that_makes_a_graph_input_or_an_initializer_is_refused(body: str) -> None:
    with pytest.raises(ModelError, match="made twice"):
        view(f"{HEAD} g (float[1] x) => (float[1] y) <float[1] w = {{1}}> {{ {body} y = Neg (x) }}")
