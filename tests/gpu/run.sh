#!/usr/bin/env bash
# Builds and measures three models on a machine with an NVIDIA GPU, the original (where it parses) against the repaired, and
# prints one table. Takes under six minutes. Not a part of the test suite: that needs no GPU.
#
#   tests/gpu/run.sh [WHEELS] [OUT]
#
# WHEELS: a folder with the wheels of TensorRT, and of everything else where no package index can be reached. Without it
#         TensorRT-RTX is installed from the package index.
# OUT:    where models, engines and raw samples go (build-gpu).
# ONNXFIX_PYTHON: a Python that has onnxfix, a TensorRT and cuda-python already; nothing is installed then.
#
# Exit code 0: measured; 4: no library of TensorRT imports, or there is no GPU, with the reason; else what failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

wheels=${1:-}
out=${2:-build-gpu}
models=(
  torch1.7.1_decoder_nearest_dynamic_batch_opset11
  torch1.7.1_prelu_opset10
  torch1.7.1_bilinear_align_corners_opset11
)

lacking() {
  echo "not measured: $1" >&2
  exit 4
}

python=${ONNXFIX_PYTHON:-}
if [[ -z $python ]]; then
  if [[ -n $wheels && ! -d $wheels ]]; then
    echo "error: $wheels is no folder" >&2
    exit 2
  fi
  python3 -m venv .venv-gpu || lacking "python3 cannot make an environment"
  python=$PWD/.venv-gpu/bin/python
  if [[ -z $wheels ]]; then
    "$python" -m pip install --quiet '.[gpu,tensorrt-rtx]' || lacking "the packages cannot be installed; name a folder of wheels"
  else
    shopt -s nullglob
    libraries=("$wheels"/tensorrt*.whl)
    ((${#libraries[@]})) || lacking "$wheels holds no wheel of TensorRT"
    # what the libraries need may lie beside them; where nothing else can be reached, all of it has to
    export PIP_FIND_LINKS=$wheels
    "$python" -m pip install --quiet '.[gpu]' "${libraries[@]}" ||
      PIP_NO_INDEX=1 "$python" -m pip install --quiet '.[gpu]' "${libraries[@]}" ||
      lacking "the wheels cannot be installed"
  fi
fi

# An engine library that imports, and sees the GPU: the stubs of the package index do neither.
engine=""
why=""
for module in tensorrt tensorrt_rtx; do
  if said=$("$python" -c "
import $module as trt
from onnxfix.engines.tool import gpu_present
assert gpu_present(), 'the CUDA driver sees no GPU'
assert trt.Builder(trt.Logger(trt.Logger.ERROR)) is not None, 'it makes no builder'
" 2>&1); then
    engine=${module//_/-}
    break
  fi
  why+="$module: $(tail -n 1 <<<"$said"); "
done
[[ -n $engine ]] || lacking "${why%; }"
"$python" -c 'import cuda.bindings.runtime' 2>/dev/null || lacking "cuda-python is not installed"

mkdir -p "$out"
"$python" -m onnxfix env | tee "$out/env.txt"
samples=()
for model in "${models[@]}"; do
  original=fixtures/seedmodels/$model.onnx
  "$python" -m onnxfix --quiet repair "$original" --target trt5.1 -o "$out/$model.fixed.onnx" >"$out/$model.repair.txt" || {
    cat "$out/$model.repair.txt"
    exit 1
  }
  # An original that this release does not parse is left out, and the table says so; that is exit code 1.
  timeout 110 "$python" -m onnxfix bench "$original" "$out/$model.fixed.onnx" --engine "$engine" --repeat 2 --duration 2 \
    --layers --save "$out/$model.bench.json" >"$out/$model.bench.txt" 2>&1
  code=$?
  if ((code > 1)) || [[ ! -f $out/$model.bench.json ]]; then
    cat "$out/$model.bench.txt"
    exit "$code"
  fi
  samples+=("$out/$model.bench.json")
done
"$python" -m tests.gpu.table "${samples[@]}" | tee "$out/table.md"
