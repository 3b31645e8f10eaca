//! Any bytes as MSL: the front end must return, in bounded time, without a panic.
#![no_main]

use anymetal_conformance::mutation::check;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(message) = check(&String::from_utf8_lossy(bytes)) {
        panic!("{message}");
    }
});
