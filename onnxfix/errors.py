"""The errors that the command line turns into one line and an exit code."""


class OnnxfixError(Exception):
    """Something the user can act on; `str(error)` is one line: what, where, what to do."""

    exit_code = 2


class UsageError(OnnxfixError):
    """A wrong option, target or configuration value."""


class ModelError(OnnxfixError):
    """A model file that cannot be read, or is not a model."""


class MissingToolError(OnnxfixError):
    """This machine lacks something that was asked for (TensorRT, a GPU)."""

    exit_code = 4
