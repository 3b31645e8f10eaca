//! Copies between two cards: their way, their calls, what they refuse and what they give back.

use std::time::Duration;

use anymetal_hal::clock::ManualClock;
use anymetal_hal::peer::{CopyPath, PeerCopy, PeerLink, PeerTotals};
use anymetal_testing::null::NullDevice;

use super::*;
use crate::staging::HALF_BYTES;

struct Pair {
    from: Bench,
    to: Bench,
}

impl Pair {
    /// Two cards, of which the first reaches the second's memory or not.
    fn new(reaches: bool) -> Self {
        let pair = Pair { from: Bench::new(multiply), to: Bench::new(multiply) };
        if reaches {
            pair.from.driver.reach_peers();
        }
        pair
    }

    fn link(&self) -> Arc<dyn PeerLink> {
        self.from.device.link_to(&self.to.device).unwrap()
    }

    /// The calls of either card that the work takes.
    fn calls_of(&self, work: impl FnOnce()) -> [Vec<String>; 2] {
        let drivers = [&self.from.driver, &self.to.driver];
        let before = drivers.map(|driver| driver.all_calls().len());
        work();
        [0, 1].map(|index| drivers[index].all_calls().split_off(before[index]))
    }

    fn live(&self) -> [(usize, isize); 2] {
        [&self.from, &self.to].map(|bench| (bench.driver.live_allocations(), bench.driver.live_handles()))
    }
}

/// All of one buffer into the start of the other.
fn whole(from: &Arc<dyn Buffer>, to: &Arc<dyn Buffer>) -> PeerCopy {
    let (from, to, bytes) = (Arc::clone(from), Arc::clone(to), from.length());
    PeerCopy { from, from_offset: 0, to, to_offset: 0, bytes }
}

#[test]
fn a_card_that_reaches_the_other_copies_by_one_call() {
    let pair = Pair::new(true);
    let (from, to) = (pair.from.buffer(&[1, 2, 3, 4]), pair.to.buffer(&[9; 4]));
    let link = pair.link();
    assert_eq!(link.path(), CopyPath::Peer);
    let copy = PeerCopy { from_offset: 4, to_offset: 8, bytes: 8, ..whole(&from, &to) };
    let [calls, others] = pair.calls_of(|| assert_eq!(link.copy(&copy).unwrap().path, CopyPath::Peer));
    assert_eq!(calls[0], "peer copy 8");
    assert!(calls[1].starts_with("synchronise ") && calls.len() == 2, "{calls:?}");
    assert!(others.is_empty(), "{others:?}");
    assert_eq!(values(&to), [9, 9, 2, 3]);
    assert_eq!(values(&from), [1, 2, 3, 4]);
}

#[test]
fn a_card_that_does_not_reach_the_other_stages_in_halves_and_says_so() {
    let pair = Pair::new(false);
    let length = 2 * HALF_BYTES + 8;
    let numbers: Vec<u32> = (0..length as u32 / 4).map(|number| number.wrapping_mul(0x9e37_79b9)).collect();
    let from = pair.from.buffer(&numbers);
    let to = pair.to.device.buffer(&BufferDescriptor::shared(length)).unwrap();
    let link = pair.link();
    assert_eq!(link.path(), CopyPath::Staged);
    let [fills, empties] = pair.calls_of(|| {
        assert_eq!(link.copy(&whole(&from, &to)).unwrap().path, CopyPath::Staged);
    });
    let half = format!("copy {HALF_BYTES}");
    let expected = ["wait", &half, "record", "wait", &half, "record", "wait", "copy 8", "record"];
    for calls in [fills, empties] {
        assert_eq!(calls[..9], expected);
        assert!(calls[9].starts_with("synchronise ") && calls.len() == 10, "{calls:?}");
    }
    assert!(values(&to) == numbers, "the bytes arrive in their order");
}

#[test]
fn a_buffer_in_the_host_is_staged_memory_itself() {
    let pair = Pair::new(true);
    let (from, to) = (pair.from.buffer(&[5, 6]), pair.to.buffer(&[0, 0]));
    assert!(to.contents().is_some(), "it moves to the host");
    let link = pair.link();
    let [calls, _] = pair.calls_of(|| {
        assert_eq!(link.copy(&whole(&from, &to)).unwrap().path, CopyPath::Staged);
    });
    assert_eq!(calls[0], "copy 8");
    assert_eq!(values(&to), [5, 6]);
    let error = link.copy_by_driver(&whole(&from, &to)).unwrap_err();
    assert!(matches!(error, DeviceError::Unsupported { .. }), "{error}");
}

#[test]
fn a_copy_comes_after_the_work_that_was_submitted_before() {
    let pair = Pair::new(true);
    let (pipeline, from) = (pair.from.pipeline(), pair.from.buffer(&[7]));
    let to = pair.to.buffer(&[0]);
    let link = pair.link();
    for _ in 0..50 {
        let commands = vec![dispatch(&pipeline, &from, 3, 1)];
        from.write(0, &7u32.to_le_bytes()).unwrap();
        let work = pair.from.queue.submit(CommandList::new(commands)).unwrap();
        link.copy(&whole(&from, &to)).unwrap();
        assert_eq!(values(&to), [21]);
        work.wait().unwrap();
    }
}

#[test]
fn the_drivers_own_copy_does_the_same_and_is_not_counted() {
    let pair = Pair::new(false);
    let (from, to) = (pair.from.buffer(&[5, 6]), pair.to.buffer(&[0, 0]));
    let link = pair.link();
    let [calls, _] = pair.calls_of(|| {
        link.copy_by_driver(&whole(&from, &to)).unwrap();
    });
    assert_eq!(calls, ["peer copy 8 now"]);
    assert_eq!(values(&to), [5, 6]);
    assert_eq!(link.totals(), PeerTotals::default());
}

#[test]
fn copies_are_counted_with_their_time_by_the_devices_clock() {
    let clock = Arc::new(ManualClock::default());
    let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
    let mut pair = Pair::new(true);
    pair.from = Bench::with(multiply, &NvidiaOptions::default(), shared);
    pair.from.driver.reach_peers();
    let (from, to) = (pair.from.buffer(&[5, 6]), pair.to.buffer(&[0, 0]));
    let link = pair.link();
    assert_eq!(link.copy(&whole(&from, &to)).unwrap().elapsed, Duration::ZERO);
    link.copy(&PeerCopy { bytes: 0, ..whole(&from, &to) }).unwrap();
    assert!(link.copy(&PeerCopy { bytes: 9, ..whole(&from, &to) }).is_err());
    let totals = link.totals();
    assert_eq!((totals.copies, totals.bytes, totals.elapsed), (2, 8, Duration::ZERO));
}

#[test]
fn what_is_not_a_copy_between_the_two_is_refused_before_the_driver_is_asked() {
    let pair = Pair::new(true);
    let (from, to) = (pair.from.buffer(&[1, 2]), pair.to.buffer(&[0, 0]));
    let link = pair.link();
    let refused = |copy: PeerCopy| {
        let mut error = None;
        let calls = pair.calls_of(|| error = link.copy(&copy).err());
        assert!(calls.iter().all(Vec::is_empty), "{calls:?}");
        error.unwrap()
    };
    assert!(matches!(refused(whole(&to, &from)), DeviceError::WrongDevice { .. }));
    assert!(matches!(refused(whole(&from, &from)), DeviceError::WrongDevice { .. }));
    for copy in [
        PeerCopy { bytes: 9, ..whole(&from, &to) },
        PeerCopy { from_offset: 1, ..whole(&from, &to) },
        PeerCopy { to_offset: u64::MAX, ..whole(&from, &to) },
    ] {
        assert!(matches!(refused(copy), DeviceError::RangeOutsideBuffer { .. }));
    }
    let mapping = Arc::clone(&to).map(0..4, MapMode::Read).unwrap();
    let error = link.copy(&whole(&from, &to)).unwrap_err();
    assert!(matches!(error, DeviceError::BufferMapped { .. }), "{error}");
    drop(mapping);
    link.copy(&whole(&from, &to)).unwrap();
}

#[test]
fn only_two_cards_are_linked() {
    let pair = Pair::new(true);
    let within = pair.from.device.link_to(&pair.from.device).unwrap_err();
    assert!(matches!(within, DeviceError::Unsupported { .. }), "{within}");
    let other = NullDevice::default();
    let error = pair.from.device.link_to(&other).unwrap_err();
    assert!(error.to_string().contains(&format!("a link to `{}`", other.name())), "{error}");
    let error = other.link_to(&pair.from.device).unwrap_err();
    assert!(matches!(error, DeviceError::Unsupported { .. }), "{error}");
}

#[test]
fn a_link_that_cannot_be_made_gives_everything_back() {
    let pair = Pair::new(false);
    let before = pair.live();
    for (driver, calls) in [(&pair.from.driver, 6), (&pair.to.driver, 3)] {
        let mut failures = 0;
        loop {
            driver.fail_after(Some(failures));
            let made = pair.from.device.link_to(&pair.to.device);
            driver.fail_after(None);
            let Err(error) = made else { break };
            assert!(matches!(error, DeviceError::OutOfMemory { .. }), "{error}");
            assert_eq!(pair.live(), before, "{failures}");
            failures += 1;
        }
        assert_eq!(failures, calls, "each call was made to fail once");
    }
    assert_eq!(pair.live(), before, "a link gives everything back, too");
}

#[test]
fn after_an_error_what_was_put_is_waited_for_and_the_error_names_the_card() {
    let pair = Pair::new(false);
    let (from, to) = (pair.from.buffer(&[1, 2]), pair.to.buffer(&[0, 0]));
    let link = pair.link();
    pair.to.driver.fail(DriverError::Lost("it is gone".to_owned()));
    let [calls, _] = pair.calls_of(|| {
        let error = link.copy(&whole(&from, &to)).unwrap_err();
        assert!(matches!(error, DeviceError::DeviceLost { .. }), "{error}");
    });
    assert!(calls.last().unwrap().starts_with("synchronise "), "{calls:?}");
    assert_eq!(link.totals(), PeerTotals::default());
}
