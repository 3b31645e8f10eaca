//! Submissions: committed work, from the commit to its one end.
//!
//! Owns [`Submission`] and [`CancelOnDrop`], thin handles over the runtime's. Invariant: how work ended is
//! told with this crate's [`Error`], whether it is waited for, awaited or called back.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anymetal_core::submission as runtime;
use anymetal_hal::completion::{CommandTiming, Timing};
use anymetal_hal::logging::Logs;
use anymetal_hal::queue::Cancellation;

use crate::error::Error;

/// How a submission ended: its times on the device, or why there is no result.
pub type Outcome = Result<Timing, Error>;

/// Committed work: wait for it, await it, cancel it. Clones are the same work, and dropping handles changes
/// nothing about it.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// let device = anymetal::Device::system_default()?;
/// let (queue, buffer) = (device.queue()?, device.buffer(&[1u8; 64])?);
/// let mut commands = queue.command_buffer()?.label("clear");
/// commands.blit_encoder().fill(&buffer.view(0..64)?, 0)?;
/// let submission = commands.commit()?;
/// let timing = submission.wait()?; // or `submission.await?` under any executor
/// assert!(submission.is_done() && timing.ended_ns >= timing.started_ns);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Submission {
    inner: runtime::CommittedCommands,
}

impl Submission {
    /// The submission, or its error if the device has refused it already.
    pub(crate) fn accepted(inner: runtime::CommittedCommands) -> Result<Self, Error> {
        match inner.refusal() {
            Some(error) => Err(error.into()),
            None => Ok(Submission { inner }),
        }
    }

    pub(crate) fn inner(&self) -> &runtime::CommittedCommands {
        &self.inner
    }

    /// Its label; may be empty.
    pub fn label(&self) -> &str {
        self.inner.label()
    }

    /// Whether it has ended; never blocks.
    pub fn is_done(&self) -> bool {
        self.inner.is_done()
    }

    /// How it ended, if it has; never blocks.
    pub fn outcome(&self) -> Option<Outcome> {
        self.inner.outcome().map(told)
    }

    /// Blocks until it has ended. The thread may run work of the same queue meanwhile.
    pub fn wait(&self) -> Outcome {
        told(self.inner.wait())
    }

    /// Blocks until it has ended, at most that long by the device's clock; `None` if the time is over. The
    /// work goes on; see [`Submission::cancel`].
    pub fn wait_timeout(&self, timeout: Duration) -> Option<Outcome> {
        self.inner.wait_timeout(timeout).map(told)
    }

    /// Takes the work back if it has not started; its waiters then get an error of which
    /// [`Error::is_cancelled`] is true. Work that runs goes on; see [`Submission::stop`].
    pub fn cancel(&self) -> Cancellation {
        self.inner.cancel()
    }

    /// As [`Submission::cancel`], and work that runs is told to leave, as at its deadline: its waiters then
    /// get [`crate::error::DeviceError::Stopped`], unless it ends before. What it wrote stays. Apple's GPUs
    /// stop no work ([`Cancellation::TooLate`]).
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use anymetal::error::ErrorKind;
    ///
    /// let device = anymetal::Device::system_default()?;
    /// let library = device.library_from_source(
    ///     "kernel void spin(device const volatile uint* x) { while (*x == 0) { } }",
    /// )?;
    /// let (spin, x) = (library.pipeline("spin")?, device.buffer_zeroed::<u32>(1)?);
    /// let submission = device.queue()?.launch(&spin).arg(&x).threads(1).submit()?;
    /// submission.stop();
    /// assert_eq!(submission.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    /// # Ok(())
    /// # }
    /// ```
    pub fn stop(&self) -> Cancellation {
        self.inner.stop()
    }

    /// Cancels the work when the guard is dropped before the work has ended.
    pub fn cancel_on_drop(self) -> CancelOnDrop {
        CancelOnDrop { submission: self }
    }

    /// Calls back when it has ended, on the thread that ended it; at once if it has. That may be the thread
    /// that commits: the callback must take no lock that is held across a commit, be short, and not wait for
    /// other work.
    pub fn on_done(&self, callback: impl FnOnce(&Outcome) + Send + 'static) {
        self.inner.on_done(|outcome| callback(&told(outcome.clone())));
    }

    /// The device time between the ends of two submissions of one device.
    pub fn elapsed_since(&self, earlier: &Submission) -> Result<Duration, Error> {
        Ok(self.inner.elapsed_since(&earlier.inner)?)
    }

    /// The messages that its kernels have written ([`crate::CompileOptions::logging`]), from its end on;
    /// `None`: none of its kernels can write one.
    pub fn logs(&self) -> Option<Arc<Logs>> {
        self.inner.logs()
    }

    /// The times of its commands from its end on, if the command buffer was made with
    /// [`crate::command::Timestamps::EachCommand`] and the device measures them.
    pub fn command_timings(&self) -> Option<Arc<[CommandTiming]>> {
        self.inner.command_timings()
    }
}

impl Future for Submission {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        Pin::new(&mut self.inner).poll(context).map(told)
    }
}

impl fmt::Debug for Submission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(formatter)
    }
}

/// The runtime's outcome with this crate's error.
pub(crate) fn told(outcome: runtime::Outcome) -> Outcome {
    outcome.map_err(Error::from)
}

/// A submission that is cancelled when this guard is dropped before the work has ended. It is a future as
/// well.
#[derive(Debug)]
#[must_use = "dropping the guard cancels the work"]
pub struct CancelOnDrop {
    submission: Submission,
}

impl CancelOnDrop {
    /// The submission; dropping the guard still cancels it.
    pub fn submission(&self) -> &Submission {
        &self.submission
    }
}

impl Future for CancelOnDrop {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        Pin::new(&mut self.submission).poll(context)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let _answer = self.submission.cancel();
    }
}
