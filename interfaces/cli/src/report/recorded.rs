//! What a report is made of.
//!
//! Owns [`Recorded`] and its JSON form, which has `"schema": 1`. Invariant: times are nanoseconds since the
//! first thing recorded; rates come from work that somebody counted, never from a guess.

use std::collections::BTreeMap;

use anymetal::Device;
use anymetal::profile::{TimeSource, Trace, TracedCommand};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::error::Category;

use super::chrome;
use super::summary;
use crate::failure::Failure;

/// The version of the form.
const SCHEMA: u32 = 1;

/// What ran and how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recorded {
    schema: u32,
    /// What ran, in words.
    pub(crate) title: String,
    /// On what.
    pub(crate) device: String,
    /// Whose clock measured: `device` or `host`.
    clock: Clock,
    /// The machine's measured limits.
    #[serde(default)]
    pub(crate) ceilings: Option<Ceilings>,
    /// Names of queues, by number.
    #[serde(default)]
    pub(crate) queues: BTreeMap<u32, String>,
    /// What ran, in the order of starts.
    pub(crate) slices: Vec<Slice>,
    /// Bytes that buffers took, over time.
    #[serde(default)]
    pub(crate) memory: Vec<MemoryPoint>,
    /// The counted work of one run, by name.
    #[serde(default)]
    pub(crate) work: BTreeMap<String, Work>,
    /// What failed, in words.
    #[serde(default)]
    pub(crate) failures: Vec<String>,
    /// What was left out because there was too much.
    #[serde(default)]
    pub(crate) left_out: usize,
    /// Written for readers of the JSON; not read.
    #[serde(default, skip_deserializing, rename = "summary")]
    written_summary: Vec<summary::Row>,
    /// Likewise.
    #[serde(default, skip_deserializing, rename = "utilisation")]
    written_utilisation: Option<summary::Utilisation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Clock {
    Device,
    Host,
}

/// The roof.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ceilings {
    /// A multiply-add counts two.
    pub(crate) flop_per_second: f64,
    /// Of a copy; reads and writes count.
    pub(crate) bytes_per_second: f64,
}

impl Ceilings {
    /// The intensity at which the slope meets the roof: operations per byte.
    pub(crate) fn ridge(&self) -> f64 {
        self.flop_per_second / self.bytes_per_second
    }

    /// The roof above an intensity: operations per second.
    pub(crate) fn roof(&self, intensity: f64) -> f64 {
        self.flop_per_second.min(intensity * self.bytes_per_second)
    }
}

/// Something that ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slice {
    pub(crate) queue: u32,
    /// A kernel or node; an operation on memory in brackets.
    pub(crate) name: String,
    pub(crate) start_ns: u64,
    pub(crate) duration_ns: u64,
    /// Its counted work, where runs of one name differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) work: Option<Work>,
}

/// Bytes that buffers took at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemoryPoint {
    pub(crate) at_ns: u64,
    pub(crate) bytes: u64,
}

/// Counted work of one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Work {
    pub(crate) flop: f64,
    pub(crate) bytes: f64,
}

impl Recorded {
    /// Nothing yet.
    pub(crate) fn new(title: &str, device: &str, source: TimeSource) -> Self {
        let clock = if source == TimeSource::Device { Clock::Device } else { Clock::Host };
        Recorded {
            schema: SCHEMA,
            title: title.to_owned(),
            device: device.to_owned(),
            clock,
            ceilings: None,
            queues: BTreeMap::new(),
            slices: Vec::new(),
            memory: Vec::new(),
            work: BTreeMap::new(),
            failures: Vec::new(),
            left_out: 0,
            written_summary: Vec::new(),
            written_utilisation: None,
        }
    }

    /// What a device's queues did.
    pub(crate) fn of_trace(device: &Device, trace: &Trace, title: &str) -> Self {
        let name = format!("{} ({})", device.name(), device.capabilities().hardware_name);
        let mut recorded = Recorded::new(title, &name, TimeSource::Device);
        let submissions = trace.submissions();
        let zero = submissions.iter().filter_map(|one| Some(one.timing?.submitted_ns)).min().unwrap_or(0);
        for submission in &submissions {
            let (queue, label) = &submission.stream;
            let label = if label.is_empty() { format!("queue {queue}") } else { label.clone() };
            recorded.queues.insert(*queue, label);
            recorded.failures.extend(submission.failure.clone());
            for timing in submission.command_timings.iter() {
                let Some(command) = submission.commands.get(timing.command) else { continue };
                recorded.slices.extend(name_of(command).map(|name| Slice {
                    queue: *queue,
                    name,
                    start_ns: timing.started_ns.saturating_sub(zero),
                    duration_ns: timing.ended_ns.saturating_sub(timing.started_ns),
                    work: None,
                }));
            }
            recorded.memory.extend(submission.timing.map(|timing| MemoryPoint {
                at_ns: timing.ended_ns.saturating_sub(zero),
                bytes: submission.allocated_bytes,
            }));
        }
        recorded.left_out = trace.left_out();
        recorded.in_order()
    }

    /// By time.
    pub(super) fn in_order(mut self) -> Self {
        self.slices.sort_by_key(|slice| (slice.start_ns, slice.queue));
        self.memory.sort_by_key(|point| point.at_ns);
        self
    }

    /// Whose clock measured.
    pub(crate) fn source(&self) -> TimeSource {
        match self.clock {
            Clock::Device => TimeSource::Device,
            Clock::Host => TimeSource::Host,
        }
    }

    /// When the last slice ended.
    pub(crate) fn end_ns(&self) -> u64 {
        let ends = self.slices.iter().map(|slice| slice.start_ns.saturating_add(slice.duration_ns));
        ends.chain(self.memory.iter().map(|point| point.at_ns)).max().unwrap_or(0)
    }

    /// The form that [`parse`] reads, with the summary for other readers.
    pub(super) fn to_json(&self) -> Result<String, Failure> {
        let (written_summary, written_utilisation) = (summary::rows(self), summary::utilisation(self));
        let with_summary = Recorded { written_summary, written_utilisation, ..self.clone() };
        let text = serde_json::to_string_pretty(&with_summary);
        text.map(|text| text + "\n").map_err(|error| Failure::Input(error.to_string()))
    }
}

/// The name to add up by; `None`: it takes no time of its own, such as a signal.
fn name_of(command: &TracedCommand) -> Option<String> {
    label(&command.name, &command.detail)
}

/// As [`name_of`], from name and detail of a timeline.
pub(super) fn label(name: &str, detail: &str) -> Option<String> {
    let runs = ["threads", "threadgroups", "commands", "grid read from a buffer"];
    if runs.iter().any(|end| detail.ends_with(end)) {
        return Some(name.to_owned());
    }
    // A copy or a fill, or a product of matrices by the device's library.
    (detail.ends_with("bytes") || detail.contains(" by ")).then(|| format!("[{name}]"))
}

const NO_FORM: &str = "it is neither a saved report (`schema`) nor a timeline (`traceEvents`)";

/// What tells the two forms apart.
#[derive(Deserialize)]
struct Form {
    schema: Option<Value>,
    #[serde(rename = "traceEvents")]
    events: Option<IgnoredAny>,
}

/// A saved report or a timeline.
pub(super) fn parse(text: &str, title: &str) -> Result<Recorded, String> {
    let form: Form = serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Data => NO_FORM.to_owned(),
        _ => format!("it is no JSON: {error}"),
    })?;
    if form.events.is_some() {
        return chrome::recorded(text, title);
    }
    match form.schema.as_ref().and_then(Value::as_u64) {
        Some(schema) if schema == u64::from(SCHEMA) => {
            let recorded: Recorded = serde_json::from_str(text).map_err(|error| error.to_string())?;
            recorded.check()?;
            Ok(recorded.in_order())
        }
        Some(schema) => Err(format!("it has schema {schema}, and this program reads {SCHEMA}")),
        None => Err(NO_FORM.to_owned()),
    }
}

impl Recorded {
    /// Numbers that figures can show.
    fn check(&self) -> Result<(), String> {
        let of_slices = self.slices.iter().filter_map(|slice| slice.work.as_ref());
        let works = self.work.values().chain(of_slices).flat_map(|work| [work.flop, work.bytes]);
        let ceilings = self.ceilings.iter().flat_map(|roof| [roof.flop_per_second, roof.bytes_per_second]);
        let is_count = |number: f64| number.is_finite() && number >= 0.0;
        match works.chain(ceilings).all(is_count) {
            true => Ok(()),
            false => Err("work and ceilings are numbers from 0 on".to_owned()),
        }
    }
}
