//! The threads that run work: as many as there is work at the same time, and the threads that are done
//! wait for more.
//!
//! Invariant: work is given to a thread that waits or to a new one, so it never waits for other work.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use crate::runtime::{begin_pool, end_pool, without_exceptions};

/// Something to do once.
pub(crate) type Work = Box<dyn FnOnce() + Send>;

/// How many threads may wait for work.
const MAX_IDLE: usize = 16;

static IDLE: Mutex<Vec<Sender<Work>>> = Mutex::new(Vec::new());

/// Has a thread do the work now.
pub(crate) fn run(work: Work) {
    let idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let left = match idle {
        Some(thread) => thread.send(work).err().map(|refused| refused.0),
        None => Some(work),
    };
    if let Some(work) = left {
        start(work);
    }
}

fn start(work: Work) {
    let (sender, next) = channel::<Work>();
    let first = sender.clone();
    let name = "anymetal-dispatch".to_owned();
    let started = std::thread::Builder::new().name(name).spawn(move || serve(&next, &sender));
    match started {
        // The thread waits for its first work.
        Ok(_) => drop(first.send(work)),
        // Without threads the work is done here.
        Err(_) => work(),
    }
}

fn serve(next: &Receiver<Work>, own: &Sender<Work>) {
    while let Ok(work) = next.recv() {
        without_exceptions(|| in_pool(work));
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= MAX_IDLE {
            return;
        }
        idle.push(own.clone());
    }
}

/// Does the work inside an autorelease pool.
pub(crate) fn in_pool(work: impl FnOnce()) {
    let pool = begin_pool();
    work();
    end_pool(pool);
}
