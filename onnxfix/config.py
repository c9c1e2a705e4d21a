"""Configuration: `onnxfix.toml` or `[tool.onnxfix]` of `pyproject.toml`, the environment, and `--config`.

As in ruff, the file is looked for from the current folder upwards, whatever folder the models lie in, so that one command
has one configuration; the search ends at the repository's root. What comes later wins: defaults, file, environment
(`ONNXFIX_TARGETS`, `ONNXFIX_SELECT`, `ONNXFIX_IGNORE`), `--config KEY=VALUE`, the command's own options.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from onnxfix.errors import UsageError
from onnxfix.targets._files import Table, read_toml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEYS = ("targets", "select", "ignore")
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Config:
    """Settings with where each comes from.

    Attributes:
        targets: values of `--target`; empty where none is set.
        select: codes or prefixes of the rules that count; empty means all.
        ignore: codes or prefixes of the rules that do not.
        files: the configuration files that were read.
        sources: for each key, its file, variable or `--config`, or `default`.
    """

    targets: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(KEYS, DEFAULT))

    def source(self, key: str) -> str:
        """Where `key` was set, for error messages."""
        return f"{self.sources[key]}: {key}"


def _current_folder() -> Path:
    """The current folder.

    Raises:
        UsageError: it has been deleted.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise UsageError("the current folder no longer exists; change to one that does") from None


def find_config(start: Path) -> Path | None:
    """The nearest configuration file at or above `start`, not above the repository that holds it.

    `onnxfix.toml` comes before `pyproject.toml` of the same folder; one without `[tool.onnxfix]` is passed over.

    Raises:
        UsageError: a `pyproject.toml` on the way is no TOML, or its `tool` no table.
    """
    for folder in (start, *start.parents):
        own, project = folder / "onnxfix.toml", folder / "pyproject.toml"
        if os.path.lexists(own):  # a folder or a loop of links of this name is an error when it is read
            return own
        if os.path.isfile(project) and "onnxfix" in _tools(project):
            return project
        if (folder / ".git").exists():
            return None
    return None


def _tools(project: Path) -> dict[str, object]:
    tools = read_toml(project).get("tool", {})
    if not isinstance(tools, dict):
        raise UsageError(f"{project}: tool: must be a table")
    return tools


def _read(data: object, where: str) -> dict[str, tuple[str, ...]]:
    table = Table(data, where)
    settings = {key: table.strings(key) for key in KEYS if key in table}
    table.done()
    return settings


def _read_file(path: Path) -> dict[str, tuple[str, ...]]:
    if path.name != "pyproject.toml":
        return _read(read_toml(path), str(path))
    return _read(_tools(path).get("onnxfix", {}), f"{path}: tool.onnxfix")


def _read_setting(text: str) -> dict[str, tuple[str, ...]]:
    key, _, value = text.partition("=")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        items = [item for item in re.split(r"[,\s]+", value.strip("[] ")) if item]
        example = ", ".join(f'"{item}"' for item in items)
        raise UsageError(f"--config {text}: the value must be TOML, such as {key.strip()}=[{example}]") from None
    return _read(data, f"--config {text}")


def load_config(
    overrides: Sequence[str] = (), *, isolated: bool = False, start: Path | None = None, env: Mapping[str, str] | None = None
) -> Config:
    """The settings that apply to a run.

    Args:
        overrides: values of `--config`: a file, which replaces the one found, or `KEY=VALUE` in TOML.
        isolated: read no file.
        start: where to look for a file from, by default the current folder.
        env: the environment, by default that of the process.

    Raises:
        UsageError: a file that cannot be read, an unknown key, or a value of the wrong type.
    """
    env = os.environ if env is None else env
    named = [text for text in overrides if "=" not in text or os.path.isfile(text)]
    settings = [text for text in overrides if text not in named]
    if isolated and named:
        raise UsageError(f"--config {named[0]} cannot be used with --isolated, which reads no file")
    found = None if named or isolated else find_config((start or _current_folder()).resolve())
    files = [Path(text) for text in named] or ([found] if found else [])

    layers = [(str(file), _read_file(file)) for file in files]
    for key in KEYS:
        variable = f"ONNXFIX_{key.upper()}"
        if env.get(variable, "").strip():
            layers.append((variable, {key: tuple(item for item in re.split(r"[,\s]+", env[variable]) if item)}))
    layers += [(f"--config {text}", _read_setting(text)) for text in settings]

    values: dict[str, tuple[str, ...]] = dict.fromkeys(KEYS, ())
    sources = dict.fromkeys(KEYS, DEFAULT)
    for source, layer in layers:
        for key, value in layer.items():
            values[key], sources[key] = value, source
    return Config(**values, files=tuple(str(file) for file in files), sources=sources)
