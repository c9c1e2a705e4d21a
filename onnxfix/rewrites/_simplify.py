"""`--simplify`: what onnxslim makes of the model in its place, where that is proven equal; else the model as it is, and why."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
from typing import TYPE_CHECKING

from onnxfix.errors import MissingToolError
from onnxfix.model.load import external_locations
from onnxfix.rewrites._edit import copy_model
from onnxfix.rewrites._gates import checker_error, checker_level

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import onnx

    from onnxfix.rewrites.options import RepairOptions

# Metadata of the model that onnxslim may drop or write anew.
HEAD = ("producer_name", "producer_version", "domain", "model_version", "doc_string")


def simplify(
    model: onnx.ModelProto, base_dir: Path, options: RepairOptions, progress: Callable[[str], None]
) -> tuple[onnx.ModelProto, str]:
    """The simplified model and what was done, or the model itself and why it was left.

    Raises:
        MissingToolError: onnxslim is not installed.
    """
    try:
        import onnxslim
    except ImportError:
        message = "--simplify needs onnxslim, which is not installed; in a clone of onnxfix: pip install '.[simplify]'"
        raise MissingToolError(message) from None
    if options.allow == "exact":
        return model, "not simplified: what onnxslim does is equivalent, not exact"
    if external_locations(model):
        return model, "not simplified: its weights lie in files of their own"
    progress("onnxslim")
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            result = onnxslim.slim(copy_model(model))
    except Exception as error:  # another project's code raises whatever it raises
        return model, f"not simplified: onnxslim fails: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    if result is None:
        return model, "not simplified: onnxslim gives nothing"
    for name in HEAD:
        setattr(result, name, getattr(model, name))
    del result.metadata_props[:]
    result.metadata_props.extend(model.metadata_props)
    del result.graph.output[:]
    result.graph.output.extend(model.graph.output)
    wrong = _wrong(model, result, base_dir, options, progress)
    if wrong:
        return model, f"not simplified: {wrong}"
    version = importlib.metadata.version("onnxslim")
    counts = f"{len(model.graph.node)} nodes to {len(result.graph.node)}"
    proven = "proven equal" if options.verify else "not verified"
    return result, f"simplified by onnxslim {version}: {counts}, {proven}"


def _wrong(
    model: onnx.ModelProto, result: onnx.ModelProto, base_dir: Path, options: RepairOptions, progress: Callable[[str], None]
) -> str:
    """Why the result may not stand in for the model; empty where it may."""
    from onnxfix.verify.prove import prove
    from onnxfix.verify.run import CannotRunError

    error = checker_error(result, checker_level(model))
    if error is not None:
        return f"the checker refuses what onnxslim makes: {error}"
    if not options.verify:
        return ""
    try:
        proof = prove(
            model,
            result,
            base_dir=base_dir,
            samples=options.samples,
            seed=options.seed,
            shapes=dict(options.shapes),
            inputs=None if options.inputs is None else dict(options.inputs),
            rtol=options.rtol,
            atol=options.atol,
            progress=lambda done, total: progress(f"proof of the simplified model: sample {done} of {total}"),
        )
    except CannotRunError as failure:
        return f"nothing runs the model, so nothing proves what onnxslim makes of it ({failure.reason or failure})"
    if proof.passed:
        return ""
    worst = next((output for output in proof.outputs if not output.passed), None)
    return "what onnxslim makes of it is not equal: " + (f"{worst.name}: {worst.message or worst.figures}" if worst else proof.note)
