//! A submission is a future: under tokio, smol, and a plain `block_on`.

use std::sync::Arc;

use anymetal_core::stream::context::Context;
use anymetal_core::stream::group::StreamGroup;
use anymetal_core::stream::{Stream, StreamOptions};
use anymetal_core::submission::Outcome;
use anymetal_hal::buffer::Buffer;
use anymetal_hal::clock::{SystemClock, wait_for};

use crate::machine::{cpu, read, zeroed};

const REQUESTS: u64 = 300;

/// Sets one byte of a buffer, and awaits it.
async fn request(stream: Stream, buffer: Arc<dyn Buffer>, at: u64) -> Outcome {
    let mut command_buffer = stream.command_buffer_async().await.unwrap();
    command_buffer.blit().fill(&buffer, at..at + 1, at as u8 | 1).unwrap();
    let submission = command_buffer.commit();
    let (one, other) = (submission.clone(), submission);
    one.await?;
    // A second waiter, and one that comes late.
    other.clone().await?;
    other.await
}

/// Few command buffers, so that requests have to wait for them.
fn streams() -> (StreamGroup, Arc<dyn Buffer>) {
    let device = cpu();
    let options = StreamOptions::default().max_command_buffers(5).max_in_flight(2);
    let buffer = zeroed(device.as_ref(), REQUESTS);
    (StreamGroup::new(&Context::new(device), Some(3), &options).unwrap(), buffer)
}

fn check(buffer: &dyn Buffer) {
    let expected: Vec<u8> = (0..REQUESTS).map(|at| at as u8 | 1).collect();
    assert_eq!(read(buffer), expected);
}

#[test]
fn under_tokio() {
    let (group, buffer) = streams();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let spawn = |at| tokio::spawn(request(group.least_loaded().clone(), Arc::clone(&buffer), at));
        let tasks: Vec<_> = (0..REQUESTS).map(spawn).collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
    });
    group.drain().unwrap();
    check(buffer.as_ref());
}

#[test]
fn under_smol() {
    let (group, buffer) = streams();
    smol::block_on(async {
        let spawn = |at| smol::spawn(request(group.least_loaded().clone(), Arc::clone(&buffer), at));
        let tasks: Vec<_> = (0..REQUESTS).map(spawn).collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    check(buffer.as_ref());
}

#[test]
fn under_a_plain_block_on_and_from_many_threads() {
    let (group, buffer) = streams();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (group, buffer) = (&group, &buffer);
            scope.spawn(move || {
                for at in (0..REQUESTS).filter(|at| at % 3 == thread) {
                    let request = request(group.least_loaded().clone(), Arc::clone(buffer), at);
                    wait_for(&*SystemClock::shared(), None, request).unwrap().unwrap();
                }
            });
        }
    });
    check(buffer.as_ref());
}

#[test]
fn a_dropped_future_stops_the_wait_and_not_the_work() {
    let (group, buffer) = streams();
    let stream = &group.streams()[0];
    stream.pause();
    let mut command_buffer = stream.command_buffer().unwrap();
    command_buffer.blit().fill(&buffer, 0..1, 9).unwrap();
    let submission = command_buffer.commit();
    smol::block_on(async {
        let mut future = submission.clone();
        assert!(smol::future::poll_once(&mut future).await.is_none());
    });
    stream.resume();
    submission.wait().unwrap();
    assert_eq!(read(buffer.as_ref())[0], 9);
}
