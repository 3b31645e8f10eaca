//! `translate`, and kernels in OpenCL C where MSL is taken.

use crate::support::Bench;

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/demo/kernels");

/// A kernel that is there in both languages, with the arguments that both take.
struct Pair {
    file: &'static str,
    kernel: &'static str,
    grid: &'static [&'static str],
    args: &'static [&'static str],
    result: &'static str,
}

const PAIRS: &[Pair] = &[
    Pair {
        file: "saxpy",
        kernel: "saxpy",
        grid: &["--threads", "1024", "--group", "64"],
        args: &["x=iota:f32:1000", "y=rand:f32:1000", "a=f32:2.5", "n=u32:1000"],
        result: "y",
    },
    Pair {
        file: "transpose",
        kernel: "transpose",
        grid: &["--threads", "64,16", "--group", "32,8"],
        args: &["source=rand:f32:4096", "target=zeros:f32:4096", "n=u32:64"],
        result: "target",
    },
    Pair {
        file: "histogram",
        kernel: "histogram",
        grid: &["--threads", "512", "--group", "128"],
        args: &["values=rand:u8:5000", "bins=zeros:u32:256", "n=u32:5000"],
        result: "bins",
    },
    Pair {
        file: "black_scholes",
        kernel: "black_scholes",
        grid: &["--threads", "256", "--group", "64"],
        args: &[
            "prices=rand:f32:200",
            "strikes=rand:f32:200:7",
            "years=rand:f32:200:9",
            "calls=zeros:f32:200",
            "puts=zeros:f32:200",
            "rate=f32:0.02",
            "volatility=f32:0.3",
            "n=u32:200",
        ],
        result: "calls",
    },
    Pair {
        file: "stencil",
        kernel: "blur",
        grid: &["--threads", "40,24", "--group", "8,8"],
        args: &["source=rand:f32:960", "target=zeros:f32:960", "size=u32:40,24"],
        result: "target",
    },
    Pair {
        file: "matmul",
        kernel: "matmul",
        grid: &["--threads", "32,32", "--group", "16,16"],
        args: &["a=rand:f32:1024", "b=rand:f32:1024:3", "c=zeros:f32:1024", "n=u32:32"],
        result: "c",
    },
];

#[test]
fn translated_kernels_give_the_results_of_those_written_by_hand() {
    let bench = Bench::new();
    for Pair { file, kernel, grid, args, result } in PAIRS {
        let run = |language: &str, device: &str| {
            let source = format!("{KERNELS}/{file}.{language}");
            let saved = bench.path(&format!("{file}-{language}-{device}.bin"));
            let save = format!("{result}={}", saved.display());
            let mut command = vec!["run", &source, "-k", kernel, "--device", device];
            command.extend_from_slice(grid);
            args.iter().for_each(|arg| command.extend(["--arg", arg]));
            command.extend(["--save", &save]);
            bench.run(&command).expect(0);
            std::fs::read(saved).expect("it was saved")
        };
        for device in ["cpu", "interpreter"] {
            let (by_hand, translated) = (run("metal", device), run("cl", device));
            assert!(by_hand.iter().any(|&byte| byte != 0), "{file} does nothing");
            assert_eq!(by_hand.len(), translated.len());
            let floats = |bytes: &[u8]| -> Vec<f32> {
                let value = |bits: u32| if *file == "histogram" { bits as f32 } else { f32::from_bits(bits) };
                bytes.as_chunks().0.iter().map(|word| value(u32::from_le_bytes(*word))).collect()
            };
            for (a, b) in floats(&by_hand).iter().zip(floats(&translated)) {
                // Products and sums are fused where each compiler likes.
                assert!((a - b).abs() <= 1e-5 * (1.0 + a.abs()), "{file} on {device}: {b} is not {a}");
            }
        }
    }
}

#[test]
fn every_kernel_of_the_peers_compiles() {
    let bench = Bench::new();
    let collective = std::fs::read_to_string(format!("{KERNELS}/collective.cl")).expect("it is there");
    let mut files = 0;
    for entry in std::fs::read_dir(KERNELS).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_some_and(|extension| extension == "cl") && !path.ends_with("collective.cl") {
            let text = std::fs::read_to_string(&path).expect("it can be read");
            bench.write("kernel.cl", format!("{collective}{text}"));
            bench.run(&["compile", "kernel.cl", "--all"]).expect(0);
            files += 1;
        }
    }
    assert_eq!(files, 18);
}

#[test]
fn vectors_of_8_and_16_hold_what_each_component_says() {
    let bench = Bench::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cuda/wide.cl");
    for device in ["cpu", "interpreter"] {
        let grid = ["run", file, "-k", "wide", "--threads", "1", "--device", device];
        let memory = ["--threadgroup-memory", "0=32", "--arg", "bytes=iota:u8:8"];
        let args = ["--arg", "x=iota:f32:16", "--arg", "y=zeros:f32:33"];
        bench
            .run(&[&grid[..], &memory, &args, &["--save", "y=y.bin", "--save", "bytes=bytes.bin"]].concat())
            .expect(0);
        let floats = std::fs::read(bench.path("y.bin")).expect("it was saved");
        let last = floats[floats.len() - 4 * 33..].as_chunks().0;
        let last: Vec<f32> = last.iter().map(|word| f32::from_le_bytes(*word)).collect();
        assert_eq!(last[..8], [17.0, 8.0, 23.0, 26.0, 29.0, 32.0, 35.0, 38.0], "{device}");
        assert_eq!(last[8..16], [20.0, 20.0, 23.0, 26.0, 29.0, 32.0, 35.0, 37.0], "{device}");
        let all: Vec<f32> = (0..16).map(|i| if i == 9 { 3.0 } else { i as f32 }).collect();
        assert_eq!(last[16..32], all, "{device}");
        assert_eq!(last[32], 10.0, "{device}");
        let bytes = std::fs::read(bench.path("bytes.bin")).expect("it was saved");
        assert_eq!(bytes[bytes.len() - 8..], [0, 2, 4, 6, 8, 10, 12, 14], "{device}");
    }
}

/// Programs of `tests/opencl` and `tests/cuda` have the arguments of their kernel `k` in their first lines,
/// and the values that one thread of it computes.
#[test]
fn programs_compute_what_they_expect() {
    let bench = Bench::new();
    let folders = [
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/opencl"),
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cuda"),
    ];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("the folder is there"));
    let mut programs = 0;
    for entry in entries {
        let path = entry.expect("it can be read").path();
        let text = std::fs::read_to_string(&path).expect("it can be read");
        if !text.starts_with("//! ") {
            continue; // Other tests of this file run it with arguments of their own.
        }
        let file = path.display().to_string();
        let mut command = vec!["run", &*file, "-k", "k", "--threads", "1"];
        let mut expected = None;
        for line in text.lines().map_while(|line| line.strip_prefix("//! ")) {
            match line.split_once(' ').expect("a word and its value") {
                ("arg", spec) => command.extend(["--arg", spec]),
                ("double", spec) => command.extend(["--double", spec]),
                ("threadgroup-memory", spec) => command.extend(["--threadgroup-memory", spec]),
                ("expect", values) => expected = values.split_once(": "),
                (word, _) => panic!("{file}: unknown directive `{word}`"),
            }
        }
        let (name, values) = expected.expect("every program expects something");
        let shown = format!("{name}:{}", values.split(' ').count());
        command.extend(["--print", &shown]);
        for device in ["cpu", "interpreter"] {
            let ran = bench.run(&[&command[..], &["--device", device]].concat()).expect(0);
            let printed = ran.stdout.lines().find_map(|line| line.split_once("): "));
            assert_eq!(printed.map(|(_, printed)| printed), Some(values), "{file} on {device}");
        }
        programs += 1;
    }
    assert!(programs > 8, "{programs} programs in {folders:?}");
}

#[test]
fn macros_of_the_command_line_are_translated() {
    let bench = Bench::new();
    let source = "#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\n\
                  kernel void f(global int* x) { T v = (T)(1.5f, 2.5f); x[0] = CAT(convert_, CAT(R, 2))(v < 2).x; }";
    bench.write("types.cl", source);
    for command in ["run", "compile"] {
        let own: &[&str] = match command {
            "run" => &["--threads", "1", "--arg", "x=zeros:i32:1", "--print", "x:1"],
            _ => &[],
        };
        let ran = bench
            .run(&[&[command, "types.cl", "-k", "f", "-D", "T=float2", "-D", "R=int"], own].concat())
            .expect(0);
        assert!(command != "run" || ran.stdout.contains("): -1\n"), "{}", ran.stdout);
    }
}

#[test]
fn errors_name_their_place() {
    let bench = Bench::new();
    bench.write("bad.cl", "kernel void f(global float* x) {\n    x[0] = nothing;\n}\n");
    bench.run(&["compile", "bad.cl", "-k", "f"]).expect(1).says(&["bad.cl:2:12", "nothing"]);
    bench.write("images.cl", "kernel void f(image2d_array_t i) {\n    get_image_channel_order(i);\n}\n");
    let refused = bench.run(&["translate", "images.cl"]).expect(1);
    refused.says(&[
        "images of the type `image2d_array_t`",
        "images.cl:1:15",
        "Metal has no `get_image_channel_order`",
    ]);
    let json = bench.run(&["run", "images.cl", "-k", "f", "--threads", "1", "--json"]).expect(1).json();
    let error = &json["error"];
    assert_eq!((&json["status"], &error["id"]), (&"invalid".into(), &"source".into()));
    assert_eq!(error["diagnostics"][0]["id"], "untranslatable");
    assert_eq!(error["diagnostics"][0]["message"], "images of the type `image2d_array_t` are not translated");
    assert_eq!(error["diagnostics"][1]["message"], "Metal has no `get_image_channel_order`");
    bench.write("double.cl", "kernel void f(global double* x) {\n    x[0] = 1.0;\n}\n");
    bench.run(&["translate", "double.cl"]).expect(1).says(&["Metal has no `double`", "--double float"]);
    bench.run(&["translate", "double.cl", "--double", "float", "-o", "single.metal"]).expect(0);
    bench.run(&["compile", "single.metal", "-k", "f"]).expect(0);
}

#[test]
fn a_kernel_is_analyzed_in_either_language() {
    let bench = Bench::new();
    for language in ["metal", "cl"] {
        let file = format!("{KERNELS}/saxpy.{language}");
        let text = bench.run(&["analyze", &file]).expect(0).stdout;
        assert!(text.starts_with("saxpy: one dimension, threadgroups of 256x1x1\n"), "{text}");
        assert!(
            text.contains("load of 4 bytes of `x`, contiguous: 4 sectors (NVIDIA), 1 lines (Apple)"),
            "{text}"
        );
        let json = bench.run(&["analyze", &file, "-k", "saxpy", "--group", "64", "--json"]).expect(0).json();
        assert_eq!(json["kernels"][0]["group"], serde_json::json!([64, 1, 1]));
    }
    bench.run(&["analyze", &format!("{KERNELS}/saxpy.metal"), "-k", "missing"]).expect(1);
}
