//! Why a command buffer of a Metal device failed, in Metal's words.
//!
//! Owns [`CommandFailure`], the codes of `MTLCommandBufferErrorDomain`. Such a device tells a code and a
//! sentence; which kernel did it, it often cannot tell.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::ErrorClass;

/// A code of `MTLCommandBufferErrorDomain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum CommandFailure {
    /// The device failed.
    Internal,
    /// The system stopped it because it took too long.
    Timeout,
    /// A kernel accessed memory that it has not.
    PageFault,
    /// The process failed too often and may not use the device any more.
    AccessRevoked,
    /// The process may not use the device for now, such as an application in the background.
    NotPermitted,
    /// No memory was left to run it.
    OutOfMemory,
    /// Something that it uses was released.
    InvalidResource,
    /// It needs more memoryless storage than there is.
    Memoryless,
    /// The device is gone.
    DeviceRemoved,
    /// The stack of its functions ran out.
    StackOverflow,
    /// Another code.
    Other(i64),
}

impl CommandFailure {
    /// The failure of a code.
    pub fn of_code(code: i64) -> Self {
        match code {
            1 => CommandFailure::Internal,
            2 => CommandFailure::Timeout,
            3 => CommandFailure::PageFault,
            4 => CommandFailure::AccessRevoked,
            7 => CommandFailure::NotPermitted,
            8 => CommandFailure::OutOfMemory,
            9 => CommandFailure::InvalidResource,
            10 => CommandFailure::Memoryless,
            11 => CommandFailure::DeviceRemoved,
            12 => CommandFailure::StackOverflow,
            other => CommandFailure::Other(other),
        }
    }

    /// The class, by which policies decide.
    pub fn class(self) -> ErrorClass {
        match self {
            CommandFailure::Internal | CommandFailure::Timeout | CommandFailure::NotPermitted => {
                ErrorClass::Transient
            }
            CommandFailure::OutOfMemory => ErrorClass::Exhausted,
            CommandFailure::AccessRevoked | CommandFailure::DeviceRemoved | CommandFailure::Other(_) => {
                ErrorClass::Lost
            }
            CommandFailure::PageFault
            | CommandFailure::InvalidResource
            | CommandFailure::Memoryless
            | CommandFailure::StackOverflow => ErrorClass::Caller,
        }
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            CommandFailure::Internal => "an internal error",
            CommandFailure::Timeout => "a timeout",
            CommandFailure::PageFault => "a page fault",
            CommandFailure::AccessRevoked => "access revoked",
            CommandFailure::NotPermitted => "not permitted",
            CommandFailure::OutOfMemory => "out of memory",
            CommandFailure::InvalidResource => "an invalid resource",
            CommandFailure::Memoryless => "no memoryless storage left",
            CommandFailure::DeviceRemoved => "the device was removed",
            CommandFailure::StackOverflow => "a stack overflow",
            CommandFailure::Other(code) => return write!(formatter, "code {code}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_classes_that_policies_need() {
        let class = |code| CommandFailure::of_code(code).class();
        let found: Vec<ErrorClass> = [1, 2, 7, 8, 4, 11, 3, 9, 10, 12].map(class).into();
        use ErrorClass as E;
        let wanted = [E::Transient; 3].into_iter().chain([E::Exhausted, E::Lost, E::Lost]);
        assert_eq!(found, wanted.chain([E::Caller; 4]).collect::<Vec<_>>());
        assert_eq!((class(5), CommandFailure::of_code(5).to_string()), (E::Lost, "code 5".to_owned()));
    }
}
