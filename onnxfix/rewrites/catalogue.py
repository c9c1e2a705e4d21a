"""Every rewrite: what it does, what it promises, when it runs, and the operators that it starts from.

Plain data, so that listing rewrites imports neither onnx nor graphsurgeon. Figures and guards are in each rewrite's module,
`onnxfix/rewrites/<name>.py`; those of resize_to_upsample, a part of opset_move, in `onnxfix/rewrites/lowering/resize.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Applicability(StrEnum):
    """What a rewrite promises of the numbers; see the README."""

    EXACT = "exact"
    EQUIVALENT = "equivalent"
    APPROXIMATE = "approximate"
    CONSENT = "consent"


class Phase(IntEnum):
    """When a rewrite runs: an earlier phase makes the guards of later ones true."""

    EXPORTER_FAULTS = 1
    NORMALISE = 2
    OPERATORS = 3
    OPSET = 4
    INTERFACE = 5


@dataclass(frozen=True, slots=True)
class RewriteInfo:
    """One rewrite; `ops` is empty where it starts from any operator.

    `lossy` ones give other numbers on purpose: the proof is of everything else, and the report shows by how much outputs differ.
    """

    name: str
    title: str
    applicability: Applicability
    phase: Phase
    ops: frozenset[str] = frozenset()
    over_model: bool = False
    lossy: bool = False

    @property
    def whole_model(self) -> bool:
        """Whether it is a pass over the model instead of a change of one node."""
        return self.over_model or self.phase in (Phase.OPSET, Phase.INTERFACE)


def _info(
    name: str, title: str, applicability: Applicability, phase: Phase, *ops: str, over_model: bool = False, lossy: bool = False
) -> RewriteInfo:
    return RewriteInfo(name, title, applicability, phase, frozenset(ops), over_model, lossy)


_ALL = (
    _info(
        "resize_sizes_keep_batch",
        "keep batch and channels of a Resize whose sizes begin with 1,1 (torch 1.3 writes them so)",
        Applicability.CONSENT,
        Phase.EXPORTER_FAULTS,
        "Resize",
    ),
    _info(
        "attributes_to_inputs",
        "write the node in the form of the model's own opset (torch 1.3 writes an older one)",
        Applicability.CONSENT,
        Phase.EXPORTER_FAULTS,
        "Clip",
        "Pad",
        "ReduceSum",
        "Slice",
        "Split",
        "Squeeze",
        "TopK",
        "Unsqueeze",
    ),
    _info(
        "aten_adaptive_pool",
        "pooling where all windows have one size, else averaging matrices",
        Applicability.EQUIVALENT,
        Phase.NORMALISE,
        "adaptive_avg_pool2d",
        "adaptive_max_pool2d",
        "ATen",
    ),
    _info(
        "inline_if",
        "the branch that the If always takes, in its place",
        Applicability.EXACT,
        Phase.NORMALISE,
        "If",
    ),
    _info(
        "unroll_loop",
        "the body of the Loop, once for every round",
        Applicability.EXACT,
        Phase.NORMALISE,
        "Loop",
    ),
    _info(
        "unroll_scan",
        "the body of the Scan, once for every element",
        Applicability.EXACT,
        Phase.NORMALISE,
        "Scan",
    ),
    _info(
        "eye_like_to_constant",
        "store the matrix",
        Applicability.EXACT,
        Phase.NORMALISE,
        "EyeLike",
    ),
    _info(
        "interface_type",
        "declare it in an element type that the release has",
        Applicability.CONSENT,
        Phase.NORMALISE,
        over_model=True,
    ),
    _info(
        "double_to_float",
        "compute with FLOAT in place of DOUBLE",
        Applicability.EQUIVALENT,
        Phase.NORMALISE,
        over_model=True,
    ),
    _info(
        "cast_to_identity",
        "leave out a Cast to the type that the data has",
        Applicability.EXACT,
        Phase.NORMALISE,
        "Cast",
    ),
    _info(
        "cast_chain",
        "leave out a Cast between others",
        Applicability.EXACT,
        Phase.NORMALISE,
        "Cast",
    ),
    _info(
        "drop_zero_state",
        "leave out states of zeros and lengths of the whole sequence",
        Applicability.EXACT,
        Phase.NORMALISE,
        "GRU",
        "LSTM",
        "RNN",
    ),
    _info(
        "fold_constant",
        "store the value that the node always computes",
        Applicability.EXACT,
        Phase.NORMALISE,
    ),
    _info(
        "fold_parameter",
        "write the computed shape, sizes, scales or bounds as a constant",
        Applicability.EXACT,
        Phase.NORMALISE,
    ),
    _info(
        "prelu_to_relu",
        "Relu(x) + slope * Min(x, 0)",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "PRelu",
    ),
    _info(
        "depth_to_space_to_transpose",
        "Reshape, Transpose, Reshape",
        Applicability.EXACT,
        Phase.OPERATORS,
        "DepthToSpace",
    ),
    _info(
        "instance_norm_to_mean",
        "ReduceMean, Sub, Mul, Sqrt, Div with the model's own epsilon",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "InstanceNormalization",
    ),
    _info(
        "average_pool_to_pad",
        "Pad with zeros, AveragePool, and Mul where padding does not count",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "AveragePool",
    ),
    _info(
        "max_pool_to_gather",
        "the maximum of one Gather for each position of the window",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "MaxPool",
    ),
    _info(
        "average_pool_to_conv",
        "Conv of every channel with constant weights",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "AveragePool",
    ),
    _info(
        "global_pool_to_reduce",
        "ReduceMean or ReduceMax over the spatial axes",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "GlobalAveragePool",
        "GlobalMaxPool",
    ),
    _info(
        "lp_pool_to_average_pool",
        "the root of an average of powers",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "GlobalLpPool",
        "LpPool",
    ),
    _info(
        "drop_unread_outputs",
        "leave out the outputs that nothing reads",
        Applicability.EXACT,
        Phase.NORMALISE,
    ),
    _info(
        "gelu_to_erf",
        "x/2 * (1 + Erf(x/sqrt(2))), or the same by Tanh",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Gelu",
    ),
    _info(
        "erf_to_rational",
        "a quotient of polynomials",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Erf",
    ),
    _info(
        "hard_swish_to_hard_sigmoid",
        "x * HardSigmoid(x)",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "HardSwish",
    ),
    _info(
        "mish_to_tanh",
        "x * Tanh(Softplus(x))",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Mish",
    ),
    _info(
        "swish_to_sigmoid",
        "x * Sigmoid(alpha * x)",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Swish",
    ),
    _info(
        "celu_to_elu",
        "alpha * Elu(x / alpha)",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Celu",
    ),
    _info(
        "shrink_to_ceil",
        "x - bias and x + bias, each times a float of 0 or 1",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Shrink",
    ),
    _info(
        "sin_to_cos",
        "Cos(x - pi/2), and a difference of exponentials",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Sin",
        "Sinh",
    ),
    _info(
        "layer_norm_to_mean",
        "ReduceMean, Sub, Mul, Sqrt and Div",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "LayerNormalization",
    ),
    _info(
        "rms_norm_to_mean",
        "x over the root of the mean of squares",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "RMSNormalization",
    ),
    _info(
        "group_norm_to_mean",
        "Reshape to groups, ReduceMean, Sub, Mul, Sqrt, Div, Reshape",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "GroupNorm",
        "GroupNormalization",
    ),
    _info(
        "lp_norm_to_reduce",
        "x over ReduceL1 or ReduceL2",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "LpNormalization",
    ),
    _info(
        "mean_variance_to_mean",
        "ReduceMean, Sub, Mul, Sqrt and Div",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "MeanVarianceNormalization",
    ),
    _info(
        "batch_norm_to_scale",
        "Mul and Add of constants for every channel",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "BatchNormalization",
    ),
    _info(
        "batch_norm_to_mean",
        "statistics of the batch in ReduceMean, Sub, Mul, Sqrt and Div",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "BatchNormalization",
    ),
    _info(
        "round_to_floor",
        "Floor, and floats of 0 and 1 for what lies above",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Round",
    ),
    _info(
        "sign_to_clip",
        "Ceil and Floor of what Clip leaves",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Sign",
    ),
    _info(
        "mod_to_div",
        "the rest of a division that truncates",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Mod",
    ),
    _info(
        "mod_to_floor",
        "a - b * Floor(a / b)",
        Applicability.APPROXIMATE,
        Phase.OPERATORS,
        "Mod",
    ),
    _info(
        "is_nan_to_equal",
        "Not(Equal(x, x))",
        Applicability.EXACT,
        Phase.OPERATORS,
        "IsNaN",
    ),
    _info(
        "is_inf_to_greater",
        "beyond the largest finite number",
        Applicability.EXACT,
        Phase.OPERATORS,
        "IsInf",
    ),
    _info(
        "greater_or_equal_to_or",
        "Or of Greater or Less and Equal; Or without And",
        Applicability.EXACT,
        Phase.OPERATORS,
        "GreaterOrEqual",
        "LessOrEqual",
        "Xor",
    ),
    _info(
        "topk_to_largest",
        "TopK of negative data, and back",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "TopK",
    ),
    _info(
        "gemm_plain",
        "Gemm without factors, with a bias",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Gemm",
    ),
    _info(
        "gemm_to_matmul",
        "MatMul and Add",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Gemm",
    ),
    _info(
        "matmul_constant_rank",
        "the constant in the rank that an implicit batch needs",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "MatMul",
    ),
    _info(
        "expand_to_mul",
        "Mul by ones",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Expand",
    ),
    _info(
        "tile_to_concat",
        "Concat of copies for every axis",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Tile",
    ),
    _info(
        "softmax_to_flat",
        "Reshape, the same over one axis, Reshape",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Hardmax",
        "LogSoftmax",
        "Softmax",
    ),
    _info(
        "hardmax_to_gather",
        "rows of an identity matrix, gathered by ArgMax",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Hardmax",
    ),
    _info(
        "argmax_to_first",
        "that of the first over reversed data",
        Applicability.EXACT,
        Phase.OPERATORS,
        "ArgMax",
        "ArgMin",
    ),
    _info(
        "pow_exponent_to_float",
        "the exponent in the type of the base",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Pow",
    ),
    _info(
        "clip_to_max_min",
        "Min and Max",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Clip",
    ),
    _info(
        "flatten_to_reshape",
        "Reshape",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Flatten",
    ),
    _info(
        "drop_noop_reduction",
        "the same without noop_with_empty_axes",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "ReduceL1",
        "ReduceL2",
        "ReduceLogSum",
        "ReduceLogSumExp",
        "ReduceMax",
        "ReduceMean",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "ReduceSumSquare",
    ),
    _info(
        "logsumexp_stable",
        "ReduceMax, Sub, Exp, ReduceSum, Log",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "LogSoftmax",
        "ReduceLogSumExp",
    ),
    _info(
        "pad_to_gather",
        "Gather with constant positions for every axis",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Pad",
    ),
    _info(
        "slice_to_gather",
        "Gather with constant positions",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Slice",
    ),
    _info(
        "einsum_to_matmul",
        "Transpose, Reshape, MatMul and ReduceSum",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Einsum",
    ),
    _info(
        "logic_to_float",
        "floats of 0 and 1 in place of booleans",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "And",
        "Cast",
        "Equal",
        "Greater",
        "GreaterOrEqual",
        "Less",
        "LessOrEqual",
        "Not",
        "Or",
        "Where",
        "Xor",
    ),
    _info(
        "concat_constant_to_tensor",
        "constants added to zeros that the data make",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Concat",
    ),
    _info(
        "conv_transpose_plain",
        "ConvTranspose with other pads and weights",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "ConvTranspose",
    ),
    _info(
        "conv_volume_to_plane",
        "one convolution of planes whose channels are channels and depths",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Conv",
        "ConvTranspose",
    ),
    _info(
        "conv_weights_to_matmul",
        "its windows laid out, and a MatMul",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Conv",
    ),
    _info(
        "conv_integer_to_conv",
        "Conv of floats",
        Applicability.EXACT,
        Phase.OPERATORS,
        "ConvInteger",
    ),
    _info(
        "affine_grid_to_matmul",
        "MatMul with a constant grid",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "AffineGrid",
    ),
    _info(
        "col2im_to_conv_transpose",
        "ConvTranspose of every channel with kernels of a single 1",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Col2Im",
    ),
    _info(
        "center_crop_pad_to_slice",
        "Slice and Pad",
        Applicability.EXACT,
        Phase.OPERATORS,
        "CenterCropPad",
    ),
    _info(
        "grid_sample_to_gather",
        "Gathers of pixels and their weighted sum",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "GridSample",
        "grid_sampler",
    ),
    _info(
        "schema_body",
        "the function body of the operator in ONNX",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
    ),
    _info(
        "sequence_to_concat",
        "Concat, or the tensors themselves",
        Applicability.EXACT,
        Phase.OPERATORS,
        "ConcatFromSequence",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "SplitToSequence",
    ),
    _info(
        "split_sizes",
        "the sizes of the pieces written out",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Split",
    ),
    _info(
        "gather_from_front",
        "positions that count from the front",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Gather",
    ),
    _info(
        "alias_to_identity",
        "Identity",
        Applicability.EXACT,
        Phase.NORMALISE,
        "AliasWithName",
    ),
    _info(
        "leaky_relu_plugin",
        "LeakyRelu",
        Applicability.EXACT,
        Phase.OPERATORS,
        "LReLU_TRT",
    ),
    _info(
        "fused_conv_to_conv",
        "Conv and the activation",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "FusedConv",
    ),
    _info(
        "skip_layer_norm_to_mean",
        "Add and a normalisation in reductions",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "SkipLayerNormalization",
    ),
    _info(
        "conv_transpose_crop",
        "ConvTranspose without padding, and Slice",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "ConvTranspose",
    ),
    _info(
        "conv_transpose_bias_to_add",
        "Add after a ConvTranspose without bias",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "ConvTranspose",
    ),
    _info(
        "name_outputs",
        "outputs with names, or left out",
        Applicability.EXACT,
        Phase.NORMALISE,
    ),
    _info(
        "slice_every_axis",
        "Slice that names every axis in order",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Slice",
    ),
    _info(
        "inline_function",
        "the nodes of the function in its place",
        Applicability.EXACT,
        Phase.NORMALISE,
    ),
    _info(
        "argmax_to_equal",
        "ArgMax of what equals the extreme",
        Applicability.EXACT,
        Phase.OPERATORS,
        "ArgMax",
        "ArgMin",
    ),
    _info(
        "abs_to_max",
        "Max(x, 0 - x)",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Abs",
        "Neg",
    ),
    _info(
        "drop_empty_operand",
        "the Concat without the empty operand",
        Applicability.EXACT,
        Phase.NORMALISE,
    ),
    _info(
        "drop_default_attribute",
        "leave out what the operator says of itself",
        Applicability.EXACT,
        Phase.NORMALISE,
    ),
    _info(
        "resize_to_asymmetric",
        "asymmetric coordinates, rounded down",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Resize",
    ),
    _info(
        "resize_to_conv_transpose",
        "the edge repeated, and ConvTranspose of every channel",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Resize",
        "Upsample",
    ),
    _info(
        "resize_fill_roi",
        "a region of interest that has elements",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Resize",
    ),
    _info(
        "resize_sizes_to_scales",
        "Resize by constant scales",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Resize",
    ),
    _info(
        "resize_to_upsample",
        "Upsample with constant scales",
        Applicability.EXACT,
        Phase.OPSET,
        "Resize",
    ),
    _info(
        "resize_to_gather",
        "Gather with constant indices, one per resized axis",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Resize",
        "Upsample",
    ),
    _info(
        "resize_to_matmul",
        "MatMul with constant interpolation matrices, one per resized axis",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Resize",
        "Upsample",
    ),
    _info(
        "gather_elements_to_gather",
        "Gather from the data laid out flat",
        Applicability.EXACT,
        Phase.OPERATORS,
        "GatherElements",
    ),
    _info(
        "gather_nd_to_gather",
        "Gather from the data laid out flat",
        Applicability.EXACT,
        Phase.OPERATORS,
        "GatherND",
    ),
    _info(
        "scatter_to_gather",
        "Gather from the data with the updates laid behind them",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Scatter",
        "ScatterElements",
        "ScatterND",
    ),
    _info(
        "reverse_sequence_to_gather",
        "Gather with constant indices",
        Applicability.EXACT,
        Phase.OPERATORS,
        "ReverseSequence",
    ),
    _info(
        "compress_to_gather",
        "Gather of the places that the condition keeps",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Compress",
    ),
    _info(
        "one_hot_to_gather",
        "rows gathered from a constant table",
        Applicability.EXACT,
        Phase.OPERATORS,
        "OneHot",
    ),
    _info(
        "cumsum_to_matmul",
        "MatMul with a triangle of ones",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "CumSum",
    ),
    _info(
        "trilu_to_mask",
        "a constant mask by Where, or by Mul",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "Trilu",
    ),
    _info(
        "shape_to_slice",
        "a Slice of the whole shape",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Shape",
    ),
    _info(
        "bool_through_int32",
        "the operator on INT32, between Casts",
        Applicability.EXACT,
        Phase.OPERATORS,
        "Concat",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Pad",
        "Reshape",
        "ScatterElements",
        "ScatterND",
        "Slice",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
        "Where",
    ),
    _info(
        "unroll_recurrent",
        "the equations of the layer, once for every step",
        Applicability.EQUIVALENT,
        Phase.OPERATORS,
        "GRU",
        "LSTM",
        "RNN",
    ),
    _info(
        "resize_to_nearest",
        "repeat elements in place of interpolating between them",
        Applicability.APPROXIMATE,
        Phase.OPERATORS,
        "Resize",
        "Upsample",
        lossy=True,
    ),
    _info(
        "opset_move",
        "write the model in an older opset",
        Applicability.EXACT,
        Phase.OPSET,
    ),
    _info(
        "list_initializers",
        "list the initializers among the graph's inputs (IR 3)",
        Applicability.EXACT,
        Phase.INTERFACE,
    ),
)
REWRITES = {info.name: info for info in _ALL}


def describe(name: str) -> tuple[str, str]:
    """(title, applicability) of a rewrite."""
    info = REWRITES[name]
    return info.title, info.applicability.value


def candidates(names: tuple[str, ...], op_type: str) -> tuple[str, ...]:
    """Those of `names` that start from `op_type` (or from any operator)."""
    return tuple(name for name in names if not REWRITES[name].ops or op_type in REWRITES[name].ops)
