#!/bin/bash
# Runs the tests and measurements of the package that `cargo xtask gpu` makes, on a machine with a GPU.
#
# usage: run.sh [FOLDER]    report.md, report.json and logs go there (./report)
#   ONLY=TEXT     only tests whose name contains it
#   LIMIT=300     seconds for each test
#   AT_ONCE=7     tests at the same time
#   DEVICE=nvidia:0
#   BENCH=0       without demo and benchmarks
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-report}
mkdir -p "$out/logs"
out=$(cd "$out" && pwd)
export LIMIT=${LIMIT:-300} DEVICE=${DEVICE:-nvidia:0}
work=${WORK:-$here/unpacked}
mkdir -p "$work"

unpack() { xz -dc "$1" 2>/dev/null || python3 -c 'import lzma,sys,shutil; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$1"; }
[ "$work/.done" -nt "$here/programs.tar.xz" ] || {
    unpack "$here/libLLVM.so.xz" > "$work/libLLVM.so" &&
    unpack "$here/programs.tar.xz" | tar -x -C "$work" && touch "$work/.done"
} || { echo "the package cannot be unpacked" >&2; exit 1; }
programs=$work/programs
root=$(cat "$programs/root.txt")
if [ ! -e "$root/tests/exec" ]; then
    [ -d "$root" ] && { echo "$root is in the way: the test programs look for their files there" >&2; exit 1; }
    mkdir -p "$(dirname "$root")" && ln -sfn "$programs/root" "$root" || exit 1
fi
export ANYMETAL_LLVM=$work/libLLVM.so CARGO=$programs/bin/cargo PATH=$programs/bin:$PATH
export ANYMETAL_TEST_DEVICE=$DEVICE ANYMETAL_CACHE=$work/cache OUT_LOGS=$out/logs PROGRAMS=$programs

# One line for each test: program and name. Those of other executors say nothing about the GPU.
for program in anymetal_nvidia exec conformance; do
    "$programs/bin/$program" --list --format terse 2>/dev/null | sed -n "s/: test\$//p" |
        { case $program in anymetal_nvidia) cat ;; *) grep -E 'cpu|bit_for_bit' ;; esac; } |
        sed "s/^/$program /"
done | grep -F -- "${ONLY:-}" > "$out/tests.txt"

one() {
    local program=$1 name=$2 log start status seconds
    log="$OUT_LOGS/$program-${name//:/_}.txt"
    start=$(date +%s.%N)
    timeout -k 20 "$LIMIT" "$PROGRAMS/bin/$program" --exact "$name" > "$log" 2>&1
    status=$?
    seconds=$(echo "$start $(date +%s.%N)" | awk '{ printf "%.2f", $2 - $1 }')
    case $status in
        0) status=ok ;;
        124 | 137) status=timeout ;;
        *) status=failed ;;
    esac
    echo "$program $name $status $seconds"
}
export -f one
xargs -a "$out/tests.txt" -P "${AT_ONCE:-7}" -L 1 bash -c 'one "$0" "$1"' > "$out/results.txt"

if [ "${BENCH:-1}" != 0 ]; then
    for command in devices demo bench; do
        device="--device $DEVICE"
        [ "$command" = devices ] && device=
        # shellcheck disable=SC2086 # the option and its value are two words
        timeout -k 20 600 "$programs/bin/anymetal" $command $device > "$out/logs/$command.txt" 2>&1
        echo "anymetal $command $([ $? = 0 ] && echo ok || echo failed) 0" >> "$out/results.txt"
    done
fi

sort "$out/results.txt" | awk '
    BEGIN { printf "[" }
    { printf "%s\n  {\"program\": \"%s\", \"test\": \"%s\", \"status\": \"%s\", \"seconds\": %s}", (NR > 1 ? "," : ""), $1, $2, $3, $4 }
    END { print "\n]" }' > "$out/report.json"
{
    echo "# Tests on a GPU"
    echo
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null
    date -u +%Y-%m-%dT%H:%M:%SZ
    echo
    echo "| program | ok | failed | timeout |"
    echo "|---|---|---|---|"
    awk '{ all[$1]; n[$1, $3]++ } END { for (p in all) printf "| %s | %d | %d | %d |\n", p, n[p, "ok"], n[p, "failed"], n[p, "timeout"] }' "$out/results.txt" | sort
    echo
    grep -v ' ok ' "$out/results.txt" | sort | while read -r program name status seconds; do
        echo "## $program $name: $status after $seconds s"
        echo
        echo '```'
        tail -n 25 "$out/logs/$program-${name//:/_}.txt" 2>/dev/null || tail -n 25 "$out/logs/$name.txt"
        echo '```'
        echo
    done
    for command in devices demo bench; do
        [ -f "$out/logs/$command.txt" ] && { echo "## anymetal $command"; echo; echo '```'; cat "$out/logs/$command.txt"; echo '```'; echo; }
    done
} > "$out/report.md"
head -n 12 "$out/report.md"
! grep -qv ' ok ' "$out/results.txt"
