"""Editing regions and splicing them in gives what editing the whole proto by hand gives."""

import numpy as np
import onnx
import pytest
from rewrites.harness import noise, parse, run, same_bits

from onnxfix.errors import ModelError
from onnxfix.model.facts import Facts
from onnxfix.model.view import ModelView
from onnxfix.rewrites._edit import RULE_KEY, EditLog, apply_changes, copy_model
from onnxfix.rewrites._region import Change, Names, Region


def random_model(rng: np.random.Generator) -> onnx.ModelProto:
    """Up to 25 nodes of four operators over values made before, some stored weights, several outputs."""
    values = ["x"]
    nodes = []
    for number in range(int(rng.integers(4, 25))):
        name = f"v{number}"
        op = ("Neg", "Abs", "Add", "Mul")[rng.integers(4)]
        pool = [*values, "w0", "w1"]
        inputs = [values[rng.integers(len(values))]]
        if op in ("Add", "Mul"):
            inputs.append(pool[rng.integers(len(pool))])
        node = onnx.helper.make_node(op, inputs, [name], name=f"n{number}" if rng.random() < 0.8 else "")
        node.doc_string = "d" * int(rng.integers(3))
        node.metadata_props.add(key="k", value=str(number))
        nodes.append(node)
        values.append(name)
    read = {name for node in nodes for name in node.input}
    ends = [name for name in values[1:] if name not in read or rng.random() < 0.1]
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [2, 3])],
        [onnx.helper.make_tensor_value_info(name, 1, [2, 3]) for name in ends],
        [onnx.numpy_helper.from_array(noise((3,), seed=seed), f"w{seed}") for seed in range(2)],
        value_info=[onnx.helper.make_tensor_value_info(name, 1, [2, 3]) for name in values[1:] if rng.random() < 0.5],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def by_regions(model: onnx.ModelProto, chosen: set[int]) -> onnx.ModelProto:
    """Neg(x) becomes Mul(x, -1), Add(a, b) becomes Neg(Add(Neg(a), Neg(b))), in graphsurgeon's idiom."""
    view = ModelView(model)
    facts, names = Facts(view), Names(model)
    changes = []
    for node in view.nodes():
        if node.index not in chosen:
            continue
        region = Region(node.proto, "graph", node.index, facts.of(view.main), view.opsets, names)
        if node.op_type == "Neg":
            region.replace(region.layer("Mul", "times", [region.node.inputs[0], region.constant("minus", np.float32([-1]))]))
        else:
            a, b = (region.layer("Neg", f"neg{slot}", [value]) for slot, value in enumerate(region.node.inputs))
            region.replace(region.layer("Neg", "back", [region.layer("Add", "sum", [a, b])]))
        changes.append((region.change(), "TEST"))
    result = copy_model(model)
    apply_changes(result, changes, EditLog())
    return result


def by_hand(model: onnx.ModelProto, chosen: set[int]) -> onnx.ModelProto:
    """The same on the proto."""
    result = copy_model(model)
    nodes = []
    for index, node in enumerate(model.graph.node):
        if index not in chosen:
            nodes.append(node)
            continue
        base = node.name or node.output[0]
        made = [onnx.NodeProto() for _ in range(1 if node.op_type == "Neg" else 4)]
        if node.op_type == "Neg":
            result.graph.initializer.append(onnx.numpy_helper.from_array(np.float32([-1]), f"{base}/minus"))
            made[0].CopyFrom(onnx.helper.make_node("Mul", [node.input[0], f"{base}/minus"], list(node.output), name=node.name))
        else:
            for slot in (0, 1):
                new = onnx.helper.make_node("Neg", [node.input[slot]], [f"{base}/neg{slot}"], name=f"{base}/neg{slot}")
                made[slot].CopyFrom(new)
            both = [f"{base}/neg0", f"{base}/neg1"]
            made[2].CopyFrom(onnx.helper.make_node("Add", both, [f"{base}/sum"], name=f"{base}/sum"))
            made[3].CopyFrom(onnx.helper.make_node("Neg", [f"{base}/sum"], list(node.output), name=node.name))
        made[-1].doc_string = node.doc_string
        made[-1].metadata_props.extend(node.metadata_props)
        for new in made:
            new.metadata_props.add(key=RULE_KEY, value="TEST")
        nodes.extend(made)
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    return result


def canonical(model: onnx.ModelProto) -> tuple[list[bytes], dict[str, bytes], list[bytes]]:
    """Nodes (without empty fields that only differ by being set), tensors by name, and the rest."""
    rest = copy_model(model)
    del rest.graph.node[:]
    del rest.graph.initializer[:]
    nodes = []
    for node in model.graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for field in ("doc_string", "domain", "name"):
            if not getattr(copy, field):
                copy.ClearField(field)
        nodes.append(copy.SerializeToString(deterministic=True))
    tensors = {tensor.name: onnx.numpy_helper.to_array(tensor).tobytes() for tensor in model.graph.initializer}
    return nodes, tensors, [rest.SerializeToString(deterministic=True)]


@pytest.mark.parametrize("seed", range(40))
def test_region_edit_and_splice_equal_an_edit_by_hand(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = random_model(rng)
    fit = [index for index, node in enumerate(model.graph.node) if node.op_type in ("Neg", "Add")]
    chosen = {index for index in fit if rng.random() < 0.6}
    left, right = by_regions(model, chosen), by_hand(model, chosen)
    assert canonical(left) == canonical(right)
    onnx.checker.check_model(left, full_check=True)
    x = noise((2, 3), seed=seed)
    same_bits(run(model, {"x": x}), run(left, {"x": x}))
    kept = {node.output[0]: node.SerializeToString() for node in left.graph.node}
    for index, node in enumerate(model.graph.node):
        if index not in chosen:
            assert kept[node.output[0]] == node.SerializeToString()


@pytest.mark.parametrize("seed", range(10))
def test_dropping_nodes_takes_what_only_they_read_and_nothing_else(seed: int) -> None:
    """A node gives way to an initializer: what it read is an orphan unless someone else, or the graph, reads it."""
    rng = np.random.default_rng(100 + seed)
    model = random_model(rng)
    outputs = {value.name for value in model.graph.output}
    fit = [index for index, node in enumerate(model.graph.node) if node.output[0] not in outputs]
    if not fit:
        pytest.skip("every value of this model is an output")
    index = fit[int(rng.integers(len(fit)))]
    name = model.graph.node[index].output[0]
    result = copy_model(model)
    tensor = onnx.numpy_helper.from_array(noise((2, 3)), name)
    apply_changes(result, [(Change("graph", index, [], [tensor]), "TEST")], EditLog())
    onnx.checker.check_model(result, full_check=True)
    alive = outputs | {source for node in result.graph.node for source in node.input}
    unused_before = {node.output[0] for node in model.graph.node} - outputs
    unused_before -= {source for node in model.graph.node for source in node.input}
    for node in result.graph.node:
        assert node.output[0] in alive | unused_before
    stored = {tensor.name for tensor in result.graph.initializer}
    for seed_name in ("w0", "w1"):
        was_read = any(seed_name in node.input for node in model.graph.node)
        assert (seed_name in stored) == (seed_name in alive or not was_read)


def test_a_change_that_closes_a_circle_is_an_error() -> None:
    model = parse(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[2] x) => (float[2] y) { a = Neg (x)  b = Abs (a)  y = Relu (b) }'
    )
    with pytest.raises(ModelError, match="cyclic"):
        apply_changes(model, [(Change("graph", 0, [onnx.helper.make_node("Neg", ["b"], ["a"])]), "TEST")], EditLog())
