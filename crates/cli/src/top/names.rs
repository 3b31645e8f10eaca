//! The metrics that are shown, by their stable names.

pub(super) const DISPATCHES: &str = "anymetal_dispatches_total";
pub(super) const DISPATCH_DURATION: &str = "anymetal_dispatch_duration_seconds";
pub(super) const IN_FLIGHT: &str = "anymetal_command_buffers_in_flight";
pub(super) const WAITING: &str = "anymetal_command_buffers_waiting";
pub(super) const ERRORS: &str = "anymetal_errors_total";
pub(super) const MEMORY_BYTES: &str = "anymetal_memory_bytes";
pub(super) const MEMORY_LIMIT: &str = "anymetal_memory_limit_bytes";
pub(super) const BUFFERS: &str = "anymetal_buffers";
pub(super) const POOL_BYTES: &str = "anymetal_pool_bytes";
pub(super) const POOL_BUFFERS: &str = "anymetal_pool_buffers";
pub(super) const CACHE_HITS: &str = "anymetal_pipeline_cache_hits_total";
pub(super) const CACHE_MISSES: &str = "anymetal_pipeline_cache_misses_total";
pub(super) const RETRIES: &str = "anymetal_retries_total";
pub(super) const FALLBACKS: &str = "anymetal_fallbacks_total";
pub(super) const DEADLINES: &str = "anymetal_deadlines_exceeded_total";
pub(super) const DEVICE_LOSSES: &str = "anymetal_device_losses_total";
pub(super) const BREAKER_STATE: &str = "anymetal_breaker_state";
pub(super) const HEALTH_STATE: &str = "anymetal_health_state";
