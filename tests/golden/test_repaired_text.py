"""What repair makes of some bundled exports, as text without weights, reviewed as a diff.

ONNXFIX_UPDATE_GOLDEN=1 writes the files anew.
"""

import os
from pathlib import Path

import onnx
import pytest

from onnxfix.api import RepairOptions, repair_model
from onnxfix.model.load import load_model
from onnxfix.targets import find_target

HERE = Path(__file__).parent
MODELS = HERE.parents[1] / "fixtures" / "seedmodels"
CASES = [
    ("torch1.2.0_flatten_by_size_opset9", "trt5.1"),
    ("torch1.2.0_instance_norm_opset10", "trt5.1"),
    ("torch1.3.1_bilinear_size_128x128_opset11", "trt5.1"),
    ("torch1.3.1_crop_by_size_opset10", "trt5.1"),
    ("torch1.7.1_adaptive_pool_14x14_aten_opset11", "trt5.1"),
    ("torch1.7.1_adaptive_pool_14x14_aten_opset11", "rtx1.7"),
    ("torch1.7.1_decoder_nearest_dynamic_batch_opset11", "trt5.1"),
    ("torch1.7.1_nearest_scale8_opset11", "trt5.1"),
    ("torch1.7.1_pixel_shuffle_opset11", "trt5.1"),
    ("torch1.7.1_prelu_opset10", "trt5.1"),
]


def text(model: onnx.ModelProto) -> str:
    """The model in ONNX's text form; of stored tensors only small integers and scales show their content."""
    lines = [f"ir_version {model.ir_version}, opset {', '.join(f'{item.domain}:{item.version}' for item in model.opset_import)}"]
    for word, values in (("input", model.graph.input), ("output", model.graph.output)):
        for value in values:
            kind = value.type.tensor_type
            dims = ",".join(str(dim.dim_value or dim.dim_param or "?") for dim in kind.shape.dim)
            lines.append(f"{word} {onnx.TensorProto.DataType.Name(kind.elem_type)}[{dims}] {value.name}")
    for tensor in model.graph.initializer:
        array = onnx.numpy_helper.to_array(tensor)
        shown = f" = {array.ravel().tolist()}" if array.size <= 8 and (array.dtype.kind == "i" or "scales" in tensor.name) else ""
        lines.append(f"stored {array.dtype}{list(array.shape)} {tensor.name}{shown}")
    for node in model.graph.node:
        bare = onnx.NodeProto()
        bare.CopyFrom(node)
        bare.ClearField("doc_string")
        rules = ", ".join(entry.value for entry in node.metadata_props if entry.key == "onnxfix.rule")
        del bare.metadata_props[:]
        lines.append(" ".join(onnx.printer.to_text(bare).split()) + (f"    # {rules}" if rules else ""))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(("name", "target"), CASES, ids=["-".join(case) for case in CASES])
def test_the_repaired_model_reads_as_reviewed(name: str, target: str) -> None:
    report, data = repair_model(
        load_model(MODELS / f"{name}.onnx"), [find_target(target)], RepairOptions(consent=frozenset({"OFX701"}), samples=2)
    )
    assert report.status == "repaired"
    assert data is not None
    golden = HERE / f"{name}.{target}.txt"
    got = text(onnx.ModelProto.FromString(data))
    if os.environ.get("ONNXFIX_UPDATE_GOLDEN"):
        golden.write_text(got)
    assert got == golden.read_text()
