//! The table of environment variables.

/// What a variable is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Basics.
    Basics,
    /// CPU device.
    CpuDevice,
    /// Checks.
    Checks,
    /// Isolation.
    Isolation,
    /// Memory.
    Memory,
    /// Queues.
    Queues,
    /// Service.
    Service,
    /// Recovery policies.
    RecoveryPolicies,
    /// Tools.
    Tools,
}

impl Group {
    /// All groups, in the order of the table.
    pub const ALL: &[Group] = &[
        Group::Basics,
        Group::CpuDevice,
        Group::Checks,
        Group::Isolation,
        Group::Memory,
        Group::Queues,
        Group::Service,
        Group::RecoveryPolicies,
        Group::Tools,
    ];

    /// The heading of the group.
    pub fn title(self) -> &'static str {
        match self {
            Group::Basics => "Basics",
            Group::CpuDevice => "CPU device",
            Group::Checks => "Checks",
            Group::Isolation => "Isolation",
            Group::Memory => "Memory",
            Group::Queues => "Queues",
            Group::Service => "Service",
            Group::RecoveryPolicies => "Recovery policies",
            Group::Tools => "Tools",
        }
    }
}

/// An environment variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub group: Group,
    /// The values that it takes, in Markdown.
    pub takes: &'static str,
    /// What counts where it is not set, in Markdown.
    pub default: &'static str,
    /// What it does, in Markdown.
    pub summary: &'static str,
}

const fn row(
    group: Group,
    name: &'static str,
    takes: &'static str,
    default: &'static str,
    summary: &'static str,
) -> Variable {
    Variable { name, group, takes, default, summary }
}

/// All variables, by group.
pub const VARIABLES: &[Variable] = &[
    row(
        Group::Basics,
        "ANYMETAL_DEVICE",
        "the name of a device, such as `cpu` or `nvidia:0`",
        "the best of the machine",
        "The device of `Device::system_default`.",
    ),
    row(
        Group::Basics,
        "ANYMETAL_FAMILY",
        "`apple4` to `apple10`, `mac2`, `metal3`, `metal4` or `paravirtual`",
        "none",
        "The family of GPUs whose refusals the device has.",
    ),
    row(
        Group::Basics,
        "ANYMETAL_CONFIG",
        "a path",
        "none",
        "A file of settings in TOML. A variable overrides the same setting in the file.",
    ),
    row(
        Group::Basics,
        "ANYMETAL_LLVM",
        "the file of libLLVM, its folder, or `none`",
        "searched for",
        "The libLLVM that compiles kernels; `none`: kernels are interpreted.",
    ),
    row(
        Group::Basics,
        "ANYMETAL_CACHE",
        "a folder, or `off`",
        "`anymetal` in the user's cache folder",
        "Where compiled kernels are kept.",
    ),
    row(
        Group::Basics,
        "ANYMETAL_CUBLAS",
        "the file of cuBLAS, or `none`",
        "searched for",
        "The cuBLAS that multiplies matrices on NVIDIA GPUs.",
    ),
    row(
        Group::CpuDevice,
        "ANYMETAL_CPU_THREADS",
        "1 to 1024",
        "the processors that the process may use",
        "Threads of the CPU device.",
    ),
    row(
        Group::CpuDevice,
        "ANYMETAL_CPU_PIN",
        "`0` or `1`",
        "1 if there is a thread for every processor",
        "Whether each thread stays on a processor.",
    ),
    row(
        Group::CpuDevice,
        "ANYMETAL_CPU_LEVEL",
        "`x86-64`, `x86-64-v3` or `x86-64-v4`",
        "the processor's",
        "The instruction set level of generated code.",
    ),
    row(
        Group::CpuDevice,
        "ANYMETAL_CPU_GUARD",
        "`behind` or `before`",
        "none",
        "All kernel memory ends, or starts, at an inaccessible page, so that an unchecked access out of bounds ends the process.",
    ),
    row(
        Group::Checks,
        "ANYMETAL_CHECK",
        "`library`, `bounds`, `sanitize` or `off`",
        "`library`",
        "How accesses of kernels are checked: as each library requests, to the byte, by the sanitizer, or not at all.",
    ),
    row(
        Group::Checks,
        "ANYMETAL_CHECK_REPORT",
        "a file or a folder",
        "none",
        "Where the sanitizer's findings are written, as lines of JSON.",
    ),
    row(
        Group::Checks,
        "ANYMETAL_CHECK_OPTIONS",
        "words",
        "all kinds that are not lints",
        "What the sanitizer checks, such as `only=race kernel=sum*`.",
    ),
    row(
        Group::Checks,
        "ANYMETAL_KERNELS_REQUIRE_MACHINE_CODE",
        "`0` or `1`",
        "0",
        "Whether kernels that would be interpreted are refused.",
    ),
    row(
        Group::Isolation,
        "ANYMETAL_ISOLATE",
        "`off`, `compile` or `run`",
        "`off`",
        "Whether sources are compiled in worker processes without rights, and with `run` also whether kernels run \
         in one instead of this process.",
    ),
    row(
        Group::Isolation,
        "ANYMETAL_ISOLATE_WORKER",
        "a path",
        "an `anymetal` beside the program, beside the library, or on `PATH`",
        "The executable of the worker processes.",
    ),
    row(
        Group::Isolation,
        "ANYMETAL_ISOLATE_MEMORY",
        "MiB",
        "4096",
        "Memory that a worker may allocate, besides buffers.",
    ),
    row(
        Group::Isolation,
        "ANYMETAL_ISOLATE_TIME",
        "seconds",
        "60",
        "Time that a request to a worker may take.",
    ),
    row(
        Group::Isolation,
        "ANYMETAL_ISOLATE_INCOMPLETE",
        "`refuse` or `allow`",
        "`refuse`",
        "Whether a system without Landlock or seccomp is used without them.",
    ),
    row(
        Group::Memory,
        "ANYMETAL_MEMORY_BUDGET",
        "bytes",
        "what the device recommends",
        "Bytes of all buffers.",
    ),
    row(Group::Memory, "ANYMETAL_MEMORY_POOL_BYTES", "bytes", "no limit", "Bytes of all blocks of the pool."),
    row(Group::Memory, "ANYMETAL_MEMORY_POOL_BUFFERS", "a number", "65536", "Blocks of the pool."),
    row(Group::Memory, "ANYMETAL_MEMORY_POOL_IDLE_BYTES", "bytes", "no limit", "Bytes of idle blocks."),
    row(
        Group::Memory,
        "ANYMETAL_MEMORY_POOL_IDLE_AGE",
        "a duration",
        "60 s",
        "Blocks that are idle for longer are freed when a new one is made.",
    ),
    row(Group::Memory, "ANYMETAL_MEMORY_STAGING_BYTES", "bytes", "32 MiB", "Bytes of the staging ring."),
    row(
        Group::Memory,
        "ANYMETAL_MEMORY_BACKTRACES",
        "`0` or `1`",
        "0",
        "Whether listings show where a buffer was made.",
    ),
    row(Group::Queues, "ANYMETAL_STREAMS_COMMAND_BUFFERS", "a number", "1024", "Command buffers of a queue."),
    row(
        Group::Queues,
        "ANYMETAL_STREAMS_IN_FLIGHT",
        "a number",
        "64",
        "Submissions of a queue that are on the device at once.",
    ),
    row(
        Group::Queues,
        "ANYMETAL_STREAMS_WAIT",
        "a duration",
        "10 s",
        "How long a request for one more command buffer waits; `0 s`: it is refused at once.",
    ),
    row(
        Group::Queues,
        "ANYMETAL_STREAMS_DEADLINE",
        "a duration",
        "60 s",
        "The deadline of work that specifies none; `0 s`: no deadline.",
    ),
    row(Group::Queues, "ANYMETAL_HISTORY_ENTRIES", "a number", "0", "Submissions in the history."),
    row(
        Group::Queues,
        "ANYMETAL_HISTORY_REPLAYABLE",
        "`0` or `1`",
        "0",
        "Whether the history can be replayed. Each submission then waits for work that uses its buffers.",
    ),
    row(
        Group::Service,
        "ANYMETAL_TELEMETRY_PROMETHEUS",
        "an address",
        "none",
        "Where `/metrics` and the health probes are served.",
    ),
    row(Group::Service, "ANYMETAL_TELEMETRY_OTLP", "`http://HOST:PORT`", "none", "The OTLP collector."),
    row(
        Group::Service,
        "ANYMETAL_TELEMETRY_INTERVAL",
        "a duration",
        "5 s",
        "Between two requests to the collector.",
    ),
    row(
        Group::Service,
        "ANYMETAL_TELEMETRY_SERVICE",
        "a name",
        "`anymetal`",
        "The program's name for the collector.",
    ),
    row(
        Group::Service,
        "ANYMETAL_TELEMETRY_SAMPLE",
        "a number",
        "100",
        "One command buffer in this number is traced.",
    ),
    row(
        Group::Service,
        "ANYMETAL_HEALTH_ENABLED",
        "`0` or `1`",
        "1 with an address or a webhook",
        "Whether health is watched.",
    ),
    row(Group::Service, "ANYMETAL_HEALTH_INTERVAL", "a duration", "5 s", "Between two checks."),
    row(Group::Service, "ANYMETAL_HEALTH_WEBHOOK", "a URL", "none", "Where alerts are sent."),
    row(
        Group::Service,
        "ANYMETAL_HEALTH_MEMORY_DEGRADED",
        "a share",
        "0.85",
        "Share of the memory budget from which memory is degraded.",
    ),
    row(
        Group::Service,
        "ANYMETAL_HEALTH_MEMORY_UNHEALTHY",
        "a share",
        "0.95",
        "Share of the memory budget from which memory is unhealthy.",
    ),
    row(
        Group::Service,
        "ANYMETAL_HEALTH_FAILURES_DEGRADED",
        "a share",
        "0.05",
        "Share of failed command buffers from which submissions are degraded.",
    ),
    row(
        Group::Service,
        "ANYMETAL_HEALTH_FAILURES_UNHEALTHY",
        "a share",
        "0.5",
        "Share of failed command buffers from which submissions are unhealthy.",
    ),
    row(
        Group::Service,
        "ANYMETAL_HEALTH_WORSE_FOR",
        "a duration",
        "10 s",
        "How long a worse state must last until it is entered.",
    ),
    row(
        Group::Service,
        "ANYMETAL_HEALTH_BETTER_FOR",
        "a duration",
        "30 s",
        "How long a better state must last until it is entered.",
    ),
    row(Group::Service, "ANYMETAL_AUDIT_FOLDER", "a folder", "none", "The audit log of the manager."),
    row(
        Group::Service,
        "ANYMETAL_AUDIT_WHEN_FAILING",
        "`stop` or `go-on`",
        "`stop`",
        "What happens while records cannot be written.",
    ),
    row(
        Group::Service,
        "ANYMETAL_AUDIT_DURABILITY",
        "`disk` or `system`",
        "`disk`",
        "Whether a record must survive a loss of power, or only the end of the process.",
    ),
    row(Group::Service, "ANYMETAL_AUDIT_ROTATE_BYTES", "bytes", "16 MiB", "Size at which a new file begins."),
    row(Group::Service, "ANYMETAL_AUDIT_KEEP_FILES", "a number", "all", "Files that are kept."),
    row(
        Group::Service,
        "ANYMETAL_SESSION_FILE",
        "a file, `.toml` or `.json`",
        "none",
        "What is kept for the next start.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_SNAPSHOT_LIMIT",
        "bytes",
        "256 MiB",
        "Most bytes that are copied so that work which changes them can run again.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_RETRY_ATTEMPTS",
        "a number",
        "3",
        "Attempts, the first included.",
    ),
    row(Group::RecoveryPolicies, "ANYMETAL_POLICY_RETRY_BASE", "a duration", "100 ms", "The first delay."),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_RETRY_FACTOR",
        "at least 1",
        "2",
        "Factor from each delay to the next.",
    ),
    row(Group::RecoveryPolicies, "ANYMETAL_POLICY_RETRY_CAP", "a duration", "10 s", "The longest delay."),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_RETRY_JITTER",
        "`none`, `full` or `equal`",
        "`equal`",
        "How delays are spread.",
    ),
    row(Group::RecoveryPolicies, "ANYMETAL_POLICY_RETRY_SEED", "a number", "0", "The seed of the jitter."),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_RETRY_TOTAL_DELAY",
        "a duration",
        "no limit",
        "The longest sum of a call's delays.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BREAKER_ENABLED",
        "`0` or `1`",
        "1",
        "Whether there are circuit breakers.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BREAKER_CONSECUTIVE_FAILURES",
        "a number",
        "5",
        "Failures in a row that open a breaker.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BREAKER_FAILURE_RATE",
        "a percentage",
        "50 %",
        "Share of failed calls in the window that opens a breaker.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BREAKER_WINDOW",
        "a duration",
        "30 s",
        "The length of the window.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BREAKER_MINIMUM_CALLS",
        "a number",
        "10",
        "Calls in the window below which the share does not count.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BREAKER_OPEN_FOR",
        "a duration",
        "10 s",
        "How long a breaker stays open before it lets probes through.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BREAKER_PROBES",
        "a number",
        "1",
        "Probes that must all succeed before a breaker closes.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BREAKER_OPENS_ON_LOSS",
        "`0` or `1`",
        "1",
        "Whether one loss of the device opens a breaker.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BREAKER_COUNTS_EXHAUSTED",
        "`0` or `1`",
        "0",
        "Whether a failure for lack of resources counts.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BULKHEAD_ENABLED",
        "`0` or `1`",
        "0",
        "Whether there are bulkheads.",
    ),
    row(Group::RecoveryPolicies, "ANYMETAL_POLICY_BULKHEAD_CONCURRENCY", "a number", "64", "Calls at once."),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BULKHEAD_QUEUE",
        "a number",
        "256",
        "Callers that may wait.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_BULKHEAD_WAIT",
        "a duration",
        "10 s",
        "The longest wait of a caller.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_DEADLINE_TOTAL",
        "a duration",
        "no limit",
        "Longest duration of all attempts with their delays.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_DEADLINE_ATTEMPT",
        "a duration",
        "no limit",
        "Longest duration of an attempt.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_LADDER_RUNGS",
        "`retry`, `release-memory`, `degrade`, `fallback`, `wait`, or `none`",
        "all but `wait`",
        "The recovery steps, in order.",
    ),
    row(Group::RecoveryPolicies, "ANYMETAL_POLICY_LADDER_LEVELS", "a number", "2", "Levels of degradation."),
    row(Group::RecoveryPolicies, "ANYMETAL_POLICY_ADAPT_MINIMUM", "a number", "1", "The fewest queues."),
    row(Group::RecoveryPolicies, "ANYMETAL_POLICY_ADAPT_MAXIMUM", "a number", "16", "The most queues."),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_ADAPT_TOLERANCE",
        "a number",
        "2",
        "Multiple of the best latency from which the number of queues falls.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_ADAPT_DECREASE",
        "a percentage",
        "50 %",
        "Share of queues that is left after a decrease.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_ADAPT_INTERVAL",
        "a duration",
        "100 ms",
        "The least time between two changes because of load.",
    ),
    row(
        Group::RecoveryPolicies,
        "ANYMETAL_POLICY_ADAPT_POWER_BUDGET",
        "watts",
        "no limit",
        "Power of the machine above which fewer queues are used.",
    ),
    row(
        Group::Tools,
        "ANYMETAL_SOURCE",
        "a folder",
        "where `cargo-anymetal` was built",
        "The sources of anymetal that `cargo anymetal` builds against.",
    ),
];
