#!/usr/bin/env bash
# Runs the unit tests of candle-metal-kernels, the Metal kernels of candle.
#
#   candle-kernels.sh PREFIX WORK [SOURCE] [-- CARGO ARGUMENTS...]
. "$(dirname "$0")/common.sh"
begin "$@"
registry_crate candle-metal-kernels 0.11.1
cargo_tests --lib
