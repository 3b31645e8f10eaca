//! `anymetal run`: results, reports, and every kind of mistake.

use std::time::Duration;

use serde_json::json;

use crate::support::{Bench, Ran, source};

const DEVICES: [&str; 2] = ["cpu", "interpreter"];

#[test]
fn saxpy_prints_its_results_on_every_device() {
    let bench = Bench::new();
    for device in DEVICES {
        let ran = bench.run(&[
            "run",
            &source("saxpy.metal"),
            "-k",
            "saxpy",
            "--threads",
            "1000",
            "--arg",
            "x=iota:f32:1000",
            "--arg",
            "1=zeros:f32:1000",
            "--arg",
            "a=f32:2.5",
            "--print",
            "y:4",
            "--print",
            "0:2",
            "--device",
            device,
        ]);
        let ran = ran.expect(0);
        assert!(ran.stdout.contains(&format!("saxpy on {device}: 1000 threads in threadgroups of ")));
        assert!(ran.stdout.contains("y (1000 f32): 0 2.5 5 7.5 …"), "{}", ran.stdout);
        assert!(ran.stdout.contains("x (1000 f32): 0 1 …"), "{}", ran.stdout);
    }
}

#[test]
fn json_is_one_object_with_the_contracts_fields() {
    let bench = Bench::new();
    let file = source("saxpy.metal");
    let base = ["run", file.as_str(), "-k", "doubled", "--threads", "7", "--json", "--arg", "in=iota:i32:7"];
    let ran =
        bench.run(&[&base[..], &["--arg", "out=zeros:i32:7", "--print", "out", "--repeat", "5"]].concat());
    let object = ran.expect(0).json();
    assert_eq!(object["kernel"], "doubled");
    assert_eq!(object["device"], "cpu");
    assert_eq!(object["status"], "ok");
    assert_eq!(object["error"], json!(null));
    assert_eq!(object["outputs"][0]["values"], json!([0, 2, 4, 6, 8, 10, 12]));
    let time = |name: &str| object["time_ns"][name].as_u64().expect(name);
    assert!(0 < time("min") && time("min") <= time("median") && time("median") <= time("p95"));
    assert!(object["gpu_time_ns"].is_u64());
    let failed = bench.run(&base).expect(1).json();
    assert_eq!(failed["status"], "invalid");
    assert!(failed["error"]["message"].as_str().is_some_and(|text| text.contains("argument 1 `out`")));
}

#[test]
fn repeated_launches_start_from_the_same_inputs() {
    let bench = Bench::new();
    let ran = bench.run(&[
        "run",
        &source("saxpy.metal"),
        "-k",
        "saxpy",
        "--threads",
        "3",
        "--arg",
        "0=iota:f32:3",
        "--arg",
        "1=iota:f32:3",
        "--arg",
        "2=f32:1",
        "--print",
        "1",
        "--repeat",
        "4",
    ]);
    let ran = ran.expect(0);
    assert!(ran.stdout.contains("y (3 f32): 0 2 4"), "{}", ran.stdout);
    assert!(ran.stdout.contains("of 4 runs"), "{}", ran.stdout);
}

#[test]
fn structures_vectors_and_threadgroup_memory_are_bound() {
    let bench = Bench::new();
    let file = source("arguments.metal");
    for device in DEVICES {
        let ran = bench.run(&[
            "run",
            &file,
            "-k",
            "with_struct",
            "--threads",
            "5",
            "--arg",
            "out=zeros:f32:5",
            "--device",
            device,
            "--arg",
            "params=hex:03000000 0000003f feff 0000",
            "--print",
            "out",
        ]);
        let ran = ran.expect(0);
        assert!(ran.stdout.contains("out (5 f32): -2 -1.5 -1 -2 -1.5"), "{}", ran.stdout);
        let ran = bench.run(&[
            "run",
            &file,
            "-k",
            "with_vectors",
            "--threads",
            "2",
            "--arg",
            "in=f32:0,1,2,3,4,5,6,7",
            "--arg",
            "out=zeros:f32:8",
            "--arg",
            "small=zeros:f16:2",
            "--print",
            "out",
            "--print",
            "small",
            "--device",
            device,
        ]);
        let ran = ran.expect(0);
        assert!(ran.stdout.contains("out (8 f32): 3 2 1 0 7 6 5 4"), "{}", ran.stdout);
        assert!(ran.stdout.contains("small (2 f16): 0 4"), "{}", ran.stdout);
        let ran = bench.run(&[
            "run",
            &file,
            "-k",
            "with_memory",
            "--groups",
            "2",
            "--group",
            "4",
            "--arg",
            "in=iota:i32:8",
            "--arg",
            "out=zeros:i32:8",
            "--threadgroup-memory",
            "shared=16",
            "--print",
            "out",
            "--device",
            device,
        ]);
        let ran = ran.expect(0);
        assert!(ran.stdout.contains("out (8 i32): 3 2 1 0 7 6 5 4"), "{}", ran.stdout);
    }
    let base = ["run", &file, "-k", "with_vectors", "--threads", "1", "--arg", "in=f32:1,2,3"];
    bench.run(&base).expect(1).says(&["argument 0 `in`", "has 4 values, but 3 were given"]);
    let base = ["run", &file, "-k", "with_memory", "--threads", "4", "--arg", "in=iota:i32:4"];
    let base = [&base[..], &["--arg", "out=zeros:i32:4"]].concat();
    bench.run(&base).expect(1).says(&["threadgroup memory argument 0 `shared` is missing"]);
}

#[test]
fn lists_of_values_fill_vectors_arrays_and_structures() {
    let bench = Bench::new();
    let file = source("arguments.metal");
    let run = |sizes: &str, shape: &str, points: &str| {
        let args = [
            "run",
            &file,
            "-k",
            "with_lists",
            "--threads",
            "1",
            "--arg",
            "out=zeros:f32:4",
            "--print",
            "out",
        ];
        let lists = ["--arg", sizes, "--arg", shape, "--arg", points, "--arg", "m=f32:1,2,3,4,5,6"];
        bench.run(&[&args[..], &lists].concat())
    };
    let (sizes, shape, points) = ("sizes=u32:1,2,3", "box=f32:1,0,0,2,2,9", "points=i32:4,5,6");
    let ran = run(sizes, shape, points).expect(0);
    assert!(ran.stdout.contains("out (4 f32): 123 8 6 6"), "{}", ran.stdout);
    run("sizes=u32:1,2,3,0", shape, "points=i32:4,5,6,0,7,8,9,0").expect(0);
    run("sizes=u32:1,2", shape, points).expect(1).says(&["argument 1 `sizes`", "three alone will do"]);
    run("sizes=i32:1,2,3", shape, points).expect(1).says(&["argument 1 `sizes`", "i32 was given"]);
    run(sizes, "box=f32:1,0,0,2,2", points)
        .expect(1)
        .says(&["argument 2 `box`", "6 values, but 5 were given"]);
}

#[test]
fn function_constants_and_macros_are_given() {
    let bench = Bench::new();
    let file = source("arguments.metal");
    let base =
        ["run", &file, "-k", "with_constants", "--threads", "3", "--arg", "0=zeros:i32:3", "--print", "0"];
    let with = |more: &[&str]| bench.run(&[&base[..], more].concat());
    for constants in [["factor=i32:-3", "1=bool:true"], ["0=i32:-3", "shifted=bool:1"]] {
        let ran = with(&["--constant", constants[0], "--constant", constants[1]]).expect(0);
        assert!(ran.stdout.contains("out (3 i32): 100 97 94"), "{}", ran.stdout);
    }
    with(&["--constant", "factor=i32:3"]).expect(1).says(&["`bool shifted` (index 1)"]);
    with(&["--constant", "factor=f32:3", "--constant", "1=bool:0"]).expect(1).says(&["is a `int`"]);
    with(&["--constant", "facter=i32:3"]).expect(1).says(&["did you mean `factor`?"]);
    with(&["--constant", "factor=3"]).expect(2);
    let macros =
        ["run", &file, "-k", "with_macros", "--threads", "3", "--arg", "0=zeros:i32:3", "--print", "0"];
    let ran = bench.run(&[&macros[..], &["-D", "STEP=7"]].concat()).expect(0);
    assert!(ran.stdout.contains("0 7 14"), "{}", ran.stdout);
}

#[test]
fn the_default_group_fits_the_kernels_limit() {
    let bench = Bench::new();
    let file = source("arguments.metal");
    let base =
        ["run", &file, "-k", "with_limit", "--threads", "100", "--arg", "0=zeros:u32:100", "--print", "0:1"];
    let ran = bench.run(&base).expect(0);
    assert!(ran.stdout.contains("threadgroups of 64x1x1"), "{}", ran.stdout);
    assert!(ran.stdout.contains("out (100 u32): 64"), "{}", ran.stdout);
    bench.run(&[&base[..], &["--group", "65"]].concat()).expect(1).says(&["65", "64"]);
    bench.run(&[&base[..], &["--group", "0"]].concat()).expect(1);
    bench.run(&[&base[..], &["--group", "2000,2000,2000"]].concat()).expect(1);
}

#[test]
fn the_default_group_is_the_one_that_the_kernel_requires() {
    let bench = Bench::new();
    bench.write(
        "required.metal",
        "[[required_threads_per_threadgroup(64)]]
         kernel void size(device uint* y, uint i [[thread_position_in_grid]], uint n [[threads_per_threadgroup]]) {
             y[i] = n;
         }",
    );
    for (grid, extent) in [("--threads", "128"), ("--groups", "2")] {
        let call = [
            "run",
            "required.metal",
            "-k",
            "size",
            grid,
            extent,
            "--arg",
            "y=zeros:u32:128",
            "--print",
            "y:1",
        ];
        let object = bench.run(&[&call[..], &["--json"]].concat()).expect(0).json();
        assert_eq!(
            (&object["threadgroup"], &object["outputs"][0]["values"]),
            (&json!([64, 1, 1]), &json!([64]))
        );
    }
}

#[test]
fn empty_grids_and_empty_buffers_are_fine() {
    let bench = Bench::new();
    let file = source("saxpy.metal");
    let ran = bench.run(&[
        "run",
        &file,
        "-k",
        "doubled",
        "--threads",
        "0",
        "--arg",
        "0=zeros:i32:0",
        "--arg",
        "1=zeros:i32:0",
        "--print",
        "1",
    ]);
    assert!(ran.expect(0).stdout.contains("out (0 i32):"));
}

#[test]
fn invalid_arguments_are_reported_with_index_and_name_before_the_run() {
    let bench = Bench::new();
    let file = source("saxpy.metal");
    let base = ["run", file.as_str(), "-k", "saxpy", "--threads", "4"];
    let (x, y, a) = ("x=iota:f32:4", "y=zeros:f32:4", "a=f32:1");
    let with = |specs: &[&str]| {
        let arguments = specs.iter().flat_map(|spec| ["--arg", spec]);
        bench.run(&base.iter().copied().chain(arguments).collect::<Vec<&str>>())
    };
    with(&[x, y, a]).expect(0);
    with(&[x]).expect(1).says(&[
        "`saxpy`",
        "argument 1 `y` (`float*`) is missing",
        "argument 2 `a` (`float&`)",
    ]);
    with(&[x, y, a, "3=f32:1"]).expect(1).says(&["no buffer argument 3", "0 `x`, 1 `y`, 2 `a`"]);
    with(&[x, y, a, "yy=f32:1"]).expect(1).says(&["no buffer argument `yy`", "did you mean `y`?"]);
    with(&[x, y, a, "1=zeros:f32:4"]).expect(1).says(&["argument 1 `y` is given twice"]);
    with(&["x=iota:i32:4", y, a]).expect(1).says(&["argument 0 `x`", "f32", "i32"]);
    with(&[x, y, "a=i32:1"]).expect(1).says(&["argument 2 `a`", "f32", "i32"]);
    with(&[x, y, "a=f32:1,2"]).expect(1).says(&["argument 2 `a`", "has 1 value, but 2 were given"]);
    with(&["x=f32:1, 2,3,4", y, a]).expect(0);
    with(&["x=f32:1,,3", y, a]).expect(2).says(&["`` is no number"]);
    with(&[x, y, "a=hex:0000"]).expect(1).says(&["argument 2 `a`", "4 bytes", "2 were given"]);
    with(&[x, y, "a=zeros:f32:0"]).expect(1).says(&["argument 2 `a` needs 4 bytes"]);
    with(&[x, "y=zeros:f32:999999999999999", a]).expect(1).says(&["argument 1 `y`"]);
}

#[test]
fn unknown_names_list_the_existing_ones() {
    let bench = Bench::new();
    let file = source("saxpy.metal");
    let base = ["run", file.as_str(), "--threads", "4", "-k"];
    let ran = bench.run(&[&base[..], &["saxpi"]].concat()).expect(1);
    ran.says(&["no kernel `saxpi`", "did you mean `saxpy`?", "`saxpy`, `doubled`"]);
    let device = bench.run(&[&base[..], &["saxpy", "--device", "toaster"]].concat()).expect(1);
    device.says(&["no device `toaster`", "`cpu`"]);
    bench
        .run(&["run", "no such file.metal", "-k", "f", "--threads", "1"])
        .expect(1)
        .says(&["no such file.metal"]);
    bench.run(&["run", ".", "-k", "f", "--threads", "1"]).expect(1).says(&["not a regular file"]);
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let bench = Bench::new();
    let file = source("saxpy.metal");
    for arguments in [
        &["run", file.as_str(), "-k", "saxpy"][..],
        &["run", &file, "--threads", "1"],
        &["run", &file, "-k", "saxpy", "--threads", "1", "--groups", "1"],
        &["run", &file, "-k", "saxpy", "--threads", "1,2,3,4"],
        &["run", &file, "-k", "saxpy", "--threads", "1", "--arg", "0=f64:1"],
        &["run", &file, "-k", "saxpy", "--threads", "1", "--arg", "nothing"],
        &["run", &file, "-k", "saxpy", "--threads", "1", "--math", "wild"],
        &["run", &file, "-k", "saxpy", "--threads", "1", "--timeout=-1"],
        &["run", &file, "-k", "saxpy", "--threads", "1", "--timeout", "nan"],
        &["run", &file, "-k", "saxpy", "--threads", "1", "--timeout", "1e300"],
        &["run", &file, "-k", "saxpy", "--threads", "1", "-D", "1X"],
        &["fly"],
        &[],
    ] {
        bench.run(arguments).expect(2);
    }
    for arguments in [&["--help"][..], &["run", "--help"], &["compile", "--help"], &["devices", "--help"]] {
        assert!(bench.run(arguments).expect(0).stdout.contains("Usage"));
    }
}

#[test]
fn an_access_out_of_bounds_names_kernel_argument_index_file_and_line() {
    let bench = Bench::new();
    let file = source("faults.metal");
    for device in DEVICES {
        let arguments = [
            "run",
            &file,
            "-k",
            "past_the_end",
            "--threads",
            "100",
            "--arg",
            "in=iota:f32:100",
            "--arg",
            "out=zeros:f32:100",
            "--device",
            device,
            "--json",
        ];
        let ran = bench.run(&arguments).expect(4);
        let ran = ran.says(&["`past_the_end`", "argument 1 `out`", "index 100", "faults.metal:8"]);
        let object = ran.json();
        assert_eq!(object["status"], "out-of-bounds");
        assert_eq!((&object["error"]["argument"], &object["error"]["line"]), (&json!(1), &json!(8)));
    }
}

#[test]
fn an_endless_loop_is_stopped_by_the_deadline() {
    let bench = Bench::new();
    let file = source("faults.metal");
    for device in DEVICES {
        let ran = bench.run(&[
            "run",
            &file,
            "-k",
            "endless",
            "--threads",
            "64",
            "--arg",
            "0=zeros:u32:1",
            "--timeout",
            "0.5",
            "--json",
            "--device",
            device,
        ]);
        let ran = ran.expect(4).says(&["`endless`", "deadline", "0.5 s"]);
        assert_eq!(ran.json()["status"], "timeout");
        assert!(ran.time.as_secs() < 20, "{:?}", ran.time);
    }
}

/// Runs a kernel that only a deadline stops; the program itself is ended after `limit` seconds.
fn run_endless(bench: &Bench, device: &str, options: &[&str], limit: u64) -> Ran {
    let file = source("faults.metal");
    let base = ["run", file.as_str(), "-k", "endless", "--threads", "64", "--arg", "0=zeros:u32:1"];
    let arguments = [&base[..], &["--json", "--device", device], options].concat();
    bench.run_limited(&arguments, Duration::from_secs(limit))
}

#[test]
fn the_default_deadline_has_a_setting_that_an_option_replaces() {
    let mut bench = Bench::new();
    bench.set("ANYMETAL_STREAMS_DEADLINE", "300 ms");
    for device in DEVICES {
        let ran = run_endless(&bench, device, &[], 20).expect(4).says(&["deadline", "0.3 s"]);
        assert_eq!(ran.json()["status"], "timeout");
        run_endless(&bench, device, &["--timeout", "0.2"], 20).expect(4).says(&["deadline", "0.2 s"]);
        let ran = run_endless(&bench, device, &["--timeout", "0"], 3);
        assert_eq!(ran.code, None, "without a deadline it runs until it is ended: {}", ran.stderr);
    }
    bench.set("ANYMETAL_STREAMS_DEADLINE", "0 s");
    assert_eq!(run_endless(&bench, DEVICES[0], &[], 3).code, None, "the setting turns it off");
}

#[test]
fn tables_of_visible_functions_are_given_by_their_names() {
    let bench = Bench::new();
    let file = source("visible-functions.metal");
    for device in DEVICES {
        let run = |table: &str| {
            let base = ["run", file.as_str(), "-k", "apply", "--threads", "4", "--device", device];
            bench.run(&[&base[..], &["--arg", "x=f32:3,3,5,5", "--arg", table, "--print", "x"]].concat())
        };
        let ran = run("ops=functions:twice,square").expect(0);
        assert!(ran.stdout.contains("x (4 f32): 6 9 10 25"), "{}", ran.stdout);
        let null = run("ops=functions:twice,null").expect(4);
        assert!(null.stderr.contains("call of a null function pointer"), "{}", null.stderr);
        let unknown = run("ops=functions:cube").expect(1);
        assert!(
            unknown.stderr.contains("no visible function `cube`; there are `twice`, `square`"),
            "{}",
            unknown.stderr
        );
        let wrong = run("ops=u64:1,2").expect(1);
        assert!(wrong.stderr.contains("write functions:NAME"), "{}", wrong.stderr);
    }
}

#[test]
fn a_misspelt_variable_is_reported_once() {
    let mut bench = Bench::new();
    bench.set("ANYMETAL_CASHE", "off");
    let saxpy = source("saxpy.metal");
    let arguments = ["run", &saxpy, "-k", "saxpy", "--threads", "8", "--arg", "x=zeros:f32:8", "--arg"];
    let ran = bench.run(&[&arguments[..], &["1=zeros:f32:8", "--arg", "a=f32:1"]].concat()).expect(0);
    let notes: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("ANYMETAL_CASHE")).collect();
    assert!(matches!(notes[..], [note] if note.contains("ANYMETAL_CACHE")), "{}", ran.stderr);
}
