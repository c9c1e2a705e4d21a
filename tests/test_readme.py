"""The README tells the truth: its commands are run, and what it shows is what they print.

`python tests/test_readme.py` writes outputs and the table of rules into the README anew; read the difference before committing it.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "fixtures" / "README.md"]
_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_RULES = re.compile(r"(?<=<!-- rules -->\n).*?(?=<!-- end of rules -->)", re.DOTALL)
# What may differ between machines and runs.
_VARYING = (
    (re.compile(r"\d+ bytes in [\d.]+ s"), "N bytes in T s"),
    (re.compile(r"TensorRT-RTX 1\.7[\d.]*"), "TensorRT-RTX 1.7.x"),
    (re.compile(r"\d+ layers"), "N layers"),
)


@dataclass
class Command:
    """One `$ ` line of the README and what is shown below it."""

    line: str
    shown: list[str] = field(default_factory=list)

    @property
    def sets_up(self) -> bool:
        return "venv .venv" in self.line

    @property
    def onnxfix(self) -> str:
        """The command without what installs onnxfix before it."""
        return self.line.rpartition("&& .venv/bin/")[2]


def read_commands(text: str) -> list[Command]:
    commands: list[Command] = []
    for block in _CONSOLE.findall(text):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append(Command(line[2:]))
            else:
                commands[-1].shown.append(line)
    return commands


COMMANDS = read_commands(README.read_text(encoding="utf-8"))


def plain(lines: list[str]) -> list[str]:
    """Lines without what may differ, and without blanks at the end."""
    text = "\n".join(line.rstrip() for line in lines).strip("\n")
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    return text.splitlines()


def run_all(commands: list[Command], folder: Path) -> list[list[str] | None]:
    """Each command's output, in one folder and one after another; None for what needs TensorRT-RTX where it is not installed."""
    shutil.copytree(ROOT / "fixtures", folder / "fixtures")
    (folder / "bin").mkdir()
    program = folder / "bin" / "onnxfix"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m onnxfix "$@"\n')
    program.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ONNXFIX_")}
    environment |= {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    outputs: list[list[str] | None] = []
    for command in commands:
        if "tensorrt-rtx" in command.line and importlib.util.find_spec("tensorrt_rtx") is None:
            outputs.append(None)
            continue
        done = subprocess.run(
            ["bash", "-c", command.onnxfix],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            cwd=folder,
            env=environment,
            check=False,
        )
        outputs.append(done.stdout.splitlines())
    return outputs


def rules_table() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "onnxfix", "--isolated", "rules", "-f", "markdown"],
        capture_output=True,
        encoding="utf-8",
        cwd=ROOT,
        check=True,
    )
    return f"\n{done.stdout.strip()}\n\n"


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[list[str] | None]:
    return run_all(COMMANDS, tmp_path_factory.mktemp("readme"))


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=[command.onnxfix[:40] for command in COMMANDS])
def test_a_command_prints_what_the_readme_shows(outputs: list[list[str] | None], number: int) -> None:
    output = outputs[number]
    if output is None:
        pytest.skip("TensorRT-RTX is not installed (pip install 'onnxfix[tensorrt-rtx]')")
    assert plain(output) == plain(COMMANDS[number].shown), "run `python tests/test_readme.py` and read the difference"


def test_the_set_up_command_works_in_a_fresh_clone_and_installs_no_tensorrt(
    clone: Path, tmp_path: Path, install: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    (command,) = (command for command in COMMANDS if command.sets_up)
    folder = tmp_path / "onnxfix"
    shutil.copytree(clone, folder)
    # The `python3` of the machine, not that of an environment which may be active here.
    path = f"{Path(sys.base_prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PIP_RETRIES": "1", "NO_COLOR": "1"}
    done = install(["bash", "-c", command.line], cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert plain(done.stdout.splitlines()) == plain(command.shown)
    assert (folder / "decoder.onnx").is_file()
    listed = subprocess.run(
        [folder / ".venv" / "bin" / "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    ).stdout
    assert "onnxfix" in listed
    assert "tensorrt" not in listed.lower()


def test_the_python_example_gives_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    for block in _PYTHON.findall(README.read_text(encoding="utf-8")):
        runner.run(parser.get_doctest(block, {}, "README.md", str(README), 0))
    result = runner.summarize(verbose=False)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_table_of_rules_is_that_of_the_rules() -> None:
    assert _RULES.findall(README.read_text(encoding="utf-8")) == [rules_table()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_files(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)\)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_named_files_exist(page: Path) -> None:
    names = re.findall(r"`((?:onnxfix|rules|tests|fixtures|benchmarks)/[\w./-]*)`", page.read_text(encoding="utf-8"))
    assert [name for name in names if name != "onnxfix/_rules" and not (ROOT / name).exists()] == []


def _update() -> None:
    text = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        commands = read_commands(text)
        results = iter(zip(commands, run_all(commands, Path(folder)), strict=True))

    def block(match: re.Match[str]) -> str:
        lines = []
        for _ in read_commands(match[0]):
            command, output = next(results)
            kept = output is None or plain(output) == plain(command.shown)  # times alone are no change
            lines += [f"$ {command.line}", *(command.shown if kept else [line.rstrip() for line in output or []])]
        return "\n".join(["```console", *lines, "```"])

    text = _CONSOLE.sub(block, text)
    README.write_text(_RULES.sub(lambda _: rules_table(), text), encoding="utf-8")


if __name__ == "__main__":
    _update()
