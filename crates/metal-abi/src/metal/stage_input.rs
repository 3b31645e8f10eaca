//! `MTLStageInputOutputDescriptor` with its attributes and layouts, and `MTLAttribute`.

use std::sync::Mutex;

use anymetal::{
    AttributeFormat, BufferLayout, IndexType, StageInRegion, StageInputDescriptor as Description,
    StageInputInfo, StepFunction,
};
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject, NSZone};
use objc2::{DefinedClass, define_class};

use super::data_type::number_of;
use super::descriptor::{descriptor, locked};
use super::size::TextureRegion;
use super::violation;
use crate::foundation::{NSArray, NSString};

/// How many attributes and layouts a descriptor has.
const MAX_ENTRIES: usize = 31;

/// `MTLBufferLayoutStrideDynamic`.
const DYNAMIC_STRIDE: usize = usize::MAX;

/// `MTLStepFunctionPerVertex`, which layouts have at first.
const PER_VERTEX: usize = 1;

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

/// Defines the class of an array of descriptors, which are made when they are first wanted.
macro_rules! entries {
    ($array:ident = $name:literal, $slots:ident of $entry:ident, $properties:ident { $($get:ident $set:ident)* }) => {
        #[doc = concat!("The elements of `", $name, "`.")]
        #[derive(Debug, Default)]
        pub(crate) struct $slots([Mutex<Option<Retained<$entry>>>; MAX_ENTRIES]);

        define_class!(
            // SAFETY: `NSObject` asks nothing of those below it.
            #[unsafe(super(NSObject))]
            #[name = $name]
            #[ivars = $slots]
            #[derive(Debug)]
            pub(crate) struct $array;

            impl $array {
                #[unsafe(method_id(init))]
                fn init(this: objc2::rc::Allocated<Self>) -> Retained<Self> {
                    crate::foundation::initialized(this, $slots::default())
                }

                #[unsafe(method_id(objectAtIndexedSubscript:))]
                fn get(&self, index: usize) -> Retained<$entry> {
                    let mut slot = locked(self.slot("objectAtIndexedSubscript:", index));
                    slot.get_or_insert_with(|| crate::foundation::object($properties::default())).clone()
                }

                #[unsafe(method(setObject:atIndexedSubscript:))]
                fn put(&self, entry: Option<&$entry>, index: usize) {
                    let copy = entry.map(Self::copy_of);
                    let slot = self.slot("setObject:atIndexedSubscript:", index);
                    let before = std::mem::replace(&mut *locked(slot), copy);
                    // Outside the lock: its end may look at the array.
                    drop(before);
                }
            }
        );

        impl $array {
            fn slot(&self, method: &str, index: usize) -> &Mutex<Option<Retained<$entry>>> {
                self.ivars().0.get(index).unwrap_or_else(|| {
                    let rule = format_args!("index {index} is not below {MAX_ENTRIES}");
                    violation(&format!("{} {method}", $name), rule)
                })
            }

            fn copy_of(entry: &$entry) -> Retained<$entry> {
                let copy = $properties::default();
                $(copy.$set(entry.ivars().$get());)*
                crate::foundation::object(copy)
            }

            fn duplicate(&self) -> Retained<Self> {
                let copy = |slot: &Mutex<Option<Retained<$entry>>>| {
                    let entry = locked(slot).clone();
                    Mutex::new(entry.map(|entry| Self::copy_of(&entry)))
                };
                crate::foundation::object($slots(self.ivars().0.each_ref().map(copy)))
            }

            /// The descriptors that were set or looked at, with their indices.
            fn known(&self) -> Vec<(u32, Retained<$entry>)> {
                let slots = (0..).zip(&self.ivars().0);
                slots.filter_map(|(index, slot)| Some((index, locked(slot).clone()?))).collect()
            }
        }
    };
}

entries! {
    LayoutArray = "MTLBufferLayoutDescriptorArray", LayoutSlots of LayoutDescriptor, LayoutProperties {
        stride set_stride step_function set_step_function step_rate set_step_rate
    }
}

entries! {
    AttributeArray = "MTLAttributeDescriptorArray", AttributeSlots of AttributeDescriptor, AttributeProperties {
        format set_format offset set_offset buffer_index set_buffer_index
    }
}

/// The properties of `MTLStageInputOutputDescriptor`.
#[derive(Debug)]
struct Properties {
    layouts: Retained<LayoutArray>,
    attributes: Retained<AttributeArray>,
    index_buffer: usize,
    index_type: usize,
}

impl Default for Properties {
    fn default() -> Self {
        let layouts = crate::foundation::object(LayoutSlots::default());
        let attributes = crate::foundation::object(AttributeSlots::default());
        Properties { layouts, attributes, index_buffer: 0, index_type: 0 }
    }
}

/// The instance variables of `MTLStageInputOutputDescriptor`.
#[derive(Debug, Default)]
pub(crate) struct StageInputIvars(Mutex<Properties>);

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLStageInputOutputDescriptor"]
    #[ivars = StageInputIvars]
    #[derive(Debug)]
    pub(crate) struct StageInputDescriptor;

    impl StageInputDescriptor {
        #[unsafe(method_id(stageInputOutputDescriptor))]
        fn descriptor() -> Retained<Self> {
            crate::foundation::object(StageInputIvars::default())
        }

        #[unsafe(method_id(init))]
        fn init(this: objc2::rc::Allocated<Self>) -> Retained<Self> {
            crate::foundation::initialized(this, StageInputIvars::default())
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<Self> {
            let own = locked(&self.ivars().0);
            let (layouts, attributes) = (own.layouts.duplicate(), own.attributes.duplicate());
            let (index_buffer, index_type) = (own.index_buffer, own.index_type);
            let copy = Properties { layouts, attributes, index_buffer, index_type };
            crate::foundation::object(StageInputIvars(Mutex::new(copy)))
        }

        #[unsafe(method(reset))]
        fn reset(&self) {
            let before = std::mem::take(&mut *locked(&self.ivars().0));
            // Outside the lock: its end may look at the descriptor.
            drop(before);
        }

        #[unsafe(method_id(layouts))]
        fn layouts(&self) -> Retained<LayoutArray> {
            locked(&self.ivars().0).layouts.clone()
        }

        #[unsafe(method_id(attributes))]
        fn attributes(&self) -> Retained<AttributeArray> {
            locked(&self.ivars().0).attributes.clone()
        }

        #[unsafe(method(indexBufferIndex))]
        fn index_buffer(&self) -> usize {
            locked(&self.ivars().0).index_buffer
        }

        #[unsafe(method(setIndexBufferIndex:))]
        fn set_index_buffer(&self, index: usize) {
            locked(&self.ivars().0).index_buffer = index;
        }

        #[unsafe(method(indexType))]
        fn index_type(&self) -> usize {
            locked(&self.ivars().0).index_type
        }

        #[unsafe(method(setIndexType:))]
        fn set_index_type(&self, value: usize) {
            locked(&self.ivars().0).index_type = value;
        }
    }
);

impl StageInputDescriptor {
    /// What it says, or what of it no pipeline can have.
    pub(crate) fn description(&self) -> Result<Description, String> {
        let (layouts, attributes, index_buffer, index_type) = {
            let own = locked(&self.ivars().0);
            (own.layouts.known(), own.attributes.known(), own.index_buffer, own.index_type)
        };
        let ty = if index_type == 1 { IndexType::U32 } else { IndexType::U16 };
        let mut described = Description::new().indices(narrow(index_buffer), ty);
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
    Ok(BufferLayout { stride: narrow(layout.stride()), step, rate: narrow(layout.step_rate()) })
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
    StageInRegion { origin, size }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLAttribute"]
    #[ivars = StageInputInfo]
    #[derive(Debug)]
    pub(crate) struct Attribute;

    impl Attribute {
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

/// The objects for a kernel's stage-in data.
pub(crate) fn attributes_of(inputs: Vec<StageInputInfo>) -> Retained<NSArray> {
    let object = |input| -> Retained<AnyObject> {
        let attribute: Retained<Attribute> = crate::foundation::object(input);
        Retained::into_super(Retained::into_super(attribute))
    };
    NSArray::of(inputs.into_iter().map(object).collect())
}
