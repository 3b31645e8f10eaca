//! What it costs to wait until a record is written before work begins.
//!
//! `cargo run --release -p anymetal-audit --example begin_cost [FOLDER]` prints the mean time of a record for
//! one and for eight threads. The folder (a temporary one by default) decides which disk is measured.
#![allow(clippy::print_stdout, reason = "an example reports to its terminal")]

use std::path::Path;
use std::time::{Duration, Instant};

use anymetal_audit::{AuditError, AuditLog, AuditOptions, Durability, Event};
use anymetal_hal::clock::SystemClock;

type Record = fn(&AuditLog, Event) -> Result<(), AuditError>;

const THREADS: [u32; 2] = [1, 8];

/// The mean time of a record, in microseconds, of threads that do nothing else.
fn measure(folder: &Path, durability: Durability, threads: u32, record: Record) -> Result<f64, AuditError> {
    let count = if durability == Durability::Disk { 200 } else { 5_000 };
    let options = AuditOptions { durability, ..AuditOptions::default() };
    let log = AuditLog::open(folder, options, SystemClock::shared())?;
    let start = Instant::now();
    std::thread::scope(|scope| {
        let log = &log;
        let run = move || {
            let event = || Event::Begin { execution: 0, work: "saxpy".to_owned() };
            (0..count).try_for_each(|_| record(log, event()))
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        running.into_iter().try_for_each(|thread| thread.join().expect("a thread panicked"))
    })?;
    let took: Duration = start.elapsed();
    log.close()?;
    Ok(took.as_secs_f64() * 1e6 / f64::from(count))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let temporary = tempfile::tempdir()?;
    let folder = std::env::args().nth(1).map_or_else(|| temporary.path().to_owned(), Into::into);
    let ways: [(&str, Durability, Record); 3] = [
        ("queued", Durability::System, AuditLog::record),
        ("written, `system`", Durability::System, AuditLog::record_and_wait),
        ("written, `disk`", Durability::Disk, AuditLog::record_and_wait),
    ];
    for (number, (name, durability, record)) in ways.into_iter().enumerate() {
        for threads in THREADS {
            let folder = folder.join(format!("log{number}-{threads}"));
            let micros = measure(&folder, durability, threads, record)?;
            println!("{name:<18} {threads} threads: {micros:>8.1} us a record of each thread");
        }
    }
    Ok(())
}
