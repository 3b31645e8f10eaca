//! `MTLCounterSampleBuffer` and what describes it: the one set of counters here is the time.
//!
//! A sample is taken by a command of its own, in the order of the command buffer
//! ([`anymetal::CommandBuffer::sample_time`]), so all samples are taken at boundaries: of passes, dispatches
//! and blits. Invariant: a sample that was not taken yet is [`NO_SAMPLE`].

use anymetal::BufferSlice;
use anymetal::{Buffer as Memory, BufferDescriptor};
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::buffer::Buffer;
use super::commands::Commands;
use super::descriptor::descriptor;
use super::device::Device;
use super::resource_options::PRIVATE;
use super::{errors, violation};
use crate::foundation::data::NSData;
use crate::foundation::{NSArray, NSError, NSString, Range, constants};

/// `MTLCounterErrorValue`: what a sample holds that is none.
const NO_SAMPLE: u64 = u64::MAX;
/// `MTLCounterDontSample`: the index of a sample that is not taken.
pub(crate) const DONT_SAMPLE: usize = usize::MAX;

/// `MTLCounterSamplingPoint`: at the boundaries of stages, dispatches and blits.
pub(crate) const SAMPLING_POINTS: [usize; 3] = [0, 2, 4];

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalCounter"]
    #[derive(Debug)]
    pub(crate) struct Counter;

    impl Counter {
        #[unsafe(method_id(name))]
        fn name(&self) -> Retained<AnyObject> {
            constants::object("MTLCommonCounterTimestamp")
        }
    }
);

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalCounterSet"]
    #[derive(Debug)]
    pub(crate) struct CounterSet;

    impl CounterSet {
        #[unsafe(method_id(name))]
        fn name(&self) -> Retained<AnyObject> {
            constants::object("MTLCommonCounterSetTimestamp")
        }

        #[unsafe(method_id(counters))]
        fn counters(&self) -> Retained<NSArray> {
            let counter: Retained<Counter> = crate::foundation::object(());
            NSArray::of(vec![Retained::into_super(Retained::into_super(counter))])
        }
    }
);

impl CounterSet {
    /// The sets of a device; nothing if it does not sample its clock.
    pub(crate) fn all_of(device: &anymetal::Device) -> Option<Retained<NSArray>> {
        device.clock_ns().ok()?;
        let set: Retained<CounterSet> = crate::foundation::object(());
        Some(NSArray::of(vec![Retained::into_super(Retained::into_super(set))]))
    }
}

descriptor! {
    /// What sample buffer to make.
    SampleBufferDescriptor = "MTLCounterSampleBufferDescriptor", SampleBufferProperties;
    values {
        storage_mode, set_storage_mode: usize = 0, [storageMode] [setStorageMode:];
        sample_count, set_sample_count: usize = 0, [sampleCount] [setSampleCount:];
    }
    objects {
        counter_set, set_counter_set: CounterSet, [counterSet] [setCounterSet:];
        label, set_label: NSString = NSString::of(""), [label] [setLabel:];
    }
}

/// The instance variables of a sample buffer.
#[derive(Debug)]
pub(crate) struct SampleBufferIvars {
    device: Retained<Device>,
    label: Retained<NSString>,
    storage_mode: usize,
    samples: Memory<u64>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalCounterSampleBuffer"]
    #[ivars = SampleBufferIvars]
    #[derive(Debug)]
    pub(crate) struct SampleBuffer;

    impl SampleBuffer {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Retained<NSString> {
            self.ivars().label.clone()
        }

        #[unsafe(method(sampleCount))]
        fn sample_count(&self) -> usize {
            self.ivars().samples.len()
        }

        // Waits for work that has been handed over; nothing for private storage.
        #[unsafe(method_id(resolveCounterRange:))]
        fn resolve(&self, range: Range) -> Option<Retained<NSData>> {
            let SampleBufferIvars { samples, storage_mode, .. } = self.ivars();
            let range = self.checked("MTLCounterSampleBuffer resolveCounterRange:", range);
            let seen = samples.view(range).and_then(|view| view.read()).ok();
            seen.filter(|_| *storage_mode != PRIVATE).map(|samples| {
                let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_ne_bytes()).collect();
                NSData::of(&bytes)
            })
        }
    }
);

impl SampleBuffer {
    /// Makes one as a descriptor says.
    pub(crate) fn new(
        device: &Device,
        descriptor: &SampleBufferDescriptor,
    ) -> Result<Retained<SampleBuffer>, Retained<NSError>> {
        let properties = descriptor.ivars();
        let (count, storage_mode) = (properties.sample_count(), properties.storage_mode());
        if properties.counter_set().is_none() {
            return Err(errors::counter_invalid(
                "the descriptor of a counter sample buffer has no counter set",
            ));
        }
        if count == 0 {
            return Err(errors::counter_invalid("a counter sample buffer has at least one sample"));
        }
        device.inner().clock_ns().map_err(|error| errors::counter_invalid(&error.to_string()))?;
        let label = properties.label().unwrap_or_else(|| NSString::of(""));
        let mut values = Vec::new();
        values.try_reserve_exact(count).map_err(|error| errors::counter_memory(&error.to_string()))?;
        values.resize(count, NO_SAMPLE);
        let samples = device.inner().create_buffer(&BufferDescriptor::new(&values).label(label.to_string()));
        let samples = samples.map_err(|error| errors::counter_memory(&error.to_string()))?;
        let device = device.retain();
        Ok(crate::foundation::object(SampleBufferIvars { device, label, storage_mode, samples }))
    }

    fn checked(&self, method: &str, range: Range) -> std::ops::Range<usize> {
        let count = self.ivars().samples.len();
        range.within(count).unwrap_or_else(|| {
            violation(method, format_args!("{range:?} is not within a sample buffer of {count} samples"))
        })
    }

    /// The memory of samples, for a method that names them.
    fn region(&self, method: &str, range: Range) -> BufferSlice {
        let range = self.checked(method, range);
        let view = self.ivars().samples.view(range);
        view.unwrap_or_else(|error| violation(method, error)).region()
    }

    /// Encodes a sample, for a method that names it.
    pub(crate) fn sample(&self, method: &str, index: usize, commands: &Commands) {
        let region = self.region(method, Range { location: index, length: 1 });
        commands.encode(method, |commands| commands.sample_time(&region));
    }

    /// Encodes a copy of samples to a buffer.
    pub(crate) fn resolve_to(
        &self,
        method: &str,
        range: Range,
        (destination, offset): (&Buffer, usize),
        commands: &Commands,
    ) {
        let from = self.region(method, range);
        let to = destination.part(method, offset, range.length * size_of::<u64>());
        commands.encode(method, |commands| commands.blit_encoder().copy_region(&from, &to));
    }
}
