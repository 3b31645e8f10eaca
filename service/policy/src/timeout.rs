//! A future with a deadline.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use anymetal_hal::clock::{Clock, Sleep};

use crate::deadline::Deadline;

/// The future's output, or `None` if the deadline came first; the future is dropped then.
pub async fn within<F: Future>(clock: &Arc<dyn Clock>, deadline: Deadline, future: F) -> Option<F::Output> {
    let mut sleep = deadline.time().map(|at| Sleep::until(Arc::clone(clock), at));
    let mut future = pin!(future);
    poll_fn(|context| {
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        match &mut sleep {
            Some(sleep) => Pin::new(sleep).poll(context).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
}
