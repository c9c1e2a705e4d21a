"""What all tests share: measured figures are printed after the run, and installs that need the network skip without it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CHECKOUT = Path(__file__).parents[1]
_OFFLINE = re.compile(
    r"ConnectionError|ConnectTimeout|ReadTimeout|ProxyError|Max retries|Temporary failure|No matching distribution"
)
_MEASURED = "measured"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--examples",
        type=int,
        metavar="N",
        help="how many new models each promise of a rewrite is tried on, in place of a few known",
    )


@pytest.fixture
def measured(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Note a figure; it is printed at the end of the run, whether the test passes or not."""
    return lambda text: record_property(_MEASURED, text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    figures = sorted({str(value) for value in _figures(terminalreporter)})
    if figures:
        terminalreporter.section("measured")
        for figure in figures:
            terminalreporter.write_line(figure)


def _figures(terminalreporter: pytest.TerminalReporter) -> Iterator[object]:
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            yield from (value for name, value in report.user_properties if name == _MEASURED)


@pytest.fixture(scope="session")
def install() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command that installs packages; the test is skipped, with pip's reason, where no package index can be reached."""

    def run(command: Sequence[str], **more: object) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
        output = done.stdout + done.stderr
        if done.returncode != 0 and _OFFLINE.search(output):
            reason = next(line for line in reversed(output.splitlines()) if _OFFLINE.search(line))
            pytest.skip(f"packages cannot be installed here: {reason.strip()}")
        return done

    return run


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git repository with one commit that holds the files of this checkout, those not committed yet too."""
    folder = tmp_path_factory.mktemp("clone") / "onnxfix"
    listed = subprocess.run(
        ["git", "-C", str(CHECKOUT), "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("needs git, and a checkout: these tests do not run from an unpacked source archive")
    for name in filter(None, listed.stdout.split("\0")):
        if (CHECKOUT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((CHECKOUT / name).read_bytes())
            target.chmod((CHECKOUT / name).stat().st_mode)
    for arguments in (["init", "-q"], ["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-q", "-m", "all"]):
        subprocess.run(["git", "-C", str(folder), *arguments], check=True)
    return folder
