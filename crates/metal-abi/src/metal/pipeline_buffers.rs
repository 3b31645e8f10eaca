//! `MTLPipelineBufferDescriptor`: whether buffers change while a pipeline's kernel may use them.
//!
//! A promise of the program's, which changes nothing here: it is kept and told.

use objc2::rc::{Allocated, Retained};
use objc2::runtime::NSObject;
use objc2::{DefinedClass, Message, define_class};

use super::descriptor::{descriptor, locked};
use super::dispatches::MAX_BUFFERS;
use super::violation;

descriptor! {
    /// What is said of one buffer.
    PipelineBuffer = "MTLPipelineBufferDescriptor", PipelineBufferProperties;
    values { mutability, set_mutability: usize = 0, [mutability] [setMutability:]; }
    objects {}
}

/// The descriptors that were asked for or set, by the buffers' indices.
#[derive(Debug, Default)]
pub(crate) struct PipelineBufferSlots([std::sync::Mutex<Option<Retained<PipelineBuffer>>>; MAX_BUFFERS]);

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLPipelineBufferDescriptorArray"]
    #[ivars = PipelineBufferSlots]
    #[derive(Debug)]
    pub(crate) struct PipelineBuffers;

    impl PipelineBuffers {
        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            crate::foundation::initialized(this, PipelineBufferSlots::default())
        }

        #[unsafe(method_id(objectAtIndexedSubscript:))]
        fn get(&self, index: usize) -> Retained<PipelineBuffer> {
            let mut slot = locked(self.slot("MTLPipelineBufferDescriptorArray objectAtIndexedSubscript:", index));
            slot.get_or_insert_with(|| crate::foundation::object(PipelineBufferProperties::default())).clone()
        }

        #[unsafe(method(setObject:atIndexedSubscript:))]
        fn put(&self, buffer: Option<&PipelineBuffer>, index: usize) {
            let slot = self.slot("MTLPipelineBufferDescriptorArray setObject:atIndexedSubscript:", index);
            let before = std::mem::replace(&mut *locked(slot), buffer.map(Message::retain));
            // Outside the lock: its end may look at the array.
            drop(before);
        }
    }
);

impl PipelineBuffers {
    fn slot(&self, method: &str, index: usize) -> &std::sync::Mutex<Option<Retained<PipelineBuffer>>> {
        let slots = &self.ivars().0;
        slots.get(index).unwrap_or_else(|| {
            violation(method, format_args!("the index {index} is not below {MAX_BUFFERS}"))
        })
    }
}
