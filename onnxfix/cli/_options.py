"""Options that several commands share, and how their values are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from onnxfix.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import onnx


class PathType(click.Path):
    """A path that is not empty: `Path("")` is the current folder, which an unset variable of a script does not mean."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As click does, or the error of the empty path."""
        if value == "":
            self.fail("empty path", param, ctx)
        return super().convert(value, param, ctx)


NAME = PathType(readable=False)
# Smallest, usual and largest shape.
_PARTS = 3


def parse_shapes(values: tuple[str, ...], option: str = "--shape") -> dict[str, tuple[int, ...]]:
    """Read `NAME:2x3x224x224` values into shapes by input name; a name may hold colons itself.

    Args:
        values: the option's values, as given.
        option: how errors call the option.

    Raises:
        UsageError: a value has another form, a size below 1, or two values name one input.
    """
    ranges = parse_ranges(values, option)
    for name, shapes in ranges.items():
        if len(shapes) > 1:
            raise UsageError(f"{option} {name}:...: one shape, such as NAME:2x3x224x224, not a range")
    return {name: shapes[0] for name, shapes in ranges.items()}


def parse_ranges(values: tuple[str, ...], option: str = "--shape") -> dict[str, list[tuple[int, ...]]]:
    """Read values such as `NAME:2x3x8` (one shape), `NAME:1x3x8..8x3x8` (smallest, largest) or three with the usual one between.

    Raises:
        UsageError: as `parse_shapes`.
    """
    ranges: dict[str, list[tuple[int, ...]]] = {}
    for value in values:
        name, colon, text = value.rpartition(":")
        parts = [part.split("x") for part in text.split("..")]
        sizes = [size for part in parts for size in part]
        if (
            not colon
            or not name
            or len(parts) > _PARTS
            or not all(size.isascii() and size.isdigit() and int(size) > 0 for size in sizes)
        ):
            raise UsageError(f"{option} {value}: write it as NAME:2x3x224x224, all sizes 1 or more")
        if name in ranges:
            raise UsageError(f"{option} {value}: input {name} has a shape already")
        ranges[name] = [tuple(int(size) for size in part) for part in parts]
    return ranges


def check_inputs(model: onnx.ModelProto, inputs: Mapping[str, Any] | None, file: object) -> None:
    """Raise UsageError, which names the file, where an array is of no input of the model or of another shape."""
    from onnxfix.model.interface import check_shapes

    check_shapes(model, {name: array.shape for name, array in (inputs or {}).items()}, str(file))


def read_inputs(path: Path) -> dict[str, Any]:
    """The arrays of an .npz file by name.

    Raises:
        UsageError: it is missing, or no file of plain arrays.
    """
    import zipfile
    import zlib

    import numpy as np

    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise UsageError(f"{path}: is one array; write named arrays with numpy.savez")
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise UsageError(f"{path}: no .npz file of plain arrays ({error})") from None
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise UsageError(f"{path}: its member {name} is no array; write named arrays with numpy.savez")
    return arrays
