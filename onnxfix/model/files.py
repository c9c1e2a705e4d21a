"""What holds of every file that a command writes: whether it can be written, and whether two names lead to one file."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from onnxfix.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def same_file(left: Path, right: Path) -> bool:
    """Whether both names lead to one file, through links and relative spellings too; it need not exist."""
    try:
        if os.path.exists(left) and os.path.exists(right):
            return os.path.samefile(left, right)
        return os.path.realpath(left) == os.path.realpath(right)
    except (OSError, ValueError):  # ValueError: a name with a zero byte, which no file can have
        return False


def check_output(target: Path, *, makes_folder: bool = False) -> None:
    """Refuse, before any work, a file that cannot be written, and a device or pipe, which a new file must not replace.

    Args:
        target: the file, or a link to it.
        makes_folder: its folder need not exist.

    Raises:
        UsageError: as said.
    """
    try:
        mode = target.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = stat.S_IFREG
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from None
    if stat.S_ISDIR(mode):
        raise UsageError(f"{target}: cannot be written, it is a folder")
    if not stat.S_ISREG(mode):
        raise UsageError(f"{target}: cannot be written, it is no file but a device, pipe or socket")
    folder = (target.resolve() if target.is_symlink() else target).parent
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{target}: cannot be written: {folder} is no folder")
    if folder.exists() and not os.access(folder, os.W_OK):
        raise UsageError(f"{target}: cannot be written: no write permission in {folder}")
    if not folder.exists() and not makes_folder:
        raise UsageError(f"{target}: cannot be written: there is no folder {folder}")
