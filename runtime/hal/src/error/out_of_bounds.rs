//! The report of an access outside of its memory.
//!
//! Owns [`OutOfBounds`] and its sentence. Invariant: it names what a user wrote: the kernel, the argument or
//! the buffer's label, the index, and the line.

use anymetal_abi::AccessKind;
use anymetal_abi::functions::invalid_call_type;
use anymetal_types::setters;
use serde::{Deserialize, Serialize};

use crate::error::describe_argument;

/// An access outside what was bound, in the user's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OutOfBounds {
    /// The kernel.
    pub kernel: String,
    /// The Metal index of the argument, if the memory is an argument's.
    pub argument: Option<u32>,
    /// The argument's or variable's name; may be empty.
    pub argument_name: String,
    /// Where a pointer that was loaded from memory leads to, if it was accessed through one.
    pub through: Option<LoadedPointer>,
    /// What the access did.
    pub kind: AccessKind,
    /// The byte offset from the start of what was bound.
    pub byte_offset: i64,
    /// The same in elements, if the element size is known.
    pub element_index: Option<i64>,
    /// The bytes that were bound.
    pub bound_len: u64,
    /// The elements that were bound, if the element size is known.
    pub bound_elements: Option<u64>,
    /// The bytes that the access touches.
    pub access_bytes: u32,
    /// The source file; may be empty.
    pub file: String,
    /// The line, from 1; 0 if unknown.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
    /// The position of the threadgroup in the grid.
    pub group: [u32; 3],
    /// The position of the thread in its threadgroup.
    pub thread: [u32; 3],
}

setters!(OutOfBounds {
    argument: Option<u32>,
    through: Option<LoadedPointer>,
    byte_offset: i64,
    element_index: Option<i64>,
    bound_len: u64,
    bound_elements: Option<u64>,
    access_bytes: u32,
    line: u32,
    column: u32,
    group: [u32; 3],
    thread: [u32; 3],
} into { argument_name: String, file: String });

/// What a pointer that a kernel loaded from memory leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum LoadedPointer {
    /// A resident buffer with that label, which may be empty.
    Buffer {
        /// The label.
        label: String,
    },
    /// A resident buffer with that label, which may be empty, that the launch may only read, by a store.
    ReadOnly {
        /// The label.
        label: String,
    },
    /// An address in no resident buffer.
    Address(u64),
}

impl OutOfBounds {
    /// An access by `kernel` to unnamed memory of no bytes, at byte 0 and an unknown place.
    pub fn new(kernel: impl Into<String>, kind: AccessKind) -> Self {
        OutOfBounds {
            kernel: kernel.into(),
            argument: None,
            argument_name: String::new(),
            through: None,
            kind,
            byte_offset: 0,
            element_index: None,
            bound_len: 0,
            bound_elements: None,
            access_bytes: 0,
            file: String::new(),
            line: 0,
            column: 0,
            group: [0; 3],
            thread: [0; 3],
        }
    }

    /// The type of the function that was to be called, in MSL, if the access is a call through a pointer or a
    /// table's entry that holds no function which the pipeline has.
    pub fn invalid_call(&self) -> Option<&str> {
        let is_variable = self.argument.is_none() && self.through.is_none();
        invalid_call_type(&self.argument_name).filter(|_| is_variable)
    }

    /// What was accessed, as the sentence up to the place of the thread.
    fn describe_access(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "kernel `{}`: {}", self.kernel, self.kind.word())?;
        match &self.through {
            Some(LoadedPointer::ReadOnly { .. }) => formatter.write_str(" to read-only memory")?,
            _ => formatter.write_str(" out of bounds")?,
        }
        match &self.through {
            None => {}
            Some(LoadedPointer::Buffer { label } | LoadedPointer::ReadOnly { label }) if label.is_empty() => {
                formatter.write_str(" of a buffer without a label, through a loaded pointer,")?;
            }
            Some(LoadedPointer::Buffer { label } | LoadedPointer::ReadOnly { label }) => {
                write!(formatter, " of buffer `{label}`, through a loaded pointer,")?;
            }
            Some(LoadedPointer::Address(_)) => formatter.write_str(" through a loaded pointer")?,
        }
        match (self.argument, self.argument_name.as_str()) {
            _ if self.through.is_some() => {}
            (Some(index), "") => write!(formatter, " of {}", describe_argument(index))?,
            (Some(index), name) => write!(formatter, " of {} `{name}`", describe_argument(index))?,
            (None, "") => {}
            (None, name) => write!(formatter, " of `{name}`")?,
        }
        match (self.element_index, self.bound_elements) {
            _ if self.through.is_some() => self.describe_target(formatter)?,
            (Some(index), Some(count)) => write!(
                formatter,
                " at index {index} (byte {}), but {count} elements ({} bytes) are bound",
                self.byte_offset, self.bound_len
            )?,
            _ if self.is_nowhere() => write!(
                formatter,
                " at byte {}, where nothing is bound: a null pointer, bits that are not the address of a resident \
                 buffer, or functions that call themselves too deep",
                self.byte_offset
            )?,
            _ => write!(formatter, " at byte {}, but {} bytes are bound", self.byte_offset, self.bound_len)?,
        }
        Ok(())
    }

    /// Where the loaded pointer leads to, as the end of a sentence.
    fn describe_target(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.through {
            Some(LoadedPointer::Address(address)) => write!(
                formatter,
                ": address {address:#x} is in no resident buffer (bind the buffer, or name it with `use_resource`)"
            ),
            Some(LoadedPointer::ReadOnly { .. }) => write!(
                formatter,
                " at byte {}: the launch may only read it, as it is bound to `const` or `constant` arguments, or \
                 `use_resource` names it with usage `Read` (`MTLResourceUsageRead`), which forbids stores; name it with \
                 usage `Write` or `ReadWrite`",
                self.byte_offset
            ),
            Some(LoadedPointer::Buffer { .. }) | None => {
                write!(formatter, " at byte {}, but it has {} bytes", self.byte_offset, self.bound_len)
            }
        }
    }

    /// Whether the memory is nobody's, as behind a null pointer.
    fn is_nowhere(&self) -> bool {
        self.through.is_none()
            && self.argument.is_none()
            && self.argument_name.is_empty()
            && self.bound_len == 0
    }
}

impl std::fmt::Display for OutOfBounds {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.invalid_call() {
            Some(ty) => {
                let what = match self.byte_offset {
                    0 => "a null function pointer".to_owned(),
                    number => format!("{number}, which is no function of the pipeline's"),
                };
                write!(formatter, "kernel `{}`: call of {what}, as a function of type `{ty}`", self.kernel)?;
            }
            None => self.describe_access(formatter)?,
        }
        let ([gx, gy, gz], [tx, ty, tz]) = (self.group, self.thread);
        write!(formatter, ", in threadgroup ({gx}, {gy}, {gz}), thread ({tx}, {ty}, {tz})")?;
        match (self.file.as_str(), self.line) {
            ("", 0) => Ok(()),
            ("", line) => write!(formatter, ", at line {line}"),
            (file, line) => write!(formatter, ", at {file}:{line}:{}", self.column),
        }
    }
}
