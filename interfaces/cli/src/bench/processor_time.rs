//! Processor time of all threads of this process: what a busy machine distorts less than the clock on the
//! wall.
//!
//! It counts a runtime's threads that spin while they wait, which is what they cost.

use std::time::Duration;

/// The time so far; nothing where the system does not report it (anything but Linux). Threads that have ended
/// do not count, so the difference of two readings means something only while pools stay.
pub(super) fn so_far() -> Option<Duration> {
    let threads = std::fs::read_dir("/proc/self/task").ok()?;
    let time = |thread: std::io::Result<std::fs::DirEntry>| {
        let text = std::fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    };
    let total: Duration = threads.filter_map(time).sum();
    (!total.is_zero()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::so_far;
    use std::time::{Duration, Instant};

    #[test]
    fn work_takes_processor_time() {
        let Some(before) = so_far() else { return };
        let mut sum = 1u64;
        let start = Instant::now();
        // Long enough for a busy machine to let this thread run, and to account for it.
        while so_far().is_some_and(|now| now < before + Duration::from_millis(20)) {
            sum = std::hint::black_box(sum.wrapping_mul(3));
            assert!(start.elapsed() < Duration::from_secs(30), "no time is counted");
        }
    }
}
