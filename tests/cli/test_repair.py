"""`onnxfix repair` around the repair itself: what is written where, what is refused, exit codes."""

import os
import sys
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest

from .conftest import CLEAN, SCHEMA, FakeApi, digest, finding, save
from .test_lint import POINTER, closed


@pytest.fixture
def model(folder: Path, fake_api: FakeApi) -> Path:
    """`m.onnx`, which the repair changes."""
    save(folder / "m.onnx")
    return folder / "m.onnx"


def repair(run: Any, *arguments: object) -> Any:
    return run("repair", "-t", "trt5.1", *arguments)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def with_external_data(path: Path) -> None:
    proto = onnx.parser.parse_model('<ir_version: 7, opset_import: ["" : 9]> g (float[4] x) => (float[4] y) { y = Add (x, w) }')
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.arange(4, dtype=np.float32), "w"))
    onnx.save(proto, path, save_as_external_data=True, location="weights.bin", size_threshold=0)


def test_the_default_output_is_beside_the_model(run: Any, model: Path) -> None:
    before = digest(model)
    result = repair(run, "m.onnx")
    assert result.code == 0
    assert files(model.parent) == {"m.onnx", "m.fixed.onnx"}
    assert digest(model) == before
    assert "written to m.fixed.onnx" in result.out
    assert "Next: where TensorRT 5.1 is: trtexec --onnx=m.fixed.onnx" in result.out


def test_two_runs_give_the_same_bytes(run: Any, model: Path) -> None:
    repair(run, "m.onnx", "-o", "a.onnx", "--stamp")
    repair(run, "m.onnx", "-o", "b.onnx", "--stamp")
    assert digest(model.parent / "a.onnx") == digest(model.parent / "b.onnx")


def test_a_clean_model_is_copied_byte_for_byte_or_left_alone(run: Any, model: Path, fake_api: FakeApi) -> None:
    fake_api.status = "clean"
    before = digest(model)
    result = repair(run, "m.onnx")
    assert (result.code, files(model.parent)) == (0, {"m.onnx"})
    assert "nothing to repair" in result.out
    assert "Next: where TensorRT 5.1 is: trtexec --onnx=m.onnx" in result.out
    assert repair(run, "m.onnx", "-o", "out.onnx", "--stamp").code == 0
    assert digest(model.parent / "out.onnx") == before
    assert repair(run, "m.onnx", "--in-place").code == 0
    assert files(model.parent) == {"m.onnx", "out.onnx"}
    assert digest(model) == before


def test_in_place_keeps_a_backup(run: Any, model: Path) -> None:
    before = digest(model)
    result = repair(run, "m.onnx", "--in-place")
    assert result.code == 0
    assert files(model.parent) == {"m.onnx", "m.onnx.bak"}
    assert digest(model.parent / "m.onnx.bak") == before
    assert digest(model) != before
    assert "the old model to m.onnx.bak" in result.out


def test_an_older_backup_is_not_lost(run: Any, model: Path) -> None:
    (model.parent / "m.onnx.bak").write_bytes(b"the only original")
    repair(run, "m.onnx", "--in-place")
    assert (model.parent / "m.onnx.bak").read_bytes() == b"the only original"
    assert (model.parent / "m.onnx.bak2").exists()


def test_in_place_without_backup_leaves_the_model_only(run: Any, model: Path) -> None:
    assert repair(run, "m.onnx", "--in-place", "--no-backup").code == 0
    assert files(model.parent) == {"m.onnx"}


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
def test_in_place_through_a_link_changes_what_it_leads_to(run: Any, model: Path) -> None:
    link = model.parent / "link.onnx"
    link.symlink_to("m.onnx")
    before = digest(model)
    assert repair(run, "link.onnx", "--in-place", "--no-backup").code == 0
    assert link.is_symlink()
    assert digest(model) != before


@pytest.mark.parametrize("spelling", ["m.onnx", "./m.onnx", "sub/../m.onnx", "link.onnx", "hard.onnx", "absolute"])
def test_an_output_that_is_the_input_is_refused(run: Any, model: Path, spelling: str) -> None:
    (model.parent / "sub").mkdir()
    (model.parent / "link.onnx").symlink_to("m.onnx")
    os.link(model, model.parent / "hard.onnx")
    before = digest(model)
    result = repair(run, "m.onnx", "-o", str(model) if spelling == "absolute" else spelling)
    assert result.code == 2
    assert "use --in-place" in result.err
    assert result.err.count("\n") == 1
    assert digest(model) == before


def test_an_output_that_is_another_input_or_external_data_is_refused(run: Any, model: Path) -> None:
    folder = model.parent
    with_external_data(folder / "e.onnx")
    weights = digest(folder / "weights.bin")
    result = repair(run, "e.onnx", "-o", "weights.bin")
    assert result.code == 2
    assert "external data" in result.err
    assert digest(folder / "weights.bin") == weights
    (folder / "out").mkdir()
    save(folder / "out" / "m.onnx")
    other = digest(folder / "out" / "m.onnx")
    assert repair(run, "e.onnx", "out/m.onnx", "-o", "out").code == 2
    assert digest(folder / "out" / "m.onnx") == other


@pytest.mark.parametrize(
    "arguments",
    [("a/e.onnx", "-o", "out/weights.bin"), ("a/e.onnx", "weights.bin", "-o", "out"), ("weights.bin", "a/e.onnx", "-o", "new")],
)
def test_an_output_in_the_place_of_copied_external_data_is_refused(
    run: Any, folder: Path, fake_api: FakeApi, arguments: tuple[str, ...]
) -> None:
    for name in ("a", "out"):
        (folder / name).mkdir()
    with_external_data(folder / "a" / "e.onnx")
    save(folder / "weights.bin")
    result = repair(run, *arguments)
    assert result.code == 2
    assert "is where the external data of a/e.onnx lies or goes" in result.err
    assert not (folder / arguments[-1] / "e.onnx").exists()


@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_external_data_that_cannot_be_copied_is_an_error(run: Any, folder: Path, fake_api: FakeApi, kind: str) -> None:
    with_external_data(folder / "e.onnx")
    proto = onnx.load(folder / "e.onnx", load_external_data=False)
    proto.graph.initializer[0].external_data[0].value = "sub/weights.bin"
    (folder / "e.onnx").write_bytes(proto.SerializeToString())
    for name in ("sub", "out"):
        (folder / name).mkdir()
    (folder / "sub" / "weights.bin").write_bytes(b"")
    if kind == "file":
        (folder / "out" / "sub").write_bytes(b"")
    else:
        (folder / "out" / "sub").mkdir()
        os.mkfifo(folder / "out" / "sub" / "weights.bin")
    result = repair(run, "e.onnx", "-o", "out")
    assert result.code == 2
    assert result.err.startswith("error: out/sub/weights.bin: ")
    assert not (folder / "out" / "e.onnx").exists()


@pytest.mark.parametrize(
    ("report", "options"),
    [
        ("./e.onnx", []),
        ("hard.onnx", ["--dry-run"]),
        ("weights.bin", []),
        ("link", []),
        ("e.fixed.onnx", []),
        ("out/e.onnx", ["-o", "out/"]),
        ("out/weights.bin", ["-o", "out/"]),
        ("e.onnx.bak", ["--in-place"]),
        ("in.npz", ["--inputs", "in.npz"]),
        ("onnxfix.toml", []),
        ("nowhere/report.json", []),
    ],
)
def test_a_report_in_the_place_of_another_file_is_refused_before_any_work(
    run: Any, folder: Path, fake_api: FakeApi, report: str, options: list[str]
) -> None:
    with_external_data(folder / "e.onnx")
    os.link(folder / "e.onnx", folder / "hard.onnx")
    (folder / "link").symlink_to("weights.bin")
    (folder / "onnxfix.toml").write_text("")
    np.savez(folder / "in.npz", x=np.zeros(4, np.float32))
    before = {name: digest(folder / name) for name in files(folder)}
    result = repair(run, "e.onnx", "--report", report, *options)
    assert result.code == 2
    assert result.err.startswith(f"error: {report}: ")
    assert result.err.count("\n") == 1
    assert not fake_api.calls
    assert {name: digest(folder / name) for name in files(folder)} == before


def test_a_report_may_stand_beside_the_models_in_a_new_folder(run: Any, model: Path) -> None:
    assert repair(run, "m.onnx", "-o", "out/", "--report", "out/report.json").code == 0
    assert files(model.parent) == {"m.onnx", "out/m.onnx", "out/report.json"}


@pytest.mark.parametrize("option", ["--diff", "--dry-run"])
def test_diff_and_dry_run_write_nothing_and_exit_with_1_where_something_would_change(
    run: Any, model: Path, fake_api: FakeApi, option: str
) -> None:
    before = digest(model)
    result = repair(run, "m.onnx", option)
    assert result.code == 1
    assert f"nothing written ({option})" in result.out
    assert ("+ [up] y = MatMul (x, w)" in result.out) == (option == "--diff")
    assert (files(model.parent), digest(model)) == ({"m.onnx"}, before)
    fake_api.status = "clean"
    assert repair(run, "m.onnx", option).code == 0


@pytest.mark.parametrize(("status", "code"), [("clean", 0), ("repaired", 0), ("partial", 1), ("declined", 1), ("unproven", 3)])
def test_exit_code_follows_the_outcome(run: Any, model: Path, fake_api: FakeApi, status: str, code: int) -> None:
    fake_api.status = status
    fake_api.after = (finding(),) if status in ("partial", "declined") else ()
    result = repair(run, "m.onnx")
    assert result.code == code
    assert ("m.fixed.onnx" in files(model.parent)) == (status in ("repaired", "partial"))
    if status == "unproven":
        assert "unproven: the numbers differ; nothing written" in result.out
    if status == "declined":
        assert "left for trt5.1: blocked" in result.out
        assert "Next: onnxfix explain OFX401" in result.out


def test_the_worst_outcome_of_several_models_counts(run: Any, model: Path, fake_api: FakeApi) -> None:
    save(model.parent / "n.onnx")
    fake_api.status = "unproven"
    assert repair(run, "m.onnx", "n.onnx").code == 3
    result = repair(run, "missing.onnx", "n.onnx")
    assert result.code == 2
    assert result.err == "error: missing.onnx: no such file\n"
    assert "n.onnx" in result.out


def test_several_models_are_summed_up(run: Any, model: Path, fake_api: FakeApi) -> None:
    save(model.parent / "n.onnx")
    assert repair(run, "m.onnx", "n.onnx", "missing.onnx").out.endswith("\n\n3 models: 2 repaired, 1 failed\n")
    fake_api.status = "clean"
    assert repair(run, "m.onnx", "n.onnx").out.endswith("\n\n2 models: 2 fine\n")
    for arguments in (["m.onnx"], ["-q", "m.onnx", "n.onnx"], ["-f", "json", "m.onnx", "n.onnx"]):
        assert "models: " not in repair(run, *arguments).out


def test_several_models_go_to_a_folder(run: Any, model: Path) -> None:
    save(model.parent / "n.onnx")
    assert repair(run, "m.onnx", "n.onnx", "-o", "fixed").code == 0
    assert {"fixed/m.onnx", "fixed/n.onnx"} <= files(model.parent)
    assert repair(run, "m.onnx", "n.onnx", "-o", "m.onnx").code == 2
    save(model.parent / "other" / "m.onnx")
    result = repair(run, "m.onnx", "other/m.onnx", "-o", "both")
    assert result.code == 2
    assert "would be written for both" in result.err
    assert not (model.parent / "both").exists()


def test_earlier_outputs_in_a_folder_are_not_repaired_again(run: Any, model: Path) -> None:
    repair(run, ".")
    repair(run, ".")
    assert files(model.parent) == {"m.onnx", "m.fixed.onnx"}


@pytest.mark.parametrize("output", ["nowhere/out.onnx", "file/out.onnx", "folder/"])
def test_an_output_that_cannot_be_is_refused_before_the_work(run: Any, model: Path, fake_api: FakeApi, output: str) -> None:
    (model.parent / "file").write_text("")
    (model.parent / "folder" / "m.onnx").mkdir(parents=True)
    before = digest(model)
    result = repair(run, "m.onnx", "-o", output)
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert not fake_api.calls
    assert digest(model) == before


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc takes no files, even from root")
def test_a_folder_that_refuses_the_file_is_one_line(run: Any, model: Path) -> None:
    result = repair(run, "m.onnx", "-o", "/proc/out.onnx")
    assert result.code == 2
    assert result.err.startswith("error: /proc/out.onnx: cannot be written")
    assert result.err.count("\n") == 1


def test_no_target_is_a_usage_error_with_a_hint(run: Any, model: Path) -> None:
    result = run("repair", "m.onnx")
    assert result.code == 2
    assert "--target trt5.1" in result.err
    assert "onnxfix targets" in result.err
    (model.parent / "onnxfix.toml").write_text('targets = ["trt5.1"]')
    assert run("repair", "m.onnx").code == 0


def test_options_reach_the_repair(run: Any, model: Path, fake_api: FakeApi) -> None:
    words = "--allow exact --allow ofx701,approximate --only OFX4 --skip OFX401 --no-verify --rtol 1e-3 --samples 3 --seed 7"
    repair(run, "m.onnx", *words.split(), "--shape", "x:1x3x4x4", "--max-passes", "2", "--partial")
    options = fake_api.calls[-1]["options"]
    assert (options.allow, options.consent) == ("approximate", frozenset({"OFX701"}))
    assert (options.only, options.skip, options.verify) == (("OFX4",), ("OFX401",), False)
    assert (options.rtol, options.samples, options.seed, options.max_passes) == (1e-3, 3, 7, 2)
    assert (options.shapes, options.partial) == ({"x": (1, 3, 4, 4)}, True)
    repair(run, "m.onnx", "--allow", "OFX701")
    assert fake_api.calls[-1]["options"].allow == "equivalent"


def test_next_names_what_each_target_needs(run: Any, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxfix.engines import choice

    targets = ("-t", "trt7.1", "-t", "rtx1.7")
    monkeypatch.setattr(choice, "builds_for", lambda target: target == "rtx1.7")
    steps = repair(run, "m.onnx", *targets).out.splitlines()[-3:]
    assert steps == [
        "Next: onnxfix build m.fixed.onnx --target rtx1.7",
        "or:   where TensorRT 5.1 is: trtexec --onnx=m.fixed.onnx",
        "or:   where TensorRT 7.1 is: trtexec --onnx=m.fixed.onnx --explicitBatch",
    ]
    monkeypatch.setattr(choice, "builds_for", lambda target: False)
    assert "where TensorRT-RTX 1.7 is installed: onnxfix build m.fixed.onnx" in repair(run, "m.onnx", *targets).out


def test_next_explains_the_operator_that_is_not_taken(run: Any, model: Path, fake_api: FakeApi) -> None:
    fake_api.status, fake_api.after = "declined", (finding("OFX101"),)
    assert repair(run, "m.onnx").out.endswith("Next: onnxfix explain Resize\n")


def test_a_suggested_command_allows_the_widest_level_once(run: Any, model: Path) -> None:
    result = repair(run, "m.onnx", "--allow", "exact", "--allow", "equivalent,ofx701", "--dry-run")
    assert result.out.endswith("Next: onnxfix repair m.onnx --target trt5.1 --allow OFX701 --allow equivalent\n")


def test_a_wrong_allow_is_suggested_against(run: Any, model: Path) -> None:
    result = repair(run, "m.onnx", "--allow", "aproximate")
    assert result.code == 2
    assert "--allow" in result.err
    assert result.err.count("\n") == 1
    assert "OFX701" in repair(run, "m.onnx", "--allow", "OFX7011").err


@pytest.mark.parametrize(
    "words",
    [["-o", "x.onnx", "--in-place"], ["--no-backup"], ["--samples", "0"], ["--inputs", "nowhere.npz"], ["--shape", "x:0"]],
)
def test_wrong_options_are_one_line(run: Any, model: Path, words: list[str]) -> None:
    result = repair(run, "m.onnx", *words)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert files(model.parent) == {"m.onnx"}


@pytest.mark.parametrize(
    ("array", "said"),
    [
        ({"x": (1, 3, 5, 5)}, "k.npz: input 'x' is 1x3x4x4, which 1x3x5x5 does not fit"),
        ({"x": (1, 3)}, "k.npz: input 'x' is 1x3x4x4, which 1x3 does not fit"),
        ({"img": (1, 3, 4, 4)}, "k.npz: the model has no input 'img'; its inputs are x"),
    ],
)
def test_inputs_that_do_not_fit_name_their_file(run: Any, model: Path, array: dict[str, tuple[int, ...]], said: str) -> None:
    np.savez(model.parent / "k.npz", **{name: np.zeros(shape, np.float32) for name, shape in array.items()})
    for command in (["repair", "-t", "trt5.1", "m.onnx"], ["verify", "m.onnx", "m.onnx"]):
        result = run(*command, "--inputs", "k.npz")
        assert (result.code, result.err) == (2, f"error: {said}\n")


def test_a_hook_fails_when_it_changed_a_file(run: Any, model: Path, fake_api: FakeApi) -> None:
    hook = ("--in-place", "--no-backup", "--allow", "exact", "--exit-non-zero-on-fix", "--skip-pointers")
    (model.parent / "pointer.onnx").write_bytes(POINTER)
    assert repair(run, *hook, "m.onnx", "pointer.onnx").code == 1
    fake_api.status = "clean"
    assert repair(run, *hook, "m.onnx", "pointer.onnx").code == 0
    assert (model.parent / "pointer.onnx").read_bytes() == POINTER


def test_stamp_records_provenance_and_keeps_the_rest(run: Any, model: Path) -> None:
    proto = onnx.parser.parse_model(CLEAN)
    proto.metadata_props.add(key="author", value="someone")
    proto.metadata_props.add(key="onnxfix.version", value="0.0")
    model.write_bytes(proto.SerializeToString())
    repair(run, "m.onnx", "--stamp", "--no-verify")
    written = onnx.load(model.parent / "m.fixed.onnx")
    props = {item.key: item.value for item in written.metadata_props}
    assert len(props) == len(written.metadata_props)
    assert props["author"] == "someone"
    assert props["onnxfix.version"] != "0.0"
    assert props["onnxfix.source_sha256"] == digest(model)
    assert (props["onnxfix.targets"], props["onnxfix.rules"], props["onnxfix.verified"]) == ("trt5.1", "OFX401", "no")
    repair(run, "m.onnx", "-o", "plain.onnx")
    assert len(onnx.load(model.parent / "plain.onnx").metadata_props) == 2


def test_external_data_is_referenced_in_the_same_folder_and_copied_to_another(run: Any, model: Path) -> None:
    folder = model.parent
    with_external_data(folder / "e.onnx")
    assert repair(run, "e.onnx").code == 0
    onnx.load(folder / "e.fixed.onnx")
    (folder / "other").mkdir()
    assert repair(run, "e.onnx", "-o", "other/e.onnx").code == 0
    onnx.load(folder / "other" / "e.onnx")
    assert digest(folder / "weights.bin") == digest(folder / "other" / "weights.bin")
    result = repair(run, "e.onnx", "-o", "other/f.onnx", "--external-data", "keep")
    assert result.code == 2
    assert "--external-data copy" in result.err
    assert "other/f.onnx" not in files(folder)


def test_missing_external_data_is_one_line_and_writes_nothing(run: Any, model: Path) -> None:
    folder = model.parent
    with_external_data(folder / "e.onnx")
    (folder / "weights.bin").unlink()
    result = repair(run, "e.onnx", "-o", "other/")
    assert result.code == 2
    assert "external data is missing" in result.err
    assert files(folder) == {"m.onnx", "e.onnx"}


def test_json_report_is_valid_and_complete(run: Any, model: Path) -> None:
    result = repair(run, "m.onnx", "missing.onnx", "-o", "out", "-f", "json", "--report", "report.json")
    assert result.code == 2
    report = result.json
    jsonschema.validate(report, closed(SCHEMA))
    assert (model.parent / "report.json").read_text() == result.out
    done, missing = report["models"]
    assert missing["error"] == "missing.onnx: no such file"
    assert done["repair"]["output"] == {"path": "out/m.onnx", "sha256": digest(model.parent / "out" / "m.onnx")}
    assert (done["repair"]["resolved"], done["repair"]["remaining"], done["repair"]["introduced"]) == (1, 0, 0)
    assert done["findings"][0]["fix"]["applied"] is True


def test_standard_input_is_refused(run: Any, model: Path) -> None:
    result = repair(run, "-")
    assert result.code == 2
    assert "standard input" in result.err


def test_open_sizes_are_asked_for_by_name(run: Any, folder: Path) -> None:
    save(
        folder / "m.onnx",
        '<ir_version: 3, opset_import: ["" : 9]> g (float["N",3,"H","W"] x) => (float["N",3,"H","W"] y) { y = Relu (x) }',
    )
    result = run("repair", "-t", "trt5.1", "m.onnx")
    assert result.code == 1
    assert "--shape x:Nx3xHxW, with a number for every name" in result.out
