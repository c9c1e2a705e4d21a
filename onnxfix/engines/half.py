"""Converts a model to float16, for releases that compute in the types of the file, and proves that it still computes the same."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from onnxfix.errors import OnnxfixError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import onnx

    from onnxfix.engines.options import ShapeRange
    from onnxfix.model.load import LoadedModel

_SAMPLES = 2
# Of the largest value of an output: twenty roundings of float16 (2**-11) add up to it.
TOLERANCE = 1e-2


class HalfError(OnnxfixError):
    """The model in float16 computes something else, or cannot be made; it is not built."""

    exit_code = 3


@contextlib.contextmanager
def in_half(source: LoadedModel, profiles: Mapping[str, ShapeRange]) -> Iterator[tuple[Path, str]]:
    """A file with the model in float16, gone at the end, and a line on how it compares; inputs and outputs keep their types.

    Raises:
        HalfError: the conversion fails, or its outputs differ by more than TOLERANCE of their largest value.
    """
    import onnx

    proto = convert(source)
    why = _difference(source, proto, {name: shapes.opt for name, shapes in profiles.items()})
    with tempfile.TemporaryDirectory(prefix="onnxfix-") as folder:
        path = Path(folder) / "float16.onnx"
        large = proto.ByteSize() >= 1 << 30
        onnx.save_model(proto, path, save_as_external_data=large, location="float16.bin" if large else None)
        yield path, why


def convert(source: LoadedModel) -> onnx.ModelProto:
    """The model in float16 by onnxruntime's converter; inputs and outputs stay float32.

    Raises:
        HalfError: it cannot convert the model.
    """
    import onnx
    from onnx.external_data_helper import load_external_data_for_model
    from onnxruntime.transformers.float16 import convert_float_to_float16

    proto = onnx.ModelProto()
    proto.CopyFrom(source.proto)
    try:
        load_external_data_for_model(proto, str(source.base_dir))
        converted: onnx.ModelProto = convert_float_to_float16(proto, keep_io_types=True)
    except Exception as error:  # it raises what comes
        words = " ".join(str(error).split())
        raise HalfError(f"--fp16: {source.path} cannot be converted to float16: {words}; export it in float16") from None
    return converted


def _difference(source: LoadedModel, half: onnx.ModelProto, shapes: Mapping[str, tuple[int, ...]]) -> str:
    """A line that says how far the outputs are apart, over seeded inputs.

    Raises:
        HalfError: too far, or the model runs nowhere.
    """
    from onnxfix.verify.prove import prove
    from onnxfix.verify.run import CannotRunError

    try:
        proof = prove(source.proto, half, base_dir=source.base_dir, samples=_SAMPLES, shapes=shapes, rtol=TOLERANCE)
    except CannotRunError as error:
        raise HalfError(f"--fp16: the model in float16 cannot be compared with the original: {error}") from None
    except UsageError as error:
        raise HalfError(f"--fp16: no inputs to compare the model in float16 on: {error}") from None
    if not proof.passed:
        wrong = next(output for output in proof.outputs if not output.passed)
        raise HalfError(
            f"--fp16: in float16 output {wrong.name} differs ({wrong.figures}; allowed {TOLERANCE:g} of the largest value); "
            "build without --fp16, or export the model in mixed precision"
        )
    worst = max((output.max_abs for output in proof.outputs), default=0.0)
    return f"--fp16: the model was converted to float16, inputs and outputs stay float32; largest difference {worst:.2g}"
