//! Functions by number: what pipelines, tables and libraries that are linked agree on.
//!
//! Owns [`FunctionHandles`]. A pipeline's functions have numbers, which tables of visible functions hold.
//! Every library that takes part in the pipeline is checked with the same list, from its own point of view:
//! what is its own, and what is another's.

/// A function that has a number in a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionHandle {
    /// The name the host uses.
    pub name: String,
    /// Its number, which follows from its name ([`function_number`]).
    pub number: u32,
    /// Of another library's function its type, as [`crate::Library::function_type`] gives it; `None`: one of
    /// the library at hand.
    pub signature: Option<String>,
    /// Whether tables may have it; else only calls by its name lead to it.
    pub is_in_tables: bool,
}

/// The functions of a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionHandles {
    /// The library's own first.
    pub handles: Vec<FunctionHandle>,
    /// The first number for the other functions whose address is taken, which no other library may use.
    pub next: u32,
}

/// The bit that the numbers of handles have, and those of other functions have not.
const HANDLE: u32 = 1 << 31;

/// The number of a function that the host can name: a hash (FNV-1a) of its name. It is the same in all
/// pipelines, so that a table holds for any pipeline that has functions of these names.
pub fn function_number(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)) | HANDLE
}

impl Default for FunctionHandles {
    fn default() -> Self {
        Self { handles: Vec::new(), next: 1 }
    }
}

impl FunctionHandles {
    /// The handles of a library's own functions.
    pub fn own<'n>(names: impl Iterator<Item = &'n str>) -> Self {
        let handle = |name: &str| FunctionHandle {
            name: name.to_owned(),
            number: function_number(name),
            signature: None,
            is_in_tables: true,
        };
        Self { handles: names.map(handle).collect(), next: 1 }
    }
}

/// A module that calls functions of other libraries, which have no code in it.
#[derive(Clone, Debug)]
pub struct UnlinkedModule {
    /// The module.
    pub module: anymetal_ir::Module,
    /// The function that it was made for, if that is no kernel.
    pub function: Option<anymetal_ir::FuncId>,
    /// The functions without code, and which handle each stands for.
    pub linked: Vec<(anymetal_ir::FuncId, usize)>,
    /// Whether it writes messages to a log or encodes commands, which only kernels can be given.
    pub needs_kernel: bool,
}
