//! Fault scripts: what simulated devices do, attempt by attempt.
//!
//! Owns [`Script`] and [`Device`]. The words of a device:
//!
//! | word | the attempt |
//! |---|---|
//! | `ok 5 ms` | succeeds after that time |
//! | `transient 5 ms`, `lost 5 ms`, `caller 5 ms` | fails so after that time, having written a part |
//! | `hang` | runs until its deadline, or 30 s, having written a part |
//! | `busy`, `queue-full` | is refused before it runs |
//! | `memory unless released` | is refused until idle memory was released, then takes 5 ms |
//! | `memory below level 2` | is refused at lower levels of degradation, else takes 5 ms |

use std::time::Duration;

use anymetal_hal::error::DeviceError;
use anymetal_policy::ladder::Failure;
use anymetal_service::config::Span;
use serde::Deserialize;

/// When a device stops work that has no deadline.
const WATCHDOG: Duration = Duration::from_secs(30);
/// How long work takes that has the memory that it needs.
const USUAL: Duration = Duration::from_millis(5);

/// Whether the simulated work may run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReplayWord {
    #[default]
    Idempotent,
    Restore,
    Once,
}

/// One row of the scripts.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Script {
    /// Calls one after the other.
    #[serde(default = "one")]
    pub(crate) calls: usize,
    /// Time between them.
    pub(crate) pause: Option<Span>,
    /// Rows of calls at once.
    #[serde(default = "one")]
    pub(crate) at_once: usize,
    #[serde(default)]
    pub(crate) replay: ReplayWord,
    /// The most degraded level that the work allows.
    #[serde(default = "most")]
    pub(crate) most_degraded: u8,
    pub(crate) gpu: Vec<String>,
    #[serde(default)]
    pub(crate) cpu: Vec<String>,
}

fn one() -> usize {
    1
}

fn most() -> u8 {
    u8::MAX
}

impl Script {
    pub(crate) fn devices(&self) -> Vec<Device> {
        let named = [("gpu", &self.gpu), ("cpu", &self.cpu)];
        let used = named.into_iter().filter(|(_, words)| !words.is_empty());
        used.map(|(name, words)| Device { name, words: words.clone(), next: 0, released: false }).collect()
    }
}

/// A simulated device.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) name: &'static str,
    words: Vec<String>,
    next: usize,
    released: bool,
}

/// What an attempt does: runs for some time, then ends. Refusals take no time and write nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) takes: Duration,
    pub(crate) ends: Result<(), Failure>,
}

impl Device {
    pub(crate) fn release_idle_memory(&mut self) {
        self.released = true;
    }

    /// The next attempt.
    pub(crate) fn attempt(&mut self, level: u8) -> Run {
        let word = &self.words[self.next.min(self.words.len() - 1)];
        self.next += 1;
        let (kind, rest) = word.split_once(' ').unwrap_or((word, ""));
        match kind {
            "ok" => Run { takes: time(rest), ends: Ok(()) },
            "memory" if self.has_memory(rest, level) => Run { takes: USUAL, ends: Ok(()) },
            "memory" => refused(&DeviceError::OutOfMemory { requested: 1 }),
            "busy" => refused(&DeviceError::Busy { device: self.name.to_owned(), what: "a submission" }),
            "queue-full" => refused(&DeviceError::QueueFull { limit: 1 }),
            "hang" => ran(WATCHDOG, &deadline_exceeded(WATCHDOG)),
            "transient" => ran(time(rest), &deadline_exceeded(time(rest))),
            "lost" => {
                let (device, reason) = (self.name.to_owned(), "by script".to_owned());
                ran(time(rest), &DeviceError::DeviceLost { device, reason })
            }
            "caller" => ran(time(rest), &DeviceError::FenceAcrossQueues),
            _ => panic!("`{word}` is no word of a script"),
        }
    }

    fn has_memory(&self, condition: &str, level: u8) -> bool {
        match condition.strip_prefix("below level ") {
            Some(needed) => level >= needed.parse().unwrap(),
            None => {
                assert_eq!(condition, "unless released");
                self.released
            }
        }
    }
}

/// The error of work that was stopped.
pub(crate) fn deadline_exceeded(after: Duration) -> DeviceError {
    DeviceError::DeadlineExceeded { kernel: Some("kernel".to_owned()), after }
}

fn refused(error: &DeviceError) -> Run {
    Run { takes: Duration::ZERO, ends: Err(Failure::refused(error)) }
}

fn ran(takes: Duration, error: &DeviceError) -> Run {
    Run { takes, ends: Err(Failure::ran(error)) }
}

fn time(text: &str) -> Duration {
    text.parse::<Span>().unwrap().0
}
