//! Reading a timeline of `anymetal trace` back: Chrome's JSON, of which only what we write is understood.

use std::fmt;

use anymetal::profile::TimeSource;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::Value;

use super::recorded::{MemoryPoint, Recorded, Slice, label};

/// A timeline; of each event only what a report needs is kept.
#[derive(Deserialize)]
struct Timeline {
    #[serde(rename = "traceEvents")]
    events: Events,
    #[serde(default, rename = "otherData")]
    other: Value,
}

struct Events(Recorded);

impl<'de> Deserialize<'de> for Events {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Fold)
    }
}

/// Takes events one by one, so that a long timeline is never whole in memory as values.
struct Fold;

impl<'de> Visitor<'de> for Fold {
    type Value = Events;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of events in `traceEvents`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<Events, A::Error> {
        let mut recorded = Recorded::new("", "unknown device", TimeSource::Device);
        while let Some(event) = events.next_element::<Value>()? {
            note(&mut recorded, &event);
        }
        Ok(Events(recorded))
    }
}

/// What the timeline recorded. It has no ceilings and no counted work.
pub(super) fn recorded(text: &str, title: &str) -> Result<Recorded, String> {
    let Timeline { events: Events(mut recorded), other } =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    title.clone_into(&mut recorded.title);
    let left_out = other["submissions_left_out"].as_u64().unwrap_or(0);
    recorded.left_out = usize::try_from(left_out).unwrap_or(usize::MAX);
    Ok(recorded.in_order())
}

fn note(recorded: &mut Recorded, event: &Value) {
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
        let timeline = json!({ "otherData": { "submissions_left_out": 3 }, "traceEvents": [
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
        let recorded = recorded(&timeline.to_string(), "t").unwrap();
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
        assert_eq!((recorded.failures, recorded.left_out), (vec!["lost".to_owned()], 3));
    }
}
