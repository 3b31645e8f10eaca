//! The connection to one worker process.
//!
//! Owns [`Link`] and [`Remote`], the host's objects that a worker has counterparts of. Invariants: an object
//! is announced to the worker before a message names it, so a new worker starts without objects; once a link
//! has failed, all its requests and submissions end with that error.
//!
//! Threads: any thread sends, one at a time, under the lock `known`. The reader receives and calls no wakers,
//! because a waker may wait for an answer, which the reader delivers. The finisher ends completions and
//! signals events, whose wakers may do anything. Lock order: `known` before `state`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::mem;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::thread;
use std::time::Duration;

use anymetal_hal::clock::{AlarmId, Clock};
use anymetal_hal::command::{Command, CommandList};
use anymetal_hal::completion::{CommandTiming, Completion, CompletionSource, Outcome};
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::{Event, Subscription};
use anymetal_hal::sync::{Mutex, MutexGuard, lock};
use anymetal_isolate::{Connection, IsolationError};

use crate::device::lost;
use crate::queue::InFlightSlot;
use crate::wire::{self, Body, Reply, Report, Request, WireWork};

/// How long after its deadline a kernel may still run, before the worker is ended.
const GRACE: Duration = Duration::from_secs(5);

/// An object of the host's that a worker has a counterpart of.
pub(crate) trait Remote: Send + Sync {
    /// Its number, which no other object of the device has.
    fn id(&self) -> u64;

    /// The objects that it is made of.
    fn needs(&self) -> Result<Vec<&dyn Remote>, DeviceError> {
        Ok(Vec::new())
    }

    /// The request for its counterpart, with the bytes that the request refers to.
    fn creation(&self, blob: &mut Vec<u8>) -> Result<Body, DeviceError>;
}

/// A worker process.
pub(crate) struct Link {
    connection: Connection,
    /// The objects that the worker has. Held while sending.
    known: Mutex<BTreeSet<u64>>,
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
    /// How long the worker may take to answer.
    answer_within: Duration,
}

#[derive(Default)]
struct State {
    /// The last number of a request or submission.
    numbers: u64,
    answers: BTreeMap<u64, SyncSender<Result<Reply, DeviceError>>>,
    running: BTreeMap<u64, Running>,
    /// When a submission ended last, or the first one began.
    progress: Duration,
    /// The next check whether the worker is overdue, and its time.
    alarm: Option<(AlarmId, Duration)>,
    failure: Option<DeviceError>,
}

/// A submission that the worker has.
pub(crate) struct Running {
    pub(crate) submission: Arc<CommandList>,
    pub(crate) source: CompletionSource,
    pub(crate) slot: InFlightSlot,
    /// `None`: no deadline.
    pub(crate) deadline: Option<Duration>,
    waits: Vec<(Arc<dyn Event>, Subscription)>,
}

impl Running {
    pub(crate) fn new(
        submission: Arc<CommandList>,
        source: CompletionSource,
        slot: InFlightSlot,
        deadline: Option<Duration>,
    ) -> Self {
        Running { submission, source, slot, deadline, waits: Vec::new() }
    }
}

impl Running {
    /// Gives its subscriptions back.
    fn unsubscribe(&self) {
        self.waits.iter().for_each(|(event, subscription)| event.unsubscribe(*subscription));
    }
}

impl State {
    /// When the worker is overdue: it has ended no submission for longer than each of those that it has may
    /// take. `None`: it has none, or one without a deadline.
    fn overdue_at(&self) -> Option<Duration> {
        let deadlines: Option<Vec<Duration>> =
            self.running.values().map(|running| running.deadline).collect();
        let longest = deadlines?.into_iter().max()?;
        Some(self.progress.saturating_add(longest).saturating_add(GRACE))
    }
}

/// A submission that was sent and that the worker has not checked yet.
pub(crate) struct Submitted {
    number: u64,
    answer: Receiver<Result<Reply, DeviceError>>,
}

/// Work of the finisher.
enum Finish {
    Ended(Running, Outcome, Option<Vec<CommandTiming>>),
    Signal(Arc<dyn Event>, u64),
}

impl Link {
    /// The link to a worker that has taken no request yet.
    pub(crate) fn new(
        connection: Connection,
        clock: Arc<dyn Clock>,
        answer_within: Duration,
    ) -> io::Result<Arc<Self>> {
        let (known, state) = (Mutex::default(), Mutex::default());
        let link = Arc::new(Link { connection, known, state, clock, answer_within });
        let (to_finisher, work) = mpsc::channel();
        let (reads, finishes) = (Arc::clone(&link), Arc::clone(&link));
        let named = |name: &str| thread::Builder::new().name(format!("anymetal-{name}"));
        named("finisher").spawn(move || finishes.finish(work))?;
        named("reader").spawn(move || reads.read(&to_finisher))?;
        Ok(link)
    }

    /// Whether it has not failed.
    pub(crate) fn is_up(&self) -> bool {
        self.state().failure.is_none()
    }

    /// Ends the worker. Its requests and submissions fail with this reason, unless the link has failed
    /// before.
    pub(crate) fn end(&self, reason: &str) {
        self.state().failure.get_or_insert_with(|| lost(reason.to_owned()));
        // The reader finds the connection broken and fails the rest.
        let _killed = self.connection.end_late();
    }

    /// Requests something that the worker answers.
    pub(crate) fn ask(&self, body: Body) -> Result<Reply, DeviceError> {
        let (number, answer) = self.expect_answer()?;
        self.send_in_turn(&mut lock(&self.known), Some(number), body, Vec::new());
        self.wait_for(answer)
    }

    /// Has the worker make an object; returns its error.
    pub(crate) fn create(&self, object: &dyn Remote) -> Result<(), DeviceError> {
        let (number, answer) = self.expect_answer()?;
        let mut known = lock(&self.known);
        if !known.contains(&object.id()) {
            let created = object.needs().and_then(|needs| {
                self.introduce(&mut known, &needs)?;
                let mut blob = Vec::new();
                Ok((object.creation(&mut blob)?, blob))
            });
            let (body, blob) = created.inspect_err(|_| self.expect_none(number))?;
            known.insert(object.id());
            self.send_in_turn(&mut known, Some(number), body, blob);
            drop(known);
            return self.wait_for(answer).map(drop);
        }
        self.expect_none(number);
        Ok(())
    }

    /// Has the worker drop its counterpart of an object.
    pub(crate) fn forget(&self, id: u64) {
        let mut known = lock(&self.known);
        if known.remove(&id) {
            self.send_in_turn(&mut known, None, Body::Forget { id }, Vec::new());
        }
    }

    /// Sends a submission.
    pub(crate) fn submit(
        self: &Arc<Self>,
        queue: &dyn Remote,
        needs: &[&dyn Remote],
        (work, blob): (WireWork, Vec<u8>),
        running: Running,
    ) -> Result<Submitted, DeviceError> {
        let events = events_of(&running.submission, &work);
        let (number, answer) = self.expect_answer()?;
        self.begin(number, running);
        let mut known = lock(&self.known);
        let introduced =
            self.introduce(&mut known, &[queue]).and_then(|()| self.introduce(&mut known, needs));
        if let Err(error) = introduced {
            drop(known);
            self.expect_none(number);
            self.take_back(number);
            return Err(error);
        }
        let body = Body::Submit { submission: number, queue: queue.id(), work };
        self.send_in_turn(&mut known, Some(number), body, blob);
        drop(known);
        for (command, event, value) in events {
            self.watch(number, command, event, value);
        }
        Ok(Submitted { number, answer })
    }

    /// Waits until the worker has checked a submission.
    pub(crate) fn wait_for_check(&self, Submitted { number, answer }: Submitted) -> Result<(), DeviceError> {
        self.wait_for(answer).map(drop).inspect_err(|_| self.take_back(number))
    }

    /// The number of the running submission with that completion.
    pub(crate) fn number_of(&self, completion: &Completion) -> Option<u64> {
        let state = self.state();
        state.running.iter().find(|(_, running)| running.source.is_for(completion)).map(|(number, _)| *number)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// A number for a request, and where its answer arrives.
    fn expect_answer(&self) -> Result<(u64, Receiver<Result<Reply, DeviceError>>), DeviceError> {
        let mut state = self.state();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let (sender, answer) = mpsc::sync_channel(1);
        state.numbers += 1;
        let number = state.numbers;
        state.answers.insert(number, sender);
        Ok((number, answer))
    }

    /// Removes an expected answer, because nothing was sent.
    fn expect_none(&self, number: u64) {
        self.state().answers.remove(&number);
    }

    fn wait_for(&self, answer: Receiver<Result<Reply, DeviceError>>) -> Result<Reply, DeviceError> {
        match answer.recv_timeout(self.answer_within) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Disconnected) => {}
            Err(RecvTimeoutError::Timeout) => {
                let seconds = self.answer_within.as_secs_f64();
                self.end(&format!("the worker process did not answer within {seconds} s"));
            }
        }
        Err(self.state().failure.clone().expect("answers are dropped by failures alone"))
    }

    /// Announces objects that the worker does not have.
    fn introduce(&self, known: &mut BTreeSet<u64>, objects: &[&dyn Remote]) -> Result<(), DeviceError> {
        for object in objects {
            if !known.contains(&object.id()) {
                self.introduce(known, &object.needs()?)?;
                let mut blob = Vec::new();
                let body = object.creation(&mut blob)?;
                known.insert(object.id());
                self.send_in_turn(known, None, body, blob);
            }
        }
        Ok(())
    }

    /// Sends a request; `_turn` is the lock under which that is done.
    fn send_in_turn(&self, _turn: &mut BTreeSet<u64>, reply: Option<u64>, body: Body, blob: Vec<u8>) {
        let sent = self.connection.send(&wire::frame(&Request { reply, body }, blob));
        if let Err(error) = sent
            && error.kind() == io::ErrorKind::InvalidInput
        {
            // Too large. A part of a frame cannot be taken back, but nothing was sent of this one.
            self.end(&format!("the request cannot be sent: {error}"));
        }
        // Otherwise the worker has ended, which the reader finds.
    }

    /// Notes a submission that is about to be sent.
    fn begin(self: &Arc<Self>, number: u64, running: Running) {
        let mut state = self.state();
        if state.running.is_empty() {
            state.progress = self.clock.now();
        }
        state.running.insert(number, running);
        self.arm(&mut state);
    }

    /// Takes a submission back that was refused.
    fn take_back(&self, number: u64) {
        let running = self.state().running.remove(&number);
        running.iter().for_each(Running::unsubscribe);
    }

    /// Subscribes to an event that a submission waits for, on behalf of the worker.
    fn watch(self: &Arc<Self>, submission: u64, command: usize, event: Arc<dyn Event>, value: u64) {
        let reached = Arc::new(EventReached { link: Arc::downgrade(self), submission, command });
        match event.subscribe(value, Waker::from(Arc::clone(&reached))) {
            None => reached.wake(),
            Some(subscription) => match self.state().running.get_mut(&submission) {
                Some(running) => running.waits.push((event, subscription)),
                None => event.unsubscribe(subscription),
            },
        }
    }

    /// Sets an alarm for the time at which the worker is overdue, unless an earlier one is set, which then
    /// sets another.
    fn arm(self: &Arc<Self>, state: &mut State) {
        let Some(limit) = state.overdue_at() else { return };
        if state.alarm.is_some_and(|(_, at)| at <= limit) {
            return;
        }
        let waker = Waker::from(Arc::new(Overdue(Arc::downgrade(self))));
        let later = state.alarm.replace((self.clock.set_alarm(limit, waker), limit));
        later.into_iter().for_each(|(alarm, _)| self.clock.clear_alarm(alarm));
    }

    /// Ends the worker if it is overdue. Called by the alarm.
    fn check_overdue(self: &Arc<Self>) {
        let mut state = self.state();
        state.alarm = None;
        if state.overdue_at().is_none_or(|limit| self.clock.now() < limit) {
            return self.arm(&mut state);
        }
        drop(state);
        self.end("the worker process did not stop kernels at their deadline, and was ended");
    }

    /// Receives messages until the connection breaks.
    fn read(self: Arc<Self>, to_finisher: &Sender<Finish>) {
        let error = loop {
            let report = match self.connection.receive() {
                Ok(frame) => wire::read(&frame),
                Err(error) => break self.connection.end(error),
            };
            if let Err(error) = report.and_then(|report| self.note(report, to_finisher)) {
                let _killed = self.connection.end_late();
                break error;
            }
        };
        let (failure, running) = {
            let mut state = self.state();
            let failure = state.failure.get_or_insert_with(|| lost(error.to_string())).clone();
            state.answers.clear();
            (failure, mem::take(&mut state.running))
        };
        for mut running in running.into_values() {
            running.slot.give_back();
            let _ended = to_finisher.send(Finish::Ended(running, Err(failure.clone()), None));
        }
    }

    /// Notes what the worker reports.
    fn note(self: &Arc<Self>, report: Report, to_finisher: &Sender<Finish>) -> Result<(), IsolationError> {
        let unknown = || IsolationError::malformed("a report about an unknown request or submission");
        let mut state = self.state();
        let finish = match report {
            Report::Replied { number, result } => {
                let answer = state.answers.remove(&number).ok_or_else(unknown)?;
                // The requester may have timed out.
                let _ = answer.send(result);
                return Ok(());
            }
            Report::Signaled { submission, command } => {
                let running = state.running.get(&submission).ok_or_else(unknown)?;
                match running.submission.commands.get(command) {
                    Some(Command::SignalEvent { event, value }) => Finish::Signal(Arc::clone(event), *value),
                    _ => return Err(unknown()),
                }
            }
            Report::Ended { submission, outcome, commands } => {
                let mut running = state.running.remove(&submission).ok_or_else(unknown)?;
                let count = running.submission.commands.len();
                let timed = commands.as_deref().unwrap_or_default();
                if timed.len() > count || timed.iter().any(|timing| timing.command >= count) {
                    return Err(unknown());
                }
                state.progress = self.clock.now();
                self.arm(&mut state);
                running.slot.give_back();
                Finish::Ended(running, outcome, commands)
            }
        };
        drop(state);
        to_finisher.send(finish).map_err(|_| IsolationError::malformed("the finisher ended"))
    }

    /// Ends completions and signals events.
    fn finish(self: Arc<Self>, work: Receiver<Finish>) {
        for finish in work {
            match finish {
                Finish::Signal(event, value) => event.signal(value),
                Finish::Ended(running, outcome, commands) => {
                    running.unsubscribe();
                    let Running { submission, source, .. } = running;
                    // Before waiters wake: they may expect to own the resources alone.
                    drop(submission);
                    match commands {
                        Some(commands) => source.finish_with_commands(outcome, commands.into()),
                        None => source.finish(outcome),
                    }
                }
            }
        }
    }
}

/// The events that a submission waits for and that the worker does not know to be reached.
fn events_of(submission: &CommandList, work: &WireWork) -> Vec<(usize, Arc<dyn Event>, u64)> {
    let commands = submission.commands.iter().zip(&work.commands).enumerate();
    let waits = commands.filter_map(|(number, pair)| match pair {
        (Command::WaitEvent { event, value }, wire::WireCommand::WaitEvent { is_reached: false, .. }) => {
            Some((number, Arc::clone(event), *value))
        }
        _ => None,
    });
    waits.collect()
}

/// Informs the worker that an event has reached the value that a submission waits for.
struct EventReached {
    link: Weak<Link>,
    submission: u64,
    command: usize,
}

impl Wake for EventReached {
    fn wake(self: Arc<Self>) {
        if let Some(link) = self.link.upgrade() {
            let body = Body::Reached { submission: self.submission, command: self.command };
            link.send_in_turn(&mut lock(&link.known), None, body, Vec::new());
        }
    }
}

/// Checks whether the worker is overdue.
struct Overdue(Weak<Link>);

impl Wake for Overdue {
    fn wake(self: Arc<Self>) {
        if let Some(link) = self.0.upgrade() {
            link.check_overdue();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Link").field("connection", &self.connection).finish_non_exhaustive()
    }
}
