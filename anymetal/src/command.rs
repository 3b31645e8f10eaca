//! What command buffers are made of: deadlines, priorities, fences, products of matrices, commands that
//! kernels encode; and launches over several devices.

pub use anymetal_hal::command::{Deadline, Grid, ResourceUsage, Timestamps};
pub use anymetal_hal::encoded_commands::{EncodingError, InvalidCommand};
pub use anymetal_hal::event::Reached;
pub use anymetal_hal::interruption;
pub use anymetal_hal::matrix_product::{MatrixOperand, MatrixProduct};
pub use anymetal_hal::queue::{Cancellation, Priority, WhenFull};

pub use crate::fence::Fence;
pub use crate::indirect_command_buffer::{
    ExecutedCommands, IndirectCommand, IndirectCommandBuffer, IndirectCommandBufferDescriptor,
};
pub use crate::spread::{Share, Spread, SpreadBuffer, SpreadKernel, SpreadSubmission};
pub use crate::submission::CancelOnDrop;
