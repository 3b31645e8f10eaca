//! Events without effect, for builds without the feature `emit`.

/// Something went on in another way than wished.
#[inline(always)]
pub fn notice(_kind: &str, _message: &str) {}

/// There is no thread for a compile in the background.
#[inline(always)]
pub fn compiles_on_caller(_reason: &str) {}

/// A command buffer failed.
#[inline(always)]
pub fn submission_failed(_device: &str, _class: &str, _error: &dyn std::fmt::Display) {}

/// Work is tried again.
#[inline(always)]
pub fn retry(_reason: &str) {}

/// Another device takes the work over.
#[inline(always)]
pub fn fallback(_from: &str, _to: &str, _reason: &str) {}

/// A circuit breaker changed its state.
#[inline(always)]
pub fn breaker(_device: &str, _to: &str) {}

/// A device was lost.
#[inline(always)]
pub fn device_lost(_device: &str) {}

/// The health of a component changed.
#[inline(always)]
pub fn health(_component: &str, _to: &str, _reason: &str, _recovered: bool) {}

/// An alert was raised or resolved.
#[inline(always)]
pub fn alert(_severity: &str, _component: &str, _message: &str) {}
