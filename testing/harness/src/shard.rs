//! Compiles a file of a corpus in child processes, so that a crash or a hang costs one entry point.
//!
//! A child takes every n-th entry point of a file, from a given one on, and writes an [`Event`] per line to
//! its standard output. The parent ends a child that says nothing for [`PATIENCE`], notes the entry point it
//! was at, and starts another child after it. Invariant: every entry point gets exactly one outcome.

use crate::corpus::CorpusFile;
use crate::stages::{CodeStage, Failure, Outcome, Program, Stage};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Seconds that a child may spend on one entry point.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// What a child says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Event {
    /// The file was parsed: the entry points of the whole file, or why there are none.
    Opened(Result<Vec<String>, Failure>),
    /// Work on the entry point with that number begins.
    Begun(usize),
    /// It is done.
    Done(Outcome),
}

/// Which entry points a child takes: `first`, `first + step`, ….
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// The first one's number.
    pub first: usize,
    /// The distance.
    pub step: usize,
}

/// The outcome of a file, or of a share of it.
#[derive(Clone, Debug, Default)]
pub struct FileOutcome {
    /// All entry points of the file.
    pub kernels: Vec<String>,
    /// Why the file gave none.
    pub failure: Option<Failure>,
    /// Those of the share.
    pub outcomes: Vec<Outcome>,
}

/// The child's whole work.
pub fn work(file: &CorpusFile, share: Share, code: Option<CodeStage<'_>>) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut say = |event: &Event| -> std::io::Result<()> {
        writeln!(out, "{}", serde_json::to_string(event).map_err(std::io::Error::other)?)?;
        out.flush()
    };
    let program = match Program::open(file) {
        Ok(program) => program,
        Err(failure) => return say(&Event::Opened(Err(failure))),
    };
    let kernels = program.kernels();
    say(&Event::Opened(Ok(kernels.clone())))?;
    for (number, kernel) in kernels.iter().enumerate().skip(share.first).step_by(share.step) {
        say(&Event::Begun(number))?;
        say(&Event::Done(program.compile(kernel, code)))?;
    }
    Ok(())
}

/// Has children compile a share of a file; `arguments` start this program as a child for it.
pub fn supervise(arguments: &dyn Fn(Share) -> Vec<String>, share: Share) -> std::io::Result<FileOutcome> {
    let mut result = FileOutcome::default();
    let mut next = share.first;
    loop {
        let share = Share { first: next, ..share };
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments(share))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let events = listen(&mut child);
        let at = follow(&events, &mut result);
        // It may be gone already, or hang.
        let _ = child.kill();
        let status = child.wait()?;
        let cause = match at {
            Ended::Finished => return Ok(result),
            Ended::Silent(_) => format!("no end after {} s", PATIENCE.as_secs()),
            Ended::Died(_) => format!("the process died: {status}"),
        };
        let (Ended::Silent(number) | Ended::Died(number)) = at else { return Ok(result) };
        let message = format!("crash: {cause}");
        let failure = |stage| Failure { stage, message: message.clone(), place: String::new() };
        let Some(number) = number else {
            result.failure = Some(failure(Stage::Parse));
            return Ok(result);
        };
        result.outcomes.push(Outcome {
            kernel: result.kernels[number].clone(),
            failure: Some(failure(Stage::FrontEnd)),
            instructions: 0,
            code_bytes: 0,
            front_seconds: 0.0,
            seconds: 0.0,
        });
        next = number + share.step;
        if next >= result.kernels.len() {
            return Ok(result);
        }
    }
}

/// How a child ended, and the number of the entry point it was at.
enum Ended {
    Finished,
    Silent(Option<usize>),
    Died(Option<usize>),
}

/// The child's events, as they come.
fn listen(child: &mut Child) -> Receiver<Event> {
    let (sender, receiver) = channel();
    if let Some(out) = child.stdout.take() {
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let Ok(event) = serde_json::from_str::<Event>(&line) else { continue };
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

fn follow(events: &Receiver<Event>, result: &mut FileOutcome) -> Ended {
    let mut opened = false;
    let mut at = None;
    loop {
        match events.recv_timeout(PATIENCE) {
            Ok(Event::Opened(Ok(kernels))) => {
                opened = true;
                result.kernels = kernels;
            }
            Ok(Event::Opened(Err(failure))) => {
                result.failure = Some(failure);
                return Ended::Finished;
            }
            Ok(Event::Begun(number)) => at = Some(number),
            Ok(Event::Done(outcome)) => {
                at = None;
                result.outcomes.push(outcome);
            }
            Err(RecvTimeoutError::Timeout) => return Ended::Silent(at),
            Err(RecvTimeoutError::Disconnected) if opened && at.is_none() => return Ended::Finished,
            Err(RecvTimeoutError::Disconnected) => return Ended::Died(at),
        }
    }
}
