//! The spans and events.
//!
//! Owns their names and the tables that documents are made from. [`crate::span`] makes the spans, with the
//! fields that are listed here.

/// The target of all spans and events, for filters: `anymetal=debug`.
pub const TARGET: &str = "anymetal";

/// A span or an event.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanName {
    /// Its name.
    pub name: &'static str,
    /// Its level: `info`, `debug`.
    pub level: &'static str,
    /// Its fields.
    pub fields: &'static [&'static str],
    /// What it covers.
    pub help: &'static str,
}

/// The span of a library's source: preprocessing, parsing, declarations.
pub const PARSE: SpanName = SpanName {
    name: "anymetal.compile.parse",
    level: "debug",
    fields: &["source"],
    help: "Preprocessing and parsing of a source.",
};
/// The span of a kernel's semantic analysis and lowering.
pub const LOWER: SpanName = SpanName {
    name: "anymetal.compile.lower",
    level: "debug",
    fields: &["kernel"],
    help: "Semantic analysis of a kernel and lowering to IR.",
};
/// The span of a kernel's passes.
pub const PREPARE: SpanName = SpanName {
    name: "anymetal.compile.prepare",
    level: "debug",
    fields: &["kernel"],
    help: "Specialising, inlining and simplifying a kernel.",
};
/// The span of a kernel's code generation.
pub const GENERATE: SpanName = SpanName {
    name: "anymetal.compile.generate",
    level: "debug",
    fields: &["kernel"],
    help: "Generating LLVM text of a kernel.",
};
/// The span of LLVM.
pub const MACHINE_CODE: SpanName = SpanName {
    name: "anymetal.compile.machine-code",
    level: "debug",
    fields: &["kernel"],
    help: "LLVM: from text to an object.",
};
/// The span of a pipeline's creation.
pub const PIPELINE: SpanName = SpanName {
    name: "anymetal.pipeline",
    level: "info",
    fields: &["device", "kernel"],
    help: "Making a pipeline, what is compiled for it included.",
};
/// The span of a submission.
pub const SUBMISSION: SpanName = SpanName {
    name: "anymetal.submission",
    level: "debug",
    fields: &["device", "stream", "label", "commands", "kernel", "device_ns", "wait_ns", "error"],
    help: "A command buffer from its commit to its end. `device_ns` and `wait_ns` are recorded at the end, \
           `error` if it failed.",
};
/// The span of a graph's run.
pub const GRAPH: SpanName = SpanName {
    name: "anymetal.graph",
    level: "debug",
    fields: &["device", "graph", "mode"],
    help: "Submitting a graph, or running it where the host has a part in it.",
};
/// The span of a transfer.
pub const TRANSFER: SpanName = SpanName {
    name: "anymetal.transfer",
    level: "debug",
    fields: &["device", "direction", "bytes"],
    help: "An upload or a download.",
};
/// The span of an execution by the manager.
pub const EXECUTION: SpanName = SpanName {
    name: "anymetal.execution",
    level: "info",
    fields: &["label", "attempts", "outcome"],
    help: "A request to the execution manager, all attempts included.",
};

/// All spans.
pub const SPANS: &[&SpanName] = &[
    &PARSE,
    &LOWER,
    &PREPARE,
    &GENERATE,
    &MACHINE_CODE,
    &PIPELINE,
    &SUBMISSION,
    &GRAPH,
    &TRANSFER,
    &EXECUTION,
];

/// Events: of each the message is its name.
pub const EVENTS: &[&SpanName] = &[
    &SpanName {
        name: "anymetal.notice",
        level: "warn",
        fields: &["kind", "message"],
        help: "Something went on in another way than wished; the message is the notice itself.",
    },
    &SpanName {
        name: "anymetal.compile.on-caller",
        level: "debug",
        fields: &["reason"],
        help: "There is no thread for a compile in the background: the caller's does it.",
    },
    &SpanName {
        name: "anymetal.submission.failed",
        level: "warn",
        fields: &["device", "class", "error"],
        help: "A command buffer failed; `debug` where the caller is at fault.",
    },
    &SpanName { name: "anymetal.retry", level: "warn", fields: &["reason"], help: "Work is tried again." },
    &SpanName {
        name: "anymetal.fallback",
        level: "warn",
        fields: &["from", "to", "reason"],
        help: "Another device takes the work over.",
    },
    &SpanName {
        name: "anymetal.breaker",
        level: "warn",
        fields: &["device", "to"],
        help: "A circuit breaker changed its state.",
    },
    &SpanName {
        name: "anymetal.device.lost",
        level: "error",
        fields: &["device"],
        help: "A device was lost.",
    },
    &SpanName {
        name: "anymetal.health",
        level: "warn",
        fields: &["component", "to", "reason"],
        help: "The health of a component changed; `info` when it recovered.",
    },
    &SpanName {
        name: "anymetal.alert",
        level: "warn",
        fields: &["severity", "component", "message"],
        help: "An alert was raised or resolved.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_once_and_have_the_prefix() {
        let all: Vec<&SpanName> = SPANS.iter().chain(EVENTS).copied().collect();
        for (place, one) in all.iter().enumerate() {
            assert!(one.name.starts_with("anymetal."), "{}", one.name);
            assert!(!all[..place].iter().any(|other| other.name == one.name), "{} twice", one.name);
        }
    }
}
