"""One constant MatMul along one axis, in the form that parsers with an implicit batch read too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import onnx_graphsurgeon as gs

    from onnxfix.rewrites._region import Region


def matmul_along(region: Region, data: gs.Tensor, rank: int, axis: int, matrix: np.ndarray) -> gs.Variable:
    """`matrix` (shape [out, in]) times `data` along one of the last two axes.

    The constant has rank - 1 axes, leading ones included: an implicit batch takes one axis from the data, none from constants
    (IMatrixMultiplyLayer in the header of release 5.1 wants equal ranks), and ONNX broadcasts it all the same.
    """
    lead = (1,) * (rank - 3)
    role = f"axis{axis}"
    if axis == rank - 1:
        weights = region.constant(f"weights{axis}", matrix.T.reshape(lead + matrix.T.shape))
        return region.layer("MatMul", role, [data, weights])
    weights = region.constant(f"weights{axis}", matrix.reshape(lead + matrix.shape))
    return region.layer("MatMul", role, [weights, data])
