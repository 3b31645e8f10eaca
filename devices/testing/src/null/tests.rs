//! The null device keeps order, waits, deadlines and limits.

use std::time::Duration;

use super::*;
use anymetal_hal::clock::ManualClock;
use anymetal_hal::command::{BufferFill, Command, CommandList, DEFAULT_DEADLINE, Deadline, InvalidDeadline};
use anymetal_hal::completion::Completion;
use anymetal_hal::queue::{Cancellation, WhenFull};

#[test]
fn deadlines_of_clients_are_numbers_of_seconds_and_zero_is_none() {
    let deadline = Deadline::from_secs_f64;
    assert_eq!(deadline(1.5), Ok(Deadline::After(Duration::from_millis(1500))));
    assert_eq!((deadline(0.0), deadline(-0.0)), (Ok(Deadline::Never), Ok(Deadline::Never)));
    assert_eq!(deadline(1e-300), Ok(Deadline::After(Duration::from_nanos(1))));
    for refused in [-1.0, -1e-300, 1e300, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(deadline(refused), Err(InvalidDeadline(refused)));
    }
    assert!(deadline(f64::NAN).is_err());
    let never = Deadline::Never;
    assert_eq!((Deadline::Default.or(never), never.or(Deadline::After(Duration::ZERO))), (never, never));
}

fn waits(event: &Arc<dyn Event>, value: u64) -> CommandList {
    let commands = vec![Command::WaitEvent { event: Arc::clone(event), value }];
    CommandList::new(commands)
}

#[test]
fn everything_is_validated_and_ends_in_order() {
    let device = NullDevice::new();
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let (event, buffer) = (device.event().unwrap(), device.buffer(&BufferDescriptor::shared(8)).unwrap());
    let fill = |length| {
        let fill = BufferFill::new(Arc::clone(&buffer), 0..length, 7).unwrap();
        CommandList::new(vec![Command::Fill(fill)])
    };
    let outside = BufferFill::new(Arc::clone(&buffer), 0..9, 7).map(drop);
    assert!(matches!(outside, Err(DeviceError::RangeOutsideBuffer { .. })));
    let (first, second) = (queue.submit(waits(&event, 1)).unwrap(), queue.submit(fill(8)).unwrap());
    assert!(!second.is_done() && queue.in_flight() == 2 && !buffer.wait_unused(Some(Duration::ZERO)));
    event.signal(1);
    assert!(first.is_done() && second.is_done() && buffer.wait_unused(None));
    let mut bytes = [1; 8];
    buffer.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [0; 8], "it says that it runs nothing");
    let other = NullDevice::new().queue(&QueueDescriptor::default()).unwrap();
    assert!(matches!(other.submit(fill(8)), Err(DeviceError::WrongDevice { what: "buffer", .. })));
    drop(buffer);
    assert_eq!(device.allocated_bytes(), 0);
}

#[test]
fn a_wait_ends_at_its_deadline_or_when_it_is_taken_back() {
    let clock = ManualClock::new();
    let device = NullDevice::with_clock(clock.clone());
    let when_full = WhenFull::Refuse;
    let queue = device.queue(&QueueDescriptor::default().max_in_flight(2).when_full(when_full)).unwrap();
    let event = device.event().unwrap();
    let first = queue.submit(waits(&event, 1)).unwrap();
    let second = queue.submit(waits(&event, 2)).unwrap();
    assert_eq!(queue.submit(waits(&event, 3)).unwrap_err(), DeviceError::QueueFull { limit: 2 });
    clock.advance(DEFAULT_DEADLINE);
    let late = DeviceError::DeadlineExceeded { kernel: None, after: DEFAULT_DEADLINE };
    assert_eq!(first.outcome(), Some(Err(late)));
    assert_eq!(queue.cancel(&second), Cancellation::Removed);
    assert!(second.is_done() && queue.in_flight() == 0 && clock.next_alarm().is_none());
}

#[test]
fn a_chain_over_many_queues_needs_no_stack() {
    let device = NullDevice::new();
    let event = device.event().unwrap();
    let queues: Vec<_> = (0..20_000).map(|_| device.queue(&QueueDescriptor::default()).unwrap()).collect();
    let ends: Vec<_> = queues
        .iter()
        .zip(1..)
        .map(|(queue, value)| {
            let mut submission = waits(&event, value);
            submission.commands.push(Command::SignalEvent { event: Arc::clone(&event), value: value + 1 });
            queue.submit(submission).unwrap()
        })
        .collect();
    event.signal(1);
    assert!(ends.iter().all(Completion::is_done));
}
