"""The errors that the command line turns into one line and an exit code."""


def escape(text: str) -> str:
    """`text` with everything that is not printable as an escape: a name in a model must not drive the terminal."""
    if text.isprintable():
        return text
    return "".join(ch if ch.isprintable() else ch.encode("unicode_escape").decode("ascii") for ch in text)


class OnnxfixError(Exception):
    """Something the user can act on; `str(error)` is one line: what, where, what to do."""

    exit_code = 2

    def __str__(self) -> str:
        return escape(super().__str__())


class UsageError(OnnxfixError):
    """A wrong option, target or configuration value."""


class ModelError(OnnxfixError):
    """A model file that cannot be read, or is not a model."""


class MissingToolError(OnnxfixError):
    """This machine lacks something that was asked for (TensorRT, a GPU)."""

    exit_code = 4
