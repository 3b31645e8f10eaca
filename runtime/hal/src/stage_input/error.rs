//! What is wrong with a description of stage-in data.

use super::AttributeFormat;

/// Why a pipeline cannot find the stage-in data of its kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StageInputError {
    /// The kernel has stage-in data, the pipeline has no descriptor.
    #[error("kernel `{kernel}` takes stage-in data (`{name}`): its pipeline needs a stage-input descriptor")]
    NoDescriptor {
        /// The kernel.
        kernel: String,
        /// Its first attribute.
        name: String,
    },
    /// An attribute is not described.
    #[error("attribute {attribute} (`{name}`) of kernel `{kernel}` is not in the stage-input descriptor")]
    MissingAttribute {
        /// The kernel.
        kernel: String,
        /// The attribute's number.
        attribute: u32,
        /// Its name.
        name: String,
    },
    /// The kernel's type cannot hold what the format has: integers hold no normalised or floating-point
    /// formats, none of the other sign and no wider ones.
    #[error(
        "attribute {attribute} (`{name}`) of kernel `{kernel}` has type `{type_name}`, which cannot hold the \
         format {}", format.name()
    )]
    TypeMismatch {
        /// The kernel.
        kernel: String,
        /// The attribute's number.
        attribute: u32,
        /// Its name.
        name: String,
        /// Its type in the kernel.
        type_name: String,
        /// Its format.
        format: AttributeFormat,
    },
    /// The buffer of an attribute has no layout.
    #[error("buffer {buffer} of attribute {attribute} has no layout in the stage-input descriptor")]
    NoLayout {
        /// The attribute's number.
        attribute: u32,
        /// The buffer.
        buffer: u32,
    },
    /// An offset or a stride is no multiple of the attribute's alignment.
    #[error(
        "attribute {attribute} of format {} is misaligned at offset {offset} of elements of {stride} bytes: \
         both must be multiples of {}", format.name(), format.alignment()
    )]
    Misaligned {
        /// The attribute's number.
        attribute: u32,
        /// Its format.
        format: AttributeFormat,
        /// Its offset.
        offset: u32,
        /// The buffer's stride.
        stride: u32,
    },
    /// An attribute does not end within an element.
    #[error(
        "attribute {attribute} of format {} at offset {offset} ends beyond the stride of buffer {buffer}, \
         {stride} bytes", format.name()
    )]
    BeyondStride {
        /// The attribute's number.
        attribute: u32,
        /// Its format.
        format: AttributeFormat,
        /// Its offset.
        offset: u32,
        /// The buffer.
        buffer: u32,
        /// The buffer's stride.
        stride: u32,
    },
    /// The step rate of a buffer is 0.
    #[error("the step rate of buffer {buffer} is 0: that is for buffers with a constant step function")]
    NoStepRate {
        /// The buffer.
        buffer: u32,
    },
    /// There is no buffer with that index.
    #[error("stage-in data cannot be in buffer {buffer}: buffers have the indices 0 to 30")]
    NoSuchBuffer {
        /// The buffer.
        buffer: u32,
    },
    /// The kernel has an argument at the index of a buffer.
    #[error(
        "stage-in data of kernel `{kernel}` cannot be in buffer {buffer}, which is its argument `{name}`"
    )]
    BufferTaken {
        /// The kernel.
        kernel: String,
        /// The buffer.
        buffer: u32,
        /// The argument.
        name: String,
    },
    /// A launch is given a region that its pipeline takes none of: it has no descriptor, or the kernel does
    /// not depend on it.
    #[error(
        "kernel `{kernel}` takes no stage-in region: its pipeline has no stage-input descriptor, or the \
             kernel has neither stage-in data nor `grid_origin` nor `grid_size`"
    )]
    NoRegion {
        /// The kernel.
        kernel: String,
    },
    /// A buffer is stepped through by indices, and there are none.
    #[error(
        "stage-in data of kernel `{kernel}` are found by indices, and its descriptor has no index buffer"
    )]
    NoIndices {
        /// The kernel.
        kernel: String,
    },
}
