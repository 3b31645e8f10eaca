//! `MTLPipelineBufferDescriptor`: whether buffers change while a pipeline's kernel may use them.
//!
//! A promise of the program's, which changes nothing here: it is kept and told.

use super::descriptor::descriptor;
use super::descriptor_array::descriptor_array;
use super::dispatches::MAX_BUFFERS;

descriptor! {
    /// What is said of one buffer.
    PipelineBuffer = "MTLPipelineBufferDescriptor", PipelineBufferProperties;
    values { mutability, set_mutability: usize = 0, [mutability] [setMutability:]; }
    objects {}
}

descriptor_array! { PipelineBuffers = "MTLPipelineBufferDescriptorArray", PipelineBuffer, MAX_BUFFERS }
