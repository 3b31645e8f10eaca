//! Kernels in OpenCL C and CUDA C++ become Metal Shading Language.
//!
//! The text keeps its names, comments and layout: tokens are changed where the languages differ, and what
//! Metal lacks comes as small functions before it. The result is checked by whoever compiles it; here only
//! what cannot be translated is told. Start with [`ForeignSource`], or with
//! [`opencl_to_msl`] and [`cuda_to_msl`] for text.
//!
//! | file | owns |
//! |---|---|
//! | `token` | text to tokens with spaces and comments, and back with changes |
//! | `brackets` | which bracket closes which, across conditionals |
//! | `source_file` | files, their language, and where they may include from |
//! | `flatten` | a source with the files that it includes |
//! | `macros` | uses of macros that are expanded before the source is read |
//! | `branches` | branches of conditionals that are not taken |
//! | `prelude`, `math.metal` | functions that Metal lacks, and those that both languages share |
//! | `opencl/declarations` | functions, macros and types of a source |
//! | `opencl/positions` | work-item functions, which become parameters |
//! | `opencl/kernels` | parameters of kernels and functions |
//! | `opencl/pointers` | pointers without an address space |
//! | `opencl/images` | images and samplers |
//! | `opencl/types`, `expressions` | literals, components, comparisons and logic of vectors, by their types |
//! | `opencl/functions` | signatures of built-in functions, and the casts that calls of them need |
//! | `opencl/wide` | vectors of 8 and 16 |
//! | `opencl/builtins` | functions and words with other names |
//! | `opencl/prelude` | functions of OpenCL C's that Metal lacks |
//! | `cuda/items`, `shape`, `declarator` | declarations, by the shape of the text |
//! | `cuda/launches`, `amount`, `note` | launches of the host, for instantiations and for `anymetal trace` |
//! | `cuda/reach`, `kept` | what stays of a source |
//! | `cuda/expand` | which macros are expanded |
//! | `cuda/body`, `space`, `expression`, `context`, `inference` | address spaces over the call graph |
//! | `cuda/needs` | positions and variables that become parameters |
//! | `cuda/textures` | textures over linear memory |
//! | `cuda/cub` | calls of CUB's collectives |
//! | `cuda/rewrite`, `words`, `prelude` | words, calls and functions that Metal lacks |
//! | `cuda/spaces`, `kernel`, `typename`, `emit` | the text |
#![forbid(unsafe_code)]

mod brackets;
mod branches;
mod cuda;
mod flatten;
mod macros;
mod metal_names;
mod opencl;
mod prelude;
mod source_file;
mod token;

pub use anymetal_diagnostics::{Diagnostic, Severity, Span};
pub use cuda::{Amount, Argument, Launch, cuda_to_msl, launches_toml};
pub use flatten::Includes;
pub use opencl::{Doubles, Options, Translation, macro_of, opencl_to_msl};
pub use source_file::ForeignSource;

/// The pragma that a translation needs if shared memory stays in functions, which MSL allows in kernels only.
fn shared_in_functions(diagnostics: &[Diagnostic]) -> &'static str {
    match diagnostics.iter().any(|diagnostic| diagnostic.id == "shared-in-function") {
        true => "#pragma clang diagnostic ignored \"-Wthreadgroup-in-function\"\n",
        false => "",
    }
}
