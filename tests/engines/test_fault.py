"""Where it went wrong, from what the library said."""

import pytest

from onnxfix.engines import BuildResult, BuildVerdict, ParserError, ParseResult, ParseVerdict
from onnxfix.engines.fault import fault_of, fault_of_outputs, fault_of_run

PARSED = ParseResult(ParseVerdict.PARSED, "tensorrt-rtx", "1.7")


def refused(code, message, op="Spin"):
    error = ParserError(0, "n", op, code, message, "f")
    return ParseResult(ParseVerdict.REFUSED, "tensorrt-rtx", "1.7", (error,))


def failed(message):
    return BuildResult(BuildVerdict.FAILED, PARSED, messages=(message,))


@pytest.mark.parametrize(
    ("result", "stage", "whose", "step"),
    [
        (refused("INVALID_NODE", "Plugin not found, are the plugin name right?"), "parse", "parser", "onnxfix lint"),
        (refused("UNSUPPORTED_NODE", "Assertion failed: mode == nearest"), "parse", "parser", "onnxfix lint"),
        (refused("INVALID_GRAPH", "cycle"), "parse", "ONNX file", "onnx.checker"),
        (refused("UNSUPPORTED_NODE_ATTR", "axis"), "parse", "parser", "onnxfix lint"),
        (ParseResult(ParseVerdict.CRASHED, "tensorrt", ""), "parse", "parser", "newer release"),
        (ParseResult(ParseVerdict.TIMEOUT, "tensorrt", ""), "parse", "parser", "--timeout"),
        (BuildResult(BuildVerdict.CRASHED, PARSED), "build", "builder", "newer release"),
        (BuildResult(BuildVerdict.TIMEOUT, PARSED), "build", "builder", "--timeout"),
        (BuildResult(BuildVerdict.FAILED, PARSED, messages=("Cuda Runtime (out of memory)",)), "build", "machine", "--workspace"),
        (
            BuildResult(BuildVerdict.FAILED, PARSED, messages=("Error Code 10: Could not find any implementation for node y",)),
            "build",
            "builder",
            "--workspace",
        ),
        (
            BuildResult(BuildVerdict.FAILED, PARSED, messages=("Unable to load library: libnvinfer_lean.so",)),
            "build",
            "machine",
            "install",
        ),
        (failed("Tensor output has datatype FP8 but is not produced by IPluginLayer"), "build", "exporter", "QuantizeLinear"),
        (
            failed("the model contains HW-specific datatypes: fp8_e4m3."),
            "build",
            "options",
            "--sm",
        ),
        (failed("`zero_point` which is not an initializer."), "build", "exporter", "repair"),
        (failed("IShuffleLayer n: reshape changes volume to multiple of original"), "build", "options", "--min-shape"),
        (failed("node_of_y has no runners that implement it"), "build", "builder", "newer release"),
        (BuildResult(BuildVerdict.FAILED, PARSED, messages=("something else",)), "build", "builder", "newer release"),
    ],
)
def test_a_failure_has_a_culprit_and_something_to_do(result, stage, whose, step):
    fault = fault_of(result, "m.onnx")
    assert (fault.stage, fault.whose) == (stage, whose)
    assert step in " ".join(fault.steps)
    assert fault.as_json()["do"] == list(fault.steps)


def test_what_did_not_fail_has_no_culprit():
    assert fault_of(PARSED, "m.onnx") is None
    assert fault_of(BuildResult(BuildVerdict.BUILT, PARSED), "m.onnx") is None


def test_wrong_numbers_are_the_types_fault_or_the_builders():
    assert fault_of_outputs({"fp16", "tf32"}, "tensorrt").steps == ("build without --fp16 --tf32",)
    assert fault_of_outputs((), "tensorrt").whose == "builder"
    assert str(fault_of_run("tensorrt-rtx")).startswith("at fault: runtime: ")
