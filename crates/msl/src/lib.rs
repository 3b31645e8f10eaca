//! Metal Shading Language front end: source text to IR.
#![forbid(unsafe_code)]

pub mod ast;
pub mod builtins;
mod compile;
pub mod hir;
pub mod lexer;
pub mod library;
pub mod lower;
pub mod parser;
pub mod pp;
pub mod sema;
mod stack;
pub mod token;

pub use compile::{CompileOptions, Diagnostics, KernelName, Library};
pub use stack::{both, on_large_stack};
