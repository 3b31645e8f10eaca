//! `MTLCommandQueue`.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anymetal::Queue as Stream;
use anymetal::command::WhenFull;
use anymetal::error::ExecError;
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::command_buffer::{CommandBuffer, CommandBufferIvars};
use super::commands::Commands;
use super::descriptors::CommandBufferDescriptor;
use super::device::Device;
use super::label::Label;
use super::log_state::{LogState, log_state_of};
use super::residency::ResidencySet;
use super::worker::{Job, Worker};
use crate::arguments::List;
use crate::foundation::NSString;

/// The instance variables of a queue.
#[derive(Debug)]
pub(crate) struct QueueIvars {
    pub(crate) stream: Stream,
    pub(crate) device: Retained<Device>,
    pub(crate) label: Label,
    pub(crate) worker: Worker,
    pub(crate) order: Order,
    pub(crate) log_state: Option<Retained<LogState>>,
    pub(crate) sets: Mutex<Vec<Retained<ResidencySet>>>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalCommandQueue"]
    #[ivars = QueueIvars]
    #[derive(Debug)]
    pub(crate) struct Queue;

    impl Queue {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }

        #[unsafe(method_id(commandBuffer))]
        fn command_buffer(&self) -> Option<Retained<CommandBuffer>> {
            self.begin(true, None)
        }

        // What is encoded is held all the same.
        #[unsafe(method_id(commandBufferWithUnretainedReferences))]
        fn unretained_command_buffer(&self) -> Option<Retained<CommandBuffer>> {
            self.begin(false, None)
        }

        #[unsafe(method_id(commandBufferWithDescriptor:))]
        fn described_command_buffer(&self, descriptor: &CommandBufferDescriptor) -> Option<Retained<CommandBuffer>> {
            let properties = descriptor.ivars();
            self.begin(properties.retained_references().as_bool(), log_state_of(properties.log_state()))
        }

        #[unsafe(method(insertDebugCaptureBoundary))]
        fn capture_boundary(&self) {}

        #[unsafe(method(addResidencySet:))]
        fn add_set(&self, set: &ResidencySet) {
            self.sets().push(set.retain());
        }

        #[unsafe(method(addResidencySets:count:))]
        fn add_sets(&self, sets: List<&ResidencySet>, count: usize) {
            let sets: Vec<_> = sets.read(count).map(Message::retain).collect();
            self.sets().extend(sets);
        }

        #[unsafe(method(removeResidencySet:))]
        fn remove_set(&self, set: &ResidencySet) {
            self.take_set(set);
        }

        #[unsafe(method(removeResidencySets:count:))]
        fn remove_sets(&self, sets: List<&ResidencySet>, count: usize) {
            sets.read(count).for_each(|set| self.take_set(set));
        }
    }
);

impl Queue {
    /// What is resident for all its command buffers: its sets' allocations.
    pub(crate) fn resident(&self) -> Vec<Retained<AnyObject>> {
        self.sets().iter().flat_map(|set| set.committed()).collect()
    }

    fn sets(&self) -> MutexGuard<'_, Vec<Retained<ResidencySet>>> {
        self.ivars().sets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_set(&self, set: &ResidencySet) {
        let removed = {
            let mut sets = self.sets();
            let found = sets.iter().position(|known| std::ptr::eq(&**known, set));
            found.map(|at| sets.swap_remove(at))
        };
        // Outside the lock: it may be the last reference.
        drop(removed);
    }

    fn begin(
        &self,
        retained_references: bool,
        log_state: Option<Retained<LogState>>,
    ) -> Option<Retained<CommandBuffer>> {
        let mut commands = self.free_command_buffer()?;
        let log_state = log_state.or_else(|| self.ivars().log_state.clone());
        if let Some(bytes) = log_state.as_ref().and_then(|state| state.bytes()) {
            commands = commands.log_bytes(bytes);
        }
        Some(crate::foundation::object(CommandBufferIvars::new(
            Commands::new(commands),
            self.retain(),
            retained_references,
            log_state,
        )))
    }

    /// A command buffer, once the queue has fewer of them than it may: as on a Mac, the method waits for that
    /// without a limit. Reports a long wait, which is often a deadlock of the program.
    #[allow(clippy::print_stderr, reason = "a program's developer sees it nowhere else")]
    fn free_command_buffer(&self) -> Option<anymetal::CommandBuffer> {
        const METHOD: &str = "-[MTLCommandQueue commandBuffer]";
        let QueueIvars { stream, device, .. } = self.ivars();
        let waits = device.inner().queue_descriptor().when_exhausted != WhenFull::Refuse;
        let mut is_reported = false;
        loop {
            let error = match stream.command_buffer() {
                Ok(commands) => return Some(commands),
                Err(error) => error,
            };
            let is_full = matches!(&error, anymetal::Error::Exec(error)
                if matches!(**error, ExecError::CommandBuffersExhausted { .. }));
            if !is_reported {
                eprintln!("{METHOD}: {error}{}", if is_full && waits { "; waiting" } else { "" });
            }
            if !is_full || !waits {
                return None;
            }
            is_reported = true;
        }
    }

    /// Has a job run on the queue's thread for handlers.
    pub(crate) fn run(&self, job: Job) {
        self.ivars().worker.run(job);
    }

    pub(crate) fn order(&self) -> &Order {
        &self.ivars().order
    }
}

/// The order of a queue's command buffers: that in which they were enqueued, or else committed.
///
/// Invariant: work is handed over in that order, each once it and all before it were committed.
#[derive(Default)]
pub(crate) struct Order(Mutex<VecDeque<Place>>);

struct Place {
    owner: usize,
    /// What hands the work over; `None` until the commit.
    hand_over: Option<Box<dyn FnOnce()>>,
}

impl std::fmt::Debug for Order {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Order")
    }
}

impl Order {
    /// Gives its owner the next place.
    pub(crate) fn enqueue(&self, owner: usize) {
        self.change(|places| places.push_back(Place { owner, hand_over: None }));
    }

    /// Hands work over when its turn comes: at once, if all before it were committed. Others that
    /// commit meanwhile wait, so that the order holds.
    pub(crate) fn commit(&self, owner: usize, hand_over: impl FnOnce() + 'static) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.is_empty() {
            // Nobody is before it; the lock keeps others behind it.
            return hand_over();
        }
        match places.iter_mut().find(|place| place.owner == owner) {
            Some(place) => place.hand_over = Some(Box::new(hand_over)),
            None => places.push_back(Place { owner, hand_over: Some(Box::new(hand_over)) }),
        }
        hand_over_ready(&mut places);
    }

    /// Takes back the place of an owner that was not committed.
    pub(crate) fn forget(&self, owner: usize) {
        self.change(|places| places.retain(|place| place.owner != owner || place.hand_over.is_some()));
    }

    fn change(&self, change: impl FnOnce(&mut VecDeque<Place>)) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut places);
        hand_over_ready(&mut places);
    }
}

/// Hands over what was committed, up to the first place that was not.
fn hand_over_ready(places: &mut VecDeque<Place>) {
    while let Some(Place { hand_over: Some(_), .. }) = places.front() {
        if let Some(Place { hand_over: Some(hand_over), .. }) = places.pop_front() {
            hand_over();
        }
    }
}
