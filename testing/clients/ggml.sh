#!/usr/bin/env bash
# Builds ggml's Metal back-end and llama.cpp's `test-backend-ops` against libMetal.so with clang.
#
#   ggml.sh SOURCE PREFIX WORK
#
# SOURCE is a checkout of llama.cpp, PREFIX what `cargo xtask libmetal --prefix` made, WORK a folder for
# the build. Nothing of SOURCE is changed. Afterwards:
#
#   LD_LIBRARY_PATH=PREFIX/lib WORK/test-backend-ops test -b MTL0
#
# Needs clang, CMake and Ninja. ANYMETAL_CLANG names another clang (`clang-16`), JOBS how many compilers run,
# OPTIMIZE the level of optimisation.
set -euo pipefail

if [ $# -ne 3 ]; then
    sed -n '2,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
mkdir -p "$3"
source=$(realpath "$1") prefix=$(realpath "$2") work=$(realpath "$3")
clang=${ANYMETAL_CLANG:-clang}
library=$prefix/lib/libMetal.so
include="-I$prefix/include"

# The kernels' source is embedded by assembly for Mach-O: sections and names are written otherwise in ELF.
cat >"$work/assemble" <<'END'
#!/usr/bin/env bash
set -euo pipefail
file=${!#}
[ ! -f "$file" ] || sed -i -e 's/^\.section __DATA,.*/.data/' -e 's/\b_ggml_/ggml_/g' "$file"
exec "$ANYMETAL_CLANG" "$@"
END
chmod +x "$work/assemble"
export ANYMETAL_CLANG=$clang

# A project of our own around ggml, so that archives of its source without packaging files do as well.
cat >"$work/CMakeLists.txt" <<END
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
cmake -G Ninja -S "$work" -B "$work" \
    -DCMAKE_BUILD_TYPE=None -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$work" \
    -DCMAKE_C_COMPILER="$clang" -DCMAKE_CXX_COMPILER="${clang/clang/clang++}" -DCMAKE_ASM_COMPILER="$work/assemble" \
    -DCMAKE_C_FLAGS="${OPTIMIZE:--O1} -w -fblocks -fobjc-runtime=gnustep-2.1 $include" -DCMAKE_CXX_FLAGS="${OPTIMIZE:--O1} -w $include" \
    -DBUILD_SHARED_LIBS=OFF -DGGML_BUILD_TESTS=OFF -DGGML_BUILD_EXAMPLES=OFF -DGGML_OPENMP=OFF -DGGML_CCACHE=OFF \
    -DGGML_NATIVE=ON -DGGML_LLAMAFILE=OFF -DGGML_CPU_REPACK=OFF -DGGML_METAL=ON -DGGML_METAL_EMBED_LIBRARY=ON -DGGML_BLAS=OFF \
    -DFOUNDATION_LIBRARY="$library" -DMETAL_FRAMEWORK="$library" -DMETALKIT_FRAMEWORK="$library"
ninja -C "$work" -k 0 -j "${JOBS:-1}" test-backend-ops
