//! What the device refuses, and how Metal's failures arrive.

use std::time::Duration;

use anymetal_hal::artifact::ArtifactTarget;
use anymetal_hal::capabilities::DeviceKind;
use anymetal_hal::command::Deadline;
use anymetal_hal::error::{DeviceError, ErrorClass};
use anymetal_hal::queue::Priority;

use super::*;

#[test]
fn what_metal_cannot_promise_is_said_and_refused() {
    let bench = Bench::new();
    let limits = bench.device.capabilities();
    assert_eq!((bench.device.name(), limits.kind), ("apple:0", DeviceKind::Apple));
    let promises = [limits.checks_accesses, limits.supports_deadlines, limits.supports_cancellation];
    assert_eq!(promises, [false; 3]);
    let (pipeline, x) = (bench.pipeline("scale"), bench.buffer(&[1]));
    let submission = |deadline| CommandList::new(vec![scale(&pipeline, &x, 2, 1)]).deadline(deadline);
    let refused = bench.queue.submit(submission(Deadline::After(Duration::from_secs(5)))).map(drop);
    let told =
        "apple:0 does not support a deadline of 5 s; leave it out: the system stops what takes too long";
    assert_eq!(refused.unwrap_err().to_string(), told);
    bench.queue.submit(submission(Deadline::Never)).unwrap().wait().unwrap();
    assert_eq!(values(&x), [2]);
    let urgent = QueueDescriptor::default().priority(Priority::High);
    assert!(matches!(bench.device.queue(&urgent), Err(DeviceError::Unsupported { .. })));
}

#[test]
fn checks_and_the_sanitizer_are_refused_by_name() {
    use anymetal::{CheckMode, CompileOptions, LibraryDescriptor};
    let device = anymetal::Device::from_hal(Arc::new(Bench::new().device));
    for mode in [CheckMode::Bounds, CheckMode::Sanitize] {
        let options = CompileOptions::new().check_mode(mode);
        let refused = device.create_library(&LibraryDescriptor::from_source("kernel void k() {}").options(&options)).unwrap_err();
        assert!(refused.to_string().contains("run the kernel on the device `cpu`"), "{refused}");
    }
    assert!(device.library_from_source("kernel void k() {}").unwrap().pipeline("k").is_ok());
}

#[test]
fn things_of_another_device_are_refused() {
    let (bench, other) = (Bench::new(), Bench::new());
    let (pipeline, x) = (bench.pipeline("scale"), bench.buffer(&[1]));
    let foreign = |command| bench.run(vec![command]).unwrap_err().to_string();
    let event = other.device.event().unwrap();
    let fence = other.device.fence().unwrap();
    let all = [
        (scale(&pipeline, &other.buffer(&[1]), 1, 1), "buffer"),
        (scale(&other.pipeline("scale"), &x, 1, 1), "pipeline"),
        (Command::SignalEvent { event, value: 1 }, "event"),
        (Command::WaitFence(fence), "fence"),
    ];
    for (command, what) in all {
        assert_eq!(foreign(command), format!("a {what} of another device was used with apple:0"));
    }
}

#[test]
fn code_for_others_and_source_that_metal_refuses_is_unloadable() {
    let bench = Bench::new();
    let mut wrong = Artifact::clone(&artifact("scale"));
    wrong.target = ArtifactTarget::Interpreter;
    let refused = bench.device.pipeline(&Arc::new(wrong), "scale").map(drop).unwrap_err();
    assert!(refused.to_string().contains("this is an Apple GPU"), "{refused}");
    let mut broken = Artifact::clone(&artifact("scale"));
    let anymetal_hal::artifact::ArtifactCode::Source(source) = &broken.code else { unreachable!() };
    let mut source = anymetal_hal::metal_source::MetalSource::clone(source);
    source.text = Arc::from("kernel void scale(device uint* x) { x[0] = unknown; }");
    broken.code = anymetal_hal::artifact::ArtifactCode::Source(Arc::new(source));
    let refused = bench.device.pipeline(&Arc::new(broken), "scale").map(drop).unwrap_err();
    assert!(matches!(&refused, DeviceError::UnloadableCode { kernel, .. } if kernel == "scale"), "{refused}");
    assert!(refused.to_string().contains("unknown"), "the compiler's own words: {refused}");
    let missing = bench.device.pipeline(&artifact("scale"), "other").map(drop).unwrap_err();
    assert!(matches!(missing, DeviceError::UnknownKernel { .. }));
}

#[test]
fn captures_are_made_or_refused_with_the_reason() {
    let bench = Bench::new();
    let folder = tempfile::tempdir().unwrap();
    match bench.device.capture(&folder.path().join("work.gputrace")) {
        Ok(capture) => drop(capture),
        Err(refused) => {
            assert!(refused.to_string().contains("work.gputrace"), "{refused}");
            assert!(matches!(refused, DeviceError::Unsupported { .. }));
        }
    }
}

/// Of a real GPU a page beyond a buffer may be another's, so this is for Metal's API over anymetal only.
#[cfg(not(target_vendor = "apple"))]
#[test]
fn a_page_fault_arrives_with_its_code_and_class_and_later_work_runs() {
    let bench = Bench::new();
    let (pipeline, x) = (bench.pipeline("scale"), bench.buffer(&[1]));
    // Metal's bounds are those of pages (decision 0025).
    let submission = CommandList::new(vec![scale(&pipeline, &x, 2, 16384 / 4 + 1)]).label("strays");
    let error = bench.queue.submit(submission).unwrap().wait().unwrap_err();
    let told = error.to_string();
    assert!(told.starts_with("apple:0: the command buffer `strays` failed with a page fault: "), "{told}");
    assert!(told.contains("argument 0 `x`"), "{told}");
    assert_eq!(error.class(), ErrorClass::Caller);
    bench.run(vec![scale(&pipeline, &x, 3, 1)]).unwrap();
    assert_eq!(values(&x), [6]);
}
