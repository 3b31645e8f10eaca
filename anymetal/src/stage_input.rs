//! Descriptions of stage-in data (`[[stage_in]]`, MSL specification 5.2.4).

pub use anymetal_hal::stage_input::{
    Attribute, AttributeFormat, BufferLayout, IndexType, StageInRegion, StageInputDescriptor,
    StageInputError, StepFunction, has_region,
};
