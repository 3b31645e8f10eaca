//! Why work in a worker process failed.

use std::path::PathBuf;
use std::time::Duration;

use crate::settings::{
    INCOMPLETE_VARIABLE, ISOLATE_VARIABLE, MEMORY_VARIABLE, TIME_VARIABLE, WORKER_VARIABLE,
};

/// Why work in a worker process failed. After each of them the next request gets a worker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IsolationError {
    /// A setting has a value that it cannot have.
    #[error("{variable} is `{value}`, expected {expected}")]
    Setting {
        /// The environment variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// What was requested is not isolated here.
    #[error("{what} is not supported; unset {ISOLATE_VARIABLE}")]
    Unsupported {
        /// The request.
        what: String,
    },
    /// There is no executable to run as the worker.
    #[error(
        "no worker executable was found (looked for {}); set {WORKER_VARIABLE} to the path of the `anymetal` \
         executable of the same build",
        list(.tried)
    )]
    WorkerNotFound {
        /// The paths looked at.
        tried: Vec<PathBuf>,
    },
    /// The worker could not be started.
    #[error("the worker {} could not be started: {reason}", .worker.display())]
    Start {
        /// The executable.
        worker: PathBuf,
        /// What the system or the worker reported.
        reason: String,
    },
    /// The worker is of another build, whose results would be cached as this one's.
    #[error(
        "the worker {} is of another build of anymetal; set {WORKER_VARIABLE} to that of this build",
        .worker.display()
    )]
    OtherBuild {
        /// The executable.
        worker: PathBuf,
    },
    /// The kernel lacks a part of the sandbox.
    #[error(
        "this system has no {}, so isolation is incomplete; {INCOMPLETE_VARIABLE}=allow goes on without",
        .missing.join(" and no ")
    )]
    Sandbox {
        /// The missing parts.
        missing: Vec<String>,
    },
    /// The worker used up its memory.
    #[error("the worker process needs more than {} MiB of memory ({MEMORY_VARIABLE})", .limit >> 20)]
    Memory {
        /// The limit in bytes.
        limit: u64,
    },
    /// The worker was late and has been ended.
    #[error("the worker process took longer than {} s ({TIME_VARIABLE})", .limit.as_secs_f64())]
    Time {
        /// The limit.
        limit: Duration,
    },
    /// The worker made a system call that its filter denies.
    #[error(
        "the worker process made a system call that its sandbox denies, and was ended{}",
        printed(.report)
    )]
    Denied {
        /// The end of what it printed.
        report: String,
    },
    /// The worker was killed from outside, by the system or by a user.
    #[error("the worker process was killed from outside (SIGKILL)")]
    Killed,
    /// The worker crashed.
    #[error("the worker process crashed with signal {signal}{}", printed(.report))]
    Crashed {
        /// The signal.
        signal: i32,
        /// The end of what it printed.
        report: String,
    },
    /// The worker ended without an answer.
    #[error("the worker process ended without an answer{}", printed(.report))]
    Ended {
        /// The end of what it printed.
        report: String,
    },
    /// The worker's answer is not one.
    #[error("the worker process sent a malformed answer: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// The request is too large to be sent.
    #[error("the request of {bytes} bytes is too large for a worker process")]
    RequestTooLarge {
        /// Its size.
        bytes: u64,
    },
}

impl IsolationError {
    /// A malformed answer.
    pub fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed { reason: reason.into() }
    }

    /// A stable name of the kind of error.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Setting { .. } => "isolation-setting",
            Self::Unsupported { .. } => "isolation-unsupported",
            Self::WorkerNotFound { .. } => "isolation-worker-not-found",
            Self::Start { .. } => "isolation-start",
            Self::OtherBuild { .. } => "isolation-other-build",
            Self::Sandbox { .. } => "isolation-sandbox",
            Self::Memory { .. } => "isolation-memory",
            Self::Time { .. } => "isolation-time",
            Self::Denied { .. } => "isolation-denied",
            Self::Killed => "isolation-killed",
            Self::Crashed { .. } => "isolation-crashed",
            Self::Ended { .. } => "isolation-ended",
            Self::Malformed { .. } => "isolation-malformed",
            Self::RequestTooLarge { .. } => "isolation-request-too-large",
        }
    }

    /// Whether the compiled text is at fault rather than the machine or its settings, as far as can be known.
    pub fn is_of_input(&self) -> bool {
        matches!(self, Self::Memory { .. } | Self::Time { .. } | Self::RequestTooLarge { .. })
    }
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    shown.join(", ")
}

fn printed(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}
