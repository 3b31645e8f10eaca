//! Counter sample buffers: samples at the boundaries of passes, dispatches and blits, and their results.

use objc2::rc::Retained;
use objc2::runtime::AnyObject;
use objc2::{class, msg_send};

use super::{Id, Setup, buffer, commit_and_wait, contents, failure, line, pipeline};
use crate::foundation::data::NSData;
use crate::foundation::{NSArray, NSError, NSString, Range};

/// What a sample holds that was not taken.
const NO_SAMPLE: u64 = u64::MAX;

fn descriptor(device: &AnyObject, count: usize) -> Id {
    // SAFETY: the classes have these methods.
    unsafe {
        let sets: Retained<NSArray> = msg_send![device, counterSets];
        let set = sets.elements().remove(0);
        let descriptor: Id = msg_send![class!(MTLCounterSampleBufferDescriptor), new];
        let () = msg_send![&*descriptor, setCounterSet: &*set];
        let () = msg_send![&*descriptor, setSampleCount: count];
        descriptor
    }
}

fn made(device: &AnyObject, descriptor: &AnyObject) -> Result<Id, Retained<NSError>> {
    let mut error: *mut NSError = std::ptr::null_mut();
    // SAFETY: the class has the method; what it writes is an object.
    unsafe {
        let made: Option<Id> =
            msg_send![device, newCounterSampleBufferWithDescriptor: descriptor, error: &mut error];
        made.ok_or_else(|| Retained::retain(error).expect("an error"))
    }
}

fn resolved(samples: &AnyObject, location: usize, length: usize) -> Option<Vec<u64>> {
    // SAFETY: the class has the method.
    let data: Option<Retained<NSData>> =
        unsafe { msg_send![samples, resolveCounterRange: Range { location, length }] };
    // SAFETY: the class has these methods, and so many bytes.
    let bytes = unsafe {
        let data = data?;
        let start: *const std::ffi::c_void = msg_send![&*data, bytes];
        let length: usize = msg_send![&*data, length];
        std::slice::from_raw_parts(start.cast::<u8>(), length).to_vec()
    };
    Some(bytes.as_chunks().0.iter().map(|sample| u64::from_ne_bytes(*sample)).collect())
}

/// A descriptor of a pass that samples at its begin and end.
fn pass(class: &objc2::runtime::AnyClass, samples: &AnyObject, [start, end]: [usize; 2]) -> Id {
    // SAFETY: the classes have these methods.
    unsafe {
        let pass: Id = msg_send![class, new];
        let attachments: Id = msg_send![&*pass, sampleBufferAttachments];
        let attachment: Id = msg_send![&*attachments, objectAtIndexedSubscript: 0usize];
        let () = msg_send![&*attachment, setSampleBuffer: samples];
        let () = msg_send![&*attachment, setStartOfEncoderSampleIndex: start];
        let () = msg_send![&*attachment, setEndOfEncoderSampleIndex: end];
        // A copy has attachments of its own.
        let copy: Id = msg_send![&*pass, copy];
        let () = msg_send![&*attachment, setEndOfEncoderSampleIndex: 1000usize];
        copy
    }
}

#[test]
fn the_one_counter_set_is_the_time_and_it_is_sampled_at_passes_dispatches_and_blits() {
    let setup = Setup::new();
    // SAFETY: the classes have these methods.
    unsafe {
        let sets: Retained<NSArray> = msg_send![&*setup.device, counterSets];
        let [set] = &*sets.elements() else { panic!("one set") };
        let name: Retained<NSString> = msg_send![&**set, name];
        let counters: Retained<NSArray> = msg_send![&**set, counters];
        let counter: Retained<NSString> = msg_send![&*counters.elements()[0], name];
        assert_eq!((name.to_string(), counter.to_string()), ("timestamp".into(), "GPUTimestamp".into()));
        let points: [bool; 5] =
            [0usize, 1, 2, 3, 4].map(|point| msg_send![&*setup.device, supportsCounterSampling: point]);
        assert_eq!(points, [true, false, true, false, true]);
    }
}

#[test]
fn samples_are_in_the_order_of_the_commands_and_are_resolved_on_both_sides() {
    let setup = Setup::new();
    let (commands, x, to) =
        (setup.command_buffer(), buffer(&setup.device, 1 << 16), buffer(&setup.device, 16));
    let samples = made(&setup.device, &descriptor(&setup.device, 8)).unwrap();
    let fill = pipeline(&setup.device, &setup.library, "fill");
    let compute = pass(class!(MTLComputePassDescriptor), &samples, [0, 3]);
    let blit = pass(class!(MTLBlitPassDescriptor), &samples, [4, 6]);
    let (mut host, mut before, mut after) = (0u64, 0u64, 0u64);
    // SAFETY: the classes have these methods.
    unsafe {
        let () = msg_send![&*setup.device, sampleTimestamps: &mut host, gpuTimestamp: &mut before];
        let encoder: Id = msg_send![&*commands, computeCommandEncoderWithDescriptor: &*compute];
        let () = msg_send![&*encoder, setComputePipelineState: &*fill];
        let () = msg_send![&*encoder, setBuffer: &*x, offset: 0usize, atIndex: 0usize];
        for sample in [1usize, 2] {
            let () = msg_send![&*encoder, dispatchThreads: line(1 << 16), threadsPerThreadgroup: line(32)];
            let () = msg_send![&*encoder, sampleCountersInBuffer: &*samples, atSampleIndex: sample, withBarrier: true];
        }
        let () = msg_send![&*encoder, endEncoding];
        let encoder: Id = msg_send![&*commands, blitCommandEncoderWithDescriptor: &*blit];
        let () =
            msg_send![&*encoder, fillBuffer: &*x, range: Range { location: 0, length: 4096 }, value: 1u8];
        let () = msg_send![&*encoder, sampleCountersInBuffer: &*samples, atSampleIndex: 5usize, withBarrier: false];
        // Before the pass's end is sampled.
        let () = msg_send![&*encoder, resolveCounters: &*samples, inRange: Range { location: 2, length: 5 }, destinationBuffer: &*to, destinationOffset: 8usize];
        let () = msg_send![&*encoder, endEncoding];
        assert_eq!(commit_and_wait(&commands), 4);
        let () = msg_send![&*setup.device, sampleTimestamps: &mut host, gpuTimestamp: &mut after];
    }
    let found = resolved(&samples, 0, 8).unwrap();
    assert!(found[..7].is_sorted() && before <= found[0] && found[6] <= after, "{before} {found:?} {after}");
    assert!(found[1] > found[0] && found[2] > found[1], "{found:?}: dispatches take time");
    assert_eq!(found[7], NO_SAMPLE);
    assert_eq!(resolved(&samples, 2, 3).unwrap(), found[2..5]);
    // The times of the command buffer are by the same clock.
    // SAFETY: the class has these methods.
    let (start, end): (f64, f64) =
        unsafe { (msg_send![&*commands, GPUStartTime], msg_send![&*commands, GPUEndTime]) };
    assert!(start * 1e9 <= found[0] as f64 + 1.0 && found[6] as f64 <= end * 1e9 + 1.0, "{start} {end}");
    let words = contents(&to, 16);
    let copied: Vec<u64> = words
        .as_chunks()
        .0
        .iter()
        .map(|&[low, high]| u64::from(low as u32) | u64::from(high as u32) << 32)
        .collect();
    assert_eq!(copied, [0, found[2], found[3], found[4], found[5], NO_SAMPLE, 0, 0]);
}

#[test]
fn a_pass_samples_only_where_an_index_is_set() {
    let setup = Setup::new();
    let samples = made(&setup.device, &descriptor(&setup.device, 2)).unwrap();
    let none = usize::MAX;
    for (indices, taken) in
        [([none, none], [false, false]), ([none, 1], [false, true]), ([0, none], [true, true])]
    {
        let (commands, pass) =
            (setup.command_buffer(), pass(class!(MTLComputePassDescriptor), &samples, indices));
        // SAFETY: the classes have these methods.
        unsafe {
            let encoder: Id = msg_send![&*commands, computeCommandEncoderWithDescriptor: &*pass];
            let () = msg_send![&*encoder, endEncoding];
        }
        commit_and_wait(&commands);
        let found = resolved(&samples, 0, 2).unwrap();
        assert_eq!([found[0] != NO_SAMPLE, found[1] != NO_SAMPLE], taken, "{indices:?}");
    }
}

#[test]
fn what_cannot_be_sampled_or_made_says_why() {
    let setup = Setup::new();
    // SAFETY: the classes have these methods; breaking a rule is answered by a failure.
    unsafe {
        let without: Id = msg_send![class!(MTLCounterSampleBufferDescriptor), new];
        let () = msg_send![&*without, setSampleCount: 4usize];
        let label: Retained<NSString> = msg_send![&*without, label];
        assert_eq!(label.to_string(), "");
        let refused = [made(&setup.device, &without), made(&setup.device, &descriptor(&setup.device, 0))];
        let codes = refused.map(|made| {
            let error = made.expect_err("it is refused");
            let code: isize = msg_send![&*error, code];
            (code, error.text())
        });
        assert!(codes[0].0 == 1 && codes[0].1.contains("counter set"), "{codes:?}");
        assert!(codes[1].0 == 1 && codes[1].1.contains("at least one sample"), "{codes:?}");
        let huge = made(&setup.device, &descriptor(&setup.device, usize::MAX / 8)).expect_err("too many");
        let code: isize = msg_send![&*huge, code];
        assert_eq!(code, 0);

        let private = descriptor(&setup.device, 4);
        let () = msg_send![&*private, setStorageMode: 2usize];
        let samples = made(&setup.device, &private).unwrap();
        assert_eq!(resolved(&samples, 0, 4), None);
        let outside = failure(|| drop(resolved(&samples, 2, 3)));
        assert!(outside.contains("resolveCounterRange:") && outside.contains("4 samples"), "{outside}");
        let commands = setup.command_buffer();
        let encoder: Id = msg_send![&*commands, blitCommandEncoder];
        let outside = failure(
            || msg_send![&*encoder, sampleCountersInBuffer: &*samples, atSampleIndex: 4usize, withBarrier: true],
        );
        assert!(outside.contains("atSampleIndex:") && outside.contains("4 samples"), "{outside}");
        let small = buffer(&setup.device, 7);
        let whole = Range { location: 0, length: 4 };
        let small = failure(
            || msg_send![&*encoder, resolveCounters: &*samples, inRange: whole, destinationBuffer: &*small, destinationOffset: 0usize],
        );
        assert!(small.contains("resolveCounters:") && small.contains("28 bytes"), "{small}");
        let () = msg_send![&*encoder, endEncoding];
        let attachments: Id = msg_send![class!(MTLComputePassSampleBufferAttachmentDescriptorArray), new];
        let fifth = failure(|| drop::<Id>(msg_send![&*attachments, objectAtIndexedSubscript: 4usize]));
        assert!(fifth.contains("not below 4"), "{fifth}");
    }
}
