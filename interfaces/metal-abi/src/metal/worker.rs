//! The thread on which a queue calls handlers, as Metal calls them: never the one that commits, in
//! the order in which command buffers end.
//!
//! Invariant: a job runs once; the thread starts with the first job and ends with its queue.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use crate::runtime::{begin_pool, end_pool, without_exceptions};

/// What a thread is given to do.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// A thread for handlers, once there are some.
#[derive(Debug, Default)]
pub(crate) struct Worker(Mutex<Option<Sender<Job>>>);

impl Worker {
    /// Has the thread run a job after those before it. If no thread can be started, runs it here.
    pub(crate) fn run(&self, job: Job) {
        let mut sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sender.is_none() {
            *sender = start();
        }
        let refused = match &*sender {
            Some(sender) => sender.send(job).map_err(|refused| refused.0).err(),
            None => Some(job),
        };
        drop(sender);
        if let Some(job) = refused {
            job();
        }
    }
}

fn start() -> Option<Sender<Job>> {
    let (sender, jobs) = channel::<Job>();
    let name = "anymetal-handlers".to_owned();
    let started = std::thread::Builder::new().name(name).spawn(move || {
        for job in jobs {
            let pool = begin_pool();
            // A handler that panics has been reported by the panic hook; the others are still
            // called.
            let _reported =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| without_exceptions(job)));
            end_pool(pool);
        }
    });
    started.is_ok().then_some(sender)
}
