//! One HTTP request with a body, to a target that may not answer.
//!
//! Owns [`Target`]. Invariant: a request takes [`PATIENCE`] at most; only `http` is spoken.

use std::time::Duration;

/// How long a request may take, connecting included.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Where requests go. Connections are kept for the next one.
#[derive(Debug, Clone)]
pub struct Target {
    url: String,
    agent: ureq::Agent,
}

/// A URL that no request can be sent to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{url}` is no target: only http://HOST[:PORT][/PATH] is spoken; for https put a proxy or a collector in between"
)]
pub struct BadTarget {
    /// The URL.
    pub url: String,
}

/// A request that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PostError {
    /// The target answered with that status.
    #[error("the target answered with status {0}")]
    Status(u16),
    /// There was no answer.
    #[error("no answer from the target: {0}")]
    Unreachable(String),
}

impl PostError {
    /// Whether the same request may be accepted later.
    pub fn may_pass(&self) -> bool {
        match self {
            PostError::Status(status) => matches!(status, 408 | 429 | 500..=599),
            PostError::Unreachable(_) => true,
        }
    }
}

impl Target {
    /// A target.
    ///
    /// # Errors
    /// Another scheme than `http`, or no host.
    pub fn new(url: &str) -> Result<Self, BadTarget> {
        let host = url.strip_prefix("http://").filter(|host| !host.is_empty() && !host.starts_with('/'));
        if host.is_none_or(|host| host.contains(char::is_whitespace)) {
            return Err(BadTarget { url: url.to_owned() });
        }
        let agent = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).build().into();
        Ok(Target { url: url.to_owned(), agent })
    }

    /// Sends a body and waits for the answer.
    ///
    /// # Errors
    /// No answer in time, or one that is not a success.
    pub fn post(&self, content_type: &str, body: &[u8]) -> Result<(), PostError> {
        match self.agent.post(&self.url).header("Content-Type", content_type).send(body) {
            Ok(_) => Ok(()),
            Err(ureq::Error::StatusCode(status)) => Err(PostError::Status(status)),
            Err(error) => Err(PostError::Unreachable(error.to_string())),
        }
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_with_a_host_is_a_target() {
        assert!(Target::new("http://127.0.0.1:4318/v1/traces").is_ok());
        for url in ["https://a", "http://", "http:///v1", "127.0.0.1:4318", "http://a b"] {
            assert_eq!(Target::new(url).unwrap_err().url, url);
        }
    }

    #[test]
    fn an_unreachable_target_is_an_error_that_may_pass() {
        // A port that was free a moment ago.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let error =
            Target::new(&format!("http://127.0.0.1:{port}/")).unwrap().post("text/plain", b"").unwrap_err();
        assert!(error.may_pass() && !PostError::Status(400).may_pass(), "{error}");
    }
}
