#!/usr/bin/env bash
# Runs tinygrad's tests on its back end METAL, from a source that nothing changes.
#
#   tinygrad.sh PREFIX WORK [SOURCE] [-- PYTEST ARGUMENTS...]
#
# Without SOURCE, a checkout, the release on PyPI is fetched, whose only test is `test_tiny.py`. PYTHON names an interpreter with
# NumPy and pytest, and with PyTorch for `test_ops`.
. "$(dirname "$0")/common.sh"
begin "$@"
python=${PYTHON:-python3}
if [ -z "$source" ]; then
    "$python" -m pip download --quiet --no-deps --no-binary :all: --dest "$work" tinygrad
    archive=$(find "$work" -maxdepth 1 -name 'tinygrad-*.tar.gz' | sort | tail -1)
    tar -C "$work" -xzf "$archive"
    source=${archive%.tar.gz}
fi
cd "$source"
tests=(test/test_tiny.py)
for file in test/backend/test_ops.py test/device/test_metal.py test/unit/test_metal_graph.py; do
    [ ! -f "$file" ] || tests+=("$file")
done
[ ${#arguments[@]} -eq 0 ] || tests=("${arguments[@]}")

export LD_LIBRARY_PATH=$prefix/lib PYTHONPATH=$here/macos:$source DEV=METAL CACHELEVEL=0 PYTHONDONTWRITEBYTECODE=1
export XDG_CACHE_HOME=$work/cache
# The source ends the process when a test takes longer: 300 s without a value, too short for a busy machine.
export TEST_TIMEOUT=${TEST_TIMEOUT:-3600}
status=0
"$python" -m pytest -q -p no:cacheprovider -o addopts= -rfE "${tests[@]}" 2>&1 | tee "$log" || status=$?
pytest_results "$status"
