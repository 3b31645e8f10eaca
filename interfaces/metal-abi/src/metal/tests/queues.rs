//! The limits of queues, and encoders that are given up.

use std::time::Duration;

use objc2::msg_send;
use objc2::rc::Retained;

use super::{Id, device, failure};

/// A reference that threads hand on.
struct Sent(Id);

// SAFETY: queues may be used from every thread, and reference counts are atomic.
unsafe impl Send for Sent {}

impl Sent {
    fn get(&self) -> &Id {
        &self.0
    }
}

#[test]
fn a_full_queue_waits_for_a_command_buffer_to_come_back() {
    let device = device();
    // SAFETY: the classes have these methods.
    let (queue, first): (Id, Id) = unsafe {
        let queue: Id = msg_send![&*device, newCommandQueueWithMaxCommandBufferCount: 1usize];
        let first = msg_send![&*queue, commandBuffer];
        (queue, first)
    };
    let (sender, receiver) = std::sync::mpsc::channel();
    let other = Sent(queue.clone());
    let waiting = std::thread::spawn(move || {
        // SAFETY: the class has the method.
        let second: Option<Id> = unsafe { msg_send![&**other.get(), commandBuffer] };
        sender.send(second.is_some()).unwrap();
    });
    assert!(receiver.recv_timeout(Duration::from_millis(100)).is_err(), "the queue is full");
    drop(first);
    assert_eq!(receiver.recv_timeout(Duration::from_secs(30)), Ok(true));
    waiting.join().unwrap();
}

#[test]
fn an_encoder_that_is_released_before_its_end_is_a_failure() {
    let device = device();
    // SAFETY: the classes have these methods.
    unsafe {
        let queue: Id = msg_send![&*device, newCommandQueue];
        let commands: Id = msg_send![&*queue, commandBuffer];
        let compute: Id = msg_send![&*commands, computeCommandEncoder];
        let given_up = failure(|| drop::<Retained<_>>(compute));
        assert!(given_up.contains("Command encoder released without endEncoding"), "{given_up}");
        let commands: Id = msg_send![&*queue, commandBuffer];
        let blit: Id = msg_send![&*commands, blitCommandEncoder];
        let given_up = failure(|| drop::<Retained<_>>(blit));
        assert!(given_up.contains("-[MTLBlitCommandEncoder dealloc]"), "{given_up}");
        let commands: Id = msg_send![&*queue, commandBuffer];
        let compute: Id = msg_send![&*commands, computeCommandEncoder];
        let odd = failure(|| msg_send![&*compute, setThreadgroupMemoryLength: 20usize, atIndex: 0usize]);
        assert!(odd.contains("length(20) must be a multiple of 16 bytes"), "{odd}");
        let () = msg_send![&*compute, endEncoding];
    }
}
