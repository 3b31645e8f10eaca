//! `trace`: the timeline of a described workload, parsed again and checked.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::Bench;

const KERNELS: &str = "
kernel void scale(device const float* x, device float* y, constant float& a, uint i [[thread_position_in_grid]]) {
    y[i] = a * x[i];
}
kernel void add(device const float* x, device float* y, uint i [[thread_position_in_grid]]) { y[i] += x[i]; }
";

const WORKLOAD: &str = r#"
source = "kernels.metal"
repeat = 2

[buffers]
x = "iota:f32:1000"
y = "zeros:f32:1000"
z = "zeros:f32:1000"
saved = "zeros:f32:1000"

[[queue]]
name = "upload"
[[queue]]
name = "compute"
priority = "high"
[[queue]]
name = "download"

[[step]]
name = "clear"
queue = "upload"
fill = "z"

[[step]]
name = "scale"
queue = "compute"
kernel = "scale"
args = ["x", "y", "f32:2"]
threads = 1000
group = 64
after = ["clear"]

[[step]]
name = "branches"
graph = "two branches"
queues = ["compute", "upload"]
after = ["scale"]

[[step]]
name = "save"
queue = "download"
copy = ["z", "saved"]
after = ["branches"]

[[graph]]
name = "two branches"
[[graph.node]]
name = "left"
kernel = "scale"
args = ["y", "z", "f32:3"]
threads = [1000]
[[graph.node]]
name = "right"
fill = "saved"
value = 7
[[graph.node]]
name = "both"
kernel = "add"
args = ["saved", "z"]
threads = 1000
"#;

fn bench(workload: &str) -> Bench {
    let bench = Bench::new();
    bench.write("kernels.metal", KERNELS);
    bench.write("workload.toml", workload);
    bench
}

/// A slice: track, category, name, start, end.
type Slice = (u64, String, String, f64, f64);

/// The timeline's parts, every event of a known form.
struct Timeline {
    tracks: BTreeMap<u64, String>,
    slices: Vec<Slice>,
    /// By number: category, then track and time of begin and end.
    arrows: BTreeMap<u64, (String, Vec<(String, u64, f64)>)>,
    counters: BTreeMap<String, Vec<Value>>,
}

fn timeline(bench: &Bench) -> Timeline {
    let text = std::fs::read_to_string(bench.path("out.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let mut timeline = Timeline {
        tracks: BTreeMap::new(),
        slices: Vec::new(),
        arrows: BTreeMap::new(),
        counters: BTreeMap::new(),
    };
    for event in json["traceEvents"].as_array().unwrap() {
        let text = |field: &str| event[field].as_str().unwrap().to_owned();
        let track = event["tid"].as_u64();
        let at = event["ts"].as_f64();
        match event["ph"].as_str().unwrap() {
            "M" if event["name"] == "thread_name" => {
                let name = event["args"]["name"].as_str().unwrap().to_owned();
                timeline.tracks.insert(track.unwrap(), name);
            }
            "M" => {}
            "X" => {
                let (start, duration) = (at.unwrap(), event["dur"].as_f64().unwrap());
                assert!(start >= 0.0 && duration >= 0.0);
                timeline.slices.push((track.unwrap(), text("cat"), text("name"), start, start + duration));
            }
            phase @ ("s" | "f") => {
                let arrow = timeline.arrows.entry(event["id"].as_u64().unwrap());
                let ends = &mut arrow.or_insert_with(|| (text("cat"), Vec::new())).1;
                ends.push((phase.to_owned(), track.unwrap(), at.unwrap()));
            }
            "C" => timeline.counters.entry(text("name")).or_default().push(event["args"].clone()),
            other => panic!("an event of an unknown form: {other}"),
        }
    }
    timeline
}

#[test]
fn the_timeline_has_a_track_for_each_queue_arrows_and_counters() {
    let bench = bench(WORKLOAD);
    let ran = bench.run(&["trace", "workload.toml", "-o", "out.json"]).expect(0);
    assert!(ran.stdout.starts_with("2 rounds, "), "{}", ran.stdout);
    let timeline = timeline(&bench);
    let tracks: BTreeSet<&str> = timeline.tracks.values().map(String::as_str).collect();
    assert_eq!(tracks, BTreeSet::from(["upload", "compute", "download"]));
    let count = |category: &str, name: &str| {
        let slices = timeline.slices.iter().filter(|slice| slice.1 == category && slice.2 == name);
        slices.map(|slice| timeline.tracks[&slice.0].as_str()).collect::<Vec<_>>()
    };
    // Each in both rounds, on its queue; commands by kernel, or by the node's name.
    assert_eq!(count("submission", "clear"), ["upload"; 2]);
    assert_eq!(count("command", "scale"), ["compute"; 2]);
    assert_eq!(count("submission", "save"), ["download"; 2]);
    assert_eq!(count("command", "copy"), ["download"; 2]);
    for node in ["left", "right", "both"] {
        assert_eq!(count("command", node).len(), 2, "{node}");
    }
    assert_eq!(
        count("command", "left").into_iter().chain(count("command", "right")).collect::<BTreeSet<_>>().len(),
        2,
        "the branches are on two queues"
    );
    commands_are_inside_submissions_that_do_not_overlap(&timeline);
    arrows_lead_forward_from_slice_to_slice(&timeline);
    let waiting = &timeline.counters["submissions"];
    assert!(waiting.iter().all(|values| values["waiting"].as_i64() >= Some(0)));
    assert_eq!(waiting.last().map(|values| &values["running"]), Some(&Value::from(0)));
    assert!(timeline.counters["device memory"].iter().all(|values| values["bytes"].as_u64() >= Some(16_000)));
}

fn commands_are_inside_submissions_that_do_not_overlap(timeline: &Timeline) {
    for &track in timeline.tracks.keys() {
        let of = |category: &str| {
            let slices = timeline.slices.iter().filter(|slice| slice.0 == track && slice.1 == category);
            let mut spans: Vec<(f64, f64)> = slices.map(|slice| (slice.3, slice.4)).collect();
            spans.sort_by(|one, other| one.0.total_cmp(&other.0));
            spans
        };
        let (submissions, commands) = (of("submission"), of("command"));
        // Times are whole nanoseconds, written as microseconds.
        assert!(submissions.windows(2).all(|pair| pair[0].1 <= pair[1].0 + 1e-6), "{submissions:?}");
        for (start, end) in commands {
            let inside = |span: &&(f64, f64)| span.0 <= start + 1e-6 && end <= span.1 + 1e-6;
            assert!(submissions.iter().any(|span| inside(&span)), "{start} to {end} in {submissions:?}");
        }
    }
}

fn arrows_lead_forward_from_slice_to_slice(timeline: &Timeline) {
    let in_a_slice = |track: u64, at: f64| {
        timeline.slices.iter().any(|slice| slice.0 == track && slice.3 <= at + 1e-6 && at <= slice.4 + 1e-6)
    };
    assert!(!timeline.arrows.is_empty());
    let mut across = BTreeSet::new();
    for (category, ends) in timeline.arrows.values() {
        let [(begin, from, left), (end, to, arrived)] = &ends[..] else { panic!("{ends:?}") };
        assert_eq!((begin.as_str(), end.as_str(), category.as_str()), ("s", "f", "dependency"));
        assert!(left <= arrived && in_a_slice(*from, *left) && in_a_slice(*to, *arrived), "{ends:?}");
        across.insert((timeline.tracks[from].as_str(), timeline.tracks[to].as_str()));
    }
    assert!(
        across.contains(&("upload", "compute")) && across.contains(&("compute", "download")),
        "{across:?}"
    );
}

#[test]
fn errors_in_a_description_are_reported_and_no_file_is_written() {
    let failing = |workload: &str, code: i32, says: &[&str]| {
        let bench = bench(workload);
        bench.run(&["trace", "workload.toml", "-o", "out.json"]).expect(code).says(says);
        assert!(!bench.path("out.json").exists());
    };
    failing(
        &WORKLOAD.replace("queue = \"download\"", "queue = \"dowload\""),
        1,
        &["`save`", "no queue `dowload`"],
    );
    failing(&WORKLOAD.replace("\"f32:3\"", "\"f99:3\""), 1, &["`left`", "`f99:3` is no buffer"]);
    failing(&WORKLOAD.replace("kernel = \"add\"", "kernel = \"sub\""), 1, &["no kernel `sub`"]);
    failing(&WORKLOAD.replace("repeat = 2", "repeat = 0"), 1, &["workload.toml", "line 3"]);
    failing(&WORKLOAD.replace("threads = [1000]", "threads = 4000"), 4, &["out of bounds", "scale"]);
    Bench::new().run(&["trace", "none.toml", "-o", "out.json"]).expect(1).says(&["none.toml"]);
}
