//! Why an object could not be loaded.

use super::machine::Machine;

/// Why an object could not be loaded. Nothing of it is left mapped then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// Not a well-formed ELF file, or a range in it lies outside it: the bytes are damaged.
    #[error("the object is damaged: {detail}")]
    Damaged {
        /// What does not fit.
        detail: String,
    },
    /// An object format that is not ELF.
    #[error("objects in the {format} format cannot be loaded")]
    UnsupportedFormat {
        /// Name of the format.
        format: &'static str,
    },
    /// A section of a kind that compiled kernels never have.
    #[error("the object has a section that cannot be loaded: {name} ({why})")]
    UnsupportedSection {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A relocation of a kind that compiled kernels never have.
    #[error("the object has a relocation that cannot be applied: {machine} type {kind}")]
    UnsupportedRelocation {
        /// The object's machine.
        machine: Machine,
        /// The type's number.
        kind: u32,
    },
    /// Code for another processor.
    #[error("the object is for {found}, this program runs on {}", std::env::consts::ARCH)]
    WrongMachine {
        /// What the object says, as ELF's machine number or our name.
        found: String,
    },
    /// A symbol that neither the object nor the caller defines.
    #[error("the object needs {name}, which nothing defines")]
    Undefined {
        /// Its name.
        name: String,
    },
    /// A distance does not fit the field that the relocation fills.
    #[error("{target} is out of reach of a relocation of {machine} type {kind}")]
    OutOfReach {
        /// The object's machine.
        machine: Machine,
        /// The type's number.
        kind: u32,
        /// Name of the target.
        target: String,
    },
    /// Larger in memory than any compiled kernel.
    #[error("the object needs {bytes} bytes of memory, more than the limit of {limit}")]
    TooLarge {
        /// Bytes wanted, as far as counted.
        bytes: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The system gave no memory, or refused to make it executable.
    #[error("the system refused {operation} (error {code})")]
    System {
        /// The call.
        operation: &'static str,
        /// `errno`.
        code: i32,
    },
}

impl From<object::Error> for LoadError {
    fn from(error: object::Error) -> Self {
        Self::Damaged { detail: error.to_string() }
    }
}

/// A range or index of the object that does not fit it.
pub(super) fn damaged(detail: &str) -> LoadError {
    LoadError::Damaged { detail: detail.to_owned() }
}
