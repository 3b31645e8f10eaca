#!/usr/bin/env bash
# Runs the unit tests of cubecl-metal, which are those that cubecl exports for every runtime and every element type.
#
#   cubecl-metal.sh PREFIX WORK [SOURCE] [-- CARGO ARGUMENTS...]
#
# The crate is empty off Apple's systems. In a copy, the condition on the system is made to hold here too.
. "$(dirname "$0")/common.sh"
begin "$@"
registry_crate cubecl-metal 0.12.0-pre.1
sed -i 's/cfg(target_vendor = "apple")/cfg(all())/' "$source/Cargo.toml" "$source/src/lib.rs"
cargo_tests --lib
