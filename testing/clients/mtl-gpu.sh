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
# Once, so that cargo does not build the crates again in the next run.
if [ ! -f "$work/changed" ]; then
    find "$source/src" "$foundation/src" "$sys/src" -name '*.rs' -exec sed -i 's/, kind = "framework"//' {} +
    sed -i 's/cfg(any(target_arch = "x86_64", target_arch = "x86"))/cfg(target_arch = "x86")/' "$sys/src/msg_send.rs"
    : >"$work/changed"
fi

export RUSTFLAGS="-L native=$prefix/lib" LD_LIBRARY_PATH=$prefix/lib
# A message that fails is an exception, which these bindings do not expect: it ends the process.
runner=(cargo --config "patch.crates-io.mtl-foundation.path=\"$foundation\"" --config "patch.crates-io.mtl-sys.path=\"$sys\"")
cargo_tests_apart 120 --test '*'
