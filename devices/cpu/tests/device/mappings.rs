//! Mappings: a host view of a buffer that no work, copy or other mapping meets.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::buffer::{Buffer, BufferDescriptor, StorageMode};
use anymetal_hal::buffer_uses::MapMode;
use anymetal_hal::command::{BufferFill, Command, CommandList};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::heap::HeapDescriptor;
use anymetal_hal::host_pages::HostPages;
use anymetal_hal::queue::QueueDescriptor;
use anymetal_testing::null::NullDevice;

fn cpu() -> CpuDevice {
    CpuDevice::new(&CpuDeviceOptions { threads: Some(2), ..CpuDeviceOptions::default() }).unwrap()
}

fn fill(buffer: &Arc<dyn Buffer>, value: u8) -> CommandList {
    let length = buffer.length();
    let fill = BufferFill::new(Arc::clone(buffer), 0..length, value).unwrap();
    CommandList::new(vec![Command::Fill(fill)])
}

fn mapped() -> DeviceError {
    DeviceError::BufferMapped { label: "b".into() }
}

/// The rules, on any device and buffer of 256 bytes with the label `b`.
fn keep_the_rules(device: &dyn Device, buffer: &Arc<dyn Buffer>) {
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let map = |range, mode| Arc::clone(buffer).map(range, mode);
    let mut mapping = map(64..192, MapMode::Write).unwrap();
    assert!(mapping.bytes().len() == 128 && mapping.bytes().as_ptr().addr().is_multiple_of(16));
    mapping.bytes_mut().unwrap().fill(7);
    let mut bytes = [0; 256];
    assert_eq!(buffer.read(0, &mut bytes), Err(mapped()), "the whole buffer is mapped");
    assert_eq!(buffer.write(0, &bytes), Err(mapped()));
    assert_eq!(map(0..1, MapMode::Read).map(drop), Err(mapped()));
    assert_eq!(queue.submit(fill(buffer, 1)).map(drop), Err(mapped()));
    drop(mapping);
    assert!(buffer.is_unused(), "what was refused does not use it");
    buffer.read(0, &mut bytes).unwrap();
    assert!(bytes[..64] == [0; 64] && bytes[64..192] == [7; 128] && bytes[192..] == [0; 64]);
    let (mut one, other) = (map(0..256, MapMode::Read).unwrap(), map(60..68, MapMode::Read).unwrap());
    assert!(one.bytes_mut().is_none() && other.bytes() == [0, 0, 0, 0, 7, 7, 7, 7]);
    assert!(one.bytes() == bytes && buffer.read(0, &mut bytes).is_ok());
    assert_eq!(buffer.write(0, &bytes), Err(mapped()));
    assert_eq!(map(0..1, MapMode::Write).map(drop), Err(mapped()));
    drop((one, other));
    queue.submit(fill(buffer, 1)).unwrap().wait().unwrap();
    assert!(map(0..0, MapMode::Read).unwrap().bytes().is_empty());
    let backwards = Range { start: 9, end: 8 };
    assert!(map(0..257, MapMode::Read).is_err() && map(backwards, MapMode::Read).is_err());
}

#[test]
fn every_kind_of_buffer_keeps_the_rules() {
    let descriptor = BufferDescriptor::shared(256).label("b");
    for device in [Box::new(cpu()) as Box<dyn Device>, Box::new(NullDevice::new())] {
        keep_the_rules(device.as_ref(), &device.buffer(&descriptor).unwrap());
        let imported = device.import(HostPages::zeroed(256).unwrap(), "b").unwrap();
        keep_the_rules(device.as_ref(), &imported);
        let heap = device.heap(&HeapDescriptor::new(4096)).unwrap();
        let _before = heap.buffer(&descriptor).unwrap();
        keep_the_rules(device.as_ref(), &heap.buffer(&descriptor).unwrap());
        let private = descriptor.clone().storage_mode(StorageMode::Private);
        let private = device.buffer(&private).unwrap();
        assert!(matches!(private.map(0..1, MapMode::Read), Err(DeviceError::Unsupported { .. })));
    }
}

#[test]
fn imported_pages_are_mapped_where_they_are() {
    let device = cpu();
    let mut pages = HostPages::zeroed(100).unwrap();
    pages.write(0, &[3; 100]).unwrap();
    let start = pages.start().addr();
    let buffer = device.import(pages, "pages").unwrap();
    let mapping = Arc::clone(&buffer).map(0..100, MapMode::Read).unwrap();
    assert!(mapping.bytes() == [3; 100] && mapping.bytes().as_ptr().addr() == start.get());
    drop(buffer);
    assert!(mapping.bytes() == [3; 100], "it keeps the buffer alive");
}

#[test]
fn work_in_flight_keeps_a_mapping_away_and_the_other_way_round() {
    let device = cpu();
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let buffer = device.buffer(&BufferDescriptor::shared(1 << 16)).unwrap();
    let stop = AtomicBool::new(false);
    let (mut submitted, mut mappings) = (0, 0);
    std::thread::scope(|scope| {
        let maps = scope.spawn(|| {
            let mut mappings = 0u32;
            while !stop.load(Ordering::Relaxed) {
                let Ok(mut mapping) = Arc::clone(&buffer).map(0..buffer.length(), MapMode::Write) else {
                    std::thread::yield_now();
                    continue;
                };
                let bytes = mapping.bytes_mut().unwrap();
                assert!(bytes.iter().all(|&byte| byte == bytes[0]), "half of a fill");
                bytes.fill(255);
                assert!(bytes.iter().all(|&byte| byte == 255), "somebody else wrote");
                mappings += 1;
            }
            mappings
        });
        let mut tries = 0u32;
        while submitted < 50 || tries < 2000 {
            tries += 1;
            match queue.submit(fill(&buffer, (tries % 200) as u8)) {
                Ok(completion) => {
                    submitted += 1;
                    completion.wait().unwrap();
                    std::thread::yield_now();
                }
                Err(error) => assert!(matches!(error, DeviceError::BufferMapped { .. }), "{error}"),
            }
        }
        stop.store(true, Ordering::Relaxed);
        mappings = maps.join().unwrap();
    });
    assert!(submitted >= 50 && mappings > 0, "{submitted} submitted, {mappings} mapped");
}
