//! What pipeline to make: a kernel's name, and what else there is to say.

use anymetal_hal::stage_input::StageInputDescriptor;

use crate::constants::FunctionConstants;
use crate::extent::Extent;
use crate::functions::LinkedFunctions;

/// What pipeline to make; a kernel's name alone is enough: `library.pipeline("saxpy")`.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::{Device, FunctionConstants, PipelineDescriptor};
///
/// let device = Device::system_default()?;
/// let library = device.library_from_source(
///     "constant uint step [[function_constant(0)]];
///      kernel void count(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = step * i; }",
/// )?;
/// let descriptor = PipelineDescriptor::new("count")
///     .label("count by threes")
///     .constants(FunctionConstants::new().with(0, 3))
///     .group_sizes([256]); // launches with this size find their code compiled
/// let pipeline = library.pipeline(descriptor)?;
/// assert_eq!((pipeline.name(), pipeline.label()), ("count", "count by threes"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PipelineDescriptor {
    /// The kernel's name in the source.
    pub kernel: String,
    /// A name for messages; empty: the kernel's.
    pub label: String,
    /// Values for function constants.
    pub constants: FunctionConstants,
    /// The threadgroup sizes for which code is compiled at once, as by [`crate::Pipeline::warm_up`].
    pub group_sizes: Vec<Extent>,
    /// Visible functions of other libraries that the kernel may call.
    pub linked_functions: LinkedFunctions,
    /// Where its stage-in data are.
    pub stage_input: Option<StageInputDescriptor>,
}

impl PipelineDescriptor {
    /// That kernel.
    pub fn new(kernel: impl Into<String>) -> Self {
        let (label, constants, group_sizes) = (String::new(), FunctionConstants::new(), Vec::new());
        let linked_functions = LinkedFunctions::new();
        PipelineDescriptor {
            kernel: kernel.into(),
            label,
            constants,
            group_sizes,
            linked_functions,
            stage_input: None,
        }
    }

    /// With a name for messages.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With values for its function constants.
    pub fn constants(mut self, constants: FunctionConstants) -> Self {
        self.constants = constants;
        self
    }

    /// With visible functions that the kernel may call through tables and by their names; those of its own
    /// library it may call anyway.
    pub fn linked_functions(mut self, functions: LinkedFunctions) -> Self {
        self.linked_functions = functions;
        self
    }

    /// With a description of where its stage-in data are (`[[stage_in]]`). Launches may give the region of
    /// the grid that they are for ([`crate::Launch::stage_in_region`]).
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use anymetal::stage_input::{AttributeFormat, BufferLayout, StageInputDescriptor};
    /// use anymetal::{Device, PipelineDescriptor};
    ///
    /// let device = Device::system_default()?;
    /// let library = device.library_from_source(
    ///     "struct Vertex { float2 at [[attribute(0)]]; float4 color [[attribute(1)]]; };
    ///      kernel void shade(Vertex v [[stage_in]], device float* y [[buffer(0)]],
    ///                        uint i [[thread_position_in_grid]]) { y[i] = v.at.x + v.color.a; }",
    /// )?;
    /// let stage_input = StageInputDescriptor::new()
    ///     .attribute(0, AttributeFormat::Short2, 0, 1)
    ///     .attribute(1, AttributeFormat::UChar4Normalized, 4, 1)
    ///     .layout(1, BufferLayout::along_x(8));
    /// let shade = library.pipeline(PipelineDescriptor::new("shade").stage_input(stage_input))?;
    /// let vertices = device.buffer(&[[3u8, 0, 0, 0, 0, 0, 0, 255], [7, 0, 0, 0, 0, 0, 0, 0]].concat())?;
    /// let y = device.buffer_zeroed::<f32>(2)?;
    /// device.queue()?.launch(&shade).arg(&y).arg(&vertices).threads(2).submit()?.wait()?;
    /// assert_eq!(y.read()?, [4.0, 7.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stage_input(mut self, descriptor: StageInputDescriptor) -> Self {
        self.stage_input = Some(descriptor);
        self
    }

    /// With code for those threadgroup sizes from the start.
    pub fn group_sizes(mut self, sizes: impl IntoIterator<Item = impl Into<Extent>>) -> Self {
        self.group_sizes.extend(sizes.into_iter().map(Into::into));
        self
    }
}

impl<S: AsRef<str> + ?Sized> From<&S> for PipelineDescriptor {
    fn from(kernel: &S) -> Self {
        PipelineDescriptor::new(kernel.as_ref())
    }
}

impl From<String> for PipelineDescriptor {
    fn from(kernel: String) -> Self {
        PipelineDescriptor::new(kernel)
    }
}
