//! `anymetal report` of workloads, saved reports and timelines.

use std::fs;

use crate::support::Bench;

const WORK: &str = "source = 'k.metal'
repeat = 20
[buffers]
x = 'iota:f32:1000'
y = 'zeros:f32:1000'
[[queue]]
name = 'compute'
[[queue]]
name = 'other <2>'
[[step]]
name = 'first'
queue = 'compute'
kernel = 'scale'
args = ['x', 'y', 'f32:2']
threads = 1000
flop = 1000
bytes = 8000
[[step]]
name = 'second'
queue = 'other <2>'
copy = ['y', 'x']
after = ['first']
";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write(
        "k.metal",
        "kernel void scale(device const float* x, device float* y, constant float& a,
                           uint i [[thread_position_in_grid]]) { y[i] = a * x[i]; }",
    );
    bench.write("work.toml", WORK);
    bench
}

#[test]
fn a_workload_is_reported_in_every_format() {
    let bench = bench();
    let text = bench.run(&["report", "work.toml", "--timeunit", "us"]).expect(0).stdout;
    assert!(text.contains("Total Time (us)") && text.contains("scale") && text.contains("[copy]"), "{text}");
    let csv = bench.run(&["report", "work.toml", "--format", "csv"]).expect(0).stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(
        rows[0],
        "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),P95 (ns),P99 (ns),GFLOP/s,GB/s,Name"
    );
    assert_eq!(rows.len(), 3);
    assert!(rows[1..].iter().all(|row| row.split(',').nth(2) == Some("20")), "{csv}");
    bench.run(&["report", "work.toml", "-o", "out.html"]).expect(0);
    let page = fs::read_to_string(bench.path("out.html")).unwrap();
    assert!(page.matches("<svg ").count() == 4 && page.contains("other &lt;2&gt;"), "{page}");
    assert!(page.contains("GB/s (measured)"));
}

#[test]
fn a_saved_report_and_a_timeline_give_the_same_numbers_again() {
    let bench = bench();
    bench.run(&["report", "work.toml", "-o", "saved.json"]).expect(0);
    let again = |file: &str, format: &str| bench.run(&["report", file, "--format", format]).expect(0).stdout;
    let saved = fs::read_to_string(bench.path("saved.json")).unwrap();
    assert_eq!(again("saved.json", "json"), saved);
    let value: serde_json::Value = serde_json::from_str(&saved).unwrap();
    assert_eq!((&value["schema"], &value["work"]["scale"]["flop"]), (&1.into(), &1000.0.into()));
    assert!(value["ceilings"]["flop_per_second"].as_f64().unwrap() > 1e8);
    assert_eq!(value["summary"].as_array().unwrap().len(), 2);
    bench.run(&["trace", "work.toml", "-o", "timeline.json"]).expect(0);
    let csv = again("timeline.json", "csv");
    assert!(csv.lines().count() == 3 && csv.contains(",scale\n") && csv.contains(",[copy]\n"), "{csv}");
    let page = again("timeline.json", "html");
    assert!(page.contains("ceilings were not measured") && page.matches("<svg ").count() == 3);
}

/// As `anymetal_tensor_ops::OpProfile::to_report` writes it.
const OPERATIONS: &str = r#"{"schema":1,"title":"a step","device":"cpu","clock":"device","left_out":0,"slices":[
{"queue":0,"name":"matmul (vendor)","start_ns":0,"duration_ns":1000,"work":{"flop":2000,"bytes":500}},
{"queue":0,"name":"matmul (vendor)","start_ns":1000,"duration_ns":3000,"work":{"flop":10000,"bytes":1500}},
{"queue":0,"name":"copy","start_ns":4000,"duration_ns":100,"work":{"flop":0,"bytes":800}}
]}
"#;

#[test]
fn operations_are_reported_with_their_rates() {
    let bench = bench();
    bench.write("ops.json", OPERATIONS);
    let csv = bench.run(&["report", "ops.json", "--format", "csv"]).expect(0).stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows[1].ends_with(",3.00,0.50,matmul (vendor)"), "{csv}");
    assert!(rows[2].ends_with(",,8.00,copy"), "{csv}");
    let page = bench.run(&["report", "ops.json", "--format", "html"]).expect(0).stdout;
    assert!(page.contains("<th>GFLOP/s</th><th>GB/s</th>") && page.contains("<td>3.00</td>"), "{page}");
    let json = bench.run(&["report", "ops.json", "--format", "json"]).expect(0).stdout;
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["slices"][1]["work"]["flop"], 10000.0);
    assert_eq!(value["summary"][0]["gflop_per_second"], 3.0);
    bench.write("odd.json", OPERATIONS.replace("10000", "-1"));
    bench.run(&["report", "odd.json"]).expect(1).says(&["work and ceilings are numbers from 0 on"]);
}

#[test]
fn launches_of_run_are_reported_too() {
    let bench = bench();
    let run = |out: &str, code| {
        let call = ["run", "k.metal", "-k", "scale", "--threads", "100", "--repeat", "7"];
        let arguments =
            ["--arg", "x=iota:f32:100", "--arg", "y=zeros:f32:100", "--arg", "a=f32:2", "--report", out];
        bench.run(&[&call[..], &arguments[..]].concat()).expect(code)
    };
    run("run.csv", 0);
    let csv = fs::read_to_string(bench.path("run.csv")).unwrap();
    assert!(csv.lines().nth(1).unwrap().ends_with(",scale") && csv.contains(",7,"), "{csv}");
    run("run.png", 2).says(&["a report's name ends in .html"]);
}

#[test]
fn what_is_no_report_is_refused_with_the_reason() {
    let bench = bench();
    let refused = |name: &str, text: &str, says: &str| {
        bench.write(name, text);
        bench.run(&["report", name]).expect(1).says(&[name, says]);
    };
    refused("a.json", "{", "it is no JSON");
    refused("b.json", "[]", "neither a saved report");
    refused("c.json", "{\"schema\": 9}", "it has schema 9, and this program reads 1");
    refused("d.json", "{\"schema\": 1, \"title\": 3}", "invalid type");
    refused("e.json", "{\"traceEvents\": 3}", "expected a list of events");
    bench.run(&["report", "work.toml", "-o", "out.xyz"]).expect(2);
    bench.run(&["report", "a.json", "--device", "cpu"]).expect(2);
    bench.run(&["report", "missing.json"]).expect(1);
}
