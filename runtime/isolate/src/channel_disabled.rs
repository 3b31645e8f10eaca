//! The twin of `channel.rs` where there are no workers.

use std::io;

use crate::frame::Frame;

/// The connection to a host, which does not exist here.
#[derive(Debug)]
pub struct Channel(std::convert::Infallible);

impl Channel {
    /// Reports that there are no workers here.
    ///
    /// # Errors
    /// Always.
    pub fn open() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Never called.
    ///
    /// # Errors
    /// Never.
    pub fn greet(&self, _identity: &str, _missing: &[String]) -> io::Result<()> {
        match self.0 {}
    }

    /// Never called.
    pub fn end(&self) -> ! {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// Never.
    pub fn receive(&self) -> io::Result<Frame> {
        match self.0 {}
    }

    /// Never called.
    ///
    /// # Errors
    /// Never.
    pub fn send(&self, _frame: &Frame) -> io::Result<()> {
        match self.0 {}
    }
}
