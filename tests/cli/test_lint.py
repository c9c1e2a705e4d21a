"""`onnxfix lint` around the linter itself: files, targets, selections, formats and exit codes."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest

from onnxfix.rules.finding import Severity
from onnxfix.targets import all_targets

from .conftest import SCHEMA, FakeApi, finding, save

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"


@pytest.fixture
def models(folder: Path, fake_api: FakeApi) -> Path:
    """Two models, of which `bad.onnx` has an error and a warning."""
    save(folder / "good.onnx")
    save(folder / "bad.onnx")
    fake_api.findings["bad.onnx"] = [finding(), finding("OFX101", severity=Severity.WARNING, node="w", message="Mish is odd")]
    return folder


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["good.onnx"], 0),
        (["bad.onnx"], 1),
        (["bad.onnx", "--exit-zero"], 0),
        (["bad.onnx", "--fail-on", "never"], 0),
        (["bad.onnx", "--fail-on", "warning"], 1),
        (["good.onnx", "bad.onnx"], 1),
        (["missing.onnx", "bad.onnx"], 2),
        (["missing.onnx", "good.onnx", "--exit-zero"], 2),
        (["bad.onnx", "--severity", "error"], 1),
    ],
)
def test_exit_code(run: Any, models: Path, arguments: list[str], code: int) -> None:
    assert run("lint", "-t", "trt5.1", *arguments).code == code


def test_fail_on_warning_counts_warnings_alone(run: Any, models: Path, fake_api: FakeApi) -> None:
    fake_api.findings["bad.onnx"] = [finding(severity=Severity.WARNING)]
    assert run("lint", "-t", "trt5.1", "bad.onnx").code == 0
    assert run("lint", "-t", "trt5.1", "bad.onnx", "--fail-on", "warning").code == 1
    assert run("lint", "-t", "trt5.1", "bad.onnx", "--fail-on", "info").code == 1


def test_a_bad_file_is_told_and_the_others_go_on(run: Any, models: Path) -> None:
    result = run("lint", "-t", "trt5.1", "missing.onnx", "bad.onnx")
    assert result.err == "error: missing.onnx: no such file\n"
    assert "OFX401" in result.out


def test_folders_and_globs_are_searched_and_files_come_once(run: Any, folder: Path, fake_api: FakeApi) -> None:
    for name in ("a.onnx", "deep/b.onnx", ".hidden/c.onnx", "deep/d.txt"):
        save(folder / "models" / name)

    def paths(*arguments: str) -> list[str]:
        result = run("lint", "-t", "trt5.1", "-f", "json", *arguments)
        assert result.code == 0, result.err
        return [model["path"] for model in result.json["models"]]

    assert paths("models") == ["models/a.onnx", "models/deep/b.onnx"]
    assert paths("models/*.onnx", "models/a.onnx", "models") == ["models/a.onnx", "models/deep/b.onnx"]
    assert paths("models/**/*.onnx") == ["models/a.onnx", "models/deep/b.onnx"]
    assert paths("models/deep/d.txt") == ["models/deep/d.txt"]


def test_a_folder_or_glob_without_models_is_an_error(run: Any, folder: Path) -> None:
    (folder / "empty").mkdir()
    result = run("lint", "-t", "trt5.1", "empty", "*.pb")
    assert result.code == 2
    assert result.err == "error: empty: the folder holds no .onnx file\nerror: *.pb: no file matches\n"


def test_standard_input_is_a_model(run: Any, folder: Path, fake_api: FakeApi) -> None:
    data = save(folder / "m.onnx")
    result = run("lint", "-t", "trt5.1", "-f", "json", "-", stdin=data)
    assert result.code == 0
    assert result.json["models"][0]["path"] == "<stdin>"
    assert result.json["models"][0]["size"] == len(data)


def test_pointers_are_errors_unless_skipped(run: Any, models: Path) -> None:
    (models / "pointer.onnx").write_bytes(POINTER)
    result = run("lint", "-t", "trt5.1", "pointer.onnx", "good.onnx")
    assert result.code == 2
    assert result.err == "error: pointer.onnx: is a Git LFS pointer, not a model; run `git lfs pull`\n"
    result = run("lint", "-t", "trt5.1", "--skip-pointers", "pointer.onnx", "good.onnx")
    assert result.code == 0
    assert result.err.startswith("note: pointer.onnx: is a Git LFS pointer")
    assert "good.onnx" in result.out


def test_without_a_target_all_releases_are_shown_and_the_code_is_0(run: Any, models: Path, fake_api: FakeApi) -> None:
    result = run("lint", "bad.onnx")
    assert result.code == 0
    assert [target.id for target in fake_api.calls[-1]["targets"]] == [target.id for target in all_targets()]
    assert result.err.startswith("hint: no target is set")
    assert "trt5.0..trt11.5  blocked" in result.out
    assert "rtx1.4..rtx1.7   blocked" in result.out
    assert run("lint", "-q", "bad.onnx").err == ""
    assert run("lint", "missing.onnx").code == 2


@pytest.mark.parametrize("source", ["option", "variable", "file"])
def test_targets_come_from_options_variables_and_files(
    run: Any, models: Path, fake_api: FakeApi, monkeypatch: Any, source: str
) -> None:
    if source == "variable":
        monkeypatch.setenv("ONNXFIX_TARGETS", "trt5.1..trt7.1")
    elif source == "file":
        (models / "onnxfix.toml").write_text('targets = ["trt7.1", "5.1"]')
    options = ["-t", "jetpack4.2.2", "--target", "trt7.1"] if source == "option" else []
    run("lint", *options, "good.onnx")
    between = ["trt6.0", "trt6.0-fulldims", "trt7.0"] if source == "variable" else []
    assert [target.id for target in fake_api.calls[-1]["targets"]] == ["trt5.1", *between, "trt7.1"]


def test_a_wrong_target_is_named_with_its_source(run: Any, models: Path) -> None:
    result = run("lint", "-t", "trt5.11", "good.onnx")
    assert result.code == 2
    assert result.err.startswith("error: unknown target 'trt5.11'; did you mean 'trt5.1'?")
    assert result.err.count("\n") == 1
    (models / "onnxfix.toml").write_text('targets = ["trt5.11"]')
    result = run("lint", "good.onnx")
    assert result.code == 2
    assert result.err.startswith(f"error: {models / 'onnxfix.toml'}: targets: unknown target 'trt5.11'")


def test_selections_reach_the_linter(run: Any, models: Path, fake_api: FakeApi) -> None:
    def selected(*arguments: str) -> list[str]:
        run("lint", "-t", "trt5.1", *arguments, "good.onnx")
        selection = fake_api.calls[-1]["selection"]
        return [code for code in ("OFX101", "OFX401", "OFX701") if code in selection]

    assert selected() == ["OFX101", "OFX401", "OFX701"]
    assert selected("--select", "OFX1,ofx4") == ["OFX101", "OFX401"]
    assert selected("--ignore", "OFX4") == ["OFX101", "OFX701"]
    (models / "onnxfix.toml").write_text('ignore = ["OFX7"]')
    assert selected() == ["OFX101", "OFX401"]
    assert selected("--extend-select", "OFX701") == ["OFX101", "OFX401", "OFX701"]
    assert selected("--ignore", "OFX1") == ["OFX401", "OFX701"]


def test_a_wrong_selection_is_suggested_against(run: Any, models: Path) -> None:
    result = run("lint", "-t", "trt5.1", "--select", "OFX999", "good.onnx")
    assert result.code == 2
    assert result.err.startswith("error: --select: no rule begins with 'OFX999'")


def test_shapes_reach_the_linter_and_the_suggested_command(run: Any, models: Path, fake_api: FakeApi) -> None:
    result = run("lint", "-t", "trt5.1", "--shape", "x:1x3x8x8", "bad.onnx")
    assert fake_api.calls[-1]["shapes"] == {"x": (1, 3, 8, 8)}
    assert "Try: onnxfix repair bad.onnx --target trt5.1 --shape x:1x3x8x8 --diff" in result.out
    result = run("lint", "-t", "trt5.1", "--shape", "x", "bad.onnx")
    assert (result.code, result.err.count("\n")) == (2, 1)


def test_severity_hides_but_still_counts(run: Any, models: Path) -> None:
    result = run("lint", "-t", "trt5.1", "--severity", "error", "bad.onnx")
    assert "Mish" not in result.out
    assert "1 warning" in result.out


def test_several_models_are_summed_up(run: Any, models: Path) -> None:
    result = run("lint", "-t", "trt5.1", "-t", "trt7.1", "good.onnx", "bad.onnx", "missing.onnx")
    assert result.out.splitlines()[-3:] == [
        "",
        "trt5.1  3 models: 1 likely, 1 blocked, 1 unreadable",
        "trt7.1  3 models: 1 likely, 1 blocked, 1 unreadable",
    ]
    for arguments in (["good.onnx"], ["-q", "good.onnx", "bad.onnx"], ["-f", "concise", "good.onnx", "bad.onnx"]):
        assert "models: " not in run("lint", "-t", "trt5.1", *arguments).out


def test_max_findings_says_what_it_leaves_out(run: Any, models: Path) -> None:
    result = run("lint", "-t", "trt5.1", "--max-findings", "1", "bad.onnx")
    assert "Mish" not in result.out
    assert "1 more not shown" in result.out


def test_json_is_valid_against_the_schema_and_holds_unreadable_files(run: Any, models: Path) -> None:
    result = run("lint", "-t", "trt5.1", "-t", "trt7.1", "-f", "json", "--statistics", "bad.onnx", "missing.onnx")
    assert result.code == 2
    report = result.json
    jsonschema.validate(report, SCHEMA)
    assert report["run"]["exit_code"] == 2
    good, missing = report["models"]
    assert missing == {"path": "missing.onnx", "error": "missing.onnx: no such file"}
    assert [target["id"] for target in good["targets"]] == ["trt5.1", "trt7.1"]
    assert [found["target"] for found in good["findings"]] == [["trt5.1"], ["trt5.1"], ["trt7.1"], ["trt7.1"]]
    assert good["findings"][0]["fix"]["applicability"] == "equivalent"
    assert good["findings"][0]["location"]["scope"] == ["graph"]
    assert {item["count"] for item in report["statistics"]} == {1}


def test_every_key_of_a_json_report_is_described_in_the_schema(run: Any, models: Path) -> None:
    strict = closed(SCHEMA)
    report = run("lint", "-t", "trt5.1", "-f", "json", "--statistics", "bad.onnx").json
    jsonschema.validate(report, strict)


def closed(schema: Any) -> Any:
    """The schema with no room for keys that it does not describe."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: closed(value) for key, value in schema.items()}
    if copy.get("type") == "object" and "properties" in copy:
        copy.setdefault("additionalProperties", False)
    return copy


def test_output_goes_to_a_file_without_colour(run: Any, models: Path) -> None:
    result = run("--color", "always", "lint", "-t", "trt5.1", "-o", "report.txt", "bad.onnx")
    assert (result.code, result.out) == (1, "")
    assert "Verdict: blocked" in (models / "report.txt").read_text(encoding="utf-8")
    assert "\x1b" not in (models / "report.txt").read_text(encoding="utf-8")
    result = run("lint", "-t", "trt5.1", "-o", "nowhere/report.txt", "bad.onnx")
    assert result.code == 2
    assert result.err.startswith("error: nowhere/report.txt: cannot be written")


def test_statistics_count_over_all_models(run: Any, models: Path, fake_api: FakeApi) -> None:
    fake_api.findings["good.onnx"] = [finding()]
    result = run("lint", "-t", "trt5.1", "--statistics", "bad.onnx", "good.onnx")
    assert result.out.splitlines() == [
        "count  rule                   target  fix",
        "    2  OFX401 resize-mode     trt5.1  [*]",
        "    1  OFX101 op-unsupported  trt5.1",
    ]


def test_concise_is_one_line_a_finding(run: Any, models: Path) -> None:
    result = run("lint", "-t", "trt5.1", "-f", "concise", "bad.onnx", "good.onnx")
    assert result.out.splitlines() == [
        'bad.onnx: graph/node[1]: error OFX401 resize-mode (trt5.1) [*] Resize has mode="cubic"; trt5.1 takes nearest',
        "bad.onnx: graph/node[1]: warning OFX101 op-unsupported (trt5.1) Mish is odd",
    ]


def test_show_config_says_where_settings_come_from(run: Any, folder: Path, monkeypatch: Any) -> None:
    (folder / "onnxfix.toml").write_text('targets = ["trt5.1"]')
    monkeypatch.setenv("ONNXFIX_IGNORE", "OFX7")
    result = run("lint", "--show-config")
    assert result.code == 0
    assert result.out.splitlines() == [
        f"# file: {folder / 'onnxfix.toml'}",
        f'targets = ["trt5.1"]  # {folder / "onnxfix.toml"}',
        "select = []  # default",
        'ignore = ["OFX7"]  # ONNXFIX_IGNORE',
    ]


def test_show_config_shows_what_the_command_line_says(run: Any, folder: Path) -> None:
    (folder / "onnxfix.toml").write_text('targets = ["trt5.1"]\nselect = ["OFX1"]')
    result = run("lint", "--show-config", "-t", "rtx", "--ignore", "ofx2,OFX7", "--extend-select", "OFX3")
    assert result.out.splitlines()[1:] == [
        'targets = ["rtx1.7"]  # command line',
        'select = ["OFX1", "OFX3"]  # command line',
        'ignore = ["OFX2", "OFX7"]  # command line',
    ]
    assert run("lint", "--show-config", "--isolated").out.splitlines()[:2] == ["# no configuration file", "targets = []  # default"]


def test_no_path_is_a_usage_error(run: Any, folder: Path) -> None:
    result = run("lint", "-t", "trt5.1")
    assert result.code == 2
    assert result.err.startswith("error: no path given")


def test_names_in_a_model_cannot_drive_the_terminal(run: Any, models: Path, fake_api: FakeApi) -> None:
    fake_api.findings["bad.onnx"] = [finding(node="\x1b[2Jclear\nnewline\u202e", message="Resize\r\x07 rings")]
    for form in ("text", "concise", "grouped", "json"):
        result = run("--color", "never", "lint", "-t", "trt5.1", "-f", form, "bad.onnx")
        assert not any(ch in result.out for ch in "\x1b\r\x07\u202e"), form
    result = run("--color", "always", "lint", "-t", "trt5.1", "bad.onnx")
    assert "\x1b[2J" not in result.out
    assert "\\x1b[2Jclear\\nnewline\\u202e" in result.out


def test_a_major_version_says_which_release_it_stands_for(run: Any, models: Path) -> None:
    done = run("lint", "-t", "trt5", "good.onnx")
    assert done.code == 0
    assert done.err == "trt5 stands for trt5.1, its newest release\n"
