//! The runtime on the real CPU device. Not under loom, whose models need neither that nor a compiler.

#![cfg(not(loom))]

mod fusion;
mod machine;
mod memory;
