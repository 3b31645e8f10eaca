#!/usr/bin/env bash
# Runs the tests of candle-core with its feature `metal`. Tests for the CPU are among them: "_metal" after `--` selects the others.
#
#   candle-core.sh PREFIX WORK [SOURCE] [-- CARGO ARGUMENTS...]
. "$(dirname "$0")/common.sh"
begin "$@"
registry_crate candle-core 0.11.1
cargo_tests --features metal
