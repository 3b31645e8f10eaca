//! The messages of kernels, as lines and as JSON.

use std::sync::Arc;

use anymetal::log::{LogMessage, Logs};
use serde_json::{Value, json};

/// A line for each message, by threadgroup, then the number of those that were lost.
pub(crate) fn lines(logs: &[Arc<Logs>]) -> Vec<String> {
    let mut lines = Vec::new();
    for log in logs {
        lines.extend(log.messages.iter().map(ToString::to_string));
        if log.dropped > 0 {
            lines.push(format!("{} more messages were lost: the log was full", log.dropped));
        }
    }
    lines
}

/// The same as members of the object of a run.
pub(super) fn add_to_json(object: &mut Value, logs: &[Arc<Logs>]) {
    let messages = logs.iter().flat_map(|log| &log.messages).map(to_json);
    object["logs"] = messages.collect();
    object["logs_dropped"] = json!(logs.iter().map(|log| log.dropped).sum::<u64>());
}

fn to_json(message: &LogMessage) -> Value {
    json!({
        "level": message.level.name(),
        "subsystem": message.subsystem,
        "category": message.category,
        "text": message.text,
        "thread": message.thread,
        "threadgroup": message.threadgroup,
    })
}
