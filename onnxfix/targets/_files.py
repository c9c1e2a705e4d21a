"""Finds the rule data and reads TOML with errors that name file and key."""

from __future__ import annotations

import difflib
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from onnxfix.errors import UsageError


@cache
def rules_dir() -> Path:
    """The folder with `targets.toml`: the checkout's `rules/` where the package runs from one, else the installed copy.

    A checkout comes first since an editable install may hold a stale copy.
    """
    package = Path(str(resources.files("onnxfix")))
    for folder in (package.parent / "rules", package / "_rules"):
        if (folder / "targets.toml").is_file():
            return folder
    raise UsageError(f"{package / '_rules'}: the rule data is missing; install onnxfix again")


def read_toml(path: Path) -> dict[str, Any]:
    """The file's table.

    Raises:
        UsageError: it is missing, or no TOML; the message names file and line.
    """
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None


def suggest(word: str, known: object) -> str:
    """`; did you mean 'x'?` where something close to `word` is known, else nothing."""
    close = difflib.get_close_matches(word, [str(item) for item in known], n=1, cutoff=0.5)  # type: ignore[attr-defined]
    return f"; did you mean {close[0]!r}?" if close else ""


class Table:
    """One TOML table read strictly: every key is taken once with its type, and `done` refuses what is left.

    Raises:
        UsageError: from every method; the message names file, table and key.
    """

    def __init__(self, data: object, where: str) -> None:
        if not isinstance(data, dict):
            raise UsageError(f"{where}: must be a table")
        self._data: dict[str, Any] = dict(data)
        self._known: set[str] = set()
        self.where = where

    def __contains__(self, key: str) -> bool:
        self._known.add(key)
        return key in self._data

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """Remove and return `key`, which must be of type `kind`; without `default` it must be there."""
        self._known.add(key)
        if key not in self._data:
            if default is ...:
                raise UsageError(f"{self.where}: key {key!r} is missing")
            return default
        value = self._data.pop(key)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            name = kind.__name__ if isinstance(kind, type) else " or ".join(item.__name__ for item in kind)
            raise UsageError(f"{self.where}: key {key!r} must be {name}, not {type(value).__name__}")
        return value

    def strings(self, key: str, default: Any = ...) -> tuple[str, ...]:
        """Remove and return a list of strings."""
        values = self.take(key, list, default)
        if not all(isinstance(item, str) for item in values):
            raise UsageError(f"{self.where}: key {key!r} must be a list of strings")
        return tuple(values)

    def one_of(self, key: str, choices: tuple[str, ...], default: Any = ...) -> str:
        """Remove and return a string that must be one of `choices`."""
        value: str = self.take(key, str, default)
        if value not in choices:
            raise UsageError(f"{self.where}: {key} = {value!r} is none of {', '.join(choices)}{suggest(value, choices)}")
        return value

    def done(self) -> None:
        """Refuse keys that nothing took."""
        for key in self._data:
            raise UsageError(f"{self.where}: unknown key {key!r}{suggest(key, self._known)}")
