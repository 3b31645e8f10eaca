//! The metrics.
//!
//! One constant each, and [`METRICS`], the table of all. A metric is added here and nowhere else; then
//! `cargo xtask gen` writes it into `docs/telemetry.md`.

use super::{Layer, Metric, MetricKind, Unit};

const fn metric(
    layer: Layer,
    kind: MetricKind,
    unit: Unit,
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Metric {
    Metric { name, kind, unit, labels, help, layer }
}

/// How long a stage of compiling took.
pub const COMPILE_DURATION: Metric = metric(
    Layer::Compiler,
    MetricKind::Histogram,
    Unit::Seconds,
    "anymetal_compile_duration_seconds",
    &["stage"],
    "How long a stage of compiling took.",
);
/// Compilations that ended with an error of that stage.
pub const COMPILE_ERRORS: Metric = metric(
    Layer::Compiler,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_compile_errors_total",
    &["stage"],
    "Compilations that ended with an error of that stage.",
);
/// Compiled kernels found in a cache.
pub const CACHE_HITS: Metric = metric(
    Layer::Compiler,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_pipeline_cache_hits_total",
    &["cache"],
    "Compiled kernels found in a cache.",
);
/// Compiled kernels looked for in a cache and not found.
pub const CACHE_MISSES: Metric = metric(
    Layer::Compiler,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_pipeline_cache_misses_total",
    &["cache"],
    "Compiled kernels looked for in a cache and not found.",
);
/// Findings of the sanitizer, each place once.
pub const SANITIZER_FINDINGS: Metric = metric(
    Layer::Compiler,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_sanitizer_findings_total",
    &["kind"],
    "Findings of the sanitizer, each place once.",
);
/// Kernels made ready to run, one for each threadgroup size with code of its own.
pub const PIPELINES_CREATED: Metric = metric(
    Layer::Execution,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_pipelines_created_total",
    &["device", "backend"],
    "Kernels made ready to run, one for each threadgroup size with code of its own.",
);
/// How long making a pipeline took, compiling included.
pub const PIPELINE_DURATION: Metric = metric(
    Layer::Execution,
    MetricKind::Histogram,
    Unit::Seconds,
    "anymetal_pipeline_creation_duration_seconds",
    &["device"],
    "How long making a pipeline took, compiling included.",
);
/// Dispatches that ended well.
pub const DISPATCHES: Metric = metric(
    Layer::Execution,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_dispatches_total",
    &["device", "backend", "kernel"],
    "Dispatches that ended well.",
);
/// Device time of dispatches. All that are alone in their command buffer; of larger command buffers
/// one in 64.
pub const DISPATCH_DURATION: Metric = metric(
    Layer::Execution,
    MetricKind::Histogram,
    Unit::Seconds,
    "anymetal_dispatch_duration_seconds",
    &["device", "backend", "kernel"],
    "Device time of dispatches. All that are alone in their command buffer; of larger command buffers one in 64.",
);
/// Command buffers that ended: ok, failed, cancelled.
pub const SUBMISSIONS: Metric = metric(
    Layer::Execution,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_submissions_total",
    &["device", "outcome"],
    "Command buffers that ended: ok, failed, cancelled.",
);
/// Device time of command buffers.
pub const SUBMISSION_DURATION: Metric = metric(
    Layer::Execution,
    MetricKind::Histogram,
    Unit::Seconds,
    "anymetal_submission_duration_seconds",
    &["device"],
    "Device time of command buffers.",
);
/// From handing a command buffer to the device to its first command.
pub const SUBMISSION_WAIT: Metric = metric(
    Layer::Execution,
    MetricKind::Histogram,
    Unit::Seconds,
    "anymetal_submission_wait_seconds",
    &["device"],
    "From handing a command buffer to the device to its first command.",
);
/// Command buffers that the device has.
pub const COMMAND_BUFFERS_IN_FLIGHT: Metric = metric(
    Layer::Execution,
    MetricKind::Gauge,
    Unit::Count,
    "anymetal_command_buffers_in_flight",
    &["device"],
    "Command buffers that the device has.",
);
/// Command buffers that are committed and not with the device.
pub const COMMAND_BUFFERS_WAITING: Metric = metric(
    Layer::Execution,
    MetricKind::Gauge,
    Unit::Count,
    "anymetal_command_buffers_waiting",
    &["device"],
    "Command buffers that are committed and not with the device.",
);
/// Queues that exist.
pub const STREAMS: Metric = metric(
    Layer::Execution,
    MetricKind::Gauge,
    Unit::Count,
    "anymetal_streams",
    &["device"],
    "Queues that exist.",
);
/// Command buffers that failed, by the class of the error.
pub const ERRORS: Metric = metric(
    Layer::Execution,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_errors_total",
    &["device", "class"],
    "Command buffers that failed, by the class of the error.",
);
/// Bytes copied.
pub const COPIED_BYTES: Metric = metric(
    Layer::Execution,
    MetricKind::Counter,
    Unit::Bytes,
    "anymetal_copied_bytes_total",
    &["device", "direction"],
    "Bytes copied.",
);
/// Executions of ranges of commands that kernels encoded.
pub const ENCODED_EXECUTIONS: Metric = metric(
    Layer::Execution,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_encoded_executions_total",
    &["device"],
    "Executions of ranges of commands that kernels encoded.",
);
/// Launches that kernels encoded.
pub const ENCODED_LAUNCHES: Metric = metric(
    Layer::Execution,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_encoded_launches_total",
    &["device"],
    "Launches that kernels encoded.",
);
/// How deep commands that kernels encode were nested.
pub const ENCODED_DEPTH: Metric = metric(
    Layer::Execution,
    MetricKind::Histogram,
    Unit::Count,
    "anymetal_encoded_depth",
    &["device"],
    "How deep commands that kernels encode were nested.",
);
/// How long commands that kernels encoded took.
pub const ENCODED_DURATION: Metric = metric(
    Layer::Execution,
    MetricKind::Histogram,
    Unit::Seconds,
    "anymetal_encoded_duration_seconds",
    &["device"],
    "How long commands that kernels encoded took.",
);
/// Runs of graphs.
pub const GRAPH_REPLAYS: Metric = metric(
    Layer::Execution,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_graph_replays_total",
    &["device", "mode"],
    "Runs of graphs.",
);
/// Calls of tensor operations.
pub const OPERATIONS: Metric = metric(
    Layer::Operations,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_operations_total",
    &["device", "operation", "path"],
    "Calls of tensor operations, and pieces of recordings, that were handed to the device.",
);
/// Their arithmetic.
pub const OPERATION_FLOP: Metric = metric(
    Layer::Operations,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_operation_flop_total",
    &["device", "operation", "path"],
    "Arithmetic operations of them by the mathematical definition; its rate is FLOP/s.",
);
/// Their memory traffic.
pub const OPERATION_BYTES: Metric = metric(
    Layer::Operations,
    MetricKind::Counter,
    Unit::Bytes,
    "anymetal_operation_bytes_total",
    &["device", "operation", "path"],
    "Bytes of their tensors, each read or written once.",
);
/// Their device time.
pub const OPERATION_DURATION: Metric = metric(
    Layer::Operations,
    MetricKind::Histogram,
    Unit::Seconds,
    "anymetal_operation_duration_seconds",
    &["device", "operation", "path"],
    "Device time of calls of them that ended well, the work that a call leads to added up. FLOP over its sum is the rate while they run.",
);
/// Live buffers, idle ones of pools included.
pub const BUFFERS: Metric = metric(
    Layer::Memory,
    MetricKind::Gauge,
    Unit::Count,
    "anymetal_buffers",
    &["device"],
    "Live buffers, idle ones of pools included.",
);
/// Bytes that live buffers take of the device.
pub const MEMORY_BYTES: Metric = metric(
    Layer::Memory,
    MetricKind::Gauge,
    Unit::Bytes,
    "anymetal_memory_bytes",
    &["device"],
    "Bytes that live buffers take of the device.",
);
/// The budget: bytes that buffers may take.
pub const MEMORY_LIMIT: Metric = metric(
    Layer::Memory,
    MetricKind::Gauge,
    Unit::Bytes,
    "anymetal_memory_limit_bytes",
    &["device"],
    "The budget: bytes that buffers may take.",
);
/// Bytes of the pool's buffers: used by holders or their work, or free.
pub const POOL_BYTES: Metric = metric(
    Layer::Memory,
    MetricKind::Gauge,
    Unit::Bytes,
    "anymetal_pool_bytes",
    &["device", "state"],
    "Bytes of the pool's buffers: used by holders or their work, or free.",
);
/// Buffers of the pool, wherever they are.
pub const POOL_BUFFERS: Metric = metric(
    Layer::Memory,
    MetricKind::Gauge,
    Unit::Count,
    "anymetal_pool_buffers",
    &["device"],
    "Buffers of the pool, wherever they are.",
);
/// Acquisitions: hit (a buffer was there), miss (one was made), refused.
pub const POOL_ACQUISITIONS: Metric = metric(
    Layer::Memory,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_pool_acquisitions_total",
    &["device", "outcome"],
    "Acquisitions: hit (a buffer was there), miss (one was made), refused.",
);
/// Buffers and heaps made.
pub const ALLOCATIONS: Metric = metric(
    Layer::Memory,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_buffers_allocated_total",
    &["device", "origin"],
    "Buffers and heaps made.",
);
/// Allocations that were refused, by the class of the error.
pub const ALLOCATION_FAILURES: Metric = metric(
    Layer::Memory,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_allocation_failures_total",
    &["device", "reason"],
    "Allocations that were refused, by the class of the error.",
);
/// Attempts after the first one, by the class of the error before.
pub const RETRIES: Metric = metric(
    Layer::Recovery,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_retries_total",
    &["reason"],
    "Attempts after the first one, by the class of the error before.",
);
/// Work that another device took over.
pub const FALLBACKS: Metric = metric(
    Layer::Recovery,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_fallbacks_total",
    &["from", "to", "reason"],
    "Work that another device took over.",
);
/// A circuit breaker: 0 closed, 1 half-open, 2 open.
pub const BREAKER_STATE: Metric = metric(
    Layer::Recovery,
    MetricKind::Gauge,
    Unit::State,
    "anymetal_breaker_state",
    &["device", "kernel"],
    "A circuit breaker: 0 closed, 1 half-open, 2 open.",
);
/// Changes of circuit breakers, by the state entered: closed, half-open, open.
pub const BREAKER_TRANSITIONS: Metric = metric(
    Layer::Recovery,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_breaker_transitions_total",
    &["device", "to"],
    "Changes of circuit breakers, by the state entered: closed, half-open, open.",
);
/// Work that an open circuit breaker refused.
pub const BREAKER_REJECTIONS: Metric = metric(
    Layer::Recovery,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_breaker_rejections_total",
    &["device"],
    "Work that an open circuit breaker refused.",
);
/// Work that a full bulkhead refused.
pub const BULKHEAD_REJECTIONS: Metric = metric(
    Layer::Recovery,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_bulkhead_rejections_total",
    &["bulkhead"],
    "Work that a full bulkhead refused.",
);
/// Work that ran into its deadline.
pub const DEADLINES: Metric = metric(
    Layer::Recovery,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_deadlines_exceeded_total",
    &["device"],
    "Work that ran into its deadline.",
);
/// Steps of the recovery ladder that were taken.
pub const RECOVERY_STEPS: Metric = metric(
    Layer::Recovery,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_recovery_steps_total",
    &["step", "outcome"],
    "Steps of the recovery ladder that were taken.",
);
/// Times that a device was lost.
pub const DEVICE_LOSSES: Metric = metric(
    Layer::Recovery,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_device_losses_total",
    &["device"],
    "Times that a device was lost.",
);
/// Whether a device works in degraded mode: 0 or 1.
pub const DEGRADED: Metric = metric(
    Layer::Recovery,
    MetricKind::Gauge,
    Unit::State,
    "anymetal_degraded_mode",
    &["device"],
    "Whether a device works in degraded mode: 0 or 1.",
);
/// Requests to the execution manager that ended.
pub const EXECUTIONS: Metric = metric(
    Layer::Recovery,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_executions_total",
    &["outcome"],
    "Requests to the execution manager that ended.",
);
/// From a request to the execution manager to its end, all attempts included.
pub const EXECUTION_DURATION: Metric = metric(
    Layer::Recovery,
    MetricKind::Histogram,
    Unit::Seconds,
    "anymetal_execution_duration_seconds",
    &["outcome"],
    "From a request to the execution manager to its end, all attempts included.",
);
/// Attempts that a request to the execution manager took.
pub const EXECUTION_ATTEMPTS: Metric = metric(
    Layer::Recovery,
    MetricKind::Histogram,
    Unit::Count,
    "anymetal_execution_attempts",
    &["outcome"],
    "Attempts that a request to the execution manager took.",
);
/// Queues that the execution manager uses.
pub const MANAGER_STREAMS: Metric = metric(
    Layer::Recovery,
    MetricKind::Gauge,
    Unit::Count,
    "anymetal_manager_streams",
    &["device"],
    "Queues that the execution manager uses.",
);
/// Records for the audit log: ok, lost.
pub const AUDIT_RECORDS: Metric = metric(
    Layer::Recovery,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_audit_records_total",
    &["outcome"],
    "Records for the audit log: ok, lost.",
);
/// Temperature of a thermal zone.
pub const TEMPERATURE: Metric = metric(
    Layer::Recovery,
    MetricKind::Gauge,
    Unit::Celsius,
    "anymetal_temperature_celsius",
    &["zone"],
    "Temperature of a thermal zone.",
);
/// Power of a package.
pub const POWER: Metric = metric(
    Layer::Recovery,
    MetricKind::Gauge,
    Unit::Watts,
    "anymetal_power_watts",
    &["zone"],
    "Power of a package.",
);
/// Thermal state: 0 nominal, 1 fair, 2 serious, 3 critical.
pub const THERMAL_STATE: Metric = metric(
    Layer::Recovery,
    MetricKind::Gauge,
    Unit::State,
    "anymetal_thermal_state",
    &["zone"],
    "Thermal state: 0 nominal, 1 fair, 2 serious, 3 critical.",
);
/// Health of a component: 0 healthy, 1 degraded, 2 unhealthy.
pub const HEALTH_STATE: Metric = metric(
    Layer::Health,
    MetricKind::Gauge,
    Unit::State,
    "anymetal_health_state",
    &["component"],
    "Health of a component: 0 healthy, 1 degraded, 2 unhealthy.",
);
/// Changes of a component's health, by the state entered.
pub const HEALTH_TRANSITIONS: Metric = metric(
    Layer::Health,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_health_transitions_total",
    &["component", "to"],
    "Changes of a component's health, by the state entered.",
);
/// Values of a component's series that were found anomalous.
pub const ANOMALIES: Metric = metric(
    Layer::Health,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_health_anomalies_total",
    &["component"],
    "Values of a component's series that were found anomalous.",
);
/// Alerts raised.
pub const ALERTS: Metric = metric(
    Layer::Health,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_alerts_total",
    &["severity"],
    "Alerts raised.",
);
/// Items given up because a queue was full or a target refused them.
pub const DROPPED: Metric = metric(
    Layer::Telemetry,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_telemetry_dropped_total",
    &["exporter"],
    "Items given up because a queue was full or a target refused them.",
);
/// Requests to a target: ok, failed; for prometheus, scrapes.
pub const EXPORTS: Metric = metric(
    Layer::Telemetry,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_telemetry_exports_total",
    &["exporter", "outcome"],
    "Requests to a target: ok, failed; for prometheus, scrapes.",
);
/// Handles made with a label value beyond the number that is kept, recorded as other.
pub const LABEL_OVERFLOWS: Metric = metric(
    Layer::Telemetry,
    MetricKind::Counter,
    Unit::Count,
    "anymetal_telemetry_label_overflows_total",
    &["label"],
    "Handles made with a label value beyond the number that is kept, recorded as other.",
);
/// All metrics, in the order of documents.
pub const METRICS: &[&Metric] = &[
    &COMPILE_DURATION,
    &COMPILE_ERRORS,
    &CACHE_HITS,
    &CACHE_MISSES,
    &SANITIZER_FINDINGS,
    &PIPELINES_CREATED,
    &PIPELINE_DURATION,
    &DISPATCHES,
    &DISPATCH_DURATION,
    &SUBMISSIONS,
    &SUBMISSION_DURATION,
    &SUBMISSION_WAIT,
    &COMMAND_BUFFERS_IN_FLIGHT,
    &COMMAND_BUFFERS_WAITING,
    &STREAMS,
    &ERRORS,
    &COPIED_BYTES,
    &ENCODED_EXECUTIONS,
    &ENCODED_LAUNCHES,
    &ENCODED_DEPTH,
    &ENCODED_DURATION,
    &GRAPH_REPLAYS,
    &OPERATIONS,
    &OPERATION_FLOP,
    &OPERATION_BYTES,
    &OPERATION_DURATION,
    &BUFFERS,
    &MEMORY_BYTES,
    &MEMORY_LIMIT,
    &POOL_BYTES,
    &POOL_BUFFERS,
    &POOL_ACQUISITIONS,
    &ALLOCATIONS,
    &ALLOCATION_FAILURES,
    &RETRIES,
    &FALLBACKS,
    &BREAKER_STATE,
    &BREAKER_TRANSITIONS,
    &BREAKER_REJECTIONS,
    &BULKHEAD_REJECTIONS,
    &DEADLINES,
    &RECOVERY_STEPS,
    &DEVICE_LOSSES,
    &DEGRADED,
    &EXECUTIONS,
    &EXECUTION_DURATION,
    &EXECUTION_ATTEMPTS,
    &MANAGER_STREAMS,
    &AUDIT_RECORDS,
    &TEMPERATURE,
    &POWER,
    &THERMAL_STATE,
    &HEALTH_STATE,
    &HEALTH_TRANSITIONS,
    &ANOMALIES,
    &ALERTS,
    &DROPPED,
    &EXPORTS,
    &LABEL_OVERFLOWS,
];
