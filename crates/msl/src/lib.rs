//! Metal Shading Language front end: source text to IR.
#![forbid(unsafe_code)]

pub mod ast;
pub mod builtins;
pub mod hir;
pub mod lexer;
pub mod library;
pub mod lower;
pub mod parser;
pub mod pp;
pub mod token;
