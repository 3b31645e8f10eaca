//! What is known of a kernel: its arguments, constants and limits, and what it runs as.

pub use anymetal_driver::{
    ArgumentLayout, ArgumentMember, ArgumentMemberKind, GraphicsFunction, GraphicsStage,
};
pub use anymetal_hal::artifact::{
    Access, AddressSpace, ArgumentInfo, ArgumentKind, Artifact, Effort, ElementType, FunctionConstantInfo,
    KernelInfo, ReducedEffort, ScalarType, StageInputInfo,
};

pub use crate::constants::ConstantKey;
pub use crate::executor::Executor;
pub use crate::pipeline::Fallback;
