#!/usr/bin/env bash
# Runs tinygrad's tests on its back end METAL, from a source that nothing changes.
#
#   tinygrad.sh PREFIX WORK [SOURCE] [-- PYTEST ARGUMENTS...]
#
# PREFIX is what `cargo xtask libmetal --prefix` made, WORK a folder for what is fetched and for results. SOURCE is a
# checkout of tinygrad; without it, the release on PyPI is fetched, whose only test is `test_tiny.py`. Arguments after
# `--` replace the tests that are run. PYTHON names an interpreter with NumPy and pytest, and with PyTorch for
# `test_ops`.
set -euo pipefail

usage() {
    sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

[ $# -ge 2 ] || usage
mkdir -p "$2"
here=$(dirname "$(realpath "$0")") prefix=$(realpath "$1") work=$(realpath "$2")
shift 2
source=
if [ $# -gt 0 ] && [ "$1" != -- ]; then
    source=$(realpath "$1")
    shift
fi
[ $# -eq 0 ] || shift
python=${PYTHON:-python3}

if [ -z "$source" ]; then
    "$python" -m pip download --quiet --no-deps --no-binary :all: --dest "$work" tinygrad
    tar -C "$work" -xzf "$(ls -t "$work"/tinygrad-*.tar.gz | head -1)"
    source=$(ls -td "$work"/tinygrad-*/ | head -1)
fi
cd "$source"
if [ $# -eq 0 ]; then
    set -- test/test_tiny.py
    for tests in test/backend/test_ops.py test/device/test_metal.py test/unit/test_metal_graph.py; do
        [ ! -f "$tests" ] || set -- "$@" "$tests"
    done
fi

export LD_LIBRARY_PATH=$prefix/lib PYTHONPATH=$here/macos:$source DEV=METAL CACHELEVEL=0 PYTHONDONTWRITEBYTECODE=1
export XDG_CACHE_HOME=$work/cache
status=0
"$python" -m pytest -q -p no:cacheprovider -o addopts= -rf "$@" 2>&1 | tee "$work/tinygrad.txt" || status=$?
count() {
    tail -1 "$work/tinygrad.txt" | grep -oE "[0-9]+ $1" | grep -oE '[0-9]+' || echo 0
}
echo "tinygrad: $(count passed) passed, $(count failed) failed, $(count skipped) skipped, exit $status"
exit "$status"
