"""The library as a program uses it: names that are imported when asked for, and arguments that are wrong."""

from pathlib import Path
from typing import Any

import onnx
import pytest

import onnxfix
from onnxfix.errors import UsageError

MODEL = Path(__file__).parents[1] / "fixtures" / "seedmodels" / "torch1.7.1_prelu_opset10.onnx"


def test_the_module_lists_its_public_names() -> None:
    assert set(onnxfix.__all__) <= set(dir(onnxfix))


def test_targets_may_be_given_by_id() -> None:
    model = onnxfix.load_model(MODEL)
    by_id, by_target = (onnxfix.lint_model(model, [target]) for target in ("5.1", onnxfix.find_target("trt5.1")))
    assert by_id == by_target
    targets: Any = "trt5.1"
    assert onnxfix.lint_model(model, targets) == by_target
    report, data = onnxfix.repair_model(model, ["trt5.1"], onnxfix.RepairOptions(samples=1))
    assert (report.status, data is not None) == ("repaired", True)
    with pytest.raises(UsageError, match=r"unknown target 'trt5\.2'"):
        onnxfix.repair_model(model, ["trt5.2"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"allow": ["exact"]},
            r"allow: is \['exact'\], must be exact, equivalent or approximate; the codes of rules go into consent",
        ),
        ({"allow": "OFX701"}, "allow: is 'OFX701', must be exact"),
        ({"consent": "OFX701"}, "consent: is 'OFX701', must be a collection of codes"),
    ],
)
def test_wrong_options_say_what_to_do(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        onnxfix.RepairOptions(**options)


def test_codes_may_be_a_list() -> None:
    options: dict[str, Any] = {"only": ["OFX010"], "samples": 1}
    report, _ = onnxfix.repair_model(onnxfix.load_model(MODEL), ["trt5.1"], onnxfix.RepairOptions(**options))
    assert {fix.rule for fix in report.applied} == {"OFX010"}


def test_what_is_no_loaded_model_is_told_in_the_words_of_the_library() -> None:
    with pytest.raises(onnxfix.OnnxfixError, match="pass what onnxfix.load_model"):
        onnxfix.lint_model(onnx.ModelProto(), ["trt5.1"])  # type: ignore[arg-type]
    with pytest.raises(onnxfix.OnnxfixError, match="is no path"):
        onnxfix.load_model(onnx.ModelProto())  # type: ignore[arg-type]
