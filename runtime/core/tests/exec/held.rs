//! Work that is held on the host uses its buffers: for reads, writes, mappings and the pool.

use std::sync::Arc;
use std::time::Duration;

use anymetal_core::memory::pool::{AcquireRequest, Pool, PoolOptions};
use anymetal_core::memory::staging::StagingRing;
use anymetal_core::memory::view::BufferView;
use anymetal_core::stream::context::Context;
use anymetal_core::stream::{Stream, StreamOptions};
use anymetal_core::submission::CommittedCommands;
use anymetal_core::tenant::{Tenant, TenantLimits};
use anymetal_hal::buffer::Buffer;
use anymetal_hal::buffer_uses::MapMode;
use anymetal_hal::clock::SystemClock;
use anymetal_hal::error::DeviceError;

use crate::machine::{cpu, read, zeroed};

const LONG: u64 = 4 << 20;

fn fill(stream: &Stream, buffer: &Arc<dyn Buffer>, value: u8) -> CommittedCommands {
    let mut command_buffer = stream.command_buffer().unwrap();
    command_buffer.blit().fill(buffer, 0..buffer.length(), value).unwrap();
    command_buffer.commit()
}

/// What a read after the work finds.
fn read_after(buffer: &Arc<dyn Buffer>) -> Vec<u8> {
    buffer.wait_for_work(None).unwrap();
    read(buffer.as_ref())
}

fn stream_of(context: &Context, options: StreamOptions) -> Stream {
    context.stream(options).unwrap()
}

#[test]
fn a_read_sees_work_that_waits_for_another_stream() {
    let device = cpu();
    let context = Context::new(Arc::clone(&device));
    let (first, second) =
        (stream_of(&context, StreamOptions::default()), stream_of(&context, StreamOptions::default()));
    let (slow, buffer) = (zeroed(device.as_ref(), LONG), zeroed(device.as_ref(), 4096));
    for round in 1..=20u8 {
        let before = fill(&first, &slow, round);
        let mut command_buffer = second.command_buffer().unwrap().after(&before);
        command_buffer.blit().fill(&buffer, 0..4096, round).unwrap();
        command_buffer.commit();
        assert!(read_after(&buffer).iter().all(|&byte| byte == round), "stale in round {round}");
    }
}

#[test]
fn a_read_sees_everything_of_a_stream_with_little_in_flight() {
    let device = cpu();
    let context = Context::new(Arc::clone(&device));
    let stream = stream_of(&context, StreamOptions::default().max_in_flight(2));
    let buffer = zeroed(device.as_ref(), 1 << 16);
    for round in 1..=200u8 {
        fill(&stream, &buffer, round);
    }
    assert!(read_after(&buffer).iter().all(|&byte| byte == 200));
    let limits = TenantLimits::new().in_flight(1);
    let tenant = Tenant::new("t", limits, SystemClock::shared());
    let options = || StreamOptions::default().tenant(Some(tenant.clone()));
    let (one, other) = (stream_of(&context, options()), stream_of(&context, options()));
    let slow = zeroed(device.as_ref(), LONG);
    for round in 1..=50u8 {
        fill(&one, &slow, round);
        fill(&other, &buffer, round);
        assert!(read_after(&buffer).iter().all(|&byte| byte == round), "stale in round {round}");
    }
}

#[test]
fn a_paused_stream_is_an_error_and_a_resumed_one_is_waited_for() {
    let device = cpu();
    let context = Context::new(Arc::clone(&device));
    let stream = stream_of(&context, StreamOptions::default().label("p"));
    let free = stream_of(&context, StreamOptions::default());
    let (buffer, other) = (zeroed(device.as_ref(), 64), zeroed(device.as_ref(), 64));
    stream.pause();
    let held = fill(&stream, &buffer, 1);
    let mut dependent = free.command_buffer().unwrap().after(&held);
    dependent.blit().fill(&other, 0..64, 2).unwrap();
    dependent.commit();
    let paused = DeviceError::HeldByPause { queue: "p".into() };
    assert!(!buffer.is_unused() && !buffer.wait_unused(Some(Duration::from_millis(1))));
    assert_eq!(buffer.wait_for_work(None), Err(paused.clone()));
    assert_eq!(other.wait_for_work(None), Err(paused), "what depends on it is held as well");
    let in_use = DeviceError::BufferInUse { label: String::new() };
    assert_eq!(Arc::clone(&buffer).map(0..64, MapMode::Read).map(drop), Err(in_use));
    stream.resume();
    assert_eq!((read_after(&buffer), read_after(&other)), (vec![1; 64], vec![2; 64]));
}

#[test]
fn cancelled_and_failed_work_uses_nothing() {
    let device = cpu();
    let context = Context::new(Arc::clone(&device));
    let stream = stream_of(&context, StreamOptions::default());
    let buffer = zeroed(device.as_ref(), 64);
    stream.pause();
    let held = fill(&stream, &buffer, 1);
    let mut dependent = stream_of(&context, StreamOptions::default()).command_buffer().unwrap().after(&held);
    dependent.blit().fill(&buffer, 0..64, 2).unwrap();
    let dependent = dependent.commit();
    held.cancel();
    assert!(dependent.wait().is_err() && buffer.wait_for_work(None).is_ok() && buffer.is_unused());
    assert_eq!(read(buffer.as_ref()), vec![0; 64]);
    // Dropped without a commit it never counts.
    let mut command_buffer = stream.command_buffer().unwrap();
    command_buffer.blit().fill(&buffer, 0..64, 3).unwrap();
    drop(command_buffer);
    assert!(buffer.is_unused());
}

#[test]
fn a_pool_keeps_a_block_that_held_work_uses() {
    let device = cpu();
    let context = Context::new(Arc::clone(&device));
    let pool = Pool::new(Arc::clone(&device), SystemClock::shared(), PoolOptions::default());
    let stream = stream_of(&context, StreamOptions::default());
    stream.pause();
    let acquired = pool.acquire(&AcquireRequest::new(1000)).unwrap();
    let address = acquired.whole().contents();
    let held = fill(&stream, acquired.whole(), 9);
    drop(acquired);
    let second = pool.acquire(&AcquireRequest::new(1000)).unwrap();
    assert_ne!(second.whole().contents(), address);
    stream.resume();
    held.wait().unwrap();
    // A device may let go of the block a moment after it tells that the work has ended.
    let mut others = Vec::new();
    let is_given_back = (0..500).any(|_| {
        let block = pool.acquire(&AcquireRequest::new(1000)).unwrap();
        let is_same = block.whole().contents() == address;
        others.push(block);
        if !is_same {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        is_same
    });
    assert!(is_given_back, "once the work has ended");
}

#[test]
fn an_upload_that_is_held_counts_for_its_destination() {
    let device = cpu();
    let context = Context::new(Arc::clone(&device));
    let ring = StagingRing::new(device.as_ref(), 4096).unwrap();
    let stream = stream_of(&context, StreamOptions::default());
    let buffer = zeroed(device.as_ref(), 256);
    stream.pause();
    let mut batch = ring.batch();
    batch.upload(&[7; 256], &BufferView::of(Arc::clone(&buffer))).unwrap();
    batch.commit(&stream, None).unwrap();
    assert!(!buffer.is_unused());
    stream.resume();
    assert_eq!(read_after(&buffer), vec![7; 256]);
}

#[test]
fn a_read_waits_for_an_event_that_another_thread_signals() {
    let device = cpu();
    let context = Context::new(Arc::clone(&device));
    let (waits, fills) =
        (stream_of(&context, StreamOptions::default().max_in_flight(1)), zeroed(device.as_ref(), 64));
    let event = context.event().unwrap();
    let mut command_buffer = waits.command_buffer().unwrap();
    command_buffer.wait_event(&event, 1).unwrap();
    command_buffer.commit();
    fill(&waits, &fills, 5);
    let in_use = DeviceError::BufferInUse { label: String::new() };
    assert_eq!(fills.wait_for_work(Some(Duration::from_millis(5))), Err(in_use), "not for ever");
    std::thread::scope(|scope| {
        let reads = scope.spawn(|| read_after(&fills));
        event.signal(1);
        assert_eq!(reads.join().unwrap(), vec![5; 64]);
    });
}

#[test]
fn work_that_is_committed_in_a_callback_is_not_missed() {
    let device = cpu();
    let context = Context::new(Arc::clone(&device));
    let (first, second) =
        (stream_of(&context, StreamOptions::default()), stream_of(&context, StreamOptions::default()));
    for round in 1..=50u8 {
        let (slow, buffer) = (zeroed(device.as_ref(), 4096), zeroed(device.as_ref(), 64));
        let (send, receive) = std::sync::mpsc::channel();
        let (stream, target) = (second.clone(), Arc::clone(&buffer));
        fill(&first, &slow, round).on_done(move |_| {
            fill(&stream, &target, round);
            send.send(()).unwrap();
        });
        receive.recv().unwrap();
        assert_eq!(read_after(&buffer), vec![round; 64]);
    }
}
