//! `MTLStageInputOutputDescriptor` with its attributes and layouts, `MTLAttribute` and
//! `MTLVertexAttribute`.

use anymetal::reflection::StageInputInfo;
use anymetal::stage_input::{
    AttributeFormat, BufferLayout, IndexType, StageInRegion, StageInputDescriptor as Description,
    StepFunction,
};
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::data_type::number_of;
use super::descriptor::descriptor;
use super::descriptor_array::{Descriptor, descriptor_array};
use super::size::TextureRegion;
use crate::foundation::{NSArray, NSString};

/// How many attributes and layouts a descriptor has.
pub(crate) const MAX_ENTRIES: usize = 31;

/// `MTLBufferLayoutStrideDynamic`.
const DYNAMIC_STRIDE: usize = usize::MAX;

/// `MTLStepFunctionPerVertex`, which layouts have at first.
pub(crate) const PER_VERTEX: usize = 1;

descriptor! {
    /// How threads step through a buffer.
    LayoutDescriptor = "MTLBufferLayoutDescriptor", LayoutProperties;
    values {
        stride, set_stride: usize = 0, [stride] [setStride:];
        step_function, set_step_function: usize = PER_VERTEX, [stepFunction] [setStepFunction:];
        step_rate, set_step_rate: usize = 1, [stepRate] [setStepRate:];
    }
    objects {}
}

descriptor! {
    /// Where an attribute is.
    AttributeDescriptor = "MTLAttributeDescriptor", AttributeProperties;
    values {
        format, set_format: usize = 0, [format] [setFormat:];
        offset, set_offset: usize = 0, [offset] [setOffset:];
        buffer_index, set_buffer_index: usize = 0, [bufferIndex] [setBufferIndex:];
    }
    objects {}
}

descriptor_array! { LayoutArray = "MTLBufferLayoutDescriptorArray", LayoutDescriptor, MAX_ENTRIES }

descriptor_array! { AttributeArray = "MTLAttributeDescriptorArray", AttributeDescriptor, MAX_ENTRIES }

descriptor! {
    /// The stage-in data of a kernel.
    StageInputDescriptor = "MTLStageInputOutputDescriptor", StageInputProperties;
    values {
        index_buffer, set_index_buffer: usize = 0, [indexBufferIndex] [setIndexBufferIndex:];
        index_type, set_index_type: usize = 0, [indexType] [setIndexType:];
    }
    objects {}
    arrays {
        layouts: LayoutArray, [layouts];
        attributes: AttributeArray, [attributes];
    }
    methods {
        #[unsafe(method_id(stageInputOutputDescriptor))]
        fn descriptor() -> Retained<Self> {
            Self::fresh()
        }

        #[unsafe(method(reset))]
        fn reset(&self) {
            self.ivars().reset();
        }
    }
}

impl StageInputDescriptor {
    /// What it says, or what of it no pipeline can have.
    pub(crate) fn description(&self) -> Result<Description, String> {
        let own = self.ivars();
        let (layouts, attributes) = (own.layouts().ivars().known(), own.attributes().ivars().known());
        let ty = if own.index_type() == 1 { IndexType::U32 } else { IndexType::U16 };
        let mut described = Description::new().indices(narrow(own.index_buffer()), ty);
        for (number, attribute) in attributes {
            let properties = attribute.ivars();
            if properties.format() == 0 {
                continue;
            }
            let format = AttributeFormat::from_metal(properties.format() as u64);
            let format = format.ok_or_else(|| {
                format!("attribute {number} has the format {}, which is none", properties.format())
            })?;
            let (offset, buffer) = (narrow(properties.offset()), narrow(properties.buffer_index()));
            described = described.attribute(number, format, offset, buffer);
            let layout = layouts.iter().find(|(index, _)| *index == buffer);
            if let Some((_, layout)) = layout {
                described = described.layout(buffer, layout_of(buffer, layout.ivars())?);
            }
        }
        Ok(described)
    }
}

fn layout_of(buffer: u32, layout: &LayoutProperties) -> Result<BufferLayout, String> {
    if layout.stride() == DYNAMIC_STRIDE {
        return Err(format!("the dynamic stride of buffer {buffer} is not supported for kernels"));
    }
    let step = match layout.step_function() {
        0 => StepFunction::Constant,
        5 => StepFunction::ThreadPositionInGridX,
        6 => StepFunction::ThreadPositionInGridY,
        7 => StepFunction::ThreadPositionInGridXIndexed,
        8 => StepFunction::ThreadPositionInGridYIndexed,
        other => return Err(format!("the step function {other} of buffer {buffer} is not one for kernels")),
    };
    Ok(BufferLayout::new(narrow(layout.stride()), step).rate(narrow(layout.step_rate())))
}

/// A number that is refused anyway if it has more than 32 bits.
fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The region that `MTLRegion` is. Origins wrap: that of a vertex may be negative.
pub(crate) fn region_of(region: TextureRegion) -> StageInRegion {
    let origin = [region.origin.x, region.origin.y, region.origin.z].map(|part| part as u32);
    // A larger grid there cannot be, and the largest number stands for the grid's own size.
    let size = region.size.extents().map(|part| narrow(part).min(u32::MAX - 1));
    StageInRegion::new(origin, size)
}

/// Defines the class of an attribute that a function declares.
macro_rules! attribute_class {
    ($class:ident = $name:literal, $maker:ident) => {
        define_class!(
            // SAFETY: `NSObject` asks nothing of those below it.
            #[unsafe(super(NSObject))]
            #[name = $name]
            #[ivars = StageInputInfo]
            #[derive(Debug)]
            pub(crate) struct $class;

            impl $class {
                #[unsafe(method_id(name))]
                fn name(&self) -> Retained<NSString> {
                    NSString::of(&self.ivars().name)
                }

                #[unsafe(method(attributeIndex))]
                fn index(&self) -> usize {
                    self.ivars().attribute as usize
                }

                #[unsafe(method(attributeType))]
                fn data_type(&self) -> usize {
                    number_of(&self.ivars().element)
                }

                #[unsafe(method(isActive))]
                fn is_active(&self) -> bool {
                    true
                }

                #[unsafe(method(isPatchData))]
                fn is_patch_data(&self) -> bool {
                    false
                }

                #[unsafe(method(isPatchControlPointData))]
                fn is_control_point_data(&self) -> bool {
                    false
                }
            }
        );

        #[doc = concat!("The objects of `", $name, "` for a function's stage-in data.")]
        pub(crate) fn $maker(inputs: Vec<StageInputInfo>) -> Retained<NSArray> {
            let object = |input| -> Retained<AnyObject> {
                let attribute: Retained<$class> = crate::foundation::object(input);
                Retained::into_super(Retained::into_super(attribute))
            };
            NSArray::of(inputs.into_iter().map(object).collect())
        }
    };
}

attribute_class! { Attribute = "MTLAttribute", attributes_of }

attribute_class! { VertexAttribute = "MTLVertexAttribute", vertex_attributes_of }
