#!/usr/bin/env bash
# Builds ggml's Metal back-end and llama.cpp's `test-backend-ops` with clang, and runs it.
#
#   ggml.sh PREFIX WORK [SOURCE] [-- ARGUMENTS OF test-backend-ops...]
#
# SOURCE is a checkout of llama.cpp; without it, the one in the source of `llama-cpp-python` is fetched from PyPI. Nothing of it is
# changed. A test passes if the results agree with ggml's own on the CPU; what the back end says it does not support is skipped.
#
# Needs clang, CMake and Ninja. ANYMETAL_CLANG names another clang (`clang-16`), JOBS how many compilers run,
# OPTIMIZE the level of optimisation.
. "$(dirname "$0")/common.sh"
begin "$@"
[ ${#arguments[@]} -gt 0 ] || arguments=(test)
if [ -z "$source" ]; then
    [ -f "$work/llama_cpp_python-0.3.36.tar.gz" ] ||
        "${PYTHON:-python3}" -m pip download --quiet --no-deps --no-binary :all: --dest "$work" llama-cpp-python==0.3.36
    tar -C "$work" -xzf "$work/llama_cpp_python-0.3.36.tar.gz"
    source=$work/llama_cpp_python-0.3.36/vendor/llama.cpp
fi
build=$work/build
mkdir -p "$build"
clang=${ANYMETAL_CLANG:-clang}
library=$prefix/lib/libMetal.so
include="-I$prefix/include"

# The kernels' source is embedded by assembly for Mach-O: sections and names are written otherwise in ELF.
cat >"$build/assemble" <<'END'
#!/usr/bin/env bash
set -euo pipefail
file=${!#}
[ ! -f "$file" ] || sed -i -e 's/^\.section __DATA,.*/.data/' -e 's/\b_ggml_/ggml_/g' "$file"
exec "$ANYMETAL_CLANG" "$@"
END
chmod +x "$build/assemble"
export ANYMETAL_CLANG=$clang

# A project of our own around ggml, so that archives of its source without packaging files do as well.
cat >"$build/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(backend-ops C CXX ASM)
set(CMAKE_CXX_STANDARD 17)
add_subdirectory("$source/ggml" ggml)
# It relies on a header that another standard library includes.
target_compile_options(ggml-metal PRIVATE "\$<\$<COMPILE_LANGUAGE:CXX>:SHELL:-include memory>")
add_executable(test-backend-ops "$source/tests/test-backend-ops.cpp")
target_include_directories(test-backend-ops PRIVATE "$source/ggml/src" "$source/common")
target_link_libraries(test-backend-ops PRIVATE ggml)
END
cmake -G Ninja -S "$build" -B "$build" \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$build" \
    -DCMAKE_C_COMPILER="$clang" -DCMAKE_CXX_COMPILER="${clang/clang/clang++}" -DCMAKE_ASM_COMPILER="$build/assemble" \
    -DCMAKE_C_FLAGS="${OPTIMIZE:--O1} -w -fblocks -fobjc-runtime=gnustep-2.1 $include" -DCMAKE_CXX_FLAGS="${OPTIMIZE:--O1} -w $include" \
    -DBUILD_SHARED_LIBS=OFF -DGGML_BUILD_TESTS=OFF -DGGML_BUILD_EXAMPLES=OFF -DGGML_OPENMP=OFF -DGGML_CCACHE=OFF \
    -DGGML_NATIVE=ON -DGGML_LLAMAFILE=OFF -DGGML_CPU_REPACK=OFF -DGGML_METAL=ON -DGGML_METAL_EMBED_LIBRARY=ON -DGGML_BLAS=OFF \
    -DFOUNDATION_LIBRARY="$library" -DMETAL_FRAMEWORK="$library" -DMETALKIT_FRAMEWORK="$library"
ninja -C "$build" -j "${JOBS:-1}" test-backend-ops

status=0
LD_LIBRARY_PATH=$prefix/lib "$build/test-backend-ops" "${arguments[@]}" -b MTL0 2>&1 | tee "$log" || status=$?
# Results are in colours on terminals only, but without a check for one in some versions.
sed -i 's/\x1b\[[0-9;]*m//g' "$log"
sed -nE 's/^ *([A-Z_0-9]+\(.*\)):.* FAIL$/FAILED \1/p' "$log"
report "$(grep -c ': OK$' "$log")" "$(grep -cE ': .*FAIL$' "$log")" "$(grep -c ': not supported' "$log")" "$status"
