//! When the rules of a dispatch are checked, and against what.

use std::sync::Arc;

use anymetal_hal::artifact::{
    AddressSpace, ArgumentInfo, ArgumentKind, Artifact, ArtifactCode, ArtifactTarget, ElementType,
    KernelInfo, ScalarType,
};
use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::command::{Binding, BoundResource, Command, CommandList, Dispatch, Grid, IndirectDispatch};
use anymetal_hal::device::Device as _;
use anymetal_hal::error::DeviceError;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::QueueDescriptor;
use anymetal_testing::null::NullDevice;
use anymetal_types::texture::BindingRole;

fn argument(index: u32, name: &str, slot: u32) -> ArgumentInfo {
    ArgumentInfo::new(ArgumentKind::Buffer, index, name)
        .address_space(AddressSpace::Device)
        .type_name("float")
        .element(ElementType::Scalar(ScalarType::F32))
        .element_size(4)
        .element_align(4)
        .min_bytes(4)
        .is_reference(true)
        .slot(slot)
}

/// `logs` has a log, which no program binds, and `meets` barriers of the grid.
fn pipeline(device: &NullDevice, kernel: &str) -> Arc<dyn Pipeline> {
    let mut logs = KernelInfo::new("logs", "logs");
    logs.arguments = vec![argument(0, "x", 0), argument(BindingRole::Log.index().unwrap(), "(log)", 1)];
    let mut meets = KernelInfo::new("meets", "meets");
    meets.grid_barriers = true;
    let artifact = Artifact::new(
        ArtifactTarget::Interpreter,
        ArtifactCode::Object(Arc::from(&b""[..])),
        vec![logs, meets],
    )
    .fingerprint("tests");
    device.pipeline(&Arc::new(artifact), kernel).unwrap()
}

fn bytes(index: u32) -> Binding {
    Binding::new(index, BoundResource::Bytes(vec![0; 4]))
}

#[test]
fn what_is_bound_late_is_required_by_the_device_alone() {
    let device = NullDevice::new();
    let log = BindingRole::Log.index().unwrap();
    let with = |bindings| {
        Dispatch::new(pipeline(&device, "logs"), Grid::Threads([8, 1, 1]), [8, 1, 1]).with_bindings(bindings)
    };
    let (early, complete) = (with(vec![bytes(0)]), with(vec![bytes(0), bytes(log)]));
    let limits = device.capabilities();
    assert_eq!(early.check(limits).unwrap().shape.unwrap().group_count, 1);
    let missing = early.check_complete(limits).unwrap_err();
    assert!(matches!(missing, DeviceError::MissingArgument { index, .. } if index == log));
    assert!(complete.check_complete(limits).is_ok());
    let short = Binding::new(log, BoundResource::Bytes(vec![0; 3]));
    let short = with(vec![bytes(0), short]).check_complete(limits).map(drop);
    assert!(matches!(short, Err(DeviceError::ArgumentTooShort { needs: 4, got: 3, .. })));
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let submit = |dispatch| {
        let commands = vec![Command::Dispatch(dispatch)];
        queue.submit(CommandList::new(commands)).map(drop)
    };
    assert!(matches!(submit(early), Err(DeviceError::MissingArgument { .. })));
    // Unchecked until here.
    assert!(matches!(submit(with(Vec::new())), Err(DeviceError::MissingArgument { index: 0, .. })));
    assert_eq!(submit(complete), Ok(()));
}

#[test]
fn a_check_that_succeeds_is_not_repeated_until_the_dispatch_changes() {
    let device = NullDevice::new();
    let narrow = device.capabilities().clone().max_threads_per_threadgroup(4);
    let dispatch = Dispatch::new(pipeline(&device, "logs"), Grid::Threads([8, 1, 1]), [8, 1, 1]);
    let dispatch = dispatch.with_bindings(vec![bytes(0)]);
    assert!(matches!(dispatch.check(&narrow), Err(DeviceError::GroupTooLarge { .. })));
    assert!(dispatch.check(device.capabilities()).is_ok());
    assert!(dispatch.check(&narrow).is_ok());
    let unbound = dispatch.with_bindings(Vec::new()).check(device.capabilities()).map(drop);
    assert!(matches!(unbound, Err(DeviceError::MissingArgument { index: 0, .. })));
}

#[test]
fn an_indirect_dispatch_is_not_cooperative_and_its_counts_are_within_their_buffer() {
    let device = NullDevice::new();
    let limits = device.capabilities();
    let counts = device.buffer(&BufferDescriptor::shared(16)).unwrap();
    let meets = || {
        let dispatch = Dispatch::new(pipeline(&device, "meets"), Grid::Threads([8, 1, 1]), [8, 1, 1]);
        dispatch.with_cooperation(true)
    };
    assert!(meets().check(limits).is_ok());
    let indirect = |offset| IndirectDispatch::new(meets(), Arc::clone(&counts), offset);
    let refused = indirect(4).unwrap().dispatch().check(limits).map(drop);
    assert_eq!(refused, Err(DeviceError::NotCooperative { kernel: "meets".into() }));
    assert!(matches!(indirect(2), Err(DeviceError::MisalignedCounts { offset: 2, .. })));
    assert!(matches!(indirect(8), Err(DeviceError::RangeOutsideBuffer { offset: 8, .. })));
    let shape = |counts| indirect(0).unwrap().shape(counts, limits);
    assert_eq!(shape([2, 3, 0]), Ok(None));
    assert_eq!(shape([2, 3, 1]).unwrap().unwrap().group_count, 6);
    assert!(matches!(shape([u32::MAX; 3]), Err(DeviceError::GridTooLarge { .. })));
}
