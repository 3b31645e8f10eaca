//! Events between queues and the host.

use std::sync::mpsc::channel;
use std::task::{Wake, Waker};
use std::time::Duration;

use anymetal_hal::event::Event;
use anymetal_hal::queue::Cancellation;

use super::*;

struct Tell(std::sync::mpsc::Sender<u32>);

impl Wake for Tell {
    fn wake(self: Arc<Self>) {
        self.0.send(1).unwrap();
    }
}

fn commands(event: &Arc<dyn Event>, wait: u64, signal: u64) -> Vec<Command> {
    let of = || Arc::clone(event);
    vec![Command::WaitEvent { event: of(), value: wait }, Command::SignalEvent { event: of(), value: signal }]
}

#[test]
fn queues_wait_for_each_other_and_for_the_host() {
    let bench = Bench::new();
    let other = bench.device.queue(&QueueDescriptor::default()).unwrap();
    let event = bench.device.event().unwrap();
    let submit = |queue: &Arc<dyn Queue>, commands| {
        queue.submit(CommandList::new(commands)).unwrap()
    };
    let second = submit(&other, commands(&event, 2, 3));
    let first = submit(&bench.queue, commands(&event, 1, 2));
    assert!(!event.wait(2, Some(Duration::from_millis(5))) && !second.is_done());
    assert_eq!(bench.queue.cancel(&first), Cancellation::TooLate, "Metal takes nothing back");
    event.signal(1);
    assert!(event.wait(3, None));
    first.wait().unwrap();
    second.wait().unwrap();
    event.signal(2);
    assert_eq!(event.signaled_value(), 3, "a value never goes down");
    assert!(event.wait(3, Some(Duration::ZERO)));
}

#[test]
fn subscribers_are_woken_once_by_host_and_queue() {
    let bench = Bench::new();
    let event = bench.device.event().unwrap();
    let (sender, woken) = channel();
    let waker = || Waker::from(Arc::new(Tell(sender.clone())));
    let _first = event.subscribe(1, waker()).unwrap();
    let forgotten = event.subscribe(1, waker()).unwrap();
    let _later = event.subscribe(7, waker()).unwrap();
    event.unsubscribe(forgotten);
    event.signal(1);
    let soon = Duration::from_secs(30);
    woken.recv_timeout(soon).unwrap();
    let end = bench.queue.submit(CommandList::new(commands(&event, 1, 8)));
    end.unwrap().wait().unwrap();
    woken.recv_timeout(soon).unwrap();
    assert!(event.subscribe(8, waker()).is_none(), "it is reached");
    drop((event, sender));
    drop(bench);
    assert_eq!(woken.recv_timeout(soon).ok(), None, "once each, and the forgotten one not at all");
}
