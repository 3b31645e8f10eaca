//! The worker's end of the connection to its host.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::frame::Frame;

/// The connection, which the host passed as the standard input.
#[derive(Debug)]
pub struct Channel(File);

impl Channel {
    /// Opens the connection.
    ///
    /// # Errors
    /// The standard input is not a socket: the program was not started by a host.
    pub fn open() -> io::Result<Self> {
        let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let is_socket = std::os::unix::fs::FileTypeExt::is_socket(&input.metadata()?.file_type());
        if is_socket {
            Ok(Self(input))
        } else {
            let message = "the standard input is not a socket: this program is started by anymetal itself";
            Err(io::Error::new(io::ErrorKind::InvalidInput, message))
        }
    }

    /// The number of the descriptor, which the sandbox leaves open.
    pub(crate) fn descriptor(&self) -> u64 {
        u64::try_from(self.0.as_raw_fd()).expect("an open descriptor is not negative")
    }

    /// Sends the first message: the build that this is, and the parts of a sandbox that are missing.
    ///
    /// # Errors
    /// The host ended.
    pub fn greet(&self, identity: &str, missing: &[String]) -> io::Result<()> {
        let lines: Vec<&str> = std::iter::once(identity).chain(missing.iter().map(String::as_str)).collect();
        self.send(&Frame { kind: 0, header: lines.join("\n").into_bytes(), blob: Vec::new() })
    }

    /// Ends this process at once, whatever its threads do.
    pub fn end(&self) -> ! {
        // Not `exit`: threads may be inside libLLVM, whose data that would destroy.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        std::process::abort()
    }

    /// Waits for a frame.
    ///
    /// # Errors
    /// The host ended.
    pub fn receive(&self) -> io::Result<Frame> {
        Frame::read(&mut &self.0)
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// The host ended, or the frame is too large.
    pub fn send(&self, frame: &Frame) -> io::Result<()> {
        frame.write(&mut &self.0)
    }
}
