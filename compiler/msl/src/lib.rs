//! Metal Shading Language front end: source text to IR.
//!
//! The stages, each a module: [`pp`] (preprocessor) and [`lexer`], [`parser`] ([`ast`]), [`sema`] ([`hir`],
//! the typed program), [`lower`] (the IR). [`Library`] is the entry: it parses a file and gives the IR module
//! of one entry point at a time. The Metal library is MSL text too ([`library`]) on top of [`builtins`].
//!
//! # The language
//!
//! MSL is C++17 with address spaces. The front end takes all of it that compute kernels use; there are no
//! pointers to members. Choices that the specification leaves open:
//!
//! - **Bit-fields** are laid out as in the Itanium C++ ABI on a little-endian machine. An access touches no
//!   byte of another object. A bit-field wider than its type is refused.
//! - **Initialisers of threadgroup variables** have no meaning in the specification, which forbids them. They
//!   are taken with a warning, because published kernels have them, and store nothing: the variable is
//!   undefined until the kernel writes to it, as it is without an initialiser.
//! - **A class and a function of one name** may stand in one namespace. Where only a type can stand, the name
//!   is that of the class, with or without `struct` in front.
//! - **Pointers to functions** are numbers of 64 bits, and a call through one is a switch over the functions
//!   of its type that have numbers: visible functions, linked ones, and those whose address is taken. There
//!   are none to methods.
//! - **Marks** (`[[anymetal::benign_race]]`) are for sanitizers and change nothing; they may stand wherever a
//!   statement or declaration begins, and within a declaration ([`Library::marks`]).
//! - `__builtin_assume` checks its condition's type and evaluates nothing.
#![forbid(unsafe_code)]

pub mod ast;
pub mod builtins;
mod compile;
mod foreign_words;
mod functions;
pub mod hir;
pub mod lexer;
pub mod library;
mod lint;
pub mod lower;
mod marks;
pub mod parser;
pub mod pp;
mod prelude;
mod rules;
pub mod sema;
mod stack;
pub mod token;

pub use compile::{
    CompileOptions, Diagnostics, GraphicsFunction, KernelName, Library, MarkedLines, check_source,
    resolve_includes,
};
pub use functions::{FunctionHandle, FunctionHandles, UnlinkedModule, function_number};
pub use stack::{BYTES as LARGE_STACK_BYTES, both, on_large_stack};
