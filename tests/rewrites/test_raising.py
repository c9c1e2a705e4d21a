"""Models of opset 1 to 6 in opset 7: broadcasting by axes becomes numpy's, and what trains is declined."""

import numpy as np
import onnx
import pytest

from .harness import lower, noise, ops, parse, run


def model(body: str, opset: int = 6, shapes: str = "float[2,3,4,5] x, float[3] b") -> onnx.ModelProto:
    return parse(f'<ir_version: 4, opset_import: ["" : {opset}]> g ({shapes}) => (float[2,3,4,5] y) {body}')


def raised(text: onnx.ModelProto, high: int = 7) -> onnx.ModelProto:
    result = lower(text, high)
    assert not isinstance(result, str), result
    assert result.opset_import[0].version == high
    return result


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize(
    ("given", "shape", "aligned"),
    [
        ("axis = 1, ", (3,), (3, 1, 1)),
        ("axis = -3, ", (3,), (3, 1, 1)),
        ("", (5,), (5,)),
        ("axis = 1, ", (3, 4), (3, 4, 1)),
        ("", (), ()),
    ],
)
@pytest.mark.parametrize("constant", [True, False])
def test_axes_of_the_second_input(op: str, given: str, shape: tuple[int, ...], aligned: tuple[int, ...], constant: bool) -> None:
    dims = f"[{','.join(map(str, shape))}]" if shape else ""
    b = np.abs(noise(shape)) + np.float32(1)
    text = model(f"{{ y = {op} <{given}broadcast = 1> (x, b) }}", shapes=f"float[2,3,4,5] x, float{dims} b")
    if constant:
        text.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(b), "b"))
    result = raised(text)
    x = noise((2, 3, 4, 5))
    function = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[op]
    feeds = {"x": x} if constant else {"x": x, "b": np.asarray(b)}
    np.testing.assert_array_equal(run(result, feeds)["y"], function(x, np.reshape(b, aligned)))


def test_slopes_by_channel() -> None:
    result = raised(model("{ y = PRelu (x, b) }"))
    x, b = noise((2, 3, 4, 5)), noise((3,))
    np.testing.assert_array_equal(run(result, {"x": x, "b": b})["y"], np.where(x < 0, x * b.reshape(3, 1, 1), x))


def test_other_forms_of_old() -> None:
    text = model(
        """<float[3] s = {1, 2, 3}> {
          n = BatchNormalization <is_test = 1, consumed_inputs = [0, 0, 0, 1, 1]> (x, s, s, s, s)
          d = Dropout <is_test = 1> (n)
          r = Relu (d)
          y = Sum (r, x)
        }"""
    )
    result = raised(text)
    assert ops(result) == ["BatchNormalization", "Dropout", "Relu", "Sum"]
    x, s = noise((2, 3, 4, 5)), np.array([1, 2, 3], np.float32)
    c = s.reshape(3, 1, 1)
    want = np.maximum((x - c) / np.sqrt(c + 1e-5) * c + c, 0) + x
    np.testing.assert_allclose(run(result, {"x": x, "b": s})["y"], want, rtol=1e-5, atol=1e-6)


def test_what_trains_and_what_is_above_7_declines() -> None:
    assert "is_test is not set" in str(lower(model("{ y = Dropout (x) }"), 7))
    assert "beyond the axes" in str(
        lower(model("{ y = Add <axis = 3, broadcast = 1> (x, c) }", shapes="float[2,3,4,5] x, float[5,5] c"), 7)
    )
    assert "at most" in str(lower(model("{ y = Add (x, x) }"), 9))
