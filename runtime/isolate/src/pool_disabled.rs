//! The twin of `pool.rs` where there are no workers.

use crate::error::IsolationError;
use crate::frame::Frame;
use crate::settings::Settings;

/// A pool that refuses all requests.
#[derive(Debug)]
pub struct Pool(());

impl Pool {
    /// A pool.
    pub fn new(_settings: Settings, _identity: &str) -> Self {
        Self(())
    }

    /// Refuses the request.
    ///
    /// # Errors
    /// [`IsolationError::Unsupported`].
    pub fn call(
        &self,
        _request: &Frame,
        _answer: &mut dyn FnMut(&Frame) -> Result<Option<Frame>, IsolationError>,
    ) -> Result<Frame, IsolationError> {
        Err(IsolationError::Unsupported { what: "isolation on this system".to_owned() })
    }
}
