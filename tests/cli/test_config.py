"""Where settings come from, which of them wins, and what is said of wrong ones."""

from pathlib import Path

import pytest

from onnxfix.config import Config, find_config, load_config
from onnxfix.errors import UsageError


def load(start: Path, *overrides: str, isolated: bool = False, **env: str) -> Config:
    return load_config(overrides, isolated=isolated, start=start, env=env)


def test_without_any_file_everything_is_default(folder: Path) -> None:
    config = load(folder)
    assert (config.targets, config.select, config.ignore, config.files) == ((), (), (), ())
    assert set(config.sources.values()) == {"default"}


def test_the_nearest_file_above_counts(folder: Path) -> None:
    (folder / "onnxfix.toml").write_text('targets = ["trt7.1"]')
    inner = folder / "a" / "b"
    inner.mkdir(parents=True)
    assert load(inner).targets == ("trt7.1",)
    (folder / "a" / "onnxfix.toml").write_text('targets = ["trt5.1"]')
    config = load(inner)
    assert config.targets == ("trt5.1",)
    assert config.source("targets") == f"{folder / 'a' / 'onnxfix.toml'}: targets"


def test_onnxfix_toml_comes_before_pyproject(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.onnxfix]\ntargets = ["trt7.1"]\nignore = ["OFX7"]')
    assert load(folder).ignore == ("OFX7",)
    (folder / "onnxfix.toml").write_text('targets = ["trt5.1"]')
    assert load(folder) == load(folder, str(folder / "onnxfix.toml"))


def test_a_pyproject_without_our_table_is_passed_over(folder: Path) -> None:
    (folder / "onnxfix.toml").write_text('targets = ["trt7.1"]')
    inner = folder / "package"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100")
    assert load(inner).targets == ("trt7.1",)


def test_the_search_ends_at_the_repository(folder: Path) -> None:
    (folder / "onnxfix.toml").write_text('targets = ["trt7.1"]')
    inner = folder / "submodule"
    (inner / ".git").mkdir(parents=True)
    assert find_config(inner) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('target = ["trt5.1"]', ["onnxfix.toml", "unknown key 'target'", "did you mean 'targets'"]),
        ('targets = "trt5.1"', ["onnxfix.toml", "'targets' must be list"]),
        ("targets = [5.1]", ["onnxfix.toml", "list of strings"]),
        ("targets = = 1", ["onnxfix.toml", "line 1"]),
    ],
)
def test_a_wrong_file_is_an_error_that_names_file_and_key(folder: Path, text: str, words: list[str]) -> None:
    (folder / "onnxfix.toml").write_text(text)
    with pytest.raises(UsageError) as error:
        load(folder)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_environment_beats_file_and_config_option_beats_environment(folder: Path) -> None:
    (folder / "onnxfix.toml").write_text('targets = ["trt7.1"]\nignore = ["OFX7"]')
    config = load(folder, ONNXFIX_TARGETS="trt5.1, rtx1.7")
    assert config.targets == ("trt5.1", "rtx1.7")
    assert config.ignore == ("OFX7",)
    assert config.sources["targets"] == "ONNXFIX_TARGETS"
    assert load(folder, 'targets=["rtx1.7"]', ONNXFIX_TARGETS="trt5.1").targets == ("rtx1.7",)


def test_a_named_file_replaces_the_found_one(folder: Path) -> None:
    (folder / "onnxfix.toml").write_text('targets = ["trt7.1"]\nignore = ["OFX7"]')
    other = folder / "other.toml"
    other.write_text('targets = ["trt5.1"]')
    config = load(folder, str(other))
    assert (config.targets, config.ignore, config.files) == (("trt5.1",), (), (str(other),))


def test_isolated_reads_no_file_but_takes_the_rest(folder: Path) -> None:
    (folder / "onnxfix.toml").write_text('targets = ["trt7.1"]')
    assert load(folder, isolated=True).targets == ()
    assert load(folder, 'targets=["trt5.1"]', isolated=True).targets == ("trt5.1",)
    with pytest.raises(UsageError, match="--isolated"):
        load(folder, "onnxfix.toml", isolated=True)


def test_a_setting_that_is_no_toml_shows_how_to_write_it(folder: Path) -> None:
    with pytest.raises(UsageError, match=r'such as targets=\["trt5.1"\]'):
        load(folder, "targets=trt5.1")


def test_a_missing_file_is_named(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere.toml: no such file"):
        load(folder, "nowhere.toml")


@pytest.mark.parametrize(
    ("kind", "said"), [("folder", "Is a directory"), ("loop", "Too many levels"), ("dangling", "no such file")]
)
def test_an_onnxfix_toml_that_is_no_file_is_not_passed_over(folder: Path, kind: str, said: str) -> None:
    own = folder / "onnxfix.toml"
    if kind == "folder":
        own.mkdir()
    else:
        own.symlink_to("onnxfix.toml" if kind == "loop" else "nowhere")
    with pytest.raises(UsageError, match=rf"onnxfix\.toml: .*{said}"):
        load(folder)


def test_a_pyproject_whose_tool_is_no_table_is_an_error(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("tool = 3")
    with pytest.raises(UsageError, match=r"pyproject\.toml: tool: must be a table"):
        load(folder)
    with pytest.raises(UsageError, match="must be a table"):
        load(folder, str(folder / "pyproject.toml"))
