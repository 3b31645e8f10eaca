//! Storage modes with their reasons, uploads and downloads by commands, through the public crate alone.

use std::sync::Arc;
use std::time::Duration;

use anymetal::config::{Layers, Size, Span};
use anymetal::error::{DeviceError, ErrorClass};
use anymetal::memory::{AccessFrequency, BufferUsage, MemoryError, ModeError, ModeRequest, StorageMode};
use anymetal::{BufferDescriptor, Device, Error, Queue};
use anymetal_hal::clock::ManualClock;
use anymetal_testing::null::NullDevice;

const DEVICE_ONLY: BufferUsage = BufferUsage::new(AccessFrequency::Never, AccessFrequency::Often);

/// A device whose staging ring has 4 KiB.
fn device() -> Device {
    let mut settings = Layers::default();
    settings.code.memory.staging_bytes = Some(Size(4096));
    settings.code.streams.wait = Some(Span(Duration::from_millis(50)));
    Device::with_settings(&settings).unwrap()
}

fn private(device: &Device, count: usize) -> anymetal::Buffer<u32> {
    device
        .create_buffer(&BufferDescriptor::zeroed(count).placed(DEVICE_ONLY, ModeRequest::Automatic))
        .unwrap()
}

fn numbers(count: usize, first: u32) -> Vec<u32> {
    (first..).take(count).collect()
}

#[test]
fn a_buffer_tells_where_it_is_and_why() {
    let device = device();
    let shared = device.buffer_zeroed::<u32>(4).unwrap();
    assert_eq!(shared.storage_mode(), StorageMode::Shared);
    assert!(shared.why().contains("share one memory"), "{}", shared.why());
    let private = private(&device, 4);
    assert_eq!(private.clone().storage_mode(), StorageMode::Private);
    assert!(private.why().contains("the host never touches it"), "{}", private.why());
    let acquired = device
        .create_buffer(
            &BufferDescriptor::<u32>::uninitialized(4).placed(DEVICE_ONLY, ModeRequest::Private).pooled(),
        )
        .unwrap();
    assert_eq!((acquired.storage_mode(), acquired.why()), (private.storage_mode(), private.why()));
    let both = BufferUsage::new(AccessFrequency::Often, AccessFrequency::Often);
    let refused = device
        .create_buffer(&BufferDescriptor::<u32>::zeroed(4).placed(both, ModeRequest::Private))
        .unwrap_err();
    let cannot_see = MemoryError::Mode(ModeError::HostCannotSee { instead: "shared" });
    assert_eq!(refused, Error::Memory(Box::new(cannot_see)));
    assert_eq!(refused.class(), ErrorClass::Caller);
}

#[test]
fn memory_of_its_own_is_used_where_it_pays() {
    let null = NullDevice::with_own_memory("discrete", ManualClock::new());
    let device = Device::from_hal(Arc::new(null));
    let uploaded = device.upload(&numbers(100, 0)).unwrap();
    assert_eq!(uploaded.storage_mode(), StorageMode::Private);
    assert!(uploaded.why().contains("one staged copy pays"), "{}", uploaded.why());
    assert!(matches!(uploaded.read(), Err(Error::Device(DeviceError::Unsupported { .. }))));
    assert_eq!(device.download(&uploaded).unwrap().len(), 100);
    let asked = device.buffer_zeroed::<u32>(4).unwrap();
    assert!(asked.why().contains("asked for it"), "{}", asked.why());
    // Here the host and the device share theirs.
    let uploaded = self::device().upload(&numbers(100, 7)).unwrap();
    assert_eq!((uploaded.storage_mode(), uploaded.read().unwrap()), (StorageMode::Shared, numbers(100, 7)));
}

#[test]
fn bytes_reach_memory_that_the_host_cannot_see_and_come_back() {
    let device = device();
    let queue = device.queue().unwrap();
    // Below the ring, at its size, and many times it.
    for count in [0, 1, 63, 1024, 1025, 50_001] {
        let (buffer, elements) = (private(&device, count), numbers(count, 5));
        assert!(count == 0 || buffer.read().is_err(), "the host must not see it, or this shows nothing");
        let all = buffer.view(0..count).unwrap();
        let uploaded = device.upload_to(&queue, &all, &elements).unwrap();
        let download = device.download_from(&queue, &all).unwrap();
        assert!(download.wait().unwrap() == elements, "{count}");
        uploaded.wait().unwrap();
        assert!(device.download(&buffer).unwrap() == elements, "{count}");
    }
    let buffer = private(&device, 10);
    let middle = buffer.view(3..6).unwrap();
    device.upload_to(&queue, &middle, &[1, 2, 3]).unwrap().wait().unwrap();
    assert_eq!(device.download(&buffer).unwrap(), [0, 0, 0, 1, 2, 3, 0, 0, 0, 0]);
    let wrong = device.upload_to(&queue, &middle, &[1, 2]).unwrap_err();
    assert_eq!(wrong, Error::RangeOutsideBuffer { start: 0, end: 2, len: 3 });
}

#[test]
fn uploads_of_many_threads_through_one_small_ring_do_not_mix() {
    let device = device();
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let device = &device;
            scope.spawn(move || {
                let (queue, buffer) = (device.queue().unwrap(), private(device, 700));
                let all = buffer.view(0..700).unwrap();
                for round in 0..50 {
                    let elements = numbers(700, thread * 1_000_000 + round * 1000);
                    device.upload_to(&queue, &all, &elements).unwrap();
                    assert!(device.download_from(&queue, &all).unwrap().wait().unwrap() == elements);
                }
            });
        }
    });
}

#[test]
fn a_download_can_be_awaited_and_a_cancelled_one_says_so() {
    let device = device();
    let (queue, buffer) = (device.queue().unwrap(), private(&device, 64));
    let all = buffer.view(0..64).unwrap();
    device.upload_to(&queue, &all, &numbers(64, 9)).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let got = runtime.block_on(device.download_from(&queue, &all).unwrap());
    assert_eq!(got.unwrap(), numbers(64, 9));
    queue.pause();
    let download = device.download_from(&queue, &all).unwrap();
    assert_eq!(queue.cancel_waiting(), 1);
    assert!(matches!(download.wait(), Err(Error::Exec(_))));
    queue.resume();
}

#[test]
fn a_ring_full_of_work_that_waits_is_a_typed_refusal_and_gives_its_bytes_back() {
    let device = device();
    let (queue, buffer) = (device.queue().unwrap(), private(&device, 4096));
    let all = buffer.view(0..4096).unwrap();
    queue.pause();
    let refused = device.upload_to(&queue, &all, &numbers(4096, 0)).unwrap_err();
    assert!(matches!(&refused, Error::Memory(error) if matches!(**error, MemoryError::RingFull { .. })));
    assert_eq!(refused.class(), ErrorClass::Exhausted);
    assert_eq!(queue.in_flight(), 0, "what was submitted of it is taken back");
    queue.resume();
    upload_and_check(&device, &queue);
}

/// The ring is as good as new.
fn upload_and_check(device: &Device, queue: &Queue) {
    let buffer = private(device, 4096);
    let all = buffer.view(0..4096).unwrap();
    device.upload_to(queue, &all, &numbers(4096, 1)).unwrap().wait().unwrap();
    assert!(device.download(&buffer).unwrap() == numbers(4096, 1));
}
