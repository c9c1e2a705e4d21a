"""The command line of trtexec, which builds and times an engine on the device, in the words of each release."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from onnxfix.errors import UsageError
from onnxfix.targets._files import Table, read_toml, rules_dir
from onnxfix.targets.target import find_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from onnxfix.targets.target import Target


@dataclass(frozen=True, slots=True)
class Form:
    """One spelling: from the target at position `since` to that at `until`, both included."""

    since: int
    until: int
    words: str


@dataclass(frozen=True, slots=True)
class Option:
    """An option of trtexec: its spellings, and what to say of a release that has none."""

    forms: tuple[Form, ...]
    without: str

    def of(self, target: Target) -> str | None:
        """The spelling of a release, with `{}` for the value; None where it has none."""
        return next((form.words for form in self.forms if form.since <= target.position <= form.until), None)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the engine is to be.

    Attributes:
        shapes: smallest, usual and largest shape of inputs by name.
        precision: types to compute in besides float32: `fp16`, `bf16`, `int8`, `fp8`, `tf32`.
        values: other options by the names of `rules/trtexec.toml`; True for those without a value, a tuple for several.
        engine: the file to write.
    """

    shapes: Mapping[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    precision: frozenset[str] = frozenset()
    values: Mapping[str, str | bool | tuple[str, ...]] = field(default_factory=dict)
    engine: str = ""


@cache
def options() -> Mapping[str, Option]:
    """The options by name, as `rules/trtexec.toml` has them.

    Raises:
        UsageError: the file is damaged.
    """
    path = rules_dir() / "trtexec.toml"
    last = find_target("trt11.5").position
    found = {}
    for data in read_toml(path).get("option", []):
        table = Table(data, str(path))
        name = table.take("name", str)
        forms = []
        for item in table.take("forms", list):
            form = Table(item, f"{path}: {name}")
            since = find_target(form.take("since", str)).position
            until = form.take("until", str, "")
            forms.append(Form(since, find_target(until).position if until else last, form.take("words", str)))
            form.done()
        found[name] = Option(tuple(forms), table.take("without", str, ""))
        table.done()
    return found


def trtexec(target: Target, model: str, wishes: Wishes | None = None) -> tuple[str, tuple[str, ...]]:
    """The command for a release of TensorRT, and what of the wishes it cannot have.

    Raises:
        UsageError: the target is no release of TensorRT, or a wish is none that trtexec has anywhere.
    """
    if target.family != "trt":
        raise UsageError(f"{target.id}: trtexec belongs to TensorRT; `onnxfix build` builds for TensorRT-RTX")
    wishes = wishes or Wishes()
    words = ["trtexec"]
    notes: list[str] = []

    def add(name: str, value: str = "") -> None:
        if name not in options():
            raise UsageError(f"trtexec has no option {name!r}")
        form = options()[name].of(target)
        if form is not None:
            words.extend(word.replace("{}", shlex.quote(value)) for word in form.split())
        elif options()[name].without:
            notes.append(options()[name].without)

    add("onnx", model)
    add("explicit-batch")
    if wishes.shapes:
        _add_shapes(target, wishes, add)
    for name in sorted(wishes.precision):
        add(name)
    for name, value in wishes.values.items():
        for each in value if isinstance(value, tuple) else (value,):
            if each is not False:
                add(name, "" if each is True else str(each))
    if wishes.engine:
        add("save", wishes.engine)
    return " ".join(words), tuple(dict.fromkeys(notes))


def _add_shapes(target: Target, wishes: Wishes, add: Callable[..., None]) -> None:
    if target.implicit_batch:
        batches = {largest[0] for _, _, largest in wishes.shapes.values() if largest}
        if len(batches) == 1:
            add("batch", str(batches.pop()))
        if any(smallest[1:] != largest[1:] for smallest, _, largest in wishes.shapes.values()):
            add("min-shapes")
        return
    for index, name in enumerate(("min-shapes", "opt-shapes", "max-shapes")):
        add(name, ",".join(f"{_quoted(given)}:{_by_x(shapes[index])}" for given, shapes in wishes.shapes.items()))


def _quoted(name: str) -> str:
    """A name with a colon goes between quotes, which trtexec takes off."""
    return f"'{name}'" if ":" in name else name


def _by_x(sizes: Iterable[int]) -> str:
    return "x".join(map(str, sizes))
