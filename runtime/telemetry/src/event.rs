//! The events, with the names and fields that [`crate::names::spans::EVENTS`] lists.

use tracing::Level;

use crate::names::spans::TARGET;

/// Something went on in another way than wished.
pub fn notice(kind: &str, message: &str) {
    tracing::event!(name: "anymetal.notice", target: TARGET, Level::WARN, kind, "{message}");
}

/// There is no thread for a compile in the background.
pub fn compiles_on_caller(reason: &str) {
    tracing::event!(name: "anymetal.compile.on-caller", target: TARGET, Level::DEBUG, reason);
}

/// A command buffer failed; `caller` says that the caller is at fault.
pub fn submission_failed(device: &str, class: &str, error: &dyn std::fmt::Display) {
    if class == "caller" {
        tracing::event!(name: "anymetal.submission.failed", target: TARGET, Level::DEBUG, device, class, %error);
    } else {
        tracing::event!(name: "anymetal.submission.failed", target: TARGET, Level::WARN, device, class, %error);
    }
}

/// Work is tried again.
pub fn retry(reason: &str) {
    tracing::event!(name: "anymetal.retry", target: TARGET, Level::WARN, reason);
}

/// Another device takes the work over.
pub fn fallback(from: &str, to: &str, reason: &str) {
    tracing::event!(name: "anymetal.fallback", target: TARGET, Level::WARN, from, to, reason);
}

/// A circuit breaker changed its state.
pub fn breaker(device: &str, to: &str) {
    tracing::event!(name: "anymetal.breaker", target: TARGET, Level::WARN, device, to);
}

/// A device was lost.
pub fn device_lost(device: &str) {
    tracing::event!(name: "anymetal.device.lost", target: TARGET, Level::ERROR, device);
}

/// The health of a component changed.
pub fn health(component: &str, to: &str, reason: &str, recovered: bool) {
    if recovered {
        tracing::event!(name: "anymetal.health", target: TARGET, Level::INFO, component, to, reason);
    } else {
        tracing::event!(name: "anymetal.health", target: TARGET, Level::WARN, component, to, reason);
    }
}

/// An alert was raised or resolved.
pub fn alert(severity: &str, component: &str, message: &str) {
    tracing::event!(name: "anymetal.alert", target: TARGET, Level::WARN, severity, component, message);
}
