#!/usr/bin/env bash
# Builds the examples of metal-rs that open no window, and runs them. An example that ends with 0 passes.
#
#   metal-rs.sh PREFIX WORK [SOURCE] [-- EXAMPLES...]
#
# The examples are built in a package that depends on `metal`, because `cargo anymetal` changes a dependency and not the package
# itself. Their compiled libraries (`.metallib`) are replaced by the source that is next to them, which is how libraries are
# stored here.
. "$(dirname "$0")/common.sh"
begin "$@"
registry_crate metal 0.33.0
all=(argument-buffer bind bindless caps compute compute-argument-buffer embedded-lib events fence headless-render library mps reflection)
[ ${#arguments[@]} -eq 0 ] || all=("${arguments[@]}")

package=$work/package
mkdir -p "$package/src"
rm -rf "$package/examples"
cp -r "$source/examples" "$package/examples"
for library in "$package"/examples/*/*.metallib; do
    cp "${library%lib}" "$library"
done
cat >"$package/Cargo.toml" <<END
[package]
name = "metal-rs-examples"
version = "0.0.0"
edition = "2021"
autoexamples = false

[features]
default = ["mps"]
mps = []

[dependencies]
block = "0.1.6"
dispatch = "0.2"
metal = { version = "0.33.0", features = ["dispatch", "mps"] }
objc = "0.2.4"
png = "0.18"

[workspace]
END
for example in "${all[@]}"; do
    path=examples/$example/main.rs
    case $example in
    compute-argument-buffer | embedded-lib) path=examples/compute/$example.rs ;;
    esac
    printf '\n[[example]]\nname = "%s"\npath = "%s"\n' "$example" "$path" >>"$package/Cargo.toml"
done
: >"$package/src/lib.rs"
cd "$package"

passed=0 failed=0 status=0
: >"$log"
for example in "${all[@]}"; do
    echo "== $example"
    if anymetal run --quiet --example "$example" >"$work/output.txt" 2>&1; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1)) status=1
        echo "FAILED $example"
    fi
    tail -n 20 "$work/output.txt" | tee -a "$log"
done
report "$passed" "$failed" 0 "$status"
