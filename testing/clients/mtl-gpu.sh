#!/usr/bin/env bash
# Runs the tests of mtl-gpu: bindings of Metal without other crates, whose tests call the API.
#
#   mtl-gpu.sh PREFIX WORK [SOURCE] [-- CARGO ARGUMENTS...]
#
# The crate depends neither on `objc2-metal` nor on `metal`, so cargo itself runs. In copies of the crate and of the two that it
# is made of, attributes that link with a framework link with the library of that name. mtl-sys does not compile for x86-64, on Macs
# neither: there it sends messages with floating-point results as for x86, which only x86 needs.
. "$(dirname "$0")/common.sh"
begin "$@"
version=1.0.1
registry_crate mtl-gpu "$version"
copy_crate mtl-foundation "$version"
copy_crate mtl-sys "$version"
foundation=$work/mtl-foundation-$version sys=$work/mtl-sys-$version
grep -rlE 'kind = "framework"' "$source/src" "$foundation/src" "$sys/src" | xargs -r sed -i 's/, kind = "framework"//'
sed -i 's/cfg(any(target_arch = "x86_64", target_arch = "x86"))/cfg(target_arch = "x86")/' "$sys/src/msg_send.rs"

export RUSTFLAGS="-L native=$prefix/lib" LD_LIBRARY_PATH=$prefix/lib
[ ${#arguments[@]} -gt 0 ] || arguments=(--tests)
cd "$source"
status=0
cargo test --no-fail-fast --config "patch.crates-io.mtl-foundation.path=\"$foundation\"" \
    --config "patch.crates-io.mtl-sys.path=\"$sys\"" "${arguments[@]}" 2>&1 | tee "$log" || status=$?
cargo_results "$status"
