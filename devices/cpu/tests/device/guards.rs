//! Memory of a device with guards lies where they are.

use anymetal_cpu::{CpuDevice, CpuDeviceOptions, Guard};
use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::device::Device;

/// No system has smaller pages.
const PAGE: usize = 4096;

#[test]
fn buffers_end_or_begin_with_a_page() {
    for guard in [Guard::Behind, Guard::Before] {
        let options =
            CpuDeviceOptions { threads: Some(1), guard: Some(guard), ..CpuDeviceOptions::default() };
        let device = CpuDevice::new(&options).unwrap();
        for length in [1, 12, 4096, 70_000, 5 << 20] {
            let buffer = device.buffer(&BufferDescriptor::shared(length)).unwrap();
            let mut bytes = vec![1; length as usize];
            buffer.read(0, &mut bytes).unwrap();
            assert!(bytes.iter().all(|&byte| byte == 0));
            bytes.fill(7);
            buffer.write(0, &bytes).unwrap();
            let start = buffer.contents().unwrap().addr().get();
            let edge = match guard {
                Guard::Behind => start + length as usize,
                Guard::Before => start,
            };
            assert!(edge.is_multiple_of(PAGE), "{guard:?} {length}");
        }
        assert_eq!(device.allocated_bytes(), 0);
    }
}
