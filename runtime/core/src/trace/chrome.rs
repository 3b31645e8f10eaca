//! The trace file: Chrome's JSON array of events, which Perfetto reads.
//!
//! One process for the device, one thread for each stream. A submission is a slice, its commands are slices
//! inside it; an arrow leads from each submission to those that ran after it, and from each signal to the
//! waits that it met; counters tell how many submissions wait and run, and how much memory buffers take.
//! Invariant: times are microseconds since the first submission was handed over, and slices of one thread
//! never overlap without containing each other, since a queue runs one submission after the other. Events are
//! written one by one, so that a long trace takes no more memory as a file than it has.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use anymetal_hal::completion::Timing;
use anymetal_hal::device::Device;
use serde_json::{Value, json};

use crate::trace::{EventKey, TracedSubmission};

/// The one process.
const PROCESS: u32 = 1;

pub(crate) fn write(
    device: &dyn Device,
    submissions: &[Arc<TracedSubmission>],
    left_out: usize,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let ran = || submissions.iter().filter_map(|submission| Some((submission, submission.timing?)));
    let zero = ran().map(|(_, timing)| timing.submitted_ns).min().unwrap_or_default();
    let other = json!({ "submissions_left_out": left_out });
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{other},\"traceEvents\":[")?;
    let mut writer = Writer { zero, out, written: 0, arrows: 0 };
    writer.names(device, submissions)?;
    ran().try_for_each(|(submission, timing)| writer.submission(submission, timing))?;
    let mut failed = submissions.iter().filter(|submission| submission.failure.is_some());
    failed.try_for_each(|failed| writer.failure(failed))?;
    writer.dependencies(submissions)?;
    writer.events(submissions)?;
    writer.counters(submissions)?;
    out.write_all(b"]}\n")
}

struct Writer<'a> {
    zero: u64,
    out: &'a mut dyn io::Write,
    /// Events so far.
    written: u64,
    arrows: u64,
}

/// A place to begin or end an arrow: a stream and a time inside a slice of it.
type Place = (u32, u64);

impl Writer<'_> {
    fn event(&mut self, event: &Value) -> io::Result<()> {
        if self.written > 0 {
            self.out.write_all(b",\n")?;
        }
        self.written += 1;
        serde_json::to_writer(&mut *self.out, event).map_err(io::Error::from)
    }

    fn micros(&self, nanoseconds: u64) -> f64 {
        nanoseconds.saturating_sub(self.zero) as f64 / 1e3
    }

    fn names(&mut self, device: &dyn Device, submissions: &[Arc<TracedSubmission>]) -> io::Result<()> {
        let name = format!("{}: {}", device.name(), device.capabilities().hardware_name);
        self.event(&json!({
            "ph": "M", "name": "process_name", "pid": PROCESS, "args": { "name": name },
        }))?;
        let streams: BTreeMap<u32, &str> = submissions
            .iter()
            .map(|submission| (submission.stream.0, submission.stream.1.as_str()))
            .collect();
        for (number, label) in streams {
            let name = if label.is_empty() { format!("queue {number}") } else { label.to_owned() };
            for (event, arguments) in [
                ("thread_name", json!({ "name": name })),
                ("thread_sort_index", json!({ "sort_index": number })),
            ] {
                self.event(&json!({
                    "ph": "M", "name": event, "pid": PROCESS, "tid": number, "args": arguments,
                }))?;
            }
        }
        Ok(())
    }

    fn slice(
        &mut self,
        thread: u32,
        category: &str,
        name: &str,
        span: (u64, u64),
        arguments: Value,
    ) -> io::Result<()> {
        let (start, end) = (self.micros(span.0), self.micros(span.1));
        self.event(&json!({
            "ph": "X", "pid": PROCESS, "tid": thread, "cat": category, "name": name, "ts": start,
            "dur": end - start, "args": arguments,
        }))
    }

    fn submission(&mut self, submission: &TracedSubmission, timing: Timing) -> io::Result<()> {
        let thread = submission.stream.0;
        let arguments = json!({
            "number": submission.id,
            "waited_us": timing.started_ns.saturating_sub(timing.submitted_ns) as f64 / 1e3,
            "commands": submission.commands.len(),
        });
        self.slice(
            thread,
            "submission",
            &title(submission),
            (timing.started_ns, timing.ended_ns),
            arguments,
        )?;
        for command in submission.command_timings.iter() {
            if let Some(traced) = submission.commands.get(command.command) {
                let span = (command.started_ns, command.ended_ns);
                self.slice(thread, "command", &traced.name, span, json!({ "work": traced.detail }))?;
            }
        }
        Ok(())
    }

    fn failure(&mut self, failed: &TracedSubmission) -> io::Result<()> {
        // Where it got to, as far as the device told.
        let at = failed.command_timings.last().map_or(self.zero, |last| last.ended_ns);
        self.event(&json!({
            "ph": "i", "s": "t", "pid": PROCESS, "tid": failed.stream.0, "ts": self.micros(at), "cat": "failure",
            "name": title(failed), "args": { "number": failed.id, "error": failed.failure },
        }))
    }

    fn arrow(&mut self, category: &str, from: Place, to: Place) -> io::Result<()> {
        self.arrows += 1;
        for (phase, (thread, at)) in [("s", from), ("f", to)] {
            let mut event = json!({
                "ph": phase, "pid": PROCESS, "tid": thread, "ts": self.micros(at), "cat": category,
                "name": category, "id": self.arrows,
            });
            if phase == "f" {
                // Ends at the slice around it, not at the next one.
                event["bp"] = json!("e");
            }
            self.event(&event)?;
        }
        Ok(())
    }

    /// From each submission to those that ran after it.
    fn dependencies(&mut self, submissions: &[Arc<TracedSubmission>]) -> io::Result<()> {
        let by_id: BTreeMap<u64, &Arc<TracedSubmission>> =
            submissions.iter().map(|submission| (submission.id, submission)).collect();
        for submission in submissions {
            let Some(to) = submission.timing else { continue };
            for before in submission.after.iter().filter_map(|before| by_id.get(before)) {
                let Some(from) = before.timing else { continue };
                let end = from.ended_ns.saturating_sub(1).max(from.started_ns);
                self.arrow("dependency", (before.stream.0, end), (submission.stream.0, to.started_ns))?;
            }
        }
        Ok(())
    }

    /// From each signal to the waits that it met: the lowest signal that is enough.
    fn events(&mut self, submissions: &[Arc<TracedSubmission>]) -> io::Result<()> {
        let mut signals: BTreeMap<EventKey, BTreeMap<u64, Place>> = BTreeMap::new();
        let mut waits = Vec::new();
        for submission in submissions {
            for timing in submission.command_timings.iter() {
                let Some(command) = submission.commands.get(timing.command) else { continue };
                if let Some((event, value)) = command.signals {
                    let place = (submission.stream.0, timing.started_ns);
                    signals.entry(event).or_default().insert(value, place);
                }
                if let Some((event, value)) = command.waits {
                    let end = timing.ended_ns.saturating_sub(1).max(timing.started_ns);
                    waits.push((event, value, (submission.stream.0, end)));
                }
            }
        }
        for (event, value, to) in waits {
            let signal = signals.get(&event).and_then(|values| values.range(value..).next());
            if let Some((_, from)) = signal {
                self.arrow("event", *from, to)?;
            }
        }
        Ok(())
    }

    fn counters(&mut self, submissions: &[Arc<TracedSubmission>]) -> io::Result<()> {
        // At each moment: how many more wait, how many more run.
        let mut changes: BTreeMap<u64, (i64, i64)> = BTreeMap::new();
        let mut memory: BTreeMap<u64, u64> = BTreeMap::new();
        for submission in submissions {
            let Some(Timing { submitted_ns, started_ns, ended_ns, .. }) = submission.timing else { continue };
            for (at, waiting, running) in [(submitted_ns, 1, 0), (started_ns, -1, 1), (ended_ns, 0, -1)] {
                let change = changes.entry(at).or_default();
                *change = (change.0 + waiting, change.1 + running);
            }
            memory.insert(ended_ns, submission.allocated_bytes);
        }
        let (mut waiting, mut running) = (0, 0);
        for (at, change) in changes {
            (waiting, running) = (waiting + change.0, running + change.1);
            self.counter("submissions", at, json!({ "waiting": waiting, "running": running }))?;
        }
        let mut memory = memory.into_iter();
        memory.try_for_each(|(at, bytes)| self.counter("device memory", at, json!({ "bytes": bytes })))
    }

    fn counter(&mut self, name: &str, at: u64, values: Value) -> io::Result<()> {
        let at = self.micros(at);
        self.event(&json!({ "ph": "C", "pid": PROCESS, "name": name, "ts": at, "args": values }))
    }
}

fn title(submission: &TracedSubmission) -> String {
    match submission.label.as_str() {
        "" => format!("submission {}", submission.id),
        label => label.to_owned(),
    }
}
