//! One worker process, as its host sees it.

use std::io::{self, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::net::{SendFlags, send};

use crate::error::IsolationError;
use crate::frame::Frame;
use crate::settings::Settings;
use crate::{RUN_ARGUMENT, SUBCOMMAND};

/// Variables that a worker needs to find the same libLLVM and compile for the same processor. The rest of the
/// environment may hold secrets.
const VARIABLES: &[&str] = &[
    "ANYMETAL_LLVM",
    "ANYMETAL_CPU_LEVEL",
    "ANYMETAL_TEST_COMPILER_BUG",
    "HOME",
    "LD_LIBRARY_PATH",
    "PATH",
    "RUSTC",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
];
/// What a worker prints when it has no memory left: Rust's, LLVM's and C++'s words.
const OUT_OF_MEMORY: &[&str] =
    &["memory allocation of", "out of memory", "std::bad_alloc", "Cannot allocate memory"];
/// The end of what a worker printed that errors repeat.
const REPORT_BYTES: usize = 1000;

/// What a worker does.
#[derive(Debug)]
pub(crate) enum Role {
    /// It compiles.
    Compile,
    /// It runs kernels on this memory, which is its standard output.
    Run {
        /// The file of the memory.
        memory: OwnedFd,
    },
}

impl Role {
    fn configure(self, command: &mut Command) {
        match self {
            Role::Compile => command.stdout(Stdio::null()),
            Role::Run { memory } => command.arg(RUN_ARGUMENT).stdout(memory),
        };
    }
}

/// A running worker. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    pub(crate) stream: UnixStream,
    /// What it prints; both ends never block.
    printed: PipeReader,
    /// Number of requests answered.
    pub(crate) answered: u64,
}

/// Why a worker is of no more use.
pub(crate) enum Broken {
    /// It is late.
    Late,
    /// It ended, or the connection did.
    Ended,
    /// It sent something else than a frame.
    Malformed(String),
}

impl Worker {
    /// Starts a worker and waits until its sandbox is closed.
    pub(crate) fn start(
        executable: &Path,
        role: Role,
        settings: &Settings,
        identity: &str,
        deadline: Instant,
    ) -> Result<Self, IsolationError> {
        let mut worker = Self::spawn(executable, role, settings).map_err(|error| IsolationError::Start {
            worker: executable.to_owned(),
            reason: error.to_string(),
        })?;
        let hello = match worker.receive(deadline) {
            Ok(hello) => hello,
            // A program that is no worker ends at once, with a message.
            Err(Broken::Ended) => match worker.end(Broken::Ended, settings) {
                IsolationError::Ended { report } => {
                    let reason = format!("it ended before its first message: {report}");
                    return Err(IsolationError::Start { worker: executable.to_owned(), reason });
                }
                other => return Err(other),
            },
            Err(broken) => return Err(worker.end(broken, settings)),
        };
        let text = String::from_utf8(hello.header)
            .map_err(|_| IsolationError::malformed("its first message is not text"))?;
        let mut lines = text.lines();
        if hello.kind != 0 || lines.next() != Some(identity) {
            return Err(IsolationError::OtherBuild { worker: executable.to_owned() });
        }
        let missing: Vec<String> = lines.map(str::to_owned).collect();
        if missing.is_empty() || settings.allow_incomplete {
            Ok(worker)
        } else {
            Err(IsolationError::Sandbox { missing })
        }
    }

    fn spawn(executable: &Path, role: Role, settings: &Settings) -> io::Result<Self> {
        let (stream, theirs) = UnixStream::pair()?;
        let (printed, printer) = io::pipe()?;
        // A worker that prints more than the pipe holds loses the rest and is not stopped.
        for end in [OwnedFd::from(printed.try_clone()?), OwnedFd::from(printer.try_clone()?)] {
            fcntl_setfl(&end, fcntl_getfl(&end)? | OFlags::NONBLOCK)?;
        }
        let variables = VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut command = Command::new(executable);
        command
            .arg(SUBCOMMAND)
            .arg(settings.memory_bytes.to_string())
            .env_clear()
            .envs(variables)
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stderr(printer)
            // Signals of the terminal are for the host.
            .process_group(0);
        role.configure(&mut command);
        let child = command.spawn()?;
        Ok(Self { child, stream, printed, answered: 0 })
    }

    /// Whether the process runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a request and waits for its answer; `reply` answers the worker's own questions, and returns
    /// `None` for the answer.
    pub(crate) fn call(
        &mut self,
        request: &Frame,
        reply: &mut dyn FnMut(&Frame) -> Result<Option<Frame>, IsolationError>,
        deadline: Instant,
        settings: &Settings,
    ) -> Result<Frame, IsolationError> {
        let mut sent = self.send(request, deadline);
        loop {
            let received = sent.and_then(|()| self.receive(deadline));
            let frame = received.map_err(|broken| self.end(broken, settings))?;
            match reply(&frame)? {
                Some(answer) => sent = self.send(&answer, deadline),
                None => {
                    self.answered += 1;
                    return Ok(frame);
                }
            }
        }
    }

    fn send(&self, frame: &Frame, deadline: Instant) -> Result<(), Broken> {
        frame.write(&mut Timed { stream: &self.stream, deadline }).map_err(broken)
    }

    fn receive(&self, deadline: Instant) -> Result<Frame, Broken> {
        Frame::read(&mut Timed { stream: &self.stream, deadline }).map_err(broken)
    }

    /// Ends the process, and returns the reason why it is broken.
    pub(crate) fn end(&mut self, broken: Broken, settings: &Settings) -> IsolationError {
        // One that has ended keeps the status that it ended with.
        let status = self.stop();
        match broken {
            Broken::Late => IsolationError::Time { limit: settings.time },
            Broken::Malformed(reason) => IsolationError::malformed(reason),
            Broken::Ended => self.reason(status, settings),
        }
    }

    fn stop(&mut self) -> Option<ExitStatus> {
        // It fails for a process that has ended and been waited for.
        let _ = self.child.kill();
        self.child.wait().ok()
    }

    fn reason(&mut self, status: Option<ExitStatus>, settings: &Settings) -> IsolationError {
        let report = self.report();
        if OUT_OF_MEMORY.iter().any(|words| report.contains(words)) {
            return IsolationError::Memory { limit: settings.memory_bytes };
        }
        match status.and_then(|status| status.signal()) {
            Some(libc::SIGKILL) => IsolationError::Killed,
            Some(libc::SIGSYS) => IsolationError::Denied { report },
            Some(signal) => IsolationError::Crashed { signal, report },
            None => IsolationError::Ended { report },
        }
    }

    /// The end of what the process printed.
    fn report(&mut self) -> String {
        let mut bytes = Vec::new();
        // Ends with an error where a process that inherited the pipe still runs; what was printed is there.
        let _ = self.printed.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim();
        text[text.ceil_char_boundary(text.len().saturating_sub(REPORT_BYTES))..].to_owned()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) fn broken(error: io::Error) -> Broken {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Broken::Late,
        io::ErrorKind::InvalidData => Broken::Malformed(error.to_string()),
        _ => Broken::Ended,
    }
}

/// A stream until a deadline.
struct Timed<'a> {
    stream: &'a UnixStream,
    deadline: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        (&mut &*self.stream).read(buffer)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        // A host that does not ignore SIGPIPE must not end with its worker.
        Ok(send(self.stream, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
