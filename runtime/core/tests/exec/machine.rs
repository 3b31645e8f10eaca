//! Devices for the tests.

use std::sync::Arc;
use std::time::Duration;

use anymetal_core::stream::context::Context;
use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::artifact::{
    Access, AddressSpace, ArgumentInfo, ArgumentKind, Artifact, ArtifactCode, ArtifactTarget, ElementType,
    KernelInfo, ScalarType,
};
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::clock::ManualClock;
use anymetal_hal::command::{Binding, BoundResource};
use anymetal_hal::device::Device;
use anymetal_testing::fault_injection::{FaultInjectingDevice, FaultPlan};
use anymetal_testing::null::NullDevice;

/// A null device on which everything takes a time, by a clock that the test moves.
pub(crate) struct Slow {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) device: FaultInjectingDevice,
    pub(crate) context: Context,
}

/// Each completion takes 10 ms.
pub(crate) fn slow() -> Slow {
    faulty(FaultPlan::default().latency(Duration::from_millis(10)..Duration::from_millis(10)))
}

/// A null device with that plan.
pub(crate) fn faulty(plan: FaultPlan) -> Slow {
    let clock = ManualClock::new();
    let null = Arc::new(NullDevice::with_clock(clock.clone()));
    let device = FaultInjectingDevice::new(null, plan, clock.clone());
    let context = Context::with(Arc::new(device.clone()), clock.clone(), None);
    Slow { clock, device, context }
}

/// The processor.
pub(crate) fn cpu() -> Arc<dyn Device> {
    let options = CpuDeviceOptions { threads: Some(2), ..CpuDeviceOptions::default() };
    Arc::new(CpuDevice::new(&options).unwrap())
}

/// A buffer of so many zero bytes.
pub(crate) fn zeroed(device: &dyn Device, length: u64) -> Arc<dyn Buffer> {
    device.buffer(&BufferDescriptor::shared(length)).unwrap()
}

/// All bytes of a buffer.
pub(crate) fn read(buffer: &dyn Buffer) -> Vec<u8> {
    let mut bytes = vec![0; buffer.length() as usize];
    buffer.read(0, &mut bytes).unwrap();
    bytes
}

/// `length` zero bytes in the command buffer.
pub(crate) fn bytes(index: u32, length: usize) -> Binding {
    Binding::new(index, BoundResource::Bytes(vec![0; length]))
}

/// Kernels that only the null device takes: they have arguments and no code.
pub(crate) fn artifact() -> Arc<Artifact> {
    let argument = |index, name: &str, type_name: &str, element: ElementType, size, reference| {
        ArgumentInfo::new(ArgumentKind::Buffer, index, name)
            .address_space(AddressSpace::Device)
            .type_name(type_name)
            .element(element)
            .element_size(size)
            .element_align(size.min(16))
            .min_bytes(if reference { size } else { 0 })
            .is_reference(reference)
            .access(Access::Read)
            .slot(index)
    };
    let mut kernel = KernelInfo::new("scale", "scale");
    kernel.arguments = vec![
        argument(0, "values", "float", ElementType::Scalar(ScalarType::F32), 4, false),
        argument(1, "factor", "float", ElementType::Scalar(ScalarType::F32), 4, true),
        argument(2, "offset", "int3", ElementType::Vector(ScalarType::I32, 3), 16, true),
        argument(3, "setting", "Setting", ElementType::Struct("Setting".into()), 8, true),
    ];
    Arc::new(
        Artifact::new(
            ArtifactTarget::Interpreter,
            ArtifactCode::Object(Arc::from(&b""[..])),
            vec![kernel, KernelInfo::new("empty", "empty")],
        )
        .fingerprint("tests"),
    )
}
