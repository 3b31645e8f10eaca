#!/usr/bin/env bash
# Builds MLX with its own C++ Metal back-end, and its Python module, with clang, and runs its Python tests.
#
#   mlx.sh PREFIX WORK SOURCE [-- UNITTEST ARGUMENTS...]
#
# SOURCE is a checkout of MLX; nothing of it is changed. Metal's C++ headers are those of the wheel `mlx-metal`, which is for macOS and
# is only unpacked; nanobind is that of the package index. Needs clang 19 (ANYMETAL_CLANG names another; clang 16 does not know `f16c`
# in `__builtin_cpu_supports`), CMake, Ninja, OpenBLAS with LAPACKE, and the development packages of fmt and nlohmann-json as Debian has
# them. PYTHON names an interpreter with NumPy and psutil, JOBS how many compilers run, OPTIMIZE the level of optimisation.
. "$(dirname "$0")/common.sh"
begin "$@"
[ -n "$source" ] || usage
scripts=$here
python=$("${PYTHON:-python3}" -c 'import sys; print(sys.executable)')
export ANYMETAL_CLANG=${ANYMETAL_CLANG:-clang-19}
library=$prefix/lib/libMetal.so
if [ ! -d "$work/mlx-metal" ]; then
    "$python" -m pip download --quiet --no-deps --platform macosx_14_0_arm64 --only-binary :all: --dest "$work" mlx-metal==0.32.4
    "$python" -m zipfile -e "$work"/mlx_metal-*.whl "$work/mlx-metal"
    "$python" -m pip download --quiet --no-deps --no-binary :all: --dest "$work" nanobind==2.15.0
    tar -C "$work" -xzf "$work"/nanobind-*.tar.gz
fi
headers=$work/mlx-metal/mlx/include/metal_cpp
NANOBIND=$(find "$work" -maxdepth 1 -type d -name 'nanobind-*')

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
ninja -C "$work/build" -j "${JOBS:-1}"

# The package: MLX's Python files, and the module that was built.
mkdir -p "$work/python/mlx"
cp -r "$work/source/python/mlx/." "$work/python/mlx/"
cp "$work"/build/core.cpython-*.so "$work/python/mlx/"

[ ${#arguments[@]} -gt 0 ] || arguments=(discover)
status=0
cd "$work/source/python/tests"
LD_LIBRARY_PATH=$prefix/lib PYTHONPATH=$work/python "$python" -m unittest -v "${arguments[@]}" 2>&1 | tee "$log" || status=$?
sed -nE 's/^(FAIL|ERROR): ([^ ]+).*/FAILED \2/p' "$log"
report "$(grep -cE '\.\.\. ok$' "$log")" "$(grep -cE '\.\.\. (FAIL|ERROR)$' "$log")" "$(grep -cE '\.\.\. skipped' "$log")" "$status"
