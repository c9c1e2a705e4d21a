"""Facts: symbolic shapes are those that onnxruntime gives at several bindings; constants, element types, subgraphs, functions."""

import itertools
from pathlib import Path

import numpy as np
import onnx
import pytest

from onnxfix.model import constants
from onnxfix.model.dims import Poly
from onnxfix.model.facts import Facts, ScopeFacts
from onnxfix.model.view import ModelView

from .programs import facts_of, value_at
from .test_arithmetic import run

HEAD = '<ir_version: 7, opset_import: ["" : 11]>'
BINDINGS = [dict(zip("nhw", sizes, strict=True)) for sizes in ((1, 9, 12), (2, 16, 7), (3, 33, 10))]
SMALL = [{"n": 1, "h": 3, "w": 1}, {"n": 2, "h": 1, "w": 2}]


def parse(text: str) -> onnx.ModelProto:
    model: onnx.ModelProto = onnx.parser.parse_model(text)
    return model


def main(text: str, **options: object) -> ScopeFacts:
    view = ModelView(parse(text))
    return Facts(view, **options).of(view.main)  # type: ignore[arg-type]


def words(scope: ScopeFacts, name: str = "y") -> list[str] | None:
    shape = scope.shape(name)
    return None if shape is None else [str(dim) for dim in shape]


def check_shape(body: str, rank: int = 4, *, opset: int = 11, channels: int = 4, extra: str = "", small: bool = False) -> list[str]:
    """Compare the shape of `y` with onnxruntime's at every binding; x is float[n, channels, h, w]."""
    text = (
        f'<ir_version: 7, opset_import: ["" : {opset}]> g (float[n,{channels},h,w] x) => '
        f"(float[{','.join(f'o{axis}' for axis in range(rank))}] y) {extra} {{ {body} }}"
    )
    model = parse(text)
    facts, scope = facts_of(model)
    shape = scope.shape("y")
    assert shape is not None
    assert len(shape) == rank
    for binding in [*BINDINGS, *(SMALL if small else [])]:
        x = np.zeros((binding["n"], channels, binding["h"], binding["w"]), np.float32)
        (computed,) = run(model, x=x)
        for dim, size in zip(shape, computed.shape, strict=True):
            if isinstance(dim, Poly) and str(dim).startswith("y."):
                continue  # not known, and said to be
            assert value_at(dim, binding, facts._names) == size, (shape, computed.shape, binding)
    return [str(dim) for dim in shape]


WINDOWS = list(itertools.product([1, 2, 3], [1, 2, 3], [0, 1], [1, 2]))


class TestShapes:
    @pytest.mark.parametrize(("kernel", "stride", "pad", "dilation"), WINDOWS)
    def test_convolutions(self, kernel: int, stride: int, pad: int, dilation: int) -> None:
        weights = ",".join(["0"] * (5 * 4 * kernel * kernel))
        said = check_shape(
            f"y = Conv <strides = [{stride},1], pads = [{pad},0,0,{pad}], dilations = [{dilation},1]> (x, w0)",
            extra=f"<float[5,4,{kernel},{kernel}] w0 = {{{weights}}}>",
        )
        assert said[:2] == ["n", "5"]

    @pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
    @pytest.mark.parametrize(("kernel", "stride", "pad", "ceil"), [w for w in WINDOWS if w[2] < w[0]])
    def test_pools(self, op: str, kernel: int, stride: int, pad: int, ceil: int) -> None:
        check_shape(
            f"y = {op} <kernel_shape = [{kernel},{kernel}], strides = [{stride},{stride}], pads = [{pad},{pad},{pad},{pad}], "
            f"ceil_mode = {ceil - 1}> (x)"
        )

    @pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
    def test_automatic_padding(self, auto_pad: str) -> None:
        check_shape(f'y = MaxPool <kernel_shape = [3,3], strides = [2,2], auto_pad = "{auto_pad}"> (x)')

    def test_a_window_that_divides_by_two_has_the_floor_of_half_the_size(self) -> None:
        assert check_shape("y = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x)")[2:] == ["floor(1/2*h)", "floor(1/2*w)"]

    @pytest.mark.parametrize("scales", ["1,1,2,2", "1,1,3,1", "1,1,0.5,0.5", "1,1,1.5,2", "2,1,1,1"])
    def test_resize_by_scales(self, scales: str) -> None:
        said = check_shape(
            'y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, e, s)',
            extra=f"<float[0] e = {{}}, float[4] s = {{{scales}}}>",
        )
        if scales == "1,1,2,2":
            assert said == ["n", "4", "2*h", "2*w"]

    def test_resize_to_sizes(self) -> None:
        said = check_shape(
            "shape = Shape (x) z = Constant <value = int64[2] {0,1}> () front = Gather (shape, z) "
            "sizes = Concat <axis = 0> (front, hw)"
            ' y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, e, e, sizes)',
            extra="<float[0] e = {}, int64[2] hw = {5, 6}>",
        )
        assert said == ["n", "4", "5", "6"]

    def test_upsample(self) -> None:
        said = check_shape("y = Upsample (x, s)", opset=9, extra="<float[4] s = {1, 1, 2, 3}>")
        assert said == ["n", "4", "2*h", "3*w"]

    @pytest.mark.parametrize(
        "bounds", [(0, 2**63 - 1), (0, 2**31 - 1), (1, 2**63 - 1), (0, -1), (-3, 2**63 - 1), (2, 5), (0, 8), (-4, -1)]
    )
    @pytest.mark.parametrize("axis", [0, 2, -1])
    def test_slices(self, bounds: tuple[int, int], axis: int) -> None:
        start, end = bounds
        check_shape(
            "y = Slice (x, b, e, a)",
            extra=f"<int64[1] b = {{{start}}}, int64[1] e = {{{end}}}, int64[1] a = {{{axis}}}>",
            small=True,
        )

    def test_a_slice_that_a_small_size_would_cut_short_is_not_known(self) -> None:
        last = "<int64[1] b = {-5}, int64[1] e = {9223372036854775807}, int64[1] a = {%d}>"
        assert check_shape("y = Slice (x, b, e, a)", extra=last % 2, small=True)[2] == "y.2"
        grown = "t = Concat <axis = 2> (x, x, x, x, x) y = Slice (t, b, e, a)"
        assert check_shape(grown, extra=last % 2, small=True)[2] == "5"

    @pytest.mark.parametrize(("offset", "wanted"), [(0, "h"), (-1, "h-1"), (-2, "y.2"), (2, "h")])
    def test_a_slice_to_an_end_that_is_computed_from_the_size(self, offset: int, wanted: str) -> None:
        said = check_shape(
            "shape = Shape (x) two = Constant <value = int64[1] {2}> () h0 = Gather (shape, two) end = Add (h0, o) "
            "y = Slice (x, b, end, two)",
            extra=f"<int64[1] o = {{{offset}}}, int64[1] b = {{0}}>",
            small=True,
        )
        assert said[2] == wanted

    def test_a_slice_by_run_time_bounds_is_known_to_have_the_rank_alone(self) -> None:
        text = f"{HEAD} g (float[n,4] x, int64[1] b, int64[1] e, int64[1] a) => (float[p,q] y) {{ y = Slice (x, b, e, a) }}"
        assert words(main(text)) == ["y.0", "y.1"]

    @pytest.mark.parametrize(
        ("target", "rank", "wanted"),
        [
            ("0,-1", 2, ["n", "4*h*w"]),
            ("0,2,2,-1", 4, ["n", "2", "2", "h*w"]),
            ("-1,4", 2, ["n*h*w", "4"]),
            ("0,0,-1", 3, ["n", "4", "h*w"]),
            ("-1", 1, ["4*n*h*w"]),
        ],
    )
    def test_reshapes_to_constants(self, target: str, rank: int, wanted: list[str]) -> None:
        said = check_shape("y = Reshape (x, s)", rank, extra=f"<int64[{target.count(',') + 1}] s = {{{target}}}>")
        assert sorted(map(sorted, said)) == sorted(map(sorted, wanted))

    def test_a_reshape_to_computed_sizes(self) -> None:
        said = check_shape(
            "shape = Shape (x) zero = Constant <value = int64[1] {0}> () n0 = Gather (shape, zero) t = Concat <axis = 0> (n0, m)"
            " y = Reshape (x, t)",
            2,
            extra="<int64[1] m = {-1}>",
        )
        assert said[0] == "n"

    def test_concat_adds_along_its_axis(self) -> None:
        assert check_shape("t = Relu (x) y = Concat <axis = 2> (x, t, t)") == ["n", "4", "3*h", "w"]
        assert check_shape("t = Transpose <perm = [0,1,2,3]> (x) y = Concat <axis = -1> (x, t)") == ["n", "4", "h", "2*w"]

    @pytest.mark.parametrize(("axis", "rank"), [(0, 2), (1, 2), (2, 2), (4, 2), (-1, 2)])
    def test_flatten(self, axis: int, rank: int) -> None:
        check_shape(f"y = Flatten <axis = {axis}> (x)", rank)

    def test_global_pools_keep_batch_and_channels(self) -> None:
        assert check_shape("y = GlobalAveragePool (x)") == ["n", "4", "1", "1"]

    def test_aten_adaptive_pools_have_their_output_size(self) -> None:
        text = (
            '<ir_version: 7, opset_import: ["" : 9, "org.pytorch.aten" : 1]> g (float[n,4,h,w] x) => (float[a,b,c,d] y) '
            "{ y = org.pytorch.aten.adaptive_avg_pool2d <output_size = [3, 5]> (x) }"
        )
        scope = main(text)
        assert words(scope) == ["n", "4", "3", "5"]
        assert scope.dtype_name("y") == "FLOAT"

    def test_dimensions_without_a_name_are_not_taken_for_equal(self) -> None:
        model = parse(f"{HEAD} g (float[n,3] x, float[m,3] z) => (float[p,3] y) {{ y = Add (x, z) }}")
        for value in model.graph.input:
            value.type.tensor_type.shape.dim[0].ClearField("dim_param")
        _, scope = facts_of(model)
        assert words(scope, "x") == ["x.0", "3"]
        assert words(scope, "z") == ["z.0", "3"]


class TestConstants:
    def test_what_no_input_changes_is_constant_whether_or_not_its_numbers_are_kept(self) -> None:
        scope = main(
            f"{HEAD} g (float[1,3] x) => (float[1,3] y) <float[1,3] w = {{1, 2, 3}}> "
            "{ e = Exp (w) y = Mul (x, e) r = RandomUniform <shape = [1]> () q = RandomNormalLike (w) }"
        )
        assert [name for name in ("w", "e", "y", "r", "q", "x") if scope.is_constant(name)] == ["w", "e"]
        constant = scope.constant("e")
        assert constant is not None
        np.testing.assert_array_equal(constant, np.exp(np.array([[1, 2, 3]], np.float32)))

    def test_the_shape_of_a_static_input_is_constant_that_of_a_dynamic_one_is_not(self) -> None:
        text = f"{HEAD} g (float[%s,3] x) => (int64[2] y) {{ y = Shape (x) }}"
        numbers = main(text % "1").numbers("y")
        assert numbers is not None
        assert numbers.tolist() == [1, 3]
        assert main(text % "n").numbers("y") is None
        assert not main(text % "n").is_constant("y")

    def test_elements_keep_their_type(self) -> None:
        scope = main(
            f"{HEAD} g (float[1] x) => (float[1] y) <int32[2] i = {{1, 2}}, float16[1] h = {{1}}> "
            "{ s = Identity (i) y = Relu (x) }"
        )
        constant = scope.constant("s")
        assert constant is not None
        assert constant.dtype == np.int32
        assert scope.dtype_name("h") == "FLOAT16"
        assert scope.dtype_name("nowhere") == "?"
        assert scope.shape("nowhere") is None

    def test_external_tensors_are_read_only_where_a_folder_is_given(self, tmp_path: Path) -> None:
        (tmp_path / "w.bin").write_bytes(np.array([2, 3], np.int64).tobytes())
        model = parse(f"{HEAD} g (float[6] x) => (float[p,q] y) <int64[2] s = {{9, 9}}> {{ y = Reshape (x, s) }}")
        tensor = model.graph.initializer[0]
        tensor.ClearField("int64_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="w.bin")
        view = ModelView(model)
        assert words(Facts(view).of(view.main)) == ["p", "q"]
        assert words(Facts(view, base_dir=tmp_path).of(view.main)) == ["2", "3"]

    @pytest.mark.parametrize(("dtype", "known"), [(np.float32, True), (np.float64, False)])
    def test_only_arrays_up_to_a_number_of_bytes_are_read(
        self, dtype: type, known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(constants, "MAX_ARRAY_BYTES", 24)
        inside = onnx.numpy_helper.from_array(np.ones(6, dtype))
        (tmp_path / "w.bin").write_bytes(inside.raw_data)
        outside = onnx.TensorProto(dims=[6], data_type=inside.data_type, data_location=onnx.TensorProto.EXTERNAL)
        outside.external_data.add(key="location", value="w.bin")
        for tensor in (inside, outside):
            assert (constants.read_tensor(tensor, tmp_path) is not None) == known

    def test_damaged_constants_are_not_known_and_raise_nothing(self) -> None:
        model = parse(f"{HEAD} g (float[6] x) => (float[p,q] y) <int64[2] s = {{2, 3}}> {{ y = Reshape (x, s) }}")
        del model.graph.initializer[0].int64_data[:]
        model.graph.initializer[0].raw_data = b"\x01\x02\x03"
        _, scope = facts_of(model)
        assert scope.constant("s") is None
        assert words(scope) is not None

    def test_a_sparse_initializer_is_a_constant_of_its_whole_shape_whose_elements_are_not_known(self) -> None:
        model = parse(f"{HEAD} g (int64[3] x, float[6] z) => (int64[3] y, float[p,q,r] w) {{ y = Add (x, s)  w = Reshape (z, s) }}")
        sparse = model.graph.sparse_initializer.add(dims=[3])
        sparse.values.CopyFrom(onnx.helper.make_tensor("s", onnx.TensorProto.INT64, [2], [6, 1]))
        sparse.indices.CopyFrom(onnx.helper.make_tensor("", onnx.TensorProto.INT64, [2], [0, 2]))
        view, scope = ModelView(model), facts_of(model)[1]
        assert view.main.defines("s")
        assert (scope.static_shape("s"), scope.dtype_name("s"), scope.is_constant("s")) == ((3,), "INT64", True)
        assert (scope.array("s"), scope.numbers("s"), scope.constant("s")) == (None, None, None)
        assert scope.static_shape("y") == (3,)
        assert scope.rank("w") == 3
        assert scope.static_shape("w") is None


class TestScopes:
    IF = (
        f"{HEAD} g (bool c, float[n,3] x) => (float[p,q] y) {{ y = If (c) <"
        "then_branch = a () => (float[r,s] t) { %s }, else_branch = b () => (float[r,s] t) { %s }> }"
    )

    def test_a_branch_sees_the_values_around_it(self) -> None:
        model = parse(self.IF % ("t = Relu (x)", "t = Sigmoid (x)"))
        view = ModelView(model)
        facts = Facts(view)
        assert words(facts.of(view.main)) == ["n", "3"]
        for inner in view.main.nodes[0].subgraphs.values():
            assert facts.of(inner).dtype_name("x") == "FLOAT"

    def test_branches_of_different_shapes_give_an_unknown_shape(self) -> None:
        other = "w0 = Constant <value = float[2] {1, 2}> () t = Identity (w0)"
        assert words(main(self.IF % ("t = Relu (x)", other))) != ["n", "3"]

    def test_unknown_dimensions_of_two_branches_are_not_taken_for_equal(self) -> None:
        branch = "i = NonZero (x) f = Cast <to = 1> (i) t = %s (f)"
        # only what the file declares is left
        assert words(main(self.IF % (branch % "Relu", branch % "Sigmoid"))) == ["p", "q"]

    def test_a_functions_body_is_judged_by_its_own_opset(self) -> None:
        text = (
            '<ir_version: 8, opset_import: ["" : 13, "local" : 1]> g (float[1,3] x) => (float[a] y, float[a] z) '
            "{ y = ReduceSum <axes = [1]> (x) z = local.f (x) } "
            '<domain: "local", opset_import: ["" : 11]> f (v) => (u) { u = ReduceSum <axes = [1]> (v) }'
        )
        view = ModelView(parse(text))
        assert [scope.opsets[""] for scope in view.scopes] == [13, 11]
        Facts(view)


class TestTroubles:
    @pytest.mark.parametrize(
        ("opset", "inner", "output"),
        [(9999, ["1", "3"], ["1", "3"]), (0, None, ["p", "q"])],
        ids=["newer is read as the newest", "none leaves what the file declares"],
    )
    def test_an_opset_that_onnx_does_not_know(self, opset: int, inner: list[str] | None, output: list[str]) -> None:
        model = parse(f"{HEAD} g (float[1,3] x) => (float[p,q] y) {{ t = Relu (x) y = Relu (t) }}")
        model.opset_import[0].version = opset
        _, scope = facts_of(model)
        assert (words(scope, "t"), words(scope)) == (inner, output)

    def test_custom_operators_take_the_declared_shape(self) -> None:
        text = (
            '<ir_version: 7, opset_import: ["" : 11, "com.acme" : 1]> g (float[1,3] x) => (float[1,7] y) <float[1,5] t> '
            "{ t = com.acme.Magic (x) y = com.acme.Magic (t) }"
        )
        assert main(text).static_shape("y") == (1, 7)

    def test_a_sequence_or_a_map_is_no_tensor_and_raises_nothing(self) -> None:
        text = f"{HEAD} g (float[1,3] x) => (float[a] y) {{ s = SequenceConstruct (x, x) y = ConcatFromSequence <axis = 0> (s) }}"
        assert main(text).dtype_name("s") == "?"

    @pytest.mark.parametrize(
        "body",
        [
            "y = Gather (x, x)",
            "y = Reshape (x)",
            "y = Conv (x)",
            "y = Slice (x)",
            "y = Concat (x)",
            "y = Unsqueeze (x)",
            "y = Shape ()",
            "y = Range (x, x, x)",
            "y = Flatten <axis = 9> (x)",
            "y = MaxPool (x)",
            "y = Resize (x)",
            "y = Cast <to = 99> (x)",
            "y = Transpose <perm = [0, 0]> (x)",
            "y = ConstantOfShape (x)",
            "y = Clip ()",
            "y = Expand (x, x)",
        ],
    )
    def test_nodes_that_are_no_valid_onnx_raise_nothing(self, body: str) -> None:
        main(f"{HEAD} g (float[n,3] x) => (float[p,q] y) {{ {body} }}")


def test_constants_along_a_chain_of_any_length() -> None:
    nodes = [onnx.helper.make_node("Exp" if not n else "Neg", [f"v{n}"], [f"v{n + 1}"]) for n in range(1500)]
    start = onnx.helper.make_tensor("v0", onnx.TensorProto.FLOAT, [1], [0.0])
    output = onnx.helper.make_tensor_value_info("v1500", onnx.TensorProto.FLOAT, [1])
    graph = onnx.helper.make_graph(nodes, "g", [], [output], [start])
    _, facts = facts_of(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 11)]))
    array = facts.constant("v1500")
    assert array is not None
    assert array.tolist() == [-1.0]


@pytest.mark.parametrize("sizes", ["-1, 2", "9223372036854775807, 9223372036854775807"])
def test_a_filled_tensor_of_impossible_shape_is_not_known(sizes: str) -> None:
    text = (
        f'<ir_version: 8, opset_import: ["" : 11]> g () => (float[a, b] y) <int64[2] s = {{{sizes}}}> {{ y = ConstantOfShape (s) }}'
    )
    _, facts = facts_of(onnx.parser.parse_model(text))
    assert facts.numbers("y") is None


def test_what_no_int64_holds_is_not_known() -> None:
    text = '<ir_version: 8, opset_import: ["" : 11]> g (uint64[1] x) => (uint64[1] y) { y = Add (x, k) }'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2**63 + 1], np.uint64), "k"))
    _, facts = facts_of(model)
    assert facts.numbers("k") is None
    head = '<ir_version: 8, opset_import: ["" : 11]> g (float[9223372036854775807, 3] x) => (y) '
    facts_of(onnx.parser.parse_model(head + "{ z = Flatten <axis = 2> (x)  y = Relu (z) }"))


def test_facts_of_an_edited_model_are_those_that_a_first_look_gives() -> None:
    text = """<ir_version: 7, opset_import: ["" : 11]> g (float[n,4,h,w] x, bool b) => (float[n,p,q,r] y, float[k,4] z)
    <int64[2] two = {0, -1}, int64 one = {1}, float[2] half = {0.5, 2}> {
    s = Shape (x)  c = Gather (s, one)  d = Concat <axis = 0> (two, two)  t = Reshape (x, two)
    z = If (b) <then_branch = f () => (float[k,4] u) { v = Reshape (t, two)  u = Relu (v) }, else_branch = e () => (float[k,4] o)
    { o = Reshape (t, two) }>  y = Relu (x) }"""
    first = parse(text)
    known = Facts(ModelView(first), again=True)
    edits = [first, parse(text.replace("{0, -1}", "{-1, 4}")), parse(text.replace("y = Relu (x)", "y = Reshape (x, d)"))]
    edits.append(parse(text.replace("float[n,4,h,w] x", "float[n,5,h,w] x").replace("half = {0.5, 2}", "half = {1, 2}")))
    for model in edits:
        view = ModelView(model)
        seen, fresh = Facts(view, like=known), Facts(view)
        for scope in view.scopes:
            old, new = seen.of(scope), fresh.of(scope)
            assert old.values.keys() == new.values.keys()
            for name in new.values:
                assert (old.dtype(name), old.shape(name), old.is_constant(name)) == (
                    new.dtype(name),
                    new.shape(name),
                    new.is_constant(name),
                )
                assert np.array_equal(old.array(name), new.array(name))
                assert np.array_equal(old.constant(name), new.constant(name))


def test_kept_facts_hold_no_model_in_memory() -> None:
    text = HEAD + "g (float[2] x) => (float[2] y) { c = Constant <value = float[2] {1, 2}> ()  y = Add (x, c) }"
    model = parse(text)
    view = ModelView(model)
    kept = Facts(view, again=True).of(view.main).value("c").tensor
    assert kept is not None
    assert kept is not model.graph.node[0].attribute[0].t
    assert kept == model.graph.node[0].attribute[0].t


def test_sizes_that_are_computed_are_those_of_what_is_made() -> None:
    assert check_shape("s = Shape (x)  y = ConstantOfShape (s)") == ["n", "4", "h", "w"]
    same = main(HEAD + "g (float[n,1] x, float[n,5] z) => (float[a,b] y) { s = Shape (z)  y = Expand (x, s) }")
    assert words(same) == ["n", "5"]
    # n and m may be 1, or equal
    other = main(HEAD + "g (float[n,1] x, float[m,5] z) => (float[a,b] y) { s = Shape (z)  y = Expand (x, s) }")
    assert words(other) == ["y.0", "5"]
