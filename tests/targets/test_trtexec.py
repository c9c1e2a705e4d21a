"""The line for the device, in the words of its release."""

import itertools
import shlex

import pytest

from onnxfix.errors import UsageError
from onnxfix.targets import all_targets, find_target
from onnxfix.targets.trtexec import Wishes, options, trtexec

RANGE = {"x": ((1, 3, 8, 8), (2, 3, 8, 8), (4, 3, 8, 8))}
PROFILE = "--minShapes=x:1x3x8x8 --optShapes=x:2x3x8x8 --maxShapes=x:4x3x8x8"


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("trt5.1", "trtexec --onnx=m.onnx --batch=4 --fp16 --workspace=64 --saveEngine=m.engine"),
        ("trt6.0", "trtexec --onnx=m.onnx --batch=4 --fp16 --workspace=64 --saveEngine=m.engine"),
        ("trt7.1", f"trtexec --onnx=m.onnx --explicitBatch {PROFILE} --fp16 --workspace=64 --saveEngine=m.engine"),
        ("trt8.2", f"trtexec --onnx=m.onnx {PROFILE} --fp16 --workspace=64 --saveEngine=m.engine"),
        ("trt8.4", f"trtexec --onnx=m.onnx {PROFILE} --fp16 --memPoolSize=workspace:64 --saveEngine=m.engine"),
        ("trt10.16", f"trtexec --onnx=m.onnx {PROFILE} --fp16 --memPoolSize=workspace:64 --saveEngine=m.engine"),
        ("trt11.0", f"trtexec --onnx=m.onnx {PROFILE} --memPoolSize=workspace:64 --saveEngine=m.engine"),
    ],
)
def test_old_and_new_releases_take_different_options(target, line):
    wishes = Wishes(RANGE, frozenset({"fp16"}), {"workspace": "64"}, "m.engine")
    assert trtexec(find_target(target), "m.onnx", wishes)[0] == line


@pytest.mark.parametrize(
    ("target", "name", "words"),
    [
        ("trt8.5", "plugin", "--plugins=p.so"),
        ("trt8.6", "plugin", "--staticPlugins=p.so"),
        ("trt8.5", "build-only", "--buildOnly"),
        ("trt8.6", "build-only", "--skipInference"),
        ("trt9.3", "strip", "--weightless"),
        ("trt10.0", "strip", "--stripWeights"),
        ("trt10.0", "strongly-typed", "--stronglyTyped"),
        ("trt8.6", "opt-level", "--builderOptimizationLevel=p.so"),
    ],
)
def test_one_option_at_the_bound_of_its_spelling(target, name, words):
    assert words in trtexec(find_target(target), "m.onnx", Wishes(values={name: "p.so"}))[0]


def test_what_a_release_cannot_is_said_once():
    line, notes = trtexec(find_target("trt5.1"), "m.onnx", Wishes(values={"strip": True, "opt-level": "5"}))
    assert line == "trtexec --onnx=m.onnx"
    assert notes == ("this release keeps the weights in the engine", "this release has no optimization levels")
    other_sizes = {"x": ((1, 3, 8, 8), (1, 3, 8, 8), (1, 3, 16, 16))}
    assert "fixes every size but the batch" in trtexec(find_target("trt5.1"), "m.onnx", Wishes(other_sizes))[1][0]
    assert "export the model in float16" in trtexec(find_target("trt11.1"), "m.onnx", Wishes(precision=frozenset({"fp16"})))[1][0]


def test_names_with_blanks_and_colons_survive_the_shell():
    shapes = {"in:0": ((1, 3), (1, 3), (1, 3))}
    line, _ = trtexec(find_target("trt8.6"), "my model.onnx", Wishes(shapes))
    assert shlex.split(line)[1:3] == ["--onnx=my model.onnx", "--minShapes='in:0':1x3"]


def test_every_release_of_tensorrt_has_a_line_and_rtx_has_none():
    for target in all_targets():
        if target.family == "trt":
            assert trtexec(target, "m.onnx")[0].startswith("trtexec --onnx=m.onnx")
    with pytest.raises(UsageError, match="onnxfix build"):
        trtexec(find_target("rtx1.7"), "m.onnx")
    with pytest.raises(UsageError, match="no option 'nothing'"):
        trtexec(find_target("trt8.6"), "m.onnx", Wishes(values={"nothing": True}))


def test_spellings_of_one_option_do_not_overlap():
    for name, option in options().items():
        ends = [(form.since, form.until) for form in option.forms]
        assert all(since <= until for since, until in ends), name
        assert all(before[1] < after[0] for before, after in itertools.pairwise(ends)), name
