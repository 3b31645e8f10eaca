//! Stage-in data of kernels: how a pipeline finds the members of a structure with `[[stage_in]]` in buffers
//! (Metal's `MTLStageInputOutputDescriptor`).
//!
//! Owns [`StageInputDescriptor`], which becomes the values of function constants that programs do not see
//! ([`StageInputDescriptor::constants`]), and [`StageInRegion`]. Invariant: constants are made only of a
//! descriptor that has all of a kernel's attributes, in formats that their types can hold.

mod error;
mod format;

use std::collections::BTreeMap;

use anymetal_abi::MAX_BOUND_BUFFERS;
use anymetal_abi::stage_input::{
    AttributePlace, INDICES_CONSTANT, IndexPlace, REGION_BYTES, REGION_CONSTANT, WHOLE_GRID,
    attribute_constants,
};
use anymetal_abi::textures::{BindingRole, ChannelKind};

use crate::artifact::{ArgumentInfo, ArgumentKind, ElementType, KernelInfo, ScalarType, StageInputInfo};
use crate::binding::{Binding, BoundResource};
use crate::command::Command;

pub use anymetal_abi::stage_input::StepFunction;
pub use error::StageInputError;
pub use format::AttributeFormat;

/// Where an attribute is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attribute {
    /// How it is stored.
    pub format: AttributeFormat,
    /// Bytes from the start of an element of its buffer.
    pub offset: u32,
    /// The index of its buffer.
    pub buffer: u32,
}

/// How threads step through a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BufferLayout {
    /// Bytes from an element to the next.
    pub stride: u32,
    /// Which element a thread gets.
    pub step: StepFunction,
    /// Threads in a row along the step function's axis that get the same element, or the element of the same
    /// index. Not used by [`StepFunction::Constant`].
    pub rate: u32,
}

impl BufferLayout {
    /// Elements `stride` bytes apart; each thread gets the element that the step function names.
    pub const fn new(stride: u32, step: StepFunction) -> Self {
        BufferLayout { stride, step, rate: 1 }
    }

    /// An element for each position along x.
    pub const fn along_x(stride: u32) -> Self {
        BufferLayout { stride, step: StepFunction::ThreadPositionInGridX, rate: 1 }
    }

    /// An element for each position along y.
    pub const fn along_y(stride: u32) -> Self {
        BufferLayout { stride, step: StepFunction::ThreadPositionInGridY, rate: 1 }
    }

    /// The first element for all threads.
    pub const fn constant(stride: u32) -> Self {
        BufferLayout { stride, step: StepFunction::Constant, rate: 1 }
    }

    /// The element that the index at the thread's position names, in a buffer along the same axis.
    pub const fn indexed(self) -> Self {
        let step = match self.step {
            StepFunction::ThreadPositionInGridX => StepFunction::ThreadPositionInGridXIndexed,
            StepFunction::ThreadPositionInGridY => StepFunction::ThreadPositionInGridYIndexed,
            other => other,
        };
        BufferLayout { step, ..self }
    }

    /// The same element for that many threads in a row.
    pub const fn rate(self, rate: u32) -> Self {
        BufferLayout { rate, ..self }
    }
}

/// The type of indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum IndexType {
    /// 16 bits.
    #[default]
    U16,
    /// 32 bits.
    U32,
}

/// Where a pipeline finds the stage-in data of its kernel.
///
/// A thread at position `p` along the axis of a buffer's step function gets element `o + p / rate`, where
/// `o` is the origin of the launch's region along that axis; with indices, element
/// `o + indices[p / rate]`. Sums wrap at 32 bits. Components that a format lacks are those of `(0, 0, 0, 1)`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StageInputDescriptor {
    attributes: BTreeMap<u32, Attribute>,
    layouts: BTreeMap<u32, BufferLayout>,
    indices: Option<(u32, IndexType)>,
}

impl StageInputDescriptor {
    /// Without attributes: for kernels that take the region of a launch, but no data.
    pub fn new() -> Self {
        StageInputDescriptor::default()
    }

    /// With the attribute at `[[attribute(number)]]`: its format, and its place in an element of a buffer.
    #[must_use]
    pub fn attribute(mut self, number: u32, format: AttributeFormat, offset: u32, buffer: u32) -> Self {
        self.attributes.insert(number, Attribute { format, offset, buffer });
        self
    }

    /// With the layout of the buffer at that index.
    #[must_use]
    pub fn layout(mut self, buffer: u32, layout: BufferLayout) -> Self {
        self.layouts.insert(buffer, layout);
        self
    }

    /// With indices of that type in a buffer.
    #[must_use]
    pub fn indices(mut self, buffer: u32, ty: IndexType) -> Self {
        self.indices = Some((buffer, ty));
        self
    }

    /// The values of the function constants that tell a kernel all this, by their indices.
    ///
    /// # Errors
    /// An attribute of the kernel that is not described or whose format its type cannot hold; a layout that
    /// is missing or cannot be; a buffer that is an argument of the kernel. What the kernel does not have is
    /// ignored.
    pub fn constants(&self, kernel: &KernelInfo) -> Result<Vec<(u32, u64)>, StageInputError> {
        let mut values = Vec::new();
        if has_region(kernel) {
            values.push((REGION_CONSTANT, 1));
        }
        let mut is_indexed = false;
        for input in &kernel.stage_inputs {
            let place = self.place(kernel, input)?;
            is_indexed |= is_indexed_step(place.step);
            values.extend(attribute_constants(input.attribute).into_iter().zip(place.words()));
        }
        if let Some((buffer, ty)) = self.indices.filter(|_| is_indexed) {
            check_buffer(kernel, buffer)?;
            values.push((INDICES_CONSTANT, IndexPlace { buffer, is_wide: ty == IndexType::U32 }.bits()));
        } else if is_indexed {
            return Err(StageInputError::NoIndices { kernel: kernel.name.clone() });
        }
        Ok(values)
    }

    fn place(&self, kernel: &KernelInfo, input: &StageInputInfo) -> Result<AttributePlace, StageInputError> {
        let number = input.attribute;
        let Some(&Attribute { format, offset, buffer }) = self.attributes.get(&number) else {
            let (kernel, name) = (kernel.name.clone(), input.name.clone());
            return Err(StageInputError::MissingAttribute { kernel, attribute: number, name });
        };
        if !holds(&input.element, format) {
            return Err(StageInputError::TypeMismatch {
                kernel: kernel.name.clone(),
                attribute: number,
                name: input.name.clone(),
                type_name: input.type_name(),
                format,
            });
        }
        check_buffer(kernel, buffer)?;
        let layout = self.layouts.get(&buffer);
        let &BufferLayout { stride, step, rate } =
            layout.ok_or(StageInputError::NoLayout { attribute: number, buffer })?;
        let rate = if step == StepFunction::Constant { 1 } else { rate };
        check_layout(number, format, offset, buffer, stride)?;
        if rate == 0 {
            return Err(StageInputError::NoStepRate { buffer });
        }
        Ok(AttributePlace { format: format.word(), buffer, offset, stride, step, rate })
    }
}

fn is_indexed_step(step: StepFunction) -> bool {
    matches!(step, StepFunction::ThreadPositionInGridXIndexed | StepFunction::ThreadPositionInGridYIndexed)
}

/// Whether values of a type can be made of a format: floats of any, integers of narrower ones with the same
/// sign.
fn holds(element: &ElementType, format: AttributeFormat) -> bool {
    let (ElementType::Scalar(scalar) | ElementType::Vector(scalar, _)) = element else { return false };
    let is_signed = match scalar {
        ScalarType::F16 | ScalarType::F32 => return true,
        ScalarType::I8 | ScalarType::I16 | ScalarType::I32 => true,
        _ => false,
    };
    let kind = if is_signed { ChannelKind::Sint } else { ChannelKind::Uint };
    format.kind() == kind && format.components()[0].0 <= scalar.bits()
}

/// Refuses a buffer that the kernel has for another argument, or that no launch can bind.
fn check_buffer(kernel: &KernelInfo, buffer: u32) -> Result<(), StageInputError> {
    if buffer >= MAX_BOUND_BUFFERS {
        return Err(StageInputError::NoSuchBuffer { buffer });
    }
    let is_own = |argument: &&ArgumentInfo| {
        argument.kind == ArgumentKind::Buffer && argument.index == buffer && !argument.is_stage_in()
    };
    match kernel.arguments.iter().find(is_own) {
        Some(argument) => Err(StageInputError::BufferTaken {
            kernel: kernel.name.clone(),
            buffer,
            name: argument.name.clone(),
        }),
        None => Ok(()),
    }
}

fn check_layout(
    attribute: u32,
    format: AttributeFormat,
    offset: u32,
    buffer: u32,
    stride: u32,
) -> Result<(), StageInputError> {
    let align = format.alignment();
    if !offset.is_multiple_of(align) || !stride.is_multiple_of(align) {
        return Err(StageInputError::Misaligned { attribute, format, offset, stride });
    }
    match offset.checked_add(format.bytes()) {
        Some(end) if end <= stride => Ok(()),
        _ => Err(StageInputError::BeyondStride { attribute, format, offset, buffer, stride }),
    }
}

/// Whether a kernel depends on the region of a launch.
pub fn has_region(kernel: &KernelInfo) -> bool {
    let is_of_region = |attribute: &String| matches!(attribute.as_str(), "grid_origin" | "grid_size");
    !kernel.stage_inputs.is_empty() || kernel.thread_attributes.iter().any(is_of_region)
}

/// The argument that a launch's region is bound to, if the kernel's pipeline has a descriptor and the kernel
/// depends on the region.
pub fn region_argument(kernel: &KernelInfo) -> Option<&ArgumentInfo> {
    kernel.argument(ArgumentKind::Buffer, BindingRole::StageInRegion.index()?)
}

/// Checks that code of a kernel with stage-in data was made for a descriptor of them.
///
/// # Errors
/// [`StageInputError::NoDescriptor`].
pub fn check_described(kernel: &KernelInfo) -> Result<(), StageInputError> {
    match kernel.stage_inputs.first() {
        Some(first) if region_argument(kernel).is_none() => {
            let (kernel, name) = (kernel.name.clone(), first.name.clone());
            Err(StageInputError::NoDescriptor { kernel, name })
        }
        _ => Ok(()),
    }
}

/// The part of the grid that stage-in data is for (Metal's `setStageInRegion:`).
///
/// Its origin is added to the position of a thread in buffers; threads at positions outside of its size get
/// zeros, and read nothing. Kernels see both as `[[grid_origin]]` and `[[grid_size]]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StageInRegion {
    /// What is added to positions, along x, y and z.
    pub origin: [u32; 3],
    /// Threads along x, y and z; [`StageInRegion::WHOLE`] along an axis: as many as the grid has.
    pub size: [u32; 3],
}

impl StageInRegion {
    /// The size along an axis that stands for the grid's own.
    pub const WHOLE: u32 = WHOLE_GRID;

    /// The whole grid, from the start of the buffers on.
    pub const GRID: StageInRegion = StageInRegion { origin: [0; 3], size: [WHOLE_GRID; 3] };

    /// The threads from `origin` on, `size` of them along each axis.
    pub const fn new(origin: [u32; 3], size: [u32; 3]) -> Self {
        StageInRegion { origin, size }
    }

    /// The bytes that kernels read.
    pub fn to_bytes(self) -> [u8; REGION_BYTES] {
        let mut bytes = [0; REGION_BYTES];
        let words = self.origin.into_iter().chain(self.size);
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes
    }
}

impl Default for StageInRegion {
    fn default() -> Self {
        StageInRegion::GRID
    }
}

/// Binds the whole grid as the region of dispatches that none is bound for. To be called once, when all else
/// is bound.
pub fn attach(commands: &mut [Command]) {
    for command in commands {
        if let Some(dispatch) = command.dispatch_mut() {
            let (kernel, bindings) = dispatch.late_bindings();
            complete(kernel, bindings);
        }
    }
}

/// Binds the whole grid as the region of a kernel that takes one, if none is bound.
pub(crate) fn complete(kernel: &KernelInfo, bindings: &mut Vec<Binding>) {
    let Some(index) = region_argument(kernel).map(|argument| argument.index) else { return };
    if bindings.iter().all(|binding| binding.index != index) {
        let resource = BoundResource::Bytes(StageInRegion::GRID.to_bytes().to_vec());
        bindings.push(Binding { index, resource });
    }
}
