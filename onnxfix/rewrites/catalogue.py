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
    `retypes`: inputs and outputs of the model may get other element types; `rebatches`: an axis of 1 before their own.
    One with `new_outputs` puts others in their place: the proof starts from the model that has them, and notes what is lost.
    """

    name: str
    title: str
    applicability: Applicability
    phase: Phase
    ops: frozenset[str] = frozenset()
    over_model: bool = False
    lossy: bool = False
    retypes: bool = False
    new_outputs: bool = False
    rebatches: bool = False

    @property
    def whole_model(self) -> bool:
        """Whether it is a pass over the model instead of a change of one node."""
        return self.over_model or self.phase in (Phase.OPSET, Phase.INTERFACE)


EXACT, EQUIVALENT, APPROXIMATE, CONSENT = Applicability
EXPORTER_FAULTS, NORMALISE, OPERATORS, OPSET, INTERFACE = Phase


def _info(
    name: str,
    title: str,
    applicability: Applicability,
    phase: Phase,
    ops: str = "",
    *,
    over_model: bool = False,
    lossy: bool = False,
    retypes: bool = False,
    new_outputs: bool = False,
    rebatches: bool = False,
) -> RewriteInfo:
    return RewriteInfo(
        name, title, applicability, phase, frozenset(ops.split()), over_model, lossy, retypes, new_outputs, rebatches
    )


_ALL = (
    _info(
        "resize_sizes_keep_batch",
        "keep batch and channels of a Resize whose sizes begin with 1,1 (torch 1.3 writes them so)",
        CONSENT,
        EXPORTER_FAULTS,
        "Resize",
    ),
    _info(
        "attributes_to_inputs",
        "write the node in the form of the model's own opset (torch 1.3 writes an older one)",
        CONSENT,
        EXPORTER_FAULTS,
        "Clip Pad ReduceSum Slice Split Squeeze TopK Unsqueeze",
    ),
    _info(
        "nms_to_plugin",
        "the plugin EfficientNMS_TRT, with its outputs in place of those that are made of the selected indices",
        APPROXIMATE,
        EXPORTER_FAULTS,
        "NonMaxSuppression",
        over_model=True,
        lossy=True,
        new_outputs=True,
    ),
    _info(
        "aten_adaptive_pool",
        "pooling where all windows have one size, else averaging matrices",
        EQUIVALENT,
        NORMALISE,
        "adaptive_avg_pool2d adaptive_max_pool2d ATen",
    ),
    _info("inline_if", "the branch that the If always takes, in its place", EXACT, NORMALISE, "If"),
    _info("if_to_where", "both branches, and Where between their outputs", EXACT, OPERATORS, "If"),
    _info("unroll_loop", "the body of the Loop, once for every round", EXACT, NORMALISE, "Loop"),
    _info(
        "loop_to_where", "every round that there can be, and Where between its results and what was there", EXACT, OPERATORS, "Loop"
    ),
    _info(
        "compare_within_int32",
        "compare with the bounds of 32 bits",
        EQUIVALENT,
        NORMALISE,
        "Equal Greater GreaterOrEqual Less LessOrEqual",
    ),
    _info("reshape_keep_batch", "without changing the batch and back", EXACT, NORMALISE, "Reshape"),
    _info("unroll_scan", "the body of the Scan, once for every element", EXACT, NORMALISE, "Scan"),
    _info("eye_like_to_constant", "store the matrix", EXACT, NORMALISE, "EyeLike"),
    _info("constant_output_to_identity", "the constant behind an Identity", EXACT, NORMALISE, over_model=True),
    _info(
        "interface_type", "declare it in an element type that the release has", CONSENT, NORMALISE, over_model=True, retypes=True
    ),
    _info(
        "integers_as_floats",
        "integers that are only moved from inputs to outputs as floats",
        CONSENT,
        NORMALISE,
        "Concat",
        over_model=True,
        retypes=True,
    ),
    _info("double_to_float", "compute with FLOAT in place of DOUBLE", EQUIVALENT, NORMALISE, over_model=True),
    _info("cast_to_identity", "leave out a Cast to the type that the data has", EXACT, NORMALISE, "Cast"),
    _info(
        "cast_first",
        "the Cast that reads it in front of it",
        EXACT,
        OPERATORS,
        "DepthToSpace Expand Flatten Gather Identity Reshape Slice SpaceToDepth Squeeze Tile Transpose Unsqueeze",
    ),
    _info("cast_chain", "leave out a Cast between others", EXACT, NORMALISE, "Cast"),
    _info("drop_dead_nodes", "leave out what no output needs", EXACT, NORMALISE),
    _info("drop_unread_initializer", "leave out an initializer that nothing reads", EXACT, NORMALISE, over_model=True),
    _info(
        "drop_empty_inputs",
        "cut the empty names at the end of the inputs",
        EXACT,
        NORMALISE,
        "Clip Conv DequantizeLinear Dropout Gemm QuantizeLinear Slice Split Squeeze Trilu",
    ),
    _info("drop_zero_state", "leave out states of zeros and lengths of the whole sequence", EXACT, NORMALISE, "GRU LSTM RNN"),
    _info("fold_constant", "store the value that the node always computes", EXACT, NORMALISE),
    _info("fold_parameter", "write the computed shape, sizes, scales or bounds as a constant", EXACT, NORMALISE),
    _info("prelu_to_relu", "Relu(x) + slope * Min(x, 0)", EQUIVALENT, OPERATORS, "PRelu"),
    _info("depth_to_space_to_transpose", "Reshape, Transpose, Reshape", EXACT, OPERATORS, "DepthToSpace"),
    _info(
        "instance_norm_to_mean",
        "ReduceMean, Sub, Mul, Sqrt, Div with the model's own epsilon",
        EQUIVALENT,
        OPERATORS,
        "InstanceNormalization",
    ),
    _info("max_pool_indices", "Gather, Max, Greater and Where along each axis", EQUIVALENT, OPERATORS, "MaxPool"),
    _info(
        "average_pool_to_pad",
        "Pad with zeros, AveragePool, and Mul where padding does not count",
        EQUIVALENT,
        OPERATORS,
        "AveragePool",
    ),
    _info(
        "pool_volume_to_plane",
        "a pool over height and width, then one over the depth",
        EQUIVALENT,
        OPERATORS,
        "AveragePool MaxPool",
    ),
    _info("max_pool_to_gather", "the maximum of one Gather for each position of the window", EQUIVALENT, OPERATORS, "MaxPool"),
    _info("average_pool_to_conv", "Conv of every channel with constant weights", EQUIVALENT, OPERATORS, "AveragePool"),
    _info(
        "global_pool_to_reduce",
        "ReduceMean or ReduceMax over the spatial axes",
        EQUIVALENT,
        OPERATORS,
        "GlobalAveragePool GlobalMaxPool",
    ),
    _info("lp_pool_to_average_pool", "the root of an average of powers", EQUIVALENT, OPERATORS, "GlobalLpPool LpPool"),
    _info("drop_unread_outputs", "leave out the outputs that nothing reads", EXACT, NORMALISE),
    _info("gelu_to_erf", "x/2 * (1 + Erf(x/sqrt(2))), or the same by Tanh", EQUIVALENT, OPERATORS, "Gelu"),
    _info("erf_to_rational", "a quotient of polynomials", EQUIVALENT, OPERATORS, "Erf"),
    _info("hard_swish_to_hard_sigmoid", "x * HardSigmoid(x)", EQUIVALENT, OPERATORS, "HardSwish"),
    _info("mish_to_tanh", "x * Tanh(Softplus(x))", EQUIVALENT, OPERATORS, "Mish"),
    _info("swish_to_sigmoid", "x * Sigmoid(alpha * x)", EQUIVALENT, OPERATORS, "Swish"),
    _info("celu_to_elu", "alpha * Elu(x / alpha)", EQUIVALENT, OPERATORS, "Celu"),
    _info("shrink_to_ceil", "x - bias and x + bias, each times a float of 0 or 1", EQUIVALENT, OPERATORS, "Shrink"),
    _info("sin_to_cos", "Cos(x - pi/2), and a difference of exponentials", EQUIVALENT, OPERATORS, "Sin Sinh"),
    _info("layer_norm_to_mean", "ReduceMean, Sub, Mul, Sqrt and Div", EQUIVALENT, OPERATORS, "LayerNormalization"),
    _info("rms_norm_to_mean", "x over the root of the mean of squares", EQUIVALENT, OPERATORS, "RMSNormalization"),
    _info(
        "group_norm_to_mean",
        "Reshape to groups, ReduceMean, Sub, Mul, Sqrt, Div, Reshape",
        EQUIVALENT,
        OPERATORS,
        "GroupNorm GroupNormalization",
    ),
    _info("lp_norm_to_reduce", "x over ReduceL1 or ReduceL2", EQUIVALENT, OPERATORS, "LpNormalization"),
    _info("mean_variance_to_mean", "ReduceMean, Sub, Mul, Sqrt and Div", EQUIVALENT, OPERATORS, "MeanVarianceNormalization"),
    _info("batch_norm_to_scale", "Mul and Add of constants for every channel", EQUIVALENT, OPERATORS, "BatchNormalization"),
    _info(
        "batch_norm_to_mean",
        "statistics of the batch in ReduceMean, Sub, Mul, Sqrt and Div",
        EQUIVALENT,
        OPERATORS,
        "BatchNormalization",
    ),
    _info("round_to_floor", "Floor, and floats of 0 and 1 for what lies above", EQUIVALENT, OPERATORS, "Round"),
    _info("sign_to_clip", "Ceil and Floor of what Clip leaves", EQUIVALENT, OPERATORS, "Sign"),
    _info("mod_to_div", "the rest of a division that truncates", EQUIVALENT, OPERATORS, "Mod"),
    _info("mod_to_floor", "a - b * Floor(a / b)", APPROXIMATE, OPERATORS, "Mod"),
    _info("is_nan_to_equal", "Not(Equal(x, x))", EXACT, OPERATORS, "IsNaN"),
    _info("is_inf_to_greater", "beyond the largest finite number", EXACT, OPERATORS, "IsInf"),
    _info(
        "greater_or_equal_to_or",
        "Or of Greater or Less and Equal; Or without And",
        EXACT,
        OPERATORS,
        "GreaterOrEqual LessOrEqual Xor",
    ),
    _info("topk_to_largest", "TopK of negative data, and back", EQUIVALENT, OPERATORS, "TopK"),
    _info("gemm_plain", "Gemm without factors, with a bias", EQUIVALENT, OPERATORS, "Gemm"),
    _info("gemm_to_matmul", "MatMul and Add", EQUIVALENT, OPERATORS, "Gemm"),
    _info("matmul_constant_rank", "the constant in the rank that an implicit batch needs", EQUIVALENT, OPERATORS, "MatMul"),
    _info("expand_to_mul", "Mul by ones", EXACT, OPERATORS, "Expand"),
    _info("tile_to_concat", "Concat of copies for every axis", EXACT, OPERATORS, "Tile"),
    _info("softmax_to_flat", "Reshape, the same over one axis, Reshape", EQUIVALENT, OPERATORS, "Hardmax LogSoftmax Softmax"),
    _info("hardmax_to_gather", "rows of an identity matrix, gathered by ArgMax", EQUIVALENT, OPERATORS, "Hardmax"),
    _info("argmax_to_first", "that of the first over reversed data", EQUIVALENT, OPERATORS, "ArgMax ArgMin"),
    _info("pow_exponent_to_float", "the exponent in the type of the base", EQUIVALENT, OPERATORS, "Pow"),
    _info("clip_to_max_min", "Min and Max", EQUIVALENT, OPERATORS, "Clip"),
    _info("flatten_to_reshape", "Reshape", EXACT, OPERATORS, "Flatten"),
    _info("squeeze_to_reshape", "Reshape to the shape that is left", EXACT, OPERATORS, "Squeeze"),
    _info(
        "drop_noop_reduction",
        "the same without noop_with_empty_axes",
        EQUIVALENT,
        OPERATORS,
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare",
    ),
    _info("logsumexp_stable", "ReduceMax, Sub, Exp, ReduceSum, Log", EQUIVALENT, OPERATORS, "LogSoftmax ReduceLogSumExp"),
    _info("pad_to_gather", "Gather with constant positions for every axis", EQUIVALENT, OPERATORS, "Pad"),
    _info("slice_all_inputs", "Slice with its axes and steps written out", EXACT, OPERATORS, "Slice"),
    _info("slice_to_gather", "Gather with constant positions", EXACT, OPERATORS, "Slice"),
    _info("cast_before_moving", "the Cast before what moves its data", EXACT, OPERATORS, "Cast"),
    _info("integers_to_table", "a table of its values, read at the whole number", EXACT, OPERATORS, "Add Cast Div Mod Mul Sub"),
    _info("gather_axis_from_back", "the same axis, counted from the back", EXACT, OPERATORS, "Gather"),
    _info(
        "batch_of_one",
        "an axis of 1 in front of the data, for what works on the batch axis",
        EQUIVALENT,
        OPERATORS,
        "ArgMax ArgMin Concat Flatten Gather Hardmax LogSoftmax ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax "
        "ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Reshape Slice Softmax Split Squeeze TopK Transpose Unsqueeze",
    ),
    _info("einsum_to_matmul", "Transpose, Reshape, MatMul and ReduceSum", EQUIVALENT, OPERATORS, "Einsum"),
    _info(
        "logic_to_float",
        "floats of 0 and 1 in place of booleans",
        EQUIVALENT,
        OPERATORS,
        "And Cast Equal Greater GreaterOrEqual Less LessOrEqual Not Or Where Xor",
    ),
    _info("concat_constant_to_tensor", "constants added to zeros that the data make", EQUIVALENT, OPERATORS, "Concat"),
    _info("conv_transpose_plain", "ConvTranspose with other pads and weights", EQUIVALENT, OPERATORS, "ConvTranspose"),
    _info(
        "conv_volume_to_plane",
        "one convolution of planes whose channels are channels and depths",
        EQUIVALENT,
        OPERATORS,
        "Conv ConvTranspose",
    ),
    _info("conv_weights_to_matmul", "its windows laid out, and a MatMul", EQUIVALENT, OPERATORS, "Conv"),
    _info("conv_integer_to_conv", "Conv of floats", EXACT, OPERATORS, "ConvInteger"),
    _info("affine_grid_to_matmul", "MatMul with a constant grid", EQUIVALENT, OPERATORS, "AffineGrid"),
    _info("col2im_to_conv_transpose", "ConvTranspose of every channel with kernels of a single 1", EQUIVALENT, OPERATORS, "Col2Im"),
    _info("center_crop_pad_to_slice", "Slice and Pad", EXACT, OPERATORS, "CenterCropPad"),
    _info("grid_sample_to_gather", "Gathers of pixels and their weighted sum", EQUIVALENT, OPERATORS, "GridSample grid_sampler"),
    _info("schema_body", "the function body of the operator in ONNX", EQUIVALENT, OPERATORS),
    _info(
        "sequence_to_concat",
        "Concat, or the tensors themselves",
        EXACT,
        OPERATORS,
        "ConcatFromSequence SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SplitToSequence",
    ),
    _info("split_sizes", "the sizes of the pieces written out", EXACT, OPERATORS, "Split"),
    _info("gather_from_front", "positions that count from the front", EXACT, OPERATORS, "Gather"),
    _info("alias_to_identity", "Identity", EXACT, NORMALISE, "AliasWithName"),
    _info("leaky_relu_plugin", "LeakyRelu", EXACT, OPERATORS, "LReLU_TRT"),
    _info("fused_conv_to_conv", "Conv and the activation", EQUIVALENT, OPERATORS, "FusedConv"),
    _info("skip_layer_norm_to_mean", "Add and a normalisation in reductions", EQUIVALENT, OPERATORS, "SkipLayerNormalization"),
    _info("conv_transpose_crop", "ConvTranspose without padding, and Slice", EQUIVALENT, OPERATORS, "ConvTranspose"),
    _info("conv_transpose_bias_to_add", "Add after a ConvTranspose without bias", EQUIVALENT, OPERATORS, "ConvTranspose"),
    _info("name_outputs", "outputs with names, or left out", EXACT, NORMALISE),
    _info("slice_every_axis", "Slice that names every axis in order", EXACT, OPERATORS, "Slice"),
    _info("inline_function", "the nodes of the function in its place", EXACT, NORMALISE),
    _info("argmax_to_equal", "ArgMax of what equals the extreme", EXACT, OPERATORS, "ArgMax ArgMin"),
    _info("abs_to_max", "Max(x, 0 - x)", EXACT, OPERATORS, "Abs Neg"),
    _info("drop_empty_operand", "the Concat without the empty operand", EXACT, NORMALISE),
    _info("drop_default_attribute", "leave out what the operator says of itself", EXACT, NORMALISE),
    _info("resize_to_asymmetric", "asymmetric coordinates, rounded down", EXACT, OPERATORS, "Resize"),
    _info(
        "resize_to_conv_transpose",
        "the edge repeated, and ConvTranspose of every channel",
        EQUIVALENT,
        OPERATORS,
        "Resize Upsample",
    ),
    _info("reshape_without_allowzero", "Reshape without allowzero", EXACT, NORMALISE, "Reshape"),
    _info("softmax_to_last", "the same along the last axis, by name", EQUIVALENT, OPERATORS, "Hardmax LogSoftmax Softmax"),
    _info("resize_fill_roi", "a region of interest that has elements", EXACT, OPERATORS, "Resize"),
    _info("resize_sizes_to_scales", "Resize by constant scales", EQUIVALENT, OPERATORS, "Resize"),
    _info("resize_to_upsample", "Upsample with constant scales", EXACT, OPSET, "Resize"),
    _info("resize_to_gather", "Gather with constant indices, one per resized axis", EXACT, OPERATORS, "Resize Upsample"),
    _info(
        "resize_to_matmul",
        "MatMul with constant interpolation matrices, one per resized axis",
        EQUIVALENT,
        OPERATORS,
        "Resize Upsample",
    ),
    _info("gather_elements_to_gather", "Gather from the data laid out flat", EXACT, OPERATORS, "GatherElements"),
    _info("gather_nd_to_gather", "Gather from the data laid out flat", EXACT, OPERATORS, "GatherND"),
    _info(
        "scatter_to_gather",
        "Gather from the data with the updates laid behind them",
        EXACT,
        OPERATORS,
        "Scatter ScatterElements ScatterND",
    ),
    _info(
        "reverse_sequence_to_gather",
        "Gather, of constant places where the lengths are constant",
        EXACT,
        OPERATORS,
        "ReverseSequence",
    ),
    _info("compress_to_gather", "Gather of the places that the condition keeps", EXACT, OPERATORS, "Compress"),
    _info("one_hot_to_gather", "rows gathered from a constant table", EXACT, OPERATORS, "OneHot"),
    _info("cumsum_to_matmul", "MatMul with a triangle of ones", EQUIVALENT, OPERATORS, "CumSum"),
    _info("trilu_to_mask", "a constant mask by Where, or by Mul", EQUIVALENT, OPERATORS, "Trilu"),
    _info("shape_to_slice", "a Slice of the whole shape", EXACT, OPERATORS, "Shape"),
    _info(
        "bool_through_int32",
        "the operator on INT32, between Casts",
        EXACT,
        OPERATORS,
        "Concat Expand Flatten Gather GatherElements GatherND Pad Reshape "
        "ScatterElements ScatterND Slice Split Squeeze Tile Transpose Unsqueeze Where",
    ),
    _info("unroll_recurrent", "the equations of the layer, once for every step", EQUIVALENT, OPERATORS, "GRU LSTM RNN"),
    _info(
        "resize_to_nearest",
        "repeat elements in place of interpolating between them",
        APPROXIMATE,
        OPERATORS,
        "Resize Upsample",
        lossy=True,
    ),
    _info("quantized_pair_to_float", "levels as whole numbers in floats", EXACT, OPERATORS, "DequantizeLinear QuantizeLinear"),
    _info("dft_to_matmul", "MatMul with the matrix of the transform", EQUIVALENT, OPERATORS, "DFT STFT"),
    _info("topk_in_rounds", "TopK of 3840, then of what is left, and Concat", EQUIVALENT, OPERATORS, "TopK"),
    _info("round_to_integer", "the same of whole numbers", EQUIVALENT, OPERATORS, "Ceil Floor Round"),
    _info("moved_shape_to_gather", "one Gather from the numbers in a row", EXACT, OPERATORS, "Reshape"),
    _info(
        "scatter_by_equality",
        "each place compared with those of the updates, and a reduction",
        EQUIVALENT,
        OPERATORS,
        "Scatter ScatterElements ScatterND",
    ),
    _info("max_unpool_to_scatter", "the values scattered into zeros", EXACT, OPERATORS, "MaxUnpool"),
    _info("range_to_integers", "a Range of integers, times the step, plus the start", EQUIVALENT, OPERATORS, "Range"),
    _info("merge_axes", "axes that move together merged into one", EXACT, OPERATORS, "Reshape"),
    _info(
        "prelu_slope_per_channel",
        "the slope in the shape that belongs to channels (MXNet leaves it a vector)",
        CONSENT,
        EXPORTER_FAULTS,
        "PRelu",
    ),
    _info(
        "recurrent_factors_written_out",
        "activation_alpha and activation_beta for every activation",
        EXACT,
        OPERATORS,
        "GRU LSTM RNN",
    ),
    _info("batch_norm_into_gemm", "the normalisation in the Gemm before it", EQUIVALENT, OPERATORS, "Unsqueeze"),
    _info(
        "batch_in_interface",
        "an axis of 1, the batch, before the first of inputs and outputs",
        CONSENT,
        OPERATORS,
        over_model=True,
        rebatches=True,
    ),
    _info("slice_to_positions", "Gather with constant positions", EXACT, OPERATORS, "Slice"),
    _info("matmul_to_conv", "a Conv of one element", EQUIVALENT, OPERATORS, "MatMul"),
    _info("opset_move", "write the model in an older opset", EXACT, OPSET),
    _info("list_initializers", "list the initializers among the graph's inputs (IR 3)", EXACT, INTERFACE),
)
REWRITES = {info.name: info for info in _ALL}


def describe(name: str) -> tuple[str, str]:
    """(title, applicability) of a rewrite."""
    info = REWRITES[name]
    return info.title, info.applicability.value


def candidates(names: tuple[str, ...], op_type: str) -> tuple[str, ...]:
    """Those of `names` that start from `op_type` (or from any operator)."""
    return tuple(name for name in names if not REWRITES[name].ops or op_type in REWRITES[name].ops)
