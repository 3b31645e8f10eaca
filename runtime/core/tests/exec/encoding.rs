//! What encoders refuse, before anything runs.

use std::sync::Arc;

use anymetal_core::stream::StreamOptions;
use anymetal_core::stream::context::Context;
use anymetal_core::submission::ExecError;
use anymetal_core::submission::argument::Inline;
use anymetal_hal::buffer::Buffer;
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_testing::null::NullDevice;

use crate::machine::{artifact, zeroed};

#[derive(Clone, Copy, bytemuck::NoUninit)]
#[repr(C)]
struct Setting {
    count: u32,
    scale: f32,
}

#[test]
fn wrong_index_type_size_and_missing_arguments_are_errors_of_the_call() {
    let device: Arc<dyn Device> = Arc::new(NullDevice::new());
    let stream = Context::new(Arc::clone(&device)).stream(StreamOptions::default()).unwrap();
    let scale = device.pipeline(&artifact(), "scale").unwrap();
    let values = zeroed(device.as_ref(), 400);
    let mut command_buffer = stream.command_buffer().unwrap();
    let mut encoder = command_buffer.compute().pipeline(&scale);
    assert!(matches!(encoder.buffer(9, &values), Err(DeviceError::SurplusArgument { index: 9, .. })));
    assert!(matches!(encoder.buffer_range(0, &values, 0..401), Err(DeviceError::RangeOutsideBuffer { .. })));
    encoder.buffer_range(0, &values, 0..200).unwrap();
    let missing = encoder.dispatch_threads([50, 1, 1], [32, 1, 1]).map(drop);
    assert!(matches!(&missing, Err(DeviceError::MissingArgument { index: 1, name, .. }) if name == "factor"));
    let wrong = |result: Result<_, DeviceError>| match result {
        Err(DeviceError::WrongType { expected, got, .. }) => format!("{expected} from {got}"),
        Err(other) => panic!("{other}"),
        Ok(()) => panic!("taken"),
    };
    let inexact = encoder.argument(1, (1u32 << 24) + 1).map(drop);
    assert_eq!(wrong(inexact), "`float&` from the integer 16777217");
    assert_eq!(wrong(encoder.argument(2, 1.0f32).map(drop)), "`int3&` from the number 1.0");
    assert_eq!(wrong(encoder.argument(2, [1i32, 2]).map(drop)), "`int3&` from an array of 2 values");
    let short = encoder.argument(3, Inline(&1u32)).map(drop);
    assert_eq!(wrong(short), "`Setting&` from `u32` of 4 bytes instead of 8");
    let setting = Setting { count: 1, scale: 2.0 };
    encoder.argument(1, 2u32).unwrap().argument(2, [1, 2, 3]).unwrap();
    encoder.argument(3, Inline(&setting)).unwrap();
    let large = encoder.dispatch_threads([50, 1, 1], [1025, 1, 1]).map(drop);
    assert!(matches!(large, Err(DeviceError::GroupTooLarge { .. })));
    encoder.dispatch_threads([50, 1, 1], [32, 1, 1]).unwrap();
    encoder.dispatch_indirect(&values, 396, [32, 1, 1]).unwrap_err();
    encoder.dispatch_indirect(&values, 388, [32, 1, 1]).unwrap();
    // Another kernel keeps what fits it, and needs nothing.
    let empty = device.pipeline(&artifact(), "empty").unwrap();
    encoder.pipeline(&empty).dispatch_threadgroups([4, 1, 1], [32, 1, 1]).unwrap();
    assert_eq!(command_buffer.len(), 3, "what was refused is not encoded");
    command_buffer.commit().wait().unwrap();
}

#[test]
fn resources_of_another_device_are_refused_before_anything_runs() {
    let (one, other): (Arc<dyn Device>, Arc<dyn Device>) =
        (Arc::new(NullDevice::new()), Arc::new(NullDevice::new()));
    let stream = Context::new(Arc::clone(&one)).stream(StreamOptions::default()).unwrap();
    let foreign: Arc<dyn Buffer> = zeroed(other.as_ref(), 8);
    let mut command_buffer = stream.command_buffer().unwrap();
    command_buffer.blit().fill(&foreign, 0..8, 1).unwrap();
    let error = command_buffer.commit().wait().unwrap_err();
    let expected = DeviceError::WrongDevice { what: "buffer", device: "null".into() };
    assert_eq!(error, ExecError::Device(expected));
}
