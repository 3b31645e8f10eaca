//! Reading a timeline of `anymetal trace` back: Chrome's JSON, of which only what we write is understood.

use anymetal::TimeSource;
use serde_json::Value;

use super::recorded::{MemoryPoint, Recorded, Slice, label};

/// What the timeline recorded. It has no ceilings and no counted work.
pub(super) fn recorded(timeline: &Value, title: &str) -> Result<Recorded, String> {
    let events = timeline["traceEvents"].as_array().ok_or("its `traceEvents` is no list")?;
    let mut recorded = Recorded::new(title, "unknown device", TimeSource::Device);
    for event in events {
        let name = event["name"].as_str().unwrap_or_default();
        let queue = event["tid"].as_u64().and_then(|queue| u32::try_from(queue).ok()).unwrap_or(0);
        let arguments = &event["args"];
        match (event["ph"].as_str(), event["cat"].as_str()) {
            (Some("M"), _) if name == "process_name" => {
                recorded.device = arguments["name"].as_str().unwrap_or_default().to_owned();
            }
            (Some("M"), _) if name == "thread_name" => {
                recorded.queues.insert(queue, arguments["name"].as_str().unwrap_or_default().to_owned());
            }
            (Some("X"), Some("command")) => {
                let work = arguments["work"].as_str().unwrap_or_default();
                let (start_ns, duration_ns) = (nanoseconds(&event["ts"]), nanoseconds(&event["dur"]));
                let slice = |name| Slice { queue, name, start_ns, duration_ns, work: None };
                recorded.slices.extend(label(name, work).map(slice));
            }
            (Some("i"), Some("failure")) => {
                recorded.failures.push(arguments["error"].as_str().unwrap_or(name).to_owned());
            }
            (Some("C"), _) if name == "device memory" => {
                let bytes = arguments["bytes"].as_u64().unwrap_or(0);
                recorded.memory.push(MemoryPoint { at_ns: nanoseconds(&event["ts"]), bytes });
            }
            _ => {}
        }
    }
    Ok(recorded.in_order())
}

/// Of microseconds; 0 if it is no number.
fn nanoseconds(value: &Value) -> u64 {
    (value.as_f64().unwrap_or(0.0) * 1e3).round() as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn slices_memory_and_names_are_read_and_the_rest_is_left() {
        let timeline = json!({ "traceEvents": [
            { "ph": "M", "name": "process_name", "pid": 1, "args": { "name": "cpu: fast" } },
            { "ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": { "name": "compute" } },
            { "ph": "X", "tid": 2, "cat": "submission", "name": "s", "ts": 0.0, "dur": 9.0 },
            { "ph": "X", "tid": 2, "cat": "command", "name": "k", "ts": 1.5, "dur": 2.25,
              "args": { "work": "4×1×1 threads" } },
            { "ph": "X", "tid": 2, "cat": "command", "name": "copy", "ts": 4, "dur": 1,
              "args": { "work": "16 bytes" } },
            { "ph": "X", "tid": 2, "cat": "command", "name": "signal", "ts": 5, "dur": 0,
              "args": { "work": "value 1" } },
            { "ph": "C", "name": "device memory", "ts": 5.0, "args": { "bytes": 64 } },
            { "ph": "i", "cat": "failure", "name": "s", "args": { "error": "lost" } },
            7, null, { "ph": 3 },
        ]});
        let recorded = recorded(&timeline, "t").unwrap();
        let slice = |name: &str, start_ns, duration_ns| Slice {
            queue: 2,
            name: name.into(),
            start_ns,
            duration_ns,
            work: None,
        };
        assert_eq!(recorded.slices, [slice("k", 1500, 2250), slice("[copy]", 4000, 1000)]);
        assert_eq!(recorded.memory, [MemoryPoint { at_ns: 5000, bytes: 64 }]);
        assert_eq!((recorded.device.as_str(), recorded.queues[&2].as_str()), ("cpu: fast", "compute"));
        assert_eq!(recorded.failures, ["lost"]);
    }
}
