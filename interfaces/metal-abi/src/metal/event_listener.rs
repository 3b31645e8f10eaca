//! `MTLSharedEventListener`, and blocks that are called when a shared event reaches a value.
//!
//! Invariant: a block is called once, on the listener's thread or in its queue, or released with its event.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use anymetal::Event as Monotonic;
use block2::{Block, RcBlock};
use objc2::Message;
use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject};

use super::event::Event;
use super::worker::{Job, Worker};
use crate::dispatch::object::{Kind, Object, QueueArgument};

/// Where a listener calls blocks.
#[derive(Debug)]
pub(crate) enum ListenerIvars {
    /// On a thread of its own.
    Thread(Worker),
    /// In a queue of Grand Central Dispatch.
    Queue(Arc<Object>),
}

impl Default for ListenerIvars {
    fn default() -> Self {
        ListenerIvars::Thread(Worker::default())
    }
}

impl ListenerIvars {
    fn run(&self, job: Job) {
        match self {
            ListenerIvars::Thread(worker) => worker.run(job),
            ListenerIvars::Queue(queue) => {
                if let Kind::Queue(queue) = &***queue {
                    // A block that panics has been reported by the panic hook; the others are still called.
                    queue.submit(Box::new(|| drop(catch_unwind(AssertUnwindSafe(job)))));
                }
            }
        }
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLSharedEventListener"]
    #[ivars = ListenerIvars]
    #[derive(Debug)]
    pub(crate) struct Listener;

    impl Listener {
        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            crate::foundation::initialized(this, ListenerIvars::default())
        }

        #[unsafe(method_id(initWithDispatchQueue:))]
        fn init_with_queue(this: Allocated<Self>, queue: QueueArgument) -> Retained<Self> {
            crate::foundation::initialized(this, ListenerIvars::Queue(queue.0))
        }

        #[unsafe(method_id(sharedListener))]
        fn shared() -> Retained<Listener> {
            static SHARED: OnceLock<Shared> = OnceLock::new();
            SHARED.get_or_init(|| Shared(crate::foundation::object(ListenerIvars::default()))).0.clone()
        }
    }
);

/// A listener that is never released.
struct Shared(Retained<Listener>);

// SAFETY: a listener may be used from every thread: its state is behind a lock.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// A block with its arguments.
struct Call {
    block: RcBlock<dyn Fn(*mut AnyObject, u64)>,
    event: Retained<Event>,
    listener: Retained<Listener>,
    value: u64,
}

// SAFETY: Metal calls such blocks on a thread of its own, so programs give it blocks that may be called
// there; events and listeners may be used from every thread.
unsafe impl Send for Call {}

impl Call {
    /// Has the listener call the block.
    fn start(self) {
        let listener = self.listener.clone();
        listener.ivars().run(Box::new(move || self.make()));
    }

    fn make(self) {
        self.block.call((Retained::as_ptr(&self.event).cast_mut().cast(), self.value));
    }
}

/// The calls of an event that wait for their values.
#[derive(Default)]
pub(crate) struct Notifications(Mutex<Vec<Arc<Notification>>>);

impl std::fmt::Debug for Notifications {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Notifications")
    }
}

/// A call that waits. The future is a subscription of the event's, and holds this as its waker.
struct Notification {
    state: Mutex<NotificationState>,
}

#[derive(Default)]
struct NotificationState {
    call: Option<Call>,
    reached: Option<anymetal::command::Reached>,
}

impl Notification {
    fn lock(&self) -> std::sync::MutexGuard<'_, NotificationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the call up, or makes it.
    fn take(&self) -> Option<Call> {
        let NotificationState { call, reached } = std::mem::take(&mut *self.lock());
        // Outside the lock: it gives its subscription back.
        drop(reached);
        call
    }
}

impl Wake for Notification {
    fn wake(self: Arc<Self>) {
        self.take().into_iter().for_each(Call::start);
    }
}

impl Notifications {
    /// Calls the block when the event reaches the value, at once if it has.
    pub(crate) fn add(
        &self,
        (event, inner): (&Event, &Monotonic),
        listener: &Listener,
        value: u64,
        block: &Block<dyn Fn(*mut AnyObject, u64)>,
    ) {
        let call = Call { block: block.copy(), event: event.retain(), listener: listener.retain(), value };
        let state = Mutex::new(NotificationState { call: Some(call), reached: None });
        let notification = Arc::new(Notification { state });
        let mut reached = inner.reached(value);
        let waker = Waker::from(Arc::clone(&notification));
        let polled = std::pin::Pin::new(&mut reached).poll(&mut Context::from_waker(&waker));
        if polled == Poll::Ready(()) {
            return notification.wake();
        }
        {
            let mut state = notification.lock();
            // It may have been woken meanwhile.
            if state.call.is_some() {
                state.reached = Some(reached);
            }
        }
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|known| known.lock().call.is_some());
        waiting.push(notification);
    }
}

impl Drop for Notifications {
    fn drop(&mut self) {
        let waiting = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.iter().for_each(|notification| drop(notification.take()));
    }
}
