//! Kernels written in Rust: the text, the results on a device, the form for the host.

mod demo;
mod language;
