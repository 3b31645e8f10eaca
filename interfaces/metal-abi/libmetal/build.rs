//! Names the library for the dynamic linker, so that programs that link with one of its other names, such as
//! `libobjc.so`, load it once, and Python's `ctypes.util.find_library` finds it by them.
#![forbid(unsafe_code)]

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libMetal.so");
    }
}
