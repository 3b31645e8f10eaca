//! Why a device does not execute a command that a kernel encoded.

use anymetal_abi::commands::EncodingError;
use serde::{Deserialize, Serialize};

/// Why an encoded command cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum InvalidCommand {
    /// The kernel that encoded it made a mistake.
    #[error("{}", describe(*.0))]
    Encoding(EncodingError),
    /// It has no pipeline.
    #[error("it has no compute pipeline state")]
    NoPipeline,
    /// It has a pipeline that is none.
    #[error("{handle:#x} is the handle of no compute pipeline state that exists")]
    UnknownPipeline {
        /// What it has.
        handle: u64,
    },
    /// It has a buffer that the command buffer does not use.
    #[error("buffer {index} is at {address:#x}, where no buffer is that the command buffer binds or uses")]
    NotResident {
        /// The buffer's index.
        index: u32,
        /// Its address.
        address: u64,
    },
    /// Its kernel writes messages.
    #[error("its kernel `{kernel}` writes messages, for which encoded commands have no log")]
    Messages {
        /// The kernel.
        kernel: String,
    },
}

fn describe(error: EncodingError) -> &'static str {
    match error {
        EncodingError::BufferIndex => "an index of a buffer was not below the maximum number of buffers",
        EncodingError::ThreadgroupMemoryIndex => {
            "an index of threadgroup memory was not below the maximum number of its lengths"
        }
        EncodingError::NotInBuffer => {
            "a pointer was set that leads into no buffer argument of the kernel that encoded it"
        }
        EncodingError::CopyOfOtherLayout => "it was copied from an indirect command buffer of other limits",
        EncodingError::InheritedPipeline => "a pipeline was set although it is inherited",
        EncodingError::InheritedBuffer => "a buffer was set although buffers are inherited",
        EncodingError::NotSupported => {
            "a stride of a buffer or a stage-in region was set, which are not supported"
        }
        EncodingError::Garbage => "its memory holds no command",
    }
}
