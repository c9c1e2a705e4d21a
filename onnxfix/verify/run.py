"""Runs a model on the CPU: onnxruntime, numpy for ATen nodes, onnx.reference where onnxruntime has no kernel."""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import onnx
from onnx import numpy_helper

from onnxfix.errors import ModelError, OnnxfixError
from onnxfix.model.load import check_external, is_large, without_weights
from onnxfix.verify import aten
from onnxfix.verify.graph import all_nodes, initializer_names, reads, real_inputs, subgraphs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from onnxfix.verify.aten import Array

# onnxruntime's Python binding turns no numpy array into these, and has next to no CPU kernels for them.
_ELEMENT_TYPES_OF_REFERENCE = frozenset(
    value
    for name, value in onnx.TensorProto.DataType.items()
    if name.startswith(("BFLOAT16", "FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2"))
)
_INVALID = re.compile(r"^(onnxruntime: )This is an invalid model\..* , Error ")
_FAILED = re.compile(r"Non-zero status code returned while running (\w+) node\. Name:'([^']*)' Status Message: (?:/.*)?")
_ORT_PREFIX = re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ")
# Below this IR version an initializer has to be a graph input as well, which a stage's inputs are not.
_FIRST_IR_OF_FREE_INITIALIZERS = 4


class CannotRunError(OnnxfixError):
    """Nothing here can run the model, so nothing can be proven about it.

    Attributes:
        reason: what keeps it from running, short.
        detail: the runtimes' own words, whole; empty where `str(error)` has all.
        other_inputs: whether it may run on inputs of other shapes or values.
    """

    exit_code = 3

    def __init__(self, text: str, reason: str = "", detail: str = "", *, other_inputs: bool = False) -> None:
        super().__init__(text)
        self.reason = reason or text
        self.detail = detail
        self.other_inputs = other_inputs


class RunRefusedError(CannotRunError):
    """The model runs, but not on these inputs (a size that does not fit, an index out of range)."""


class _LoadError(Exception):
    """An engine cannot load the model; another may."""


class _InvalidError(_LoadError):
    """onnxruntime refuses the model itself, rather than lack a kernel for it."""


class _Engine(Protocol):
    def run(self, feeds: Mapping[str, Array]) -> dict[str, Any]: ...


def one_line(error: BaseException, limit: int = 300) -> str:
    """The first line of an error's message that says something, at most `limit` characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = _ORT_PREFIX.sub("", lines[0]) if lines else type(error).__name__
    return text if len(text) <= limit else text[: limit - 1] + "…"


def brief(text: str, limit: int = 110) -> str:
    """A runtime's message, cut to what names the node or the fault."""
    text = _FAILED.sub(r"\1 node '\2' fails: ", _INVALID.sub(r"\1", text)).rstrip(": ")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def to_array(tensor: onnx.TensorProto, base_dir: Path | None) -> Array:
    """The values of an initializer, read from the folder `base_dir` where they lie outside the model."""
    return np.asarray(numpy_helper.to_array(tensor, str(base_dir) if base_dir else ""))


def _serialize(model: onnx.ModelProto) -> bytes:
    try:
        data: bytes = model.SerializeToString()
    except Exception as error:  # which class says "too large" depends on the protobuf release
        raise ModelError(f"the model cannot be run: it takes more than 2 GB ({one_line(error)}); use external data") from None
    if len(data) >= 2**31:
        raise ModelError(f"the model cannot be run: it takes {len(data)} bytes, over the 2 GB limit; use external data")
    return data


def _weights_apart(model: onnx.ModelProto) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """The model without the bytes of its large weights, and those by name: onnxruntime takes them as they lie in memory.

    The model itself, and none, where that does not help.
    """
    taken = {value.name for value in model.graph.input} | {value.name for value in model.graph.output}
    large = [
        tensor
        for tensor in model.graph.initializer
        if is_large(tensor) and tensor.name not in taken and tensor.data_type != onnx.TensorProto.BFLOAT16
    ]
    try:
        weights = {tensor.name: to_array(tensor, None) for tensor in large}
    except ValueError:  # fewer bytes than its shape asks for: onnxruntime says so better
        return model, {}
    if not large:
        return model, {}
    light = without_weights(model)
    names = {tensor.name for tensor in large}
    inputs = [value for value in light.graph.input if value.name not in names]
    del light.graph.input[:]
    light.graph.input.extend(inputs)
    for tensor in large:
        entry = light.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims)
        entry.data_location = onnx.TensorProto.EXTERNAL
        entry.external_data.add(key="location", value="apart")
    return light, weights


class _Session:
    """One onnxruntime session: CPU, one thread, no graph optimization, so that nodes run as they are written."""

    def __init__(self, model: onnx.ModelProto, base_dir: Path | None) -> None:
        light, self._weights = _weights_apart(model)
        try:
            self._load(light, base_dir)
        except _LoadError:
            if not self._weights:
                raise
            # it may be for the weights that lie apart; if not, its words are of the model as it is
            self._weights = {}
            self._load(model, base_dir)

    def _load(self, model: onnx.ModelProto, base_dir: Path | None) -> None:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.use_deterministic_compute = True
        options.log_severity_level = 4
        # packed constant weights take another kernel, which rounds differently from the one for weights computed at run time
        options.add_session_config_entry("session.disable_prepacking", "1")
        if base_dir is not None:
            folder = str(base_dir.resolve())
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        if self._weights:
            values = [ort.OrtValue.ortvalue_from_numpy(array) for array in self._weights.values()]
            options.add_external_initializers(list(self._weights), values)
        data = _serialize(model)
        try:
            # Its fallback prints on standard output and would only try the same provider again.
            self._session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"], enable_fallback=0)
        except Exception as error:  # onnxruntime's errors share no base class but Exception
            kind = _LoadError if type(error).__name__ == "NotImplemented" else _InvalidError
            raise kind(f"onnxruntime: {one_line(error)}") from None
        self._inputs = {value.name for value in self._session.get_inputs()}
        self._outputs = [value.name for value in self._session.get_outputs()]
        self._run_options = ort.RunOptions()
        self._run_options.log_severity_level = 4

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Any]:
        # copies: BatchNormalization in training writes the new statistics over those that it is given
        known = {name: copy(value) for name, value in feeds.items() if name in self._inputs}
        try:
            values = self._session.run(self._outputs, known, self._run_options)
        except Exception as error:  # as above
            raise RunRefusedError(f"onnxruntime: {one_line(error)}") from None
        return dict(zip(self._outputs, values, strict=True))


class _Reference:
    """onnx.reference: slow, but it has every operator of ONNX, and ours for ATen nodes."""

    def __init__(self, model: onnx.ModelProto, base_dir: Path | None) -> None:
        from onnx.external_data_helper import load_external_data_for_model
        from onnx.reference import ReferenceEvaluator

        inside = onnx.ModelProto()
        inside.CopyFrom(model)
        nodes = [*all_nodes(inside.graph.node), *(n for f in inside.functions for n in all_nodes(f.node))]
        try:
            if base_dir is not None:
                load_external_data_for_model(inside, str(base_dir))
            self._evaluator = ReferenceEvaluator(inside, new_ops=aten.reference_operators(nodes))
        except Exception as error:  # it raises whatever the operator's class raises
            raise _LoadError(f"onnx.reference: {one_line(error)}") from None
        self._inputs = {value.name for value in inside.graph.input}
        self._outputs = [value.name for value in inside.graph.output]

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Any]:
        known = {name: value for name, value in feeds.items() if name in self._inputs}
        try:
            with np.errstate(all="ignore"):
                values = self._evaluator.run(None, known)
        except Exception as error:  # as above
            raise RunRefusedError(f"onnx.reference: {one_line(error)}") from None
        return dict(zip(self._outputs, values, strict=True))


class _Stage:
    """The part of a cut graph between two rows of ATen nodes; its session is made once the types of its inputs are known."""

    def __init__(self, nodes: list[onnx.NodeProto], inputs: list[str], outputs: list[str]) -> None:
        self.nodes = nodes
        self.inputs = inputs
        self.outputs = outputs
        self.session: _Session | None = None


class _Staged:
    """Cuts the main graph at its ATen nodes: onnxruntime runs what lies between them, numpy runs them.

    The level of a node is the number of ATen nodes on the longest path to it. Stage k runs the other nodes of level k,
    then come the ATen nodes of level k.
    """

    def __init__(self, model: onnx.ModelProto, base_dir: Path | None) -> None:
        self._model = model
        self._base_dir = base_dir
        graph = model.graph
        constant = initializer_names(graph)
        level: dict[str, int] = dict.fromkeys((*(value.name for value in graph.input), *constant), 0)
        ordinary: dict[int, list[onnx.NodeProto]] = {}
        self._aten: dict[int, list[onnx.NodeProto]] = {}
        for node in graph.node:
            unknown = sorted(reads(node) - level.keys())
            if unknown:
                raise _LoadError(f"node {node.name or node.op_type} reads {unknown[0]}, which no earlier node makes")
            here = max((level[name] for name in reads(node)), default=0)
            is_aten = aten.aten_operator(node) is not None
            (self._aten if is_aten else ordinary).setdefault(here, []).append(node)
            level.update(dict.fromkeys(node.output, here + is_aten))
        self._levels = range(max([*ordinary, *self._aten]) + 1)
        self._wanted = [value.name for value in graph.output]
        self._stages: dict[int, _Stage] = {}
        for here, nodes in ordinary.items():
            made = {name for node in nodes for name in node.output if name}
            elsewhere = set(self._wanted)
            for other in self._levels:
                for node in self._aten.get(other, []):
                    elsewhere |= reads(node)
                if other > here:
                    for node in ordinary.get(other, []):
                        elsewhere |= reads(node)
            needed = {name for node in nodes for name in reads(node)} - made - constant
            outputs = [name for name in dict.fromkeys(n for node in nodes for n in node.output) if name in elsewhere]
            if outputs:
                self._stages[here] = _Stage(nodes, sorted(needed), outputs)
        of_aten = {name for nodes in self._aten.values() for node in nodes for name in node.input}
        sparse = {tensor.values.name for tensor in graph.sparse_initializer} & {*of_aten, *self._wanted}
        if sparse:
            raise _LoadError(f"{min(sparse)} is a sparse initializer, and crosses an ATen node")
        self._constants = {
            tensor.name: to_array(tensor, base_dir)
            for tensor in graph.initializer
            if tensor.name in of_aten or tensor.name in self._wanted
        }

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Any]:
        values: dict[str, Any] = {**self._constants, **feeds}
        for here in self._levels:
            stage = self._stages.get(here)
            if stage is not None:
                if stage.session is None:
                    stage.session = _Session(self._model_of(stage, values), self._base_dir)
                values.update(stage.session.run({name: values[name] for name in stage.inputs}))
            for node in self._aten.get(here, []):
                try:
                    made = aten.evaluate_node(node, [values[name] if name else None for name in node.input])
                except (ValueError, IndexError) as error:
                    raise RunRefusedError(f"ATen node {node.name or node.op_type}: {one_line(error)}") from None
                values.update({name: value for name, value in zip(node.output, made, strict=False) if name})
        return {name: values[name] for name in self._wanted}

    def _model_of(self, stage: _Stage, values: Mapping[str, Any]) -> onnx.ModelProto:
        """A model of the stage's nodes; its inputs have the types that the values have, and no shape."""
        source = self._model
        used = {name for node in stage.nodes for name in reads(node)}
        model = onnx.ModelProto(ir_version=max(source.ir_version, _FIRST_IR_OF_FREE_INITIALIZERS))
        model.functions.extend(source.functions)
        # onnxruntime refuses version 0 of the ATen domain, and no node of a stage is in it.
        model.opset_import.extend(o for o in source.opset_import if o.domain not in aten.FOREIGN)
        graph = model.graph
        graph.name = source.graph.name or "stage"
        graph.node.extend(stage.nodes)
        graph.initializer.extend(t for t in source.graph.initializer if t.name in used)
        graph.sparse_initializer.extend(t for t in source.graph.sparse_initializer if t.values.name in used)
        for name in stage.inputs:
            if not isinstance(values[name], np.ndarray):
                raise _LoadError(f"{name} is no tensor, and crosses an ATen node")
            elem_type = onnx.helper.np_dtype_to_tensor_dtype(values[name].dtype)
            graph.input.append(onnx.helper.make_tensor_value_info(name, elem_type, None))
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in stage.outputs)
        return model


class Runner:
    """Runs one model many times.

    `note` says how where it is not onnxruntime, `rejected` why where onnxruntime refuses the model itself.

    Args:
        model: the model; it is never changed.
        base_dir: the folder that the model's external data lies in, None where it has none.

    Raises:
        CannotRunError: neither onnxruntime, nor onnx.reference, nor our references of ATen operators can run the model.
        ModelError: the model takes more than 2 GB without its external data, or that data is missing.
    """

    def __init__(self, model: onnx.ModelProto, base_dir: Path | None = None) -> None:
        self._model = model
        self._base_dir = base_dir
        self.note = ""
        self.why_reference = ""
        self.rejected = ""
        self._input_names = [value.name for value in real_inputs(model.graph)]
        if base_dir is not None:
            check_external(model, base_dir)
        self._engine = self._choose()

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the model, by name, for `feeds`, which name every input that is no initializer.

        Raises:
            RunRefusedError: the model does not run on these inputs.
            CannotRunError: no engine can run the model.
        """
        missing = [name for name in self._input_names if name not in feeds]
        if missing:
            raise RunRefusedError(f"no value for input {missing[0]}")
        try:
            return self._engine.run(feeds)
        except _LoadError as error:  # stages are loaded when first run
            self._engine = self._fall_back(error)
            return self._engine.run(feeds)

    @property
    def by_reference(self) -> bool:
        """True where onnx.reference runs the model, which may round otherwise than onnxruntime."""
        return isinstance(self._engine, _Reference)

    def use_reference(self, why: str) -> None:
        """Run the model by onnx.reference from now on; `why` goes into the note.

        Raises:
            CannotRunError: it cannot run the model either.
        """
        self._engine = self._reference(why)

    def _choose(self) -> _Engine:
        model = self._model
        main = [node for node in model.graph.node if aten.aten_operator(node) is not None]
        inner = list(all_nodes(n for node in model.graph.node for g in subgraphs(node) for n in g.node))
        inner += [node for function in model.functions for node in all_nodes(function.node)]
        unknown = sorted({aten.aten_operator(n) or "" for n in (*main, *inner)} - aten.KNOWN - {""})
        if unknown:
            raise CannotRunError(f"the model cannot be run: there is no reference for ATen operator {', '.join(unknown)}")
        values = [*model.graph.input, *model.graph.output]
        if any(value.type.tensor_type.elem_type in _ELEMENT_TYPES_OF_REFERENCE for value in values):
            return self._reference("onnxruntime takes no arrays of its element types")
        if any(aten.aten_operator(node) is not None for node in inner):
            return self._reference("an ATen node lies in a subgraph or function")
        try:
            return _Staged(model, self._base_dir) if main else _Session(model, self._base_dir)
        except _LoadError as error:
            return self._fall_back(error)

    def _fall_back(self, error: _LoadError) -> _Engine:
        if isinstance(error, _InvalidError):
            self.rejected = str(error)
        return self._reference(str(error))

    def _reference(self, why: str) -> _Engine:
        try:
            engine = _Reference(self._model, self._base_dir)
        except _LoadError as error:
            reason = brief(why)
            raise CannotRunError(f"the model cannot be run: {reason}", reason, f"{why}; {error}") from None
        self.why_reference = why
        self.note = f"run by onnx.reference ({why})"
        return engine
