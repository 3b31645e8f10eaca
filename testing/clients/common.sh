# shellcheck shell=bash
# Functions of the scripts in this folder, which source this file.
#
# A script is called as `NAME.sh PREFIX WORK [SOURCE] [-- ARGUMENTS...]`: PREFIX is what `cargo xtask libmetal --prefix` made,
# WORK a folder for what is fetched and built and for results, SOURCE a checkout in place of the published source, and ARGUMENTS
# replace the arguments of the client's test runner.
set -euo pipefail

# Prints the script's usage, the comment at its head, and ends it.
usage() {
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# Reads the script's arguments. Sets `name`, `here`, `prefix`, `work`, `source` (empty without one), `arguments`, and `log`, the
# file of the test runner's output.
begin() {
    [ $# -ge 2 ] && [ -d "$1" ] || usage
    mkdir -p "$2"
    name=$(basename "$0" .sh) here=$(dirname "$(realpath "$0")") prefix=$(realpath "$1") work=$(realpath "$2") source=''
    shift 2
    if [ $# -gt 0 ] && [ "$1" != -- ]; then
        source=$(realpath "$1")
        shift
    fi
    [ $# -eq 0 ] || shift
    arguments=("$@")
    log=$work/$name.txt
}

# registry_crate NAME VERSION: sets `source` to a copy of a crate as the registry has it, unless a checkout was given.
registry_crate() {
    [ -z "$source" ] || return 0
    source=$work/$1-$2
    copy_crate "$1" "$2"
}

# copy_crate NAME VERSION: copies a crate from the registry to `$work/NAME-VERSION`.
copy_crate() {
    [ ! -d "$work/$1-$2" ] || return 0
    mkdir -p "$work/fetch/src"
    printf '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n%s = "=%s"\n[workspace]\n' "$1" "$2" \
        >"$work/fetch/Cargo.toml"
    : >"$work/fetch/src/lib.rs"
    local manifest
    manifest=$(cargo metadata --format-version 1 --manifest-path "$work/fetch/Cargo.toml" |
        python3 -c 'import json, sys
packages = json.load(sys.stdin)["packages"]
print(next(package["manifest_path"] for package in packages if package["name"] == sys.argv[1]))' "$1")
    cp -r "$(dirname "$manifest")" "$work/$1-$2"
}

# anymetal ARGUMENTS...: `cargo anymetal` with the library of PREFIX.
anymetal() {
    cargo-anymetal --library "$prefix" "$@"
}

# cargo_tests ARGUMENTS...: runs the tests of the crate in `source`, and reports. An argument after `--` of the script replaces
# all of these.
cargo_tests() {
    [ ${#arguments[@]} -eq 0 ] || set -- "${arguments[@]}"
    local status=0
    cd "$source"
    anymetal test --no-fail-fast "$@" 2>&1 | tee "$log" || status=$?
    cargo_results "$status"
}

# cargo_tests_apart SECONDS ARGUMENTS...: as cargo_tests, each test in its own process, which ends after that time. For tests whose
# failures end the process. `runner` is the command in place of `cargo anymetal`.
runner=(anymetal)
cargo_tests_apart() {
    local status=0 seconds=$1
    shift
    [ ${#arguments[@]} -eq 0 ] || set -- "${arguments[@]}"
    cd "$source"
    { "${runner[@]}" test --no-run "$@" &&
        "${runner[@]}" test --no-run --message-format=json "$@" 2>/dev/null | python3 "$here/apart.py" "$seconds"; } 2>&1 |
        tee "$log" || status=$?
    cargo_results "$status"
}

# cargo_results STATUS: reports what the log of `cargo test` says.
cargo_results() {
    sed -nE 's/^test (.*) \.\.\. FAILED$/FAILED \1/p' "$log"
    report "$(total passed)" "$(total failed)" "$(total ignored)" "$1"
}

# total WORD: a count of the results of all test programs in the log.
total() {
    grep -oE "^test result: .*" "$log" | grep -oE "[0-9]+ $1" | awk '{ sum += $1 } END { print sum + 0 }'
}

# pytest_results STATUS: reports what the last line of pytest's output in the log says.
pytest_results() {
    sed -nE 's/^(FAILED|ERROR) ([^ ]+).*/FAILED \2/p' "$log"
    local last
    last=$(grep -E '[0-9.]+s( \([0-9:]+\))?( =+)?$' "$log" | tail -1)
    local failed errors
    failed=$(number "$last" failed) errors=$(number "$last" errors?)
    report "$(number "$last" passed)" $((failed + errors)) "$(number "$last" skipped)" "$1"
}

# number TEXT WORD: the number before a word.
number() {
    grep -oE "[0-9]+ $2" <<<"$1" | grep -oE '^[0-9]+' || echo 0
}

# report PASSED FAILED SKIPPED STATUS: prints the script's last line, and ends it.
report() {
    echo "$name: $1 passed, $2 failed, $3 skipped, exit $4"
    exit "$4"
}
