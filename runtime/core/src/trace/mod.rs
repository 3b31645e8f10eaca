//! Traces: which submission ran when, on which stream, and what it waited for.
//!
//! Owns [`Trace`], which a context's streams tell of every submission that they hand to the device;
//! [`chrome`] writes it as a file for Perfetto. Invariant: all times are the device's own, so submissions of
//! different streams can be compared; a trace is bounded: it keeps the latest submissions, and counts those
//! that made room for them. While one is taken every command is timed, which costs two readings of the clock
//! each.

pub mod chrome;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::{fmt, io};

use anymetal_hal::command::{Command, CommandList, Grid};
use anymetal_hal::completion::{CommandTiming, Timing};
use anymetal_hal::device::Device;
use anymetal_hal::event::Event;
use anymetal_hal::matrix_product::MatrixProduct;

use crate::submission::Outcome;
use crate::sync::{AtomicU64, Mutex, MutexGuard};

/// The most commands that a trace keeps if nothing else is asked for: some 60 MB of memory.
pub(crate) const DEFAULT_COMMANDS: usize = 1 << 17;

/// What the streams of a device did. Clones are the same trace.
#[derive(Clone)]
pub struct Trace {
    shared: Arc<TraceShared>,
}

struct TraceShared {
    device: Arc<dyn Device>,
    /// Numbers submissions from 1 on.
    next: AtomicU64,
    /// The most commands that it keeps.
    most_commands: usize,
    state: Mutex<TraceState>,
}

#[derive(Default)]
struct TraceState {
    submissions: VecDeque<Arc<TracedSubmission>>,
    commands: usize,
    left_out: usize,
}

/// A submission that has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TracedSubmission {
    /// Its number in the trace.
    pub id: u64,
    /// Its stream: a number and a label that may be empty.
    pub stream: (u32, String),
    /// Its label; may be empty.
    pub label: String,
    /// The submissions that it was to run after.
    pub after: Vec<u64>,
    /// What it did.
    pub commands: Vec<TracedCommand>,
    /// When it ran; `None`: it failed.
    pub timing: Option<Timing>,
    /// When its commands ran, as far as it got.
    pub command_timings: Arc<[CommandTiming]>,
    /// Why it failed.
    pub failure: Option<String>,
    /// The bytes that buffers took of the device when it had ended.
    pub allocated_bytes: u64,
}

/// One command of a submission.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TracedCommand {
    /// The node's name, or else the kernel's or the kind of command.
    pub name: String,
    /// How much: a grid, a number of bytes, a value.
    pub detail: String,
    /// What it signals: an event and a value.
    pub signals: Option<(EventKey, u64)>,
    /// What it waits for.
    pub waits: Option<(EventKey, u64)>,
}

/// Tells events apart; of two that never live at the same time it may be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKey(usize);

impl Trace {
    pub(crate) fn bounded(device: Arc<dyn Device>, most_commands: usize) -> Self {
        let (next, state) = (AtomicU64::new(1), Mutex::default());
        Trace { shared: Arc::new(TraceShared { device, next, most_commands, state }) }
    }

    /// A number for a new submission.
    pub(crate) fn next_id(&self) -> u64 {
        self.shared.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A submission that is about to be handed over. `names` are those of its first commands.
    pub(crate) fn begin(
        &self,
        id: u64,
        stream: (u32, &str),
        after: Vec<u64>,
        submission: &CommandList,
        names: &[String],
    ) -> TracedSubmission {
        let names = names.iter().map(Some).chain(std::iter::repeat(None));
        let commands = submission.commands.iter().zip(names).map(|(command, name)| traced(command, name));
        TracedSubmission {
            id,
            stream: (stream.0, stream.1.to_owned()),
            label: submission.label.clone(),
            after,
            commands: commands.collect(),
            timing: None,
            command_timings: Arc::new([]),
            failure: None,
            allocated_bytes: 0,
        }
    }

    /// A submission has ended.
    pub(crate) fn end(
        &self,
        mut traced: TracedSubmission,
        outcome: &Outcome,
        timings: Option<Arc<[CommandTiming]>>,
    ) {
        traced.allocated_bytes = self.shared.device.allocated_bytes();
        traced.command_timings = timings.unwrap_or(traced.command_timings);
        match outcome {
            Ok(timing) => traced.timing = Some(*timing),
            Err(error) => traced.failure = Some(error.to_string()),
        }
        let mut state = self.lock();
        state.commands += traced.weight();
        state.submissions.push_back(Arc::new(traced));
        while state.commands > self.shared.most_commands && state.submissions.len() > 1 {
            let Some(oldest) = state.submissions.pop_front() else { break };
            state.commands -= oldest.weight();
            state.left_out += 1;
        }
    }

    /// The submissions that it has, in the order in which they ended.
    pub fn submissions(&self) -> Vec<Arc<TracedSubmission>> {
        self.lock().submissions.iter().cloned().collect()
    }

    /// How many submissions are not in it any more, because later ones took their room.
    pub fn left_out(&self) -> usize {
        self.lock().left_out
    }

    /// As a file for Perfetto (ui.perfetto.dev) and `chrome://tracing`; see [`chrome`].
    pub fn to_chrome_json(&self) -> String {
        let mut text = Vec::new();
        // Nothing that writes to memory fails, and JSON is UTF-8.
        let _ = self.write_chrome_json(&mut text);
        String::from_utf8(text).unwrap_or_default()
    }

    /// Writes what [`Trace::to_chrome_json`] gives, event by event: give it a buffered writer.
    pub fn write_chrome_json(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let (submissions, left_out) = {
            let state = self.lock();
            (state.submissions.iter().cloned().collect::<Vec<_>>(), state.left_out)
        };
        chrome::write(&*self.shared.device, &submissions, left_out, out)
    }

    fn lock(&self) -> MutexGuard<'_, TraceState> {
        crate::sync::lock(&self.shared.state)
    }
}

impl TracedSubmission {
    /// What it takes of the commands that a trace keeps.
    fn weight(&self) -> usize {
        self.commands.len().max(1)
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let submissions = self.lock().submissions.len();
        formatter.debug_struct("Trace").field("submissions", &submissions).finish_non_exhaustive()
    }
}

fn traced(command: &Command, name: Option<&String>) -> TracedCommand {
    let key = |event: &Arc<dyn Event>| EventKey(Arc::as_ptr(event).cast::<()>() as usize);
    let (own, detail) = match command {
        Command::Dispatch(dispatch) => (dispatch.kernel().name.as_str(), grid(dispatch.grid())),
        Command::DispatchIndirect(indirect) => {
            (indirect.dispatch().kernel().name.as_str(), "grid read from a buffer".to_owned())
        }
        Command::Copy(copy) => (command.word(), format!("{} bytes", copy.length())),
        Command::Fill(fill) => (command.word(), format!("{} bytes", fill.length())),
        Command::MatrixProduct(product) => {
            let MatrixProduct { rows, columns, inner, batches, .. } = &***product;
            (command.word(), format!("{batches} of {rows}x{inner} by {inner}x{columns}"))
        }
        Command::WaitEvent { value, .. } | Command::SignalEvent { value, .. } => {
            (command.word(), format!("value {value}"))
        }
        Command::ExecuteIndirect(indirect) => {
            (command.word(), format!("{} commands", indirect.commands().len()))
        }
        Command::ExecuteEncoded(_) => (command.word(), "commands that kernels encoded".to_owned()),
        Command::SampleTime(_) | Command::UpdateFence(_) | Command::WaitFence(_) => {
            (command.word(), String::new())
        }
    };
    let (signals, waits) = match command {
        Command::SignalEvent { event, value } => (Some((key(event), *value)), None),
        Command::WaitEvent { event, value } => (None, Some((key(event), *value))),
        _ => (None, None),
    };
    TracedCommand { name: name.map_or(own, String::as_str).to_owned(), detail, signals, waits }
}

fn grid(grid: Grid) -> String {
    let (sizes, what) = match grid {
        Grid::Threads(threads) => (threads, "threads"),
        Grid::Threadgroups(groups) => (groups, "threadgroups"),
    };
    format!("{}×{}×{} {what}", sizes[0], sizes[1], sizes[2])
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-core --lib --release models`.
#[cfg(all(test, loom))]
mod models {
    use loom::thread;

    use super::*;
    use crate::memory::test_device::TestDevice;

    /// Streams record while somebody reads: numbers are given once, nothing is lost or doubled, and no more
    /// is kept than allowed: the latest.
    #[test]
    fn every_submission_is_kept_once_or_counted_as_left_out() {
        loom::model(|| {
            let trace = Trace::bounded(TestDevice::new(1 << 20), 2);
            let record = |trace: &Trace, stream: u32| {
                let id = trace.next_id();
                let traced = trace.begin(id, (stream, ""), Vec::new(), &CommandList::default(), &[]);
                trace.end(traced, &Ok(Timing::default()), None);
                id
            };
            let other = thread::spawn({
                let trace = trace.clone();
                move || [record(&trace, 1), record(&trace, 1)]
            });
            let mine = record(&trace, 0);
            let seen = trace.submissions();
            assert!(seen.len() + trace.left_out() >= 1 && seen.len() <= 2);
            let [first, second] = other.join().unwrap();
            assert!(first < second && mine != first && mine != second);
            let kept = trace.submissions();
            assert_eq!((kept.len(), trace.left_out()), (2, 1));
            assert!(kept[0].id != kept[1].id);
            assert!(
                kept.iter().any(|one| one.id == second),
                "the last of its stream made room for no earlier one"
            );
        });
    }
}
