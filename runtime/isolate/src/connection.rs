//! A worker that serves its host for as long as it runs, with messages in both directions at any time.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::net::{SendFlags, send};

use crate::error::IsolationError;
use crate::frame::Frame;
use crate::locate;
use crate::settings::Settings;
use crate::worker::{Broken, Role, Worker, broken};

/// A worker that runs kernels. Dropping it ends the process.
#[derive(Debug)]
pub struct Connection {
    stream: UnixStream,
    worker: Mutex<Worker>,
    settings: Settings,
}

impl Connection {
    /// Starts a worker over `memory`, a file that it maps, and waits until its sandbox is closed.
    ///
    /// # Errors
    /// See [`IsolationError`].
    pub fn start(settings: &Settings, identity: &str, memory: OwnedFd) -> Result<Self, IsolationError> {
        let executable = locate::worker(settings.worker.as_deref())?;
        let deadline = Instant::now() + settings.time;
        let worker = Worker::start(&executable, Role::Run { memory }, settings, identity, deadline)?;
        let failed = |error: io::Error| IsolationError::Start {
            worker: executable.clone(),
            reason: error.to_string(),
        };
        let stream = worker.stream.try_clone().map_err(failed)?;
        stream.set_read_timeout(None).map_err(failed)?;
        stream.set_write_timeout(None).map_err(failed)?;
        Ok(Self { stream, worker: Mutex::new(worker), settings: settings.clone() })
    }

    /// Sends a frame. Threads take turns: the bytes of two frames would mix.
    ///
    /// # Errors
    /// The worker ended, or the frame is too large.
    pub fn send(&self, frame: &Frame) -> io::Result<()> {
        frame.write(&mut Unsignalled(&self.stream))
    }

    /// Waits for a frame. For one thread, which then calls [`Connection::end`] after an error.
    ///
    /// # Errors
    /// The worker ended, or sent something else.
    pub fn receive(&self) -> io::Result<Frame> {
        Frame::read(&mut &self.stream)
    }

    /// Ends the process, and returns the reason why its connection broke.
    pub fn end(&self, error: io::Error) -> IsolationError {
        self.lock().end(broken(error), &self.settings)
    }

    /// Ends the process because it is late.
    pub fn end_late(&self) -> IsolationError {
        self.lock().end(Broken::Late, &self.settings)
    }

    fn lock(&self) -> MutexGuard<'_, Worker> {
        // Nothing panics while holding the lock.
        self.worker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes to a connection. A host that does not ignore SIGPIPE must not end with its worker.
struct Unsignalled<'a>(&'a UnixStream);

impl Write for Unsignalled<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(self.0, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
