//! `libMetal.so`: `metal-abi` as a shared library, for programs in C, C++ and Objective-C.
//!
//! Everything it exports is defined in `metal-abi`; its headers are in `include/`, and
//! `cargo xtask libmetal` puts library and headers in a folder. Loading the library makes failures
//! Objective-C exceptions, because such programs cannot catch panics.
//!
//! Empty on Apple's machines, which have the real one.
#![cfg(not(target_vendor = "apple"))]
#![allow(non_snake_case, reason = "the library is named as on Apple's machines")]

use anymetal_metal_abi::runtime::objc_anymetal_throw_exceptions;

/// Run by the dynamic linker when it loads the library.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = objc_anymetal_throw_exceptions;
