#!/usr/bin/env bash
# Runs the tests of mps-pointops, kernels for PyTorch on `mps`, over `anymetal.torch_mps`, which pretends to be on a Mac.
#
#   mps-pointops.sh PREFIX WORK [SOURCE] [-- PYTEST ARGUMENTS...]
#
# PYTHON names an interpreter with anymetal's package, PyTorch, NumPy and pytest. PREFIX is not used: the package has the library.
. "$(dirname "$0")/common.sh"
begin "$@"
python=${PYTHON:-python3}
if [ -z "$source" ]; then
    "$python" -m pip download --quiet --no-deps --no-binary :all: --no-build-isolation --dest "$work" mps-pointops==1.0.0
    tar -C "$work" -xzf "$work/mps_pointops-1.0.0.tar.gz"
    source=$work/mps_pointops-1.0.0
fi
cd "$source"
tests=(tests)
[ ${#arguments[@]} -eq 0 ] || tests=("${arguments[@]}")
# A plugin of pytest, so that the device is there before tests are collected.
mkdir -p "$work/plugin"
cat >"$work/plugin/pretended_mac.py" <<END
import anymetal.torch_mps

anymetal.torch_mps.install(device=True, macos=True)
END
status=0
# The mode in which most of its tests run: PyTorch's own, with the second named.
export PYTORCH_MPS_FAST_MATH=0 PYTORCH_ENABLE_MPS_FALLBACK=0
export PYTHONPATH=$work/plugin:$source${PYTHONPATH:+:$PYTHONPATH}
"$python" -m pytest -q -p no:cacheprovider -p pretended_mac -rfEs "${tests[@]}" 2>&1 | tee "$log" || status=$?
pytest_results "$status"
