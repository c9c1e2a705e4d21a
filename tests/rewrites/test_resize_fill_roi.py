"""Constants that the importers of 6.0 and 7.0 want in a Resize of opset 11: what they say does not change."""

import numpy as np
import onnx
import pytest

from .harness import ask, noise, parse, rewrite, run, same_bits
from .harness import error as largest


def resize(
    before: tuple[int, ...], *, sizes: tuple[int, ...] | None = None, scales: tuple[float, ...] | None = None, **attributes: str
) -> onnx.ModelProto:
    given = ", ".join(f'{name} = "{value}"' for name, value in attributes.items())
    values = f"float[4] s = {{{', '.join(map(str, scales))}}}" if scales else "float[0] s = {}"
    more = f", int64[4] z = {{{', '.join(map(str, sizes))}}}" if sizes else ""
    shape = ",".join(map(str, before))
    return parse(
        f"""<ir_version: 8, opset_import: ["" : 11]> g (float[{shape}] x) => (float[a,b,c,d] y) <float[0] e = {{}}, {values}{more}>
        {{ [node] y = Resize <{given}> (x, e, s{", z" if sizes else ""}) }}"""
    )


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 2), (1, 1, 1.5, 3.3), (1, 1, 0.5, 1), (2, 1, 1, 1)])
def test_a_region_that_is_not_read_may_hold_anything(mode: str, coordinates: str, scales: tuple[float, ...]) -> None:
    if mode != "nearest" and scales[0] != 1:
        pytest.skip("onnxruntime interpolates no batch")
    model = resize((1, 2, 5, 7), scales=scales, mode=mode, coordinate_transformation_mode=coordinates)
    result = rewrite(model, "resize_fill_roi", target="trt7.0")
    x = {"x": noise((1, 2, 5, 7))}
    same_bits(run(model, x), run(result, x))
    assert ask(result, "resize_fill_roi") == "its scales are empty, not its region of interest alone"


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "align_corners", "asymmetric"])
@pytest.mark.parametrize("sizes", [(10, 14), (7, 11), (223, 223), (3, 2), (49, 41)])
def test_scales_give_the_sizes(mode: str, coordinates: str, sizes: tuple[int, int]) -> None:
    model = resize((1, 2, 5, 7), sizes=(1, 2, *sizes), mode=mode, coordinate_transformation_mode=coordinates)
    answer = ask(model, "resize_sizes_to_scales", target="trt7.0")
    if isinstance(answer, str):
        assert "read other elements" in answer
        return
    x = {"x": noise((1, 2, 5, 7))}
    before, after = run(model, x), run(answer, x)
    if mode == "nearest":
        same_bits(before, after)
    else:
        assert largest(before, after) <= 5e-5


def test_they_decline_with_the_reason() -> None:
    by_sizes = resize((1, 2, 5, 7), sizes=(1, 2, 10, 14), mode="nearest")
    assert ask(by_sizes, "resize_fill_roi") == "its scales are empty, not its region of interest alone"
    by_scales = resize((1, 2, 5, 7), scales=(1, 1, 2, 2), mode="nearest")
    assert ask(by_scales, "resize_sizes_to_scales") == "it is given by scales"
    cropped = parse(
        """<ir_version: 8, opset_import: ["" : 11]> g (float[1,1,2,2] x) => (float[1,1,4,4] y)
        <float[0] e = {}, float[4] s = {1,1,2,2}> {
          [node] y = Resize <coordinate_transformation_mode = "tf_crop_and_resize"> (x, e, s)
        }"""
    )
    assert ask(cropped, "resize_fill_roi") == "the region of interest is read"


def test_the_plain_quotient_is_nudged_up() -> None:
    model = resize((1, 1, 3, 3), sizes=(1, 1, 223, 49), mode="linear")
    scales = [tensor for tensor in rewrite(model, "resize_sizes_to_scales").graph.initializer if tensor.name.endswith("scales")]
    values = onnx.numpy_helper.to_array(scales[-1])
    assert [int(np.float32(3) * scale) for scale in values[2:]] == [223, 49]
