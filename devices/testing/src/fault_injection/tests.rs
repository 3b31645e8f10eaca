//! What fails and when, on the null device and by a hand-driven clock.

use std::time::Duration;

use super::*;
use crate::null::NullDevice;
use anymetal_hal::clock::ManualClock;
use anymetal_hal::command::{BufferFill, CommandList};
use anymetal_hal::completion::Completion;
use anymetal_hal::error::ErrorClass;
use anymetal_hal::queue::WhenFull;

fn wrapped(plan: FaultPlan) -> (FaultInjectingDevice, Arc<ManualClock>) {
    let clock = ManualClock::new();
    let null = Arc::new(NullDevice::with_clock(clock.clone()));
    (FaultInjectingDevice::new(null, plan, clock.clone()), clock)
}

fn outcomes(seed: u64) -> Vec<bool> {
    let completions = Faults::by_chance(200_000, &[ErrorClass::Transient, ErrorClass::Exhausted]);
    let (device, _clock) = wrapped(FaultPlan { seed, completions, ..FaultPlan::default() });
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let ends: Vec<bool> =
        (0..1000).map(|_| queue.submit(CommandList::default()).unwrap().wait().is_ok()).collect();
    let failed = ends.iter().filter(|good| !**good).count() as u64;
    assert_eq!(device.injected(), Injected { completions: failed, ..Injected::default() });
    assert!((120..280).contains(&failed), "{failed} of 1000 failed instead of about 200");
    ends
}

#[test]
fn the_seed_decides_what_fails() {
    assert_eq!(outcomes(1), outcomes(1));
    assert_ne!(outcomes(1), outcomes(2));
}

#[test]
fn a_loss_lasts_until_the_device_is_revived() {
    let allocations = Faults::at(1, ErrorClass::Lost);
    let (device, _clock) = wrapped(FaultPlan { allocations, ..FaultPlan::default() });
    let buffer = || device.buffer(&BufferDescriptor::shared(8)).map(drop);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    assert_eq!(buffer(), Ok(()));
    assert_eq!(buffer().unwrap_err().class(), ErrorClass::Lost);
    assert_eq!(buffer().unwrap_err().class(), ErrorClass::Lost);
    assert_eq!(queue.submit(CommandList::default()).unwrap_err().class(), ErrorClass::Lost);
    device.revive();
    assert_eq!(buffer(), Ok(()));
    queue.submit(CommandList::default()).unwrap().wait().unwrap();
}

#[test]
fn latencies_pass_by_the_clock_and_keep_the_order() {
    let latency = Duration::from_millis(10)..Duration::from_millis(30);
    let (device, clock) = wrapped(FaultPlan { latency, ..FaultPlan::default() });
    let when_full = WhenFull::Refuse;
    let descriptor = QueueDescriptor::default().max_in_flight(3).when_full(when_full);
    let queue = device.queue(&descriptor).unwrap();
    let ends: Vec<_> = (0..3).map(|_| queue.submit(CommandList::default()).unwrap()).collect();
    assert!(matches!(queue.submit(CommandList::default()), Err(DeviceError::QueueFull { limit: 3 })));
    clock.advance(Duration::from_millis(9));
    assert!(!ends[0].is_done());
    for done in 1..=3 {
        assert!(clock.advance_to_next_alarm());
        let ended: Vec<bool> = ends.iter().map(Completion::is_done).collect();
        assert_eq!(ended.iter().filter(|ended| **ended).count(), done);
        assert!(ended.is_sorted_by(|one, next| one >= next));
    }
    assert!(clock.now() >= Duration::from_millis(30) && queue.in_flight() == 0);
}

#[test]
fn hung_work_ends_when_hangs_are_ended_and_holds_back_what_is_behind_it() {
    let (device, clock) =
        wrapped(FaultPlan { hangs: Faults::at(1, ErrorClass::Lost), ..FaultPlan::default() });
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let ends: Vec<_> = (0..3).map(|_| queue.submit(CommandList::default()).unwrap()).collect();
    clock.advance(Duration::from_secs(3600));
    let done: Vec<bool> = ends.iter().map(Completion::is_done).collect();
    assert_eq!(done, [true, false, false]);
    device.end_hangs();
    let classes = ends.iter().map(|end| end.outcome().unwrap().err().map(|error| error.class()));
    assert_eq!(classes.collect::<Vec<_>>(), [None, Some(ErrorClass::Lost), None]);
    assert_eq!((device.injected().hangs, queue.in_flight()), (1, 0));
}

#[test]
fn results_are_wrong_and_writes_partial_in_what_commands_write() {
    let plan = FaultPlan {
        partial_writes: Faults::at(0, ErrorClass::Transient),
        wrong_results: Faults::at(0, ErrorClass::Transient),
        ..FaultPlan::default()
    };
    let (device, _clock) = wrapped(plan);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let buffer = device.buffer(&BufferDescriptor::shared(8)).unwrap();
    let fill = || {
        let fill = BufferFill::new(Arc::clone(&buffer), 2..6, 7).unwrap();
        CommandList::new(vec![Command::Fill(fill)])
    };
    let bytes = || {
        let mut bytes = [0; 8];
        buffer.read(0, &mut bytes).unwrap();
        bytes
    };
    assert_eq!(queue.submit(fill()).unwrap().wait().unwrap_err().class(), ErrorClass::Transient);
    assert_eq!(bytes(), [0; 8], "the null device wrote nothing, and the second half is as it was");
    queue.submit(fill()).unwrap().wait().unwrap();
    assert_eq!(bytes(), [0, 0, 255, 0, 0, 0, 0, 0], "the first byte of the range is inverted");
    queue.submit(fill()).unwrap().wait().unwrap();
    let expected = Injected { partial_writes: 1, wrong_results: 1, ..Injected::default() };
    assert_eq!(device.injected(), expected);
}
