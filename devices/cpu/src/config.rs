//! The device's options and the environment variables that set them.
//!
//! Invariant: a variable that makes no sense is an
//! error that names it, never silently ignored.

use std::time::Duration;

use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::command::DEFAULT_DEADLINE;
use anymetal_hal::error::DeviceError;

use crate::capabilities;
use crate::guarded::Guard;
use crate::stack::WORKER_BYTES;

/// The most threads that may be asked for.
const MAX_THREADS: usize = 1024;

/// How a CPU device works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuDeviceOptions {
    /// Threads that compute at once; `None`: as many as the process may use processors.
    pub threads: Option<usize>,
    /// Whether each worker stays on a processor of its own; `None`: if there is a worker for every processor
    /// that the process may use. Unpinned workers often share a processor with the thread they help, and the
    /// work then takes twice as long (`examples/dispatch_latency.rs`).
    pub pin_workers: Option<bool>,
    /// The vector extension that code for the device keeps to, as `avx2`; `None`: the processor's widest. It
    /// is told as part of the architecture; the device runs what it is given.
    pub vector_extension: Option<&'static str>,
    /// How old the device is when it is made, as its clock counts: that of another process may have begun
    /// before.
    pub age: Duration,
    /// The deadline of submissions that do not give one.
    pub default_deadline: Duration,
    /// Whether a thread that waits for a completion runs the queue meanwhile.
    pub lend_waiting_threads: bool,
    /// Whether an inaccessible page lies directly beside each buffer and heap, each submission's inline bytes
    /// and each worker's memory (these two as near as the alignment to 64 bytes allows), and on which side.
    /// Code that reaches outside then ends the process, with checks of its own or without. For finding such
    /// code; every block takes pages of its own.
    pub guard: Option<Guard>,
}

impl Default for CpuDeviceOptions {
    fn default() -> Self {
        CpuDeviceOptions {
            threads: None,
            pin_workers: None,
            vector_extension: None,
            age: Duration::ZERO,
            default_deadline: DEFAULT_DEADLINE,
            lend_waiting_threads: true,
            guard: None,
        }
    }
}

impl CpuDeviceOptions {
    /// The defaults, changed by `ANYMETAL_CPU_THREADS` (a number), `ANYMETAL_CPU_PIN` (`0` or `1`) and
    /// `ANYMETAL_CPU_GUARD` (`behind` or `before`).
    pub fn from_environment() -> Result<Self, DeviceError> {
        Self::from_variables(anymetal_environment::text)
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, DeviceError> {
        let mut options = CpuDeviceOptions::default();
        if let Some(value) = variable("ANYMETAL_CPU_THREADS") {
            let threads = value.trim().parse().ok().filter(|threads| (1..=MAX_THREADS).contains(threads));
            let setting = "ANYMETAL_CPU_THREADS";
            let expected = "a number from 1 to 1024";
            options.threads =
                Some(threads.ok_or(DeviceError::InvalidSetting { setting, value, expected })?);
        }
        if let Some(value) = variable("ANYMETAL_CPU_PIN") {
            options.pin_workers = match value.trim() {
                "0" => Some(false),
                "1" => Some(true),
                _ => {
                    let (setting, expected) = ("ANYMETAL_CPU_PIN", "0 or 1");
                    return Err(DeviceError::InvalidSetting { setting, value, expected });
                }
            };
        }
        if let Some(value) = variable("ANYMETAL_CPU_GUARD") {
            options.guard = match value.trim() {
                "behind" => Some(Guard::Behind),
                "before" => Some(Guard::Before),
                _ => {
                    let (setting, expected) = ("ANYMETAL_CPU_GUARD", "`behind` or `before`");
                    return Err(DeviceError::InvalidSetting { setting, value, expected });
                }
            };
        }
        Ok(options)
    }

    /// The capabilities of the device that these options make, from queries of the machine.
    pub fn capabilities(&self) -> Capabilities {
        capabilities::query(self.resolved_threads(), self.vector_extension)
    }

    /// Bytes of address space for the stacks of the device's threads.
    pub fn stack_bytes(&self) -> u64 {
        (self.resolved_threads() as u64).saturating_mul(WORKER_BYTES as u64)
    }

    /// The number of threads to use.
    pub(crate) fn resolved_threads(&self) -> usize {
        let available = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.threads.unwrap_or_else(available).clamp(1, MAX_THREADS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &[(&str, &str)]) -> Result<CpuDeviceOptions, DeviceError> {
        let find =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        CpuDeviceOptions::from_variables(find)
    }

    #[test]
    fn variables_are_read_or_refused() {
        assert_eq!(from(&[]).unwrap(), CpuDeviceOptions::default());
        assert_eq!(from(&[("ANYMETAL_CPU_THREADS", " 3 ")]).unwrap().threads, Some(3));
        assert_eq!(from(&[("ANYMETAL_CPU_PIN", "0")]).unwrap().pin_workers, Some(false));
        assert_eq!(from(&[("ANYMETAL_CPU_GUARD", "before")]).unwrap().guard, Some(Guard::Before));
        assert!(from(&[("ANYMETAL_CPU_GUARD", "1")]).is_err());
        for value in ["0", "-1", "many", "", "1025"] {
            let error = from(&[("ANYMETAL_CPU_THREADS", value)]).unwrap_err();
            assert!(matches!(error, DeviceError::InvalidSetting { setting: "ANYMETAL_CPU_THREADS", .. }));
        }
    }
}
