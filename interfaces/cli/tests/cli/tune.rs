//! `tune`, what it keeps for the next process, and `analyze --explain-size`.

use serde_json::json;

use crate::support::Bench;

const SIZE: &str =
    "kernel void size(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = i * i + 3; }";
const DEPENDS: &str = "kernel void depends(device uint* y, uint i [[thread_position_in_grid]],
    uint n [[threads_per_threadgroup]]) { y[i] = n; }";
const CALL: [&str; 6] = ["-k", "size", "--threads", "4096", "--arg", "y=zeros:u32:4096"];

fn bench() -> Bench {
    let mut bench = Bench::new();
    let cache = bench.path("cache").to_string_lossy().into_owned();
    bench.set("ANYMETAL_CACHE", cache);
    bench.write("size.metal", SIZE);
    bench
}

fn threadgroup(bench: &Bench, threads: &str) -> serde_json::Value {
    let call =
        ["run", "size.metal", "-k", "size", "--threads", threads, "--arg", "y=zeros:u32:4096", "--json"];
    bench.run(&call).expect(0).json()["threadgroup"].clone()
}

#[test]
fn the_next_process_has_the_size_that_was_found() {
    let bench = bench();
    let tuned =
        bench.run(&[&["tune", "size.metal", "--rounds", "2", "--json"], &CALL[..]].concat()).expect(0).json();
    assert_eq!(tuned["trials"].as_array().unwrap().len(), 6);
    assert_eq!((&tuned["default"], &tuned["grid"]), (&json!([256, 1, 1]), &json!([4096, 1, 1])));
    // The database decides, not the measurement of this run.
    let path = bench.path("cache/tuning.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["entries"][0]["size"], tuned["best"]);
    found["entries"][0]["size"] = json!([64, 1, 1]);
    std::fs::write(&path, found.to_string()).unwrap();
    assert_eq!(threadgroup(&bench, "4000"), json!([64, 1, 1]), "the same class of grids");
    assert_eq!(threadgroup(&bench, "100"), json!([32, 1, 1]), "another class, and few threads");
    bench.write("size.metal", format!("{SIZE}\n"));
    assert_eq!(threadgroup(&bench, "4000"), json!([256, 1, 1]), "another source");
}

#[test]
fn a_database_of_another_version_is_set_aside_and_told_of() {
    let bench = bench();
    std::fs::create_dir_all(bench.path("cache")).unwrap();
    bench.write("cache/tuning.json", "{\"version\": 7, \"entries\": []}");
    let call = [&["run", "size.metal"], &CALL[..]].concat();
    bench
        .run(&call)
        .expect(0)
        .says(&["tuning database starts empty", "of version 7, and this program uses 1"]);
    assert!(bench.path("cache/tuning.json.old-1").exists());
}

#[test]
fn sizes_with_other_results_are_refused() {
    let bench = bench();
    bench.write("depends.metal", DEPENDS);
    let call = [
        "tune",
        "depends.metal",
        "-k",
        "depends",
        "--threads",
        "4096",
        "--arg",
        "y=zeros:u32:4096",
        "--dry-run",
    ];
    let ran = bench.run(&call).expect(0);
    assert_eq!(
        ran.stdout.matches("its results are not those of the default size").count(),
        5,
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("256x1x1, the default, is the fastest; not kept"), "{}", ran.stdout);
    assert!(!bench.path("cache/tuning.json").exists());
}

#[test]
fn what_cannot_be_tuned_says_why() {
    let bench = bench();
    let tune = |more: &[&str]| bench.run(&[&["tune", "size.metal", "-k", "size"], more].concat());
    tune(&["--groups", "3", "--arg", "y=zeros:u32:4096"]).expect(1).says(&["tune needs --threads"]);
    let group = ["--threads", "3", "--group", "32", "--arg", "y=zeros:u32:3"];
    tune(&group).expect(1).says(&["leave out --group"]);
    tune(&["--threads", "5", "--arg", "y=zeros:u32:4"]).expect(4).says(&["out of bounds of argument 0 `y`"]);
    tune(&["--threads", "5"]).expect(1).says(&["argument 0 `y`", "is missing"]);
}

#[test]
fn a_size_is_explained_step_by_step() {
    let bench = bench();
    let ran = bench.run(&["analyze", "size.metal", "--explain-size", "--threads", "1000"]).expect(0);
    for part in [
        "size: threadgroups of 256x1x1",
        "limits: ",
        "grid: over 1000x1x1",
        "occupancy: NVIDIA 9.0",
        "(1 size)",
    ] {
        assert!(ran.stdout.contains(part), "no `{part}` in: {}", ran.stdout);
    }
    let json = bench
        .run(&["analyze", "size.metal", "--explain-size", "--occupancy", "Apple4+", "--json"])
        .expect(0)
        .json();
    assert_eq!(json["kernels"][0]["choice"]["size"], json!([256, 1, 1]));
    bench
        .run(&["analyze", "size.metal", "--explain-size", "--occupancy", "GTX"])
        .expect(2)
        .says(&["NVIDIA 8.6"]);
}
