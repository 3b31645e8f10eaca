//! What command buffers and the conversion of arguments refuse, before anything runs.

use std::sync::Arc;

use anymetal_core::stream::StreamOptions;
use anymetal_core::stream::context::Context;
use anymetal_core::submission::ExecError;
use anymetal_core::submission::argument::{Argument, ArgumentTarget, Inline};
use anymetal_hal::artifact::ArgumentKind;
use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::{Binding, BoundResource, Dispatch, Grid, IndirectDispatch};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_testing::null::NullDevice;

use crate::machine::{artifact, bytes, zeroed};

#[derive(Clone, Copy, bytemuck::NoUninit)]
#[repr(C)]
struct Setting {
    count: u32,
    scale: f32,
}

#[test]
fn values_that_a_declared_type_cannot_hold_are_refused() {
    let artifact = artifact();
    let kernel = artifact.kernel("scale").unwrap();
    let bind = |index, value: &dyn Argument| {
        let argument = kernel.argument(ArgumentKind::Buffer, index).unwrap();
        value.bind(ArgumentTarget::new(&kernel.name, argument))
    };
    let wrong = |index, value: &dyn Argument| match bind(index, value) {
        Err(DeviceError::WrongType { expected, got, .. }) => format!("{expected} from {got}"),
        other => panic!("{other:?}"),
    };
    assert_eq!(wrong(1, &((1u32 << 24) + 1)), "`float&` from the integer 16777217");
    assert_eq!(wrong(2, &1.0f32), "`int3&` from the number 1.0");
    assert_eq!(wrong(2, &[1i32, 2]), "`int3&` from an array of 2 values");
    assert_eq!(wrong(3, &Inline(&1u32)), "`Setting&` from `u32` of 4 bytes instead of 8");
    let bound = bind(3, &Inline(&Setting { count: 1, scale: 2.0 })).unwrap();
    assert!(matches!(bound, BoundResource::Bytes(bytes) if bytes == [1, 0, 0, 0, 0, 0, 0, 64]));
}

#[test]
fn a_refused_dispatch_is_not_encoded() {
    let device: Arc<dyn Device> = Arc::new(NullDevice::new());
    let stream = Context::new(Arc::clone(&device)).stream(StreamOptions::default()).unwrap();
    let scale = device.pipeline(&artifact(), "scale").unwrap();
    let values = zeroed(device.as_ref(), 400);
    let bound = |offset| {
        let resource = BoundResource::Buffer { buffer: Arc::clone(&values), offset, length: None };
        let values = Binding::new(0, resource);
        vec![values, bytes(1, 4), bytes(2, 16), bytes(3, 8)]
    };
    let in_groups_of = |group| Dispatch::new(Arc::clone(&scale), Grid::Threads([50, 1, 1]), [group, 1, 1]);
    let with = |bindings| in_groups_of(32).with_bindings(bindings);
    let mut command_buffer = stream.command_buffer().unwrap();
    let mut refused = |dispatch| command_buffer.encode(dispatch).unwrap_err();
    let surplus = refused(with([bound(0), vec![bytes(9, 4)]].concat()));
    assert!(matches!(surplus, DeviceError::SurplusArgument { index: 9, .. }));
    let missing = refused(with(vec![bound(0).remove(0)]));
    assert!(matches!(&missing, DeviceError::MissingArgument { index: 1, name, .. } if name == "factor"));
    assert!(matches!(refused(with(bound(401))), DeviceError::RangeOutsideBuffer { offset: 401, .. }));
    assert!(matches!(refused(with(bound(2))), DeviceError::MisalignedArgument { index: 0, .. }));
    let large = in_groups_of(1025).with_bindings(bound(0));
    assert!(matches!(refused(large), DeviceError::GroupTooLarge { .. }));
    let indirect = |bindings, offset| IndirectDispatch::new(with(bindings), Arc::clone(&values), offset);
    let outside = indirect(bound(0), 396).unwrap_err();
    assert!(matches!(outside, DeviceError::RangeOutsideBuffer { offset: 396, .. }));
    let missing = command_buffer.encode_indirect(indirect(Vec::new(), 388).unwrap()).unwrap_err();
    assert!(matches!(missing, DeviceError::MissingArgument { index: 0, .. }));
    assert!(command_buffer.is_empty());
    command_buffer.encode(with(bound(0))).unwrap();
    command_buffer.encode_indirect(indirect(bound(0), 388).unwrap()).unwrap();
    let empty = device.pipeline(&artifact(), "empty").unwrap();
    command_buffer.encode(Dispatch::new(empty, Grid::Threadgroups([4, 1, 1]), [32, 1, 1])).unwrap();
    assert_eq!(command_buffer.len(), 3);
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
