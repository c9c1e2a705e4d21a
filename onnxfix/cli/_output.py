"""Where a repaired model goes: what may not be written over, the model itself, its external data and backup, its provenance."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from onnxfix import __version__
from onnxfix.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnxfix.model.load import LoadedModel
    from onnxfix.results import RepairReport
    from onnxfix.verify.prove import Proof

FIXED = ".fixed.onnx"


@dataclasses.dataclass(frozen=True, slots=True)
class Output:
    """Where a repaired model goes, and whether it goes anywhere."""

    path: str | None
    in_place: bool
    backup: bool
    keep_external: bool
    stamp: bool
    dry: str

    def of(self, model: str, *, several: bool) -> Path:
        """The file that `model` is written to; it may be a folder's."""
        if self.in_place:
            return Path(model)
        if self.path is None:
            name = model[: -len(".onnx")] if model.endswith(".onnx") else model
            return Path(name + FIXED)
        output = Path(self.path)
        folder = several or os.path.isdir(output) or self.path.endswith(("/", os.sep))
        return output / Path(model).name if folder else output


def check_outputs(models: Sequence[str], output: Output) -> None:
    """Refuse, before any work, outputs that cannot be or that would be written twice."""
    if output.dry or output.in_place or output.path is None:
        return
    several = len(models) > 1
    folder = Path(output.path)
    if several and os.path.exists(folder) and not os.path.isdir(folder):
        raise UsageError(f"{folder}: is a file; for several models --output names a folder")
    by_output: dict[Path, str] = {}
    for model in models:
        target = output.of(model, several=several)
        if target in by_output:
            raise UsageError(f"{target}: would be written for both {by_output[target]} and {model}; repair them one by one")
        by_output[target] = model


def check_written(loaded: LoadedModel, target: Path, output: Output, models: Sequence[str]) -> None:
    """Refuse, before the work, an output that would damage an input or that cannot be written.

    Raises:
        UsageError: as said.
    """
    from onnxfix.model.files import check_output, same_file
    from onnxfix.model.load import external_locations

    # Only a folder that --output itself names is made.
    check_output(target, makes_folder=output.path is None or target != Path(output.path))
    if not output.in_place and any(same_file(target, Path(model)) for model in models):
        raise UsageError(f"{target}: is the model itself or another input; use --in-place, or another --output")
    folder = _real(target).parent
    weights = [home / location for location in external_locations(loaded.proto) for home in (loaded.base_dir, folder)]
    names = {target.name, *(file.name for file in weights)}
    for written in (output.of(model, several=len(models) > 1) for model in models):
        if written.name in names and any(same_file(written, file) for file in weights):
            raise UsageError(f"{written}: is where the external data of {loaded.path} lies or goes; choose another --output")
    if output.keep_external and external_locations(loaded.proto) and folder.resolve() != loaded.base_dir.resolve():
        raise UsageError(
            f"{target}: external data can be kept where it is only for an output in {loaded.base_dir}; use --external-data copy"
        )


def _real(target: Path) -> Path:
    """Where the bytes go: through a symbolic link, which stays one."""
    return target.resolve() if target.is_symlink() else target


def finish(loaded: LoadedModel, report: RepairReport, data: bytes | None, target: Path, output: Output) -> tuple[RepairReport, str]:
    """Write `data` where it belongs; the report with its output, and a line that says what happened."""
    if data is None:
        return report, "nothing written"
    if output.dry:
        return report, f"nothing written ({output.dry})"
    clean = data == loaded.data
    if clean and (output.in_place or output.path is None):
        return report, "nothing written"
    if output.stamp and not clean:
        data = _stamped(data, report)
    kept = _write(loaded, data, target, output)
    report = dataclasses.replace(report, output=str(target), output_sha256=hashlib.sha256(data).hexdigest())
    return report, f"written to {target}{' unchanged' if clean else ''}{f', the old model to {kept}' if kept else ''}"


def keep_inputs(report: RepairReport, target: Path) -> str:
    """Write the inputs that show the difference beside where the model would be, and say so."""
    import io

    import numpy as np

    from onnxfix.model.load import write_bytes

    content = io.BytesIO()
    np.savez(content, **dict(report.failing or {}))
    file, number = target.with_suffix(".failing.npz"), 1
    while file.exists():
        number += 1
        file = target.with_suffix(f".failing{number}.npz")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(file, content.getvalue())
    return f"; inputs that show it, for --inputs: {file}"


def written(loaded: LoadedModel, target: Path, output: Output) -> list[Path]:
    """The files that writing the model would make."""
    from onnxfix.model.load import external_locations

    if output.in_place:
        return [target, _backup(target, loaded.data)] if output.backup else [target]
    return [target, *(_real(target).parent / location for location in external_locations(loaded.proto))]


def _write(loaded: LoadedModel, data: bytes, target: Path, output: Output) -> Path | None:
    """Write the model, its external data and the backup, each whole or not at all; the backup's name."""
    from onnxfix.model.load import copy_external, parse_model, write_bytes

    real = _real(target)
    backup = _backup(target, loaded.data) if output.in_place and output.backup else None
    if backup is not None:
        write_bytes(backup, loaded.data)
    try:
        real.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror or error}") from None
    copy_external(parse_model(data, str(target)), loaded.base_dir, real.parent)
    write_bytes(real, data)
    return backup


def _backup(model: Path, data: bytes) -> Path:
    """`MODEL.bak`, numbered where that is taken by another content: an older backup may be the only original."""
    candidate, number = model.with_name(f"{model.name}.bak"), 1
    while candidate.exists() and candidate.read_bytes() != data:
        number += 1
        candidate = model.with_name(f"{model.name}.bak{number}")
    return candidate


def _verified(proof: Proof | None) -> str:
    if proof is None:
        return "no"
    if proof.kind == "structure":
        return "by structure, not run"
    alone = ", changed nodes alone" if proof.kind == "regions" else ""
    return f"{proof.samples} samples, seed {proof.seed}{alone}"


def _stamped(data: bytes, report: RepairReport) -> bytes:
    """The model with its provenance in `metadata_props`; no time, so that two runs give the same bytes."""
    from onnxfix.model.load import parse_model, serialize

    proto = parse_model(data, report.model.path)
    proof = report.proof
    stamp = {
        "onnxfix.version": __version__,
        "onnxfix.source_sha256": report.model.sha256,
        "onnxfix.targets": " ".join(target.target for target in report.before),
        "onnxfix.rules": " ".join(sorted({fix.rule for fix in report.applied})),
        "onnxfix.verified": _verified(proof),
    }
    others = {item.key: item.value for item in proto.metadata_props if item.key not in stamp}
    del proto.metadata_props[:]
    for key, value in (others | stamp).items():
        proto.metadata_props.add(key=key, value=value)
    return serialize(proto)
