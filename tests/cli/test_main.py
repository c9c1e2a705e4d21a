"""The group: help without heavy imports, global options, and errors that are one line with the right exit code."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from onnxfix import __version__
from onnxfix.cli import COMMANDS

from .conftest import FakeApi, finding, save


def child(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "onnxfix", *arguments], capture_output=True, text=True, check=False, **more)


def test_help_lists_every_command_without_importing_one(run: Any) -> None:
    script = """
import sys
from onnxfix.__main__ import main
code = main(["--help"])
heavy = {"onnx", "numpy", "rich", "onnxruntime", "onnx_graphsurgeon"} & set(sys.modules)
commands = {name for name in sys.modules if name.startswith("onnxfix.cli.") and not name.startswith("onnxfix.cli._")}
print(code, heavy or "", commands or "")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].strip() == "0"
    for name, summary in COMMANDS.items():
        assert f"{name}  " in done.stdout
        assert summary in done.stdout


@pytest.mark.parametrize("arguments", [["explain", "OFX101"], ["explain", "Resize"], ["rules"], ["targets"]])
def test_reference_commands_import_no_onnx(arguments: list[str]) -> None:
    script = f"""
import sys
from onnxfix.__main__ import main
main({arguments!r})
assert not {{"onnx", "numpy", "rich"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help(run: Any, name: str) -> None:
    result = run(name, "--help")
    assert result.code == 0
    assert result.out.startswith(f"Usage: onnxfix {name} ")
    assert "\\b" not in result.out


def test_the_examples_of_explain_keep_their_lines(run: Any) -> None:
    assert "  onnxfix explain Resize --target trt5.1..trt7.1\n" in run("explain", "--help").out


def test_every_target_that_help_names_exists(run: Any) -> None:
    from onnxfix.targets import find_target

    text = "".join(run(name, "--help").out for name in COMMANDS)
    names = set(re.findall(r"\b(?:trt|jetpack|rtx)[0-9.]*[0-9]\b", text))
    assert {"trt5.1", "jetpack4.2.2"} <= names
    for name in names:
        find_target(name)


def test_version(run: Any) -> None:
    assert run("--version").out == f"onnxfix {__version__}\n"


def test_no_command_shows_help_and_is_a_usage_error(run: Any) -> None:
    result = run()
    assert result.code == 2
    assert "Commands:" in result.err
    assert not result.out


def test_unknown_command_and_option_are_suggested_against(run: Any) -> None:
    result = run("lnt")
    assert (result.code, result.out) == (2, "")
    assert result.err == "error: there is no command 'lnt'; did you mean 'lint'? (see `onnxfix --help`)\n"
    result = run("lint", "--taget", "trt5.1")
    assert result.code == 2
    assert result.err.startswith("error: No such option")
    assert "--target" in result.err
    assert result.err.count("\n") == 1


def test_global_options_may_follow_the_command(run: Any, folder: Path, fake_api: FakeApi) -> None:
    save(folder / "m.onnx")
    before = run("--config", 'targets=["trt5.1"]', "--quiet", "lint", "m.onnx")
    after = run("lint", "m.onnx", "--config", 'targets=["trt5.1"]', "-q")
    assert before == after
    assert before.code == 0


def test_an_internal_error_is_one_line_and_asks_for_a_report(run: Any, folder: Path, fake_api: FakeApi) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyError("tensor")

    save(folder / "m.onnx")
    for name in ("lint_model", "repair_model"):
        setattr(fake_api, name, broken)
    ours = "internal error in onnxfix: KeyError: 'tensor'; please report it, with --traceback to see where\n"
    for command in ("lint", "repair"):
        result = run(command, "-t", "trt5.1", "m.onnx", "missing.onnx")
        assert (result.code, result.err) == (2, f"error: m.onnx: {ours}error: missing.onnx: no such file\n")
    result = run("targets", "--for", "m.onnx")
    assert (result.code, result.err) == (2, f"error: {ours}")


def test_traceback_is_shown_on_request_only(folder: Path) -> None:
    result = child("targets", "trt9.9", "--traceback", cwd=folder)
    assert "Traceback" in result.stderr
    assert result.returncode == 2
    assert "Traceback" not in child("targets", "trt9.9", cwd=folder).stderr


def test_interruption_exits_with_130(run: Any, folder: Path, fake_api: FakeApi) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    fake_api.lint_model = interrupted  # type: ignore[method-assign,assignment]
    save(folder / "m.onnx")
    assert run("lint", "-t", "trt5.1", "m.onnx").code == 130


def test_an_interruption_that_became_another_error_is_no_error(run: Any, folder: Path, fake_api: FakeApi) -> None:
    def interrupted(*_: object, **__: object) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("numpy could not be imported") from None

    fake_api.lint_model = interrupted  # type: ignore[method-assign,assignment]
    save(folder / "m.onnx")
    for arguments in (["lint", "-t", "trt5.1", "m.onnx"], ["targets", "--for", "m.onnx"]):
        result = run(*arguments)
        assert (result.code, result.err.strip()) == (130, "interrupted")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("module", ["click", "onnxfix.cli", "onnxfix.errors"])
def test_an_interruption_of_the_first_imports_is_quiet(folder: Path, module: str) -> None:
    script = f"""
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from onnxfix.__main__ import main
sys.exit(main(["rules"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.skipif(os.name != "posix", reason="redirections of a POSIX shell")
@pytest.mark.parametrize(
    ("redirection", "said"),
    [
        ("<&-", "<stdin>: standard input is closed"),
        (">&-", "standard output is closed"),
        (">&- <&-", "standard output is closed"),
        ("2>&-", ""),
    ],
)
def test_closed_streams(folder: Path, redirection: str, said: str) -> None:
    script = f'"{sys.executable}" -m onnxfix lint - {redirection}'
    done = subprocess.run(["bash", "-c", script], input="", capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 2
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert errors == ([f"error: {said}"] if said else [])
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("arguments", [["rules"], ["rules", "-f", "json"], ["lint", "-t", "trt5.1", "m.onnx"], ["--help"]])
def test_standard_output_that_cannot_be_written_is_an_error(folder: Path, arguments: list[str]) -> None:
    import resource

    save(folder / "m.onnx")
    with (folder / "out").open("w") as out:
        command = [sys.executable, "-m", "onnxfix", *arguments]
        done = subprocess.run(
            command,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
        )
    assert (done.returncode, done.stderr) == (2, "error: standard output cannot be written: File too large\n")


@pytest.mark.skipif(os.name != "posix", reason="pipes end differently elsewhere")
def test_a_closed_pipe_ends_quietly(folder: Path) -> None:
    script = f'"{sys.executable}" -m onnxfix rules -f json | head -c 10 > /dev/null; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=folder)
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_colour_follows_option_and_environment(run: Any, folder: Path, fake_api: FakeApi, monkeypatch: Any) -> None:
    save(folder / "m.onnx")
    fake_api.findings["m.onnx"] = [finding()]
    plain = run("lint", "-t", "trt5.1", "m.onnx")
    assert "\x1b[" not in plain.out
    coloured = run("--color", "always", "lint", "-t", "trt5.1", "m.onnx")
    assert "\x1b[1;31merror" in coloured.out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run("lint", "-t", "trt5.1", "m.onnx").out == coloured.out
    monkeypatch.setenv("NO_COLOR", "1")
    assert run("lint", "-t", "trt5.1", "m.onnx").out == plain.out
    assert run("--color", "never", "lint", "-t", "trt5.1", "m.onnx").out == plain.out
