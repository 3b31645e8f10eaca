//! Buffers and heaps.

use anymetal_hal::buffer_uses::MapMode;
use anymetal_hal::error::DeviceError;
use anymetal_hal::heap::HeapDescriptor;

use super::*;

#[test]
fn new_memory_is_zero_whatever_was_there() {
    let bench = Bench::new();
    for mode in [StorageMode::Shared, StorageMode::Managed, StorageMode::Private] {
        let heap = HeapDescriptor::new(1 << 16).storage_mode(mode).label("heap");
        let heap = bench.device.heap(&heap).unwrap();
        let descriptor = BufferDescriptor::shared(4001).storage_mode(mode).label("b");
        for _ in 0..3 {
            for buffer in [heap.buffer(&descriptor).unwrap(), bench.device.buffer(&descriptor).unwrap()] {
                assert_eq!((buffer.length(), buffer.storage_mode(), buffer.label()), (4001, mode, "b"));
                let seen = bench.device.buffer(&BufferDescriptor::shared(4001)).unwrap();
                let ones = bench.device.buffer(&BufferDescriptor::shared(4001)).unwrap();
                ones.write(0, &[1; 4001]).unwrap();
                let commands =
                    vec![copy((&buffer, 0), (&seen, 0), 4001), copy((&ones, 0), (&buffer, 0), 4001)];
                bench.run(commands).unwrap();
                let mut bytes = vec![9; 4001];
                seen.read(0, &mut bytes).unwrap();
                assert!(bytes.iter().all(|byte| *byte == 0), "{mode:?}");
            }
        }
        assert_eq!(heap.used_bytes(), 0, "buffers gave their ranges back");
    }
}

#[test]
fn memory_is_counted_and_goes_with_its_last_handle() {
    let bench = Bench::new();
    assert_eq!(bench.device.allocated_bytes(), 0);
    let (empty, private) = (bench.device.buffer(&BufferDescriptor::default()).unwrap(), bench.private(64));
    assert_eq!((empty.length(), bench.device.allocated_bytes()), (0, 64));
    assert!(private.contents().is_none());
    assert!(matches!(private.read(0, &mut [0]), Err(DeviceError::Unsupported { .. })));
    let heap = bench.device.heap(&HeapDescriptor::new(4096)).unwrap();
    let inside = heap.buffer(&BufferDescriptor::shared(1024)).unwrap();
    assert_eq!((heap.length(), bench.device.allocated_bytes()), (4096, 64 + 4096));
    assert!(heap.used_bytes() >= 1024 && heap.largest_free_bytes() <= 3072);
    let full = heap.buffer(&BufferDescriptor::shared(8192)).map(drop).unwrap_err();
    assert!(matches!(full, DeviceError::HeapFull { requested: 8192, length: 4096, .. }), "{full:?}");
    drop(heap);
    inside.write(0, &[1; 1024]).unwrap();
    drop((inside, private));
    assert_eq!(bench.device.allocated_bytes(), 0);
    let limit = bench.device.capabilities().max_buffer_bytes;
    let beyond = bench.device.buffer(&BufferDescriptor::shared(limit + 1)).map(drop).unwrap_err();
    assert_eq!(beyond, DeviceError::BufferTooLarge { requested: limit + 1, limit });
}

#[test]
fn large_memory_is_in_the_residency_set_while_it_lives() {
    let bench = Bench::new();
    // Systems before macOS 15 have no such sets.
    let Some(before) = bench.device.resident_allocations() else { return };
    let _small = bench.buffer(&[1]);
    let large = bench.device.buffer(&BufferDescriptor::shared(2 << 20)).unwrap();
    let heap = bench.device.heap(&HeapDescriptor::new(4096)).unwrap();
    assert_eq!(bench.device.resident_allocations(), Some(before + 2));
    drop((large, heap));
    assert_eq!(bench.device.resident_allocations(), Some(before));
}

#[test]
fn mappings_are_the_memory_itself_and_exclude_work() {
    let bench = Bench::new();
    let (pipeline, x) = (bench.pipeline("scale"), bench.buffer(&[1, 2, 3]));
    let mut mapping = Arc::clone(&x).map(4..12, MapMode::Write).unwrap();
    assert_eq!(mapping.bytes(), [2, 0, 0, 0, 3, 0, 0, 0]);
    mapping.bytes_mut().unwrap()[0] = 9;
    let refused = bench.run(vec![scale(&pipeline, &x, 1, 1)]);
    assert!(matches!(refused, Err(DeviceError::BufferMapped { .. })));
    assert_eq!(bench.queue.in_flight(), 0, "what is refused takes no place");
    drop(mapping);
    bench.run(vec![scale(&pipeline, &x, 2, 3)]).unwrap();
    assert_eq!(values(&x), [2, 18, 6]);
    let mut mapping = Arc::clone(&x).map(0..4, MapMode::Read).unwrap();
    assert!(mapping.bytes_mut().is_none());
}
