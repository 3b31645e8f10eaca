//! Pools, views and staging on the CPU device, with submitted work in flight.

use std::sync::Arc;
use std::time::Duration;

use anymetal_core::memory::MemoryError;
use anymetal_core::memory::pool::{AcquireRequest, Pool, PoolLimits, PoolOptions};
use anymetal_core::memory::staging::StagingRing;
use anymetal_core::memory::view::BufferView;
use anymetal_hal::buffer::{BufferDescriptor, StorageMode};
use anymetal_hal::capabilities::DeviceKind;
use anymetal_hal::clock::SystemClock;
use anymetal_hal::command::{Command, CommandList};
use anymetal_hal::device::Device;
use anymetal_hal::error::{DeviceError, ErrorClass};
use anymetal_hal::host_pages::HostPages;
use anymetal_hal::queue::QueueDescriptor;
use anymetal_testing::fault_injection::{FaultInjectingDevice, FaultPlan, Faults};

use crate::machine::cpu as device;

fn submission(commands: Vec<Command>) -> CommandList {
    CommandList::new(commands)
}

#[test]
fn a_block_is_not_reused_while_a_queue_still_writes_it() {
    let device = device();
    let pool = Pool::new(Arc::clone(&device), SystemClock::shared(), PoolOptions::default());
    let (queue, event) = (device.queue(&QueueDescriptor::default()).unwrap(), device.event().unwrap());
    let first = pool.acquire(&AcquireRequest::new(1000)).unwrap();
    let start = first.whole().contents();
    let commands = vec![Command::WaitEvent { event: Arc::clone(&event), value: 1 }, first.view().fill(7)];
    let completion = queue.submit(submission(commands)).unwrap();
    drop(first);
    let second = pool.acquire(&AcquireRequest::new(1000)).unwrap();
    assert_ne!(second.whole().contents(), start);
    event.signal(1);
    completion.wait().unwrap();
    let third = pool.acquire(&AcquireRequest::new(1000)).unwrap();
    assert_eq!(third.whole().contents(), start);
    assert_eq!(pool.stats().hits, 1);
}

#[test]
fn a_throttled_acquire_waits_for_submitted_work() {
    let device = device();
    let limits = PoolLimits { max_buffers: 1, ..PoolLimits::default() };
    let options = PoolOptions { limits, ..PoolOptions::default() };
    let pool = Pool::new(Arc::clone(&device), SystemClock::shared(), options);
    let (queue, event) = (device.queue(&QueueDescriptor::default()).unwrap(), device.event().unwrap());
    let first = pool.acquire(&AcquireRequest::new(64)).unwrap();
    let commands = vec![Command::WaitEvent { event: Arc::clone(&event), value: 1 }, first.view().fill(1)];
    let _completion = queue.submit(submission(commands)).unwrap();
    drop(first);
    assert_eq!(pool.acquire(&AcquireRequest::new(64)).unwrap_err(), MemoryError::PoolBuffers { limit: 1 });
    let waits = std::thread::spawn({
        let pool = pool.clone();
        move || pool.acquire_within(&AcquireRequest::new(64), Duration::from_secs(60)).map(drop)
    });
    event.signal(1);
    waits.join().unwrap().unwrap();
}

#[test]
fn views_copy_and_fill_their_ranges_only() {
    let device = device();
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let whole = BufferView::of(device.buffer(&BufferDescriptor::shared(64)).unwrap());
    let (left, right) = (whole.slice(8..24).unwrap(), whole.slice(40..56).unwrap());
    left.write(0, &[3; 16]).unwrap();
    let commands = vec![left.copy_to(&right).unwrap(), right.slice(4..8).unwrap().fill(9)];
    queue.submit(submission(commands)).unwrap().wait().unwrap();
    let mut bytes = [0; 64];
    whole.read(0, &mut bytes).unwrap();
    let expected: Vec<u8> = (0..64)
        .map(|at| match at {
            44..48 => 9,
            8..24 | 40..56 => 3,
            _ => 0,
        })
        .collect();
    assert_eq!(bytes[..], expected);
    assert!(left.overlaps(&whole) && !left.overlaps(&right));
}

#[test]
fn views_outside_or_askew_are_refused() {
    let device = device();
    let buffer = device.buffer(&BufferDescriptor::shared(64).label("x"));
    let whole = BufferView::of(buffer.unwrap());
    let inner = whole.slice(16..48).unwrap();
    assert_eq!(inner.slice(30..33).unwrap_err().to_string(), "bytes 30..33 are not within `x` of 32 bytes");
    #[expect(clippy::reversed_empty_ranges, reason = "that is the mistake under test")]
    let reversed = inner.slice(9..3);
    assert!(matches!(reversed, Err(MemoryError::ViewOutside { .. })));
    assert!(matches!(inner.slice(u64::MAX - 1..u64::MAX), Err(MemoryError::ViewOutside { .. })));
    assert!(inner.clone().of_elements(16).is_ok());
    let askew = inner.slice(4..32).unwrap().of_elements(16).unwrap_err();
    assert!(matches!(askew, MemoryError::ViewMisaligned { offset: 20, len: 28, size: 16, .. }));
    assert!(matches!(inner.read(31, &mut [0; 2]), Err(MemoryError::ViewOutside { .. })));
    let lengths = inner.copy_to(&whole).unwrap_err();
    assert_eq!(lengths, MemoryError::CopyLengths { source_len: 32, destination_len: 64 });
    let overlap = whole.slice(0..32).unwrap().copy_to(&inner).unwrap_err();
    assert!(matches!(overlap, MemoryError::Device(DeviceError::OverlappingCopy { .. })));
}

#[test]
fn uploads_reach_private_buffers_and_the_ring_is_used_again() {
    let device = device();
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let ring = StagingRing::new(&*device, 4096).unwrap();
    let private = BufferDescriptor::shared(64 * 1024).storage_mode(StorageMode::Private);
    let target = BufferView::of(device.buffer(&private).unwrap());
    let pattern: Vec<u8> = (0..64 * 1024u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for (number, piece) in pattern.chunks(1000).enumerate() {
        let range = target.slice(number as u64 * 1000..number as u64 * 1000 + piece.len() as u64).unwrap();
        let mut batch = ring.batch();
        while let Err(error) = batch.upload(piece, &range) {
            assert!(matches!(error, MemoryError::RingFull { .. }), "{error}");
            let Some(oldest) = ring.oldest_in_flight() else {
                // All have ended since, so there is room.
                batch.upload(piece, &range).expect("only submitted uploads fill it");
                break;
            };
            oldest.wait().unwrap();
        }
        batch.submit(|commands| queue.submit(submission(commands))).unwrap();
    }
    let back = BufferView::of(device.buffer(&BufferDescriptor::shared(64 * 1024)).unwrap());
    queue.submit(submission(vec![target.copy_to(&back).unwrap()])).unwrap().wait().unwrap();
    let mut bytes = vec![0; 64 * 1024];
    back.read(0, &mut bytes).unwrap();
    assert!(bytes == pattern, "the uploaded bytes differ");
    let too_large = ring.batch().upload(&[0; 5000], &target.slice(0..5000).unwrap());
    assert_eq!(too_large, Err(MemoryError::RingTooSmall { requested: 5000, capacity: 4096 }));
    // A batch that is never submitted leaves the ring as it was.
    for _ in 0..10 {
        ring.batch().upload(&[1; 4096], &target.slice(0..4096).unwrap()).unwrap();
    }
}

#[test]
fn host_pages_become_a_buffer_in_place_or_come_back() {
    let device = device();
    let before = device.allocated_bytes();
    let mut pages = HostPages::from_reader([7u8; 50_000].as_slice(), 50_000).unwrap();
    let start = pages.start();
    let view = match device.import(pages, "weights") {
        Ok(buffer) => BufferView::of(buffer),
        Err(mut refused) if device.capabilities().kind != DeviceKind::Cpu => {
            assert!(matches!(refused.error, DeviceError::Unsupported { .. }), "{refused}");
            assert_eq!((refused.pages.start(), refused.pages.length()), (start, 50_000));
            return;
        }
        Err(refused) => panic!("{refused}"),
    };
    assert_eq!((view.buffer().contents(), view.length()), (Some(start), 50_000));
    assert_eq!((view.buffer().label(), device.allocated_bytes()), ("weights", before));
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let commands = vec![view.slice(40_000..50_000).unwrap().fill(9)];
    queue.submit(submission(commands)).unwrap().wait().unwrap();
    let mut bytes = vec![0; 50_000];
    view.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [vec![7; 40_000], vec![9; 10_000]].concat());
    let allocations = Faults::at(0, ErrorClass::Exhausted);
    let plan = FaultPlan::default().allocations(allocations);
    let full = FaultInjectingDevice::new(device, plan, SystemClock::shared());
    let refused = full.import(HostPages::zeroed(100).unwrap(), "weights").unwrap_err();
    assert_eq!((refused.pages.length(), refused.error.class()), (100, ErrorClass::Exhausted), "{refused}");
}
