"""Joins a command's options with the configuration: which targets, which rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onnxfix.cli._state import current_state
from onnxfix.errors import UsageError

if TYPE_CHECKING:
    from onnxfix.config import Config
    from onnxfix.rules.select import Selection
    from onnxfix.targets import Target

NO_TARGET = (
    'no target: name the release, such as --target trt5.1, or set targets = ["trt5.1"] in onnxfix.toml; '
    "`onnxfix targets` lists them"
)


def chosen_targets(given: tuple[str, ...], config: Config) -> tuple[Target, ...]:
    """The targets of `--target`, else of the configuration; empty where neither names one.

    Raises:
        UsageError: an unknown target; the message names the file or variable that it comes from.
        MissingToolError: `installed`, and nothing is.
    """
    from onnxfix.targets import resolve

    if given:
        _tell_newest(given)
        return resolve(_with_installed(given))
    try:
        return resolve(_with_installed(config.targets))
    except UsageError as error:
        raise UsageError(f"{config.source('targets')}: {error}") from None


def the_target(given: tuple[str, ...], config: Config, why: str = "") -> Target:
    """The one target of a command that takes no more; `why` it does not ends the error's sentence.

    Raises:
        UsageError: none or several; otherwise as `chosen_targets`.
    """
    chosen = chosen_targets(given, config)
    if not chosen:
        raise UsageError(NO_TARGET)
    if len(chosen) > 1:
        raise UsageError(f"one release at a time, not {', '.join(target.id for target in chosen)}{why}")
    return chosen[0]


def _tell_newest(given: tuple[str, ...]) -> None:
    """A major version alone stands for its newest release, which changes with every update of onnxfix: say which."""
    from onnxfix.targets import find_target

    for part in (part.strip() for text in given for part in text.split(",")):
        if re.fullmatch(r"(?:trt|rtx)?\d+", part.lower()):
            current_state().note(f"{part} stands for {find_target(part).id}, its newest release")


def _with_installed(given: tuple[str, ...]) -> tuple[str, ...]:
    """`installed` stands for the releases whose own parser is here."""
    parts = [part.strip() for text in given for part in text.split(",")]
    if "installed" not in parts:
        return given
    from onnxfix.asking import installed_targets

    return tuple(word for part in parts for word in (installed_targets() if part == "installed" else (part,)))


def chosen_rules(
    config: Config, select: tuple[str, ...] = (), ignore: tuple[str, ...] = (), extend: tuple[str, ...] = ()
) -> Selection:
    """The rules that count: options replace what the configuration says, `--extend-select` adds to it.

    Raises:
        UsageError: a code or prefix that no rule begins with.
    """
    from onnxfix.rules.select import Selection, check_prefixes

    selected = check_prefixes(select, "--select") or check_prefixes(config.select, config.source("select"))
    ignored = check_prefixes(ignore, "--ignore") or check_prefixes(config.ignore, config.source("ignore"))
    added = check_prefixes(extend, "--extend-select")
    if added and not selected:
        selected = ("ALL",)
    return Selection((*selected, *added), ignored)
