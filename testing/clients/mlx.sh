#!/usr/bin/env bash
# Builds MLX with its own C++ Metal back-end, and its Python module, against libMetal.so with clang.
#
#   mlx.sh SOURCE HEADERS PREFIX WORK
#
# SOURCE is a checkout of MLX, HEADERS the folder of Metal's C++ headers (`mlx/include/metal_cpp` in the
# wheel `mlx-metal` of the package index, which is for macOS and is only unpacked:
# `pip download --no-deps --platform macosx_14_0_arm64 --only-binary :all: mlx-metal`), PREFIX what
# `cargo xtask libmetal --prefix` made, WORK a folder for the build. Nothing of SOURCE is changed.
# Afterwards, with the packages `numpy` and `psutil`:
#
#   cd WORK/source/python/tests && LD_LIBRARY_PATH=PREFIX/lib PYTHONPATH=WORK/python python3 -m unittest test_array
#
# Needs clang 19 (ANYMETAL_CLANG names another; clang 16 does not know `f16c` in `__builtin_cpu_supports`), CMake, Ninja, OpenBLAS with LAPACKE, and the
# development packages of fmt and nlohmann-json as Debian has them; NANOBIND is a folder with nanobind's source
# (the package index has it). JOBS is how many compilers run.
set -euo pipefail

if [ $# -ne 4 ] || [ -z "${NANOBIND:-}" ]; then
    sed -n '2,20s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
scripts=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$4"
source=$(realpath "$1") headers=$(realpath "$2") prefix=$(realpath "$3") work=$(realpath "$4")
export ANYMETAL_CLANG=${ANYMETAL_CLANG:-clang-19}
library=$prefix/lib/libMetal.so
python=$(python3 -c 'import sys; print(sys.executable)')

# A copy, in which Metal is not switched off for Linux, and availability checks name no platform that the
# clang does not know.
if [ ! -d "$work/source" ]; then
    cp -r "$source" "$work/source"
    sed -i '/^elseif(CMAKE_SYSTEM_NAME STREQUAL "iOS")/,/^endif/ s/set(MLX_BUILD_METAL OFF)/message(STATUS "Metal by anymetal")/' \
        "$work/source/CMakeLists.txt"
    grep -rlE ', visionOS [0-9.]+' "$work/source/mlx" --include='*.cpp' --include='*.h' |
        xargs sed -i -E 's/, visionOS [0-9.]+//'
    # It relies on a header that Apple's standard library includes by others.
    sed -i 's/^#include <fmt\/format.h>/#include <optional>\n\n&/' "$work/source/mlx/backend/metal/kernels.h"
    # A tuple becomes a pair in the standard library of Apple's tools, and not in GCC's before 14.
    sed -i 's/return std::make_tuple(w_k, w_q);/return {w_k, w_q};/' "$work/source/mlx/backend/metal/fft.cpp"
fi

# MLX takes these from the network otherwise.
mkdir -p "$work/tools" "$work/json/single_include"
cp "$scripts/xcrun" "$work/tools/xcrun"
ln -sfn /usr/include/nlohmann "$work/json/single_include/nlohmann"
printf 'cmake_minimum_required(VERSION 3.18)\nproject(json NONE)\n' >"$work/json/CMakeLists.txt"
export PATH="$work/tools:$PATH"

cmake -G Ninja -S "$work/source" -B "$work/build" \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$ANYMETAL_CLANG" \
    -DCMAKE_CXX_COMPILER="${ANYMETAL_CLANG/clang/clang++}" \
    -DCMAKE_CXX_FLAGS="${OPTIMIZE:--O1} -DNDEBUG -fblocks -w -I$prefix/include" \
    -DMLX_METAL_JIT=ON -DMLX_BUILD_GGUF=OFF -DMLX_BUILD_TESTS=OFF -DMLX_BUILD_EXAMPLES=OFF \
    -DMLX_BUILD_PYTHON_BINDINGS=ON -DMLX_BUILD_PYTHON_STUBS=OFF -DMLX_USE_CCACHE=OFF -DUSE_SYSTEM_FMT=ON \
    -DMETAL_LIB="$library" -DFOUNDATION_LIB="$library" -DQUARTZ_LIB="$library" \
    -DFETCHCONTENT_SOURCE_DIR_METAL_CPP="$headers" -DFETCHCONTENT_SOURCE_DIR_JSON="$work/json" \
    -DFETCHCONTENT_SOURCE_DIR_NANOBIND="$(realpath "$NANOBIND")" -DPython_EXECUTABLE="$python"
ninja -C "$work/build" -k 0 -j "${JOBS:-1}"

# The package: MLX's Python files, and the module that was built.
mkdir -p "$work/python/mlx"
cp -r "$work/source/python/mlx/." "$work/python/mlx/"
cp "$work"/build/core.cpython-*.so "$work/python/mlx/"
