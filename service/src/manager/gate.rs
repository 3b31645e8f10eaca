//! A gate: requests enter together unless they conflict, and none overtakes an earlier one that it
//! conflicts with.
//!
//! Owns [`AdmissionQueue`], which orders executions that share buffers, and attempts on the streams of a
//! device. A request is admitted as a whole or not at all, so holders never wait for one another.
//! Invariant: no two requests inside conflict, and never more than `capacity` are inside, except
//! after the capacity was lowered. Concurrency: one mutex guards all state; wakers run outside it.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use anymetal_hal::sync::lock;

/// What is asked of a gate.
pub(super) trait Request {
    /// Whether the two may not be inside at once.
    fn conflicts(&self, other: &Self) -> bool;
}

pub(super) struct AdmissionQueue<R> {
    state: Mutex<AdmissionState<R>>,
}

struct AdmissionState<R> {
    capacity: usize,
    inside: Vec<(u64, R)>,
    waiting: VecDeque<Waiting<R>>,
    numbers: u64,
}

struct Waiting<R> {
    number: u64,
    request: R,
    waker: Waker,
}

impl<R: Request> AdmissionQueue<R> {
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        let state = AdmissionState { capacity, inside: Vec::new(), waiting: VecDeque::new(), numbers: 0 };
        Arc::new(AdmissionQueue { state: Mutex::new(state) })
    }

    /// Ready when the request is inside. Dropping the future takes the request back.
    pub(super) fn enter(self: &Arc<Self>, request: R) -> Enter<R> {
        Enter { gate: Arc::clone(self), request: Some(request), number: None }
    }

    /// How many are inside, and how many wait.
    pub(super) fn load(&self) -> (usize, usize) {
        let state = lock(&self.state);
        (state.inside.len(), state.waiting.len())
    }

    /// The request inside, if it may enter at once.
    pub(super) fn try_enter(self: &Arc<Self>, request: R) -> Option<Pass<R>> {
        let mut state = lock(&self.state);
        let waiting = state.waiting.iter().map(|waiting| &waiting.request);
        let mut others = waiting.chain(state.inside.iter().map(|(_, request)| request));
        if state.inside.len() >= state.capacity || others.any(|other| other.conflicts(&request)) {
            return None;
        }
        state.numbers += 1;
        let number = state.numbers;
        state.inside.push((number, request));
        Some(Pass { gate: Arc::clone(self), number })
    }

    /// Changes how many may be inside at once; those inside stay.
    pub(super) fn set_capacity(&self, capacity: usize) {
        let admitted = {
            let mut state = lock(&self.state);
            state.capacity = capacity;
            state.admit()
        };
        admitted.into_iter().for_each(Waker::wake);
    }

    fn leave(&self, number: u64) {
        let (removed, admitted) = {
            let mut state = lock(&self.state);
            let removed = state.remove(number);
            (removed, state.admit())
        };
        drop(removed);
        admitted.into_iter().for_each(Waker::wake);
    }
}

impl<R: Request> AdmissionState<R> {
    /// Lets in whoever may enter now; gives their wakers.
    fn admit(&mut self) -> Vec<Waker> {
        let mut admitted = Vec::new();
        let mut at = 0;
        while at < self.waiting.len() && self.inside.len() < self.capacity {
            let request = &self.waiting[at].request;
            let before = self.waiting.iter().take(at).map(|waiting| &waiting.request);
            let blocked = before
                .chain(self.inside.iter().map(|(_, request)| request))
                .any(|other| other.conflicts(request));
            match blocked {
                true => at += 1,
                false => {
                    if let Some(Waiting { number, request, waker }) = self.waiting.remove(at) {
                        self.inside.push((number, request));
                        admitted.push(waker);
                    }
                }
            }
        }
        admitted
    }

    fn is_inside(&self, number: u64) -> bool {
        self.inside.iter().any(|(inside, _)| *inside == number)
    }

    /// Takes it out, inside or waiting.
    fn remove(&mut self, number: u64) -> Option<R> {
        if let Some(at) = self.inside.iter().position(|(inside, _)| *inside == number) {
            return Some(self.inside.swap_remove(at).1);
        }
        let at = self.waiting.iter().position(|waiting| waiting.number == number)?;
        self.waiting.remove(at).map(|waiting| waiting.request)
    }
}

/// A request on its way in.
pub(super) struct Enter<R: Request> {
    gate: Arc<AdmissionQueue<R>>,
    request: Option<R>,
    /// Its number once it waits, until it is inside.
    number: Option<u64>,
}

/// A request inside; it leaves when this is dropped.
#[must_use = "the request leaves when this is dropped"]
pub(super) struct Pass<R: Request> {
    gate: Arc<AdmissionQueue<R>>,
    number: u64,
}

impl<R: Request + Unpin> Future for Enter<R> {
    type Output = Pass<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Pass<R>> {
        let this = &mut *self;
        let mut state = lock(&this.gate.state);
        if let Some(request) = this.request.take() {
            state.numbers += 1;
            let number = state.numbers;
            this.number = Some(number);
            state.waiting.push_back(Waiting { number, request, waker: context.waker().clone() });
            // Nobody else can enter now: whoever could have had done so when something left.
            drop(state.admit());
        }
        let Some(number) = this.number else {
            return Poll::Pending;
        };
        if state.is_inside(number) {
            this.number = None;
            return Poll::Ready(Pass { gate: Arc::clone(&this.gate), number });
        }
        if let Some(waiting) = state.waiting.iter_mut().find(|waiting| waiting.number == number) {
            waiting.waker.clone_from(context.waker());
        }
        Poll::Pending
    }
}

impl<R: Request> Drop for Enter<R> {
    fn drop(&mut self) {
        if let Some(number) = self.number.take() {
            self.gate.leave(number);
        }
    }
}

impl<R: Request> Drop for Pass<R> {
    fn drop(&mut self) {
        self.gate.leave(self.number);
    }
}

impl<R: Request> fmt::Debug for AdmissionQueue<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (inside, waiting) = self.load();
        formatter.debug_struct("AdmissionQueue").field("inside", &inside).field("waiting", &waiting).finish()
    }
}

/// The buffers that an execution uses, with whether it writes them, in the order of their numbers.
#[derive(Debug, Clone)]
pub(super) struct BufferUses(Vec<(u64, bool)>);

impl BufferUses {
    /// Of several uses of one buffer, the one that writes counts.
    pub(super) fn new(uses: impl IntoIterator<Item = (u64, bool)>) -> Self {
        let mut all: Vec<(u64, bool)> = uses.into_iter().collect();
        all.sort_unstable_by_key(|(memory, writes)| (*memory, !writes));
        all.dedup_by_key(|(memory, _)| *memory);
        BufferUses(all)
    }
}

impl Request for BufferUses {
    fn conflicts(&self, other: &Self) -> bool {
        self.0.iter().any(|(memory, writes)| {
            let found = other.0.binary_search_by_key(memory, |(known, _)| *known);
            found.is_ok_and(|at| *writes || other.0[at].1)
        })
    }
}

/// How an attempt uses the streams of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamUse {
    /// One of them.
    One,
    /// One, while the device has nothing else to do.
    Alone,
}

impl Request for StreamUse {
    fn conflicts(&self, other: &Self) -> bool {
        *self == StreamUse::Alone || *other == StreamUse::Alone
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    fn poll<R: Request + Unpin>(enter: Pin<&mut Enter<R>>) -> Option<Pass<R>> {
        match enter.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(pass) => Some(pass),
            Poll::Pending => None,
        }
    }

    #[test]
    fn readers_enter_together_and_writers_alone_in_the_order_of_asking() {
        let gate = AdmissionQueue::<BufferUses>::new(usize::MAX);
        let uses = |uses: &[(u64, bool)]| BufferUses::new(uses.iter().copied());
        let mut first = pin!(gate.enter(uses(&[(1, false), (2, false)])));
        let mut second = pin!(gate.enter(uses(&[(2, false)])));
        let (first, second) = (poll(first.as_mut()).unwrap(), poll(second.as_mut()).unwrap());
        let mut writer = pin!(gate.enter(uses(&[(2, true), (3, true)])));
        assert!(poll(writer.as_mut()).is_none());
        let mut late_reader = pin!(gate.enter(uses(&[(2, false)])));
        assert!(poll(late_reader.as_mut()).is_none(), "it does not overtake the writer");
        let mut apart = pin!(gate.enter(uses(&[(1, false), (4, true)])));
        drop(poll(apart.as_mut()).expect("shares only what is read"));
        drop(first);
        assert!(poll(writer.as_mut()).is_none());
        drop(second);
        let writer = poll(writer.as_mut()).unwrap();
        assert!(poll(late_reader.as_mut()).is_none());
        drop(writer);
        assert!(poll(late_reader.as_mut()).is_some());
        assert_eq!(gate.load(), (0, 0));
    }

    #[test]
    fn a_request_that_gives_up_lets_those_behind_it_in() {
        let gate = AdmissionQueue::<StreamUse>::new(2);
        let mut one = pin!(gate.enter(StreamUse::One));
        let one = poll(one.as_mut()).unwrap();
        let mut alone = Box::pin(gate.enter(StreamUse::Alone));
        assert!(poll(alone.as_mut()).is_none());
        let mut other = pin!(gate.enter(StreamUse::One));
        assert!(poll(other.as_mut()).is_none());
        drop(alone);
        let other = poll(other.as_mut()).unwrap();
        let mut third = pin!(gate.enter(StreamUse::One));
        assert!(poll(third.as_mut()).is_none(), "the capacity is 2");
        gate.set_capacity(3);
        drop((poll(third.as_mut()).unwrap(), one, other));
        assert_eq!(gate.load(), (0, 0));
    }
}
