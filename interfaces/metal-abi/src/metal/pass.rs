//! `MTLComputePassDescriptor` and `MTLBlitPassDescriptor`: what a pass is like, and where it samples the
//! counters when it begins and ends.

use objc2::rc::Retained;

use super::commands::Commands;
use super::counters::{DONT_SAMPLE, SampleBuffer};
use super::descriptor_array::Descriptor;

/// The attachments of a pass.
const MAX_ATTACHMENTS: usize = 4;

/// Where a pass samples the counters.
#[derive(Debug)]
pub(crate) struct Samples {
    buffer: Retained<SampleBuffer>,
    start: usize,
    end: usize,
}

impl Samples {
    pub(crate) fn new(buffer: Retained<SampleBuffer>, start: usize, end: usize) -> Self {
        Samples { buffer, start, end }
    }

    /// Encodes those of the pass's begin.
    pub(crate) fn begin(all: &[Samples], method: &str, commands: &Commands) {
        all.iter().for_each(|samples| samples.at(method, samples.start, commands));
    }

    /// Encodes those of the pass's end.
    pub(crate) fn end(all: &[Samples], method: &str, commands: &Commands) {
        all.iter().for_each(|samples| samples.at(method, samples.end, commands));
    }

    fn at(&self, method: &str, index: usize, commands: &Commands) {
        if index != DONT_SAMPLE {
            self.buffer.sample(method, index, commands);
        }
    }
}

/// Defines the classes of a kind of pass: of its attachments, of their array, and of its descriptor.
macro_rules! pass {
    (
        $attachment:ident = $attachment_name:literal, $properties:ident;
        $array:ident = $array_name:literal;
        $(#[$meta:meta])*
        $pass:ident = $name:literal, $ivars:ident, [$($maker:tt)+];
        methods { $($methods:tt)* }
    ) => {
        super::descriptor::descriptor! {
            /// Where a pass samples the counters.
            $attachment = $attachment_name, $properties;
            values {
                start, set_start: usize = DONT_SAMPLE, [startOfEncoderSampleIndex] [setStartOfEncoderSampleIndex:];
                end, set_end: usize = DONT_SAMPLE, [endOfEncoderSampleIndex] [setEndOfEncoderSampleIndex:];
            }
            objects { buffer, set_buffer: SampleBuffer, [sampleBuffer] [setSampleBuffer:]; }
        }

        super::descriptor_array::descriptor_array! { $array = $array_name, $attachment, MAX_ATTACHMENTS }

        #[doc = concat!("The properties of `", $name, "`.")]
        #[derive(Debug)]
        pub(crate) struct $ivars {
            dispatch_type: std::sync::Mutex<usize>,
            attachments: Retained<$array>,
        }

        impl Default for $ivars {
            fn default() -> Self {
                let attachments = $array::fresh();
                $ivars { dispatch_type: std::sync::Mutex::default(), attachments }
            }
        }

        impl $ivars {
            /// How dispatches follow each other; of blits it says nothing.
            pub(crate) fn dispatch_type(&self) -> usize {
                *super::descriptor::locked(&self.dispatch_type)
            }

            /// Where the pass samples the counters.
            pub(crate) fn samples(&self) -> Vec<Samples> {
                let attachments = self.attachments.ivars().known();
                let samples = attachments.iter().filter_map(|(_, attachment)| {
                    let properties = attachment.ivars();
                    let (start, end) = (properties.start(), properties.end());
                    Some(Samples { buffer: properties.buffer()?, start, end })
                });
                samples.collect()
            }
        }

        define_class!(
            // SAFETY: `NSObject` asks nothing of those below it.
            #[unsafe(super(objc2::runtime::NSObject))]
            #[name = $name]
            #[ivars = $ivars]
            #[derive(Debug)]
            $(#[$meta])*
            pub(crate) struct $pass;

            impl $pass {
                #[unsafe(method_id($($maker)+))]
                fn descriptor() -> Retained<Self> {
                    crate::foundation::object($ivars::default())
                }

                #[unsafe(method_id(init))]
                fn init(this: objc2::rc::Allocated<Self>) -> Retained<Self> {
                    crate::foundation::initialized(this, $ivars::default())
                }

                #[unsafe(method_id(copyWithZone:))]
                fn copy_with_zone(&self, _zone: *mut objc2::runtime::NSZone) -> Retained<Self> {
                    let own = self.ivars();
                    crate::foundation::object($ivars {
                        dispatch_type: std::sync::Mutex::new(own.dispatch_type()),
                        attachments: own.attachments.duplicate(),
                    })
                }

                #[unsafe(method_id(sampleBufferAttachments))]
                fn attachments(&self) -> Retained<$array> {
                    self.ivars().attachments.clone()
                }

                $($methods)*
            }
        );
    };
}

pass! {
    ComputePassAttachment = "MTLComputePassSampleBufferAttachmentDescriptor", ComputePassAttachmentProperties;
    ComputePassAttachments = "MTLComputePassSampleBufferAttachmentDescriptorArray";
    /// What compute pass to encode.
    ComputePassDescriptor = "MTLComputePassDescriptor", ComputePassProperties, [computePassDescriptor];
    methods {
        #[unsafe(method(dispatchType))]
        fn dispatch_type(&self) -> usize {
            self.ivars().dispatch_type()
        }

        #[unsafe(method(setDispatchType:))]
        fn set_dispatch_type(&self, value: usize) {
            *super::descriptor::locked(&self.ivars().dispatch_type) = value;
        }
    }
}

pass! {
    BlitPassAttachment = "MTLBlitPassSampleBufferAttachmentDescriptor", BlitPassAttachmentProperties;
    BlitPassAttachments = "MTLBlitPassSampleBufferAttachmentDescriptorArray";
    /// What blit pass to encode.
    BlitPassDescriptor = "MTLBlitPassDescriptor", BlitPassProperties, [blitPassDescriptor];
    methods {}
}
