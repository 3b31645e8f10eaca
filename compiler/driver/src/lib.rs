//! Source, options and target to [`Artifact`](anymetal_hal::artifact::Artifact), with caches.
//!
//! The crate drives the stages (front end, verifier, specialisation, inlining, optimisation, then machine
//! code through LLVM or the interpreter) and remembers their results. It knows no device: what it makes, a
//! device runs without it.
//!
//! Invariants:
//! - nothing that a source can contain makes a call panic: bugs of a stage become [`CompileError::Internal`],
//!   deep recursion finds a large stack;
//! - a cached result is used only if source, included files, options, constants, compiler and processor are
//!   the same, and it is undamaged; a cache that cannot be read or written only costs time;
//! - a warm start needs neither the front end nor LLVM.
//!
//! Start with [`Compiler::library`], then [`Library::artifact`] in `library.rs`; the stages are in
//! `pipeline.rs`, the caches in `cache/`.
#![forbid(unsafe_code)]

mod access;
mod artifacts;
mod big_stack;
mod budget;
mod bug;
mod cache;
mod cancellation;
mod compiler;
mod config;
mod constants;
mod error;
mod executor;
mod family;
mod foreign;
mod fusion;
mod graphics;
mod includes;
#[cfg(debug_assertions)]
mod injected_bug;
#[cfg(not(debug_assertions))]
#[path = "injected_bug_off.rs"]
mod injected_bug;
mod isolated;
mod key;
mod library;
mod machine_code;
mod metal;
mod note;
mod nvidia;
mod observe;
mod pipeline;
mod prepared;
mod reflection;
mod sanitize;
mod source;
mod whole_source;

pub use anymetal_analyze as analyze;
pub use anymetal_diagnostics::{
    Diagnostic, Edit, Entry, FixedFile, Fixes, Severity, WarningOptions, apply_fixes, catalogue_entry,
    catalogue_ids, formats, suggest,
};
pub use anymetal_hal as hal;
pub use anymetal_isolate::sandbox::missing as missing_sandbox_parts;
pub use anymetal_isolate::{
    Isolate, IsolationError, SUBCOMMAND as WORKER_SUBCOMMAND, Settings as IsolateSettings,
};
pub use anymetal_llvm::discovery::{MINIMUM_MAJOR, NEWEST_TESTED};
pub use anymetal_llvm::{CpuLevel, CpuLevelError};
pub use anymetal_msl::hir::{ArgumentLayout, ArgumentMember, ArgumentMemberKind};
pub use anymetal_msl::pp::Definition;
pub use anymetal_msl::token::MathMode;
pub use anymetal_msl::{Diagnostics, function_number};
pub use anymetal_opt::pass_options::check_optional;
pub use anymetal_opt::{Level, PassOptions, RemarkId, RemarkKind, RemarkValue};
pub use anymetal_sanitizer as sanitizer;
pub use anymetal_translate::Doubles;
pub use anymetal_types as types;
pub use budget::Budget;
pub use bug::CompilerBug;
pub use cancellation::CancellationToken;
pub use compiler::{Compiler, CompilerOptions};
pub use config::CacheConfig;
pub use constants::{ConstantKey, ConstantValue};
pub use error::CompileError;
pub use foreign::{Translated, TranslationOptions};
pub use fusion::{FusedArgument, Fusion, FusionPart};
pub use graphics::{GraphicsFunction, GraphicsStage};
pub use isolated::interpreter::decode_interpreter;
pub use isolated::worker::serve as serve_worker;
pub use key::COMPILER_IDENTITY;
pub use library::{
    Emit, FunctionNumber, KernelRemark, Library, LinkedFunction, PrintAfter, Specialisation, Target,
};
pub use machine_code::cpu_features;
pub use note::Note;
pub use prepared::StageCounts;
pub use sanitize::{AfterLaunch, SharedSession};
pub use source::{Source, SourceOptions};
