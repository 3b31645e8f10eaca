//! Commands on buffers of another device, as the last line of defence: submissions with such are refused.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::command::{BufferCopy, BufferFill};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::queue::Priority;
use anymetal_hal::time_sample::TimeSample;
use anymetal_testing::null::NullDevice;

use super::Executor;
use crate::config::CpuDeviceOptions;
use crate::device::CpuDevice;

fn zeroed(device: &dyn Device) -> Arc<dyn Buffer> {
    device.buffer(&BufferDescriptor::shared(16)).expect("16 bytes")
}

fn contents(buffer: &Arc<dyn Buffer>) -> [u8; 16] {
    let mut bytes = [0; 16];
    buffer.read(0, &mut bytes).expect("the buffer has 16 bytes");
    bytes
}

/// Runs `check` with an executor, and with a buffer of its device and of others.
fn with_foreign(check: impl Fn(&Executor<'_>, &Arc<dyn Buffer>, &Arc<dyn Buffer>)) {
    let device = CpuDevice::new(&CpuDeviceOptions { threads: Some(1), ..CpuDeviceOptions::default() });
    let other = CpuDevice::new(&CpuDeviceOptions { threads: Some(1), ..CpuDeviceOptions::default() });
    let (device, other) = (device.expect("a device"), other.expect("a second device"));
    let shared = &device.shared;
    let stop = AtomicU32::new(0);
    let executor = Executor {
        pool: &shared.pool,
        account: &shared.account,
        device: &shared.name,
        stop: &stop,
        priority: Priority::default(),
    };
    let own = zeroed(&device);
    for foreign in [zeroed(&other), zeroed(&NullDevice::new())] {
        check(&executor, &own, &foreign);
        assert_eq!(contents(&own), [0; 16]);
        assert_eq!(contents(&foreign), [0; 16]);
    }
}

fn wrong_device() -> DeviceError {
    DeviceError::WrongDevice { what: "buffer", device: "cpu".to_owned() }
}

#[test]
fn copies_from_and_to_another_device_are_errors() {
    with_foreign(|executor, own, foreign| {
        for (source, destination) in [(own, foreign), (foreign, own)] {
            let copy = BufferCopy::new(Arc::clone(source), 0..16, Arc::clone(destination), 0).unwrap();
            assert_eq!(executor.copy(&copy), Err(wrong_device()));
        }
    });
}

#[test]
fn fills_of_another_device_are_errors() {
    with_foreign(|executor, _, foreign| {
        let fill = BufferFill::new(Arc::clone(foreign), 0..16, 0xff).unwrap();
        assert_eq!(executor.fill(&fill), Err(wrong_device()));
    });
}

#[test]
fn timestamps_on_another_device_are_errors() {
    with_foreign(|executor, _, foreign| {
        let sample = TimeSample::new(Arc::clone(foreign), 8).unwrap();
        assert_eq!(executor.write_time(&sample, 7), Err(wrong_device()));
    });
}

#[test]
fn reads_of_another_device_or_beyond_a_buffer_are_errors() {
    with_foreign(|executor, own, foreign| {
        let mut bytes = [0xff; 8];
        assert_eq!(executor.bytes(foreign, 0, &mut bytes), Err(wrong_device()));
        let outside = DeviceError::RangeOutsideBuffer { offset: 12, len: 8, buffer_len: 16 };
        assert_eq!(executor.bytes(own, 12, &mut bytes), Err(outside));
        assert_eq!(bytes, [0xff; 8]);
        assert_eq!(executor.bytes(own, 8, &mut bytes), Ok(()));
        assert_eq!(bytes, [0; 8]);
    });
}
