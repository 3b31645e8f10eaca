//! Kernels in CUDA C++: `translate`, and where MSL is taken.

use crate::support::Bench;

const KERNELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/demo/kernels");
const CUDA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cuda");
const DEVICES: [&str; 2] = ["cpu", "interpreter"];

/// The bytes of an argument after a run, without the header of the saved array.
fn result(bench: &Bench, file: &str, call: &[&str], argument: &str, device: &str) -> Vec<u8> {
    let saved = bench.path("saved.bin");
    let save = format!("{argument}={}", saved.display());
    let mut command = vec!["run", file];
    command.extend_from_slice(call);
    command.extend(["--device", device, "--save", &save]);
    bench.run(&command).expect(0);
    let bytes = std::fs::read(saved).expect("it was saved");
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[10 + header..].to_vec()
}

fn ints(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    ints(bytes).into_iter().map(|bits| f32::from_bits(bits as u32)).collect()
}

/// The kernel's file, its names in CUDA and in MSL, its call, and its result.
type Pair = (&'static str, [&'static str; 2], &'static [&'static str], &'static str);

const PAIRS: &[Pair] = &[
    (
        "saxpy",
        ["saxpy", "saxpy"],
        &[
            "--threads",
            "1024",
            "--group",
            "64",
            "--arg",
            "0=iota:f32:1000",
            "--arg",
            "1=rand:f32:1000",
            "--arg",
            "2=f32:2.5",
            "--arg",
            "3=u32:1000",
        ],
        "1",
    ),
    (
        "transpose",
        ["transpose", "transpose"],
        &[
            "--threads",
            "64,16",
            "--group",
            "32,8",
            "--arg",
            "0=rand:f32:4096",
            "--arg",
            "1=zeros:f32:4096",
            "--arg",
            "2=u32:64",
        ],
        "1",
    ),
    (
        "stencil",
        ["blur", "blur"],
        &[
            "--threads",
            "40,24",
            "--group",
            "8,8",
            "--arg",
            "0=rand:f32:960",
            "--arg",
            "1=zeros:f32:960",
            "--arg",
            "2=u32:40,24",
        ],
        "1",
    ),
    (
        "matmul",
        ["product<tile>", "matmul"],
        &[
            "--threads",
            "32,32",
            "--group",
            "16,16",
            "--arg",
            "0=rand:f32:1024",
            "--arg",
            "1=rand:f32:1024:3",
            "--arg",
            "2=zeros:f32:1024",
            "--arg",
            "3=u32:32",
        ],
        "2",
    ),
];

#[test]
fn kernels_from_cuda_give_the_results_of_those_written_by_hand() {
    let bench = Bench::new();
    for (file, [cuda, metal], call, argument) in PAIRS {
        // The host's name for 16 is not known in the translation; the text of the launch is.
        let cuda = cuda.replace("tile", "16");
        let run = |file: &str, kernel: &str, device: &str| {
            floats(&result(&bench, file, &[&["-k", kernel], *call].concat(), argument, device))
        };
        for device in DEVICES {
            let by_hand = run(&format!("{KERNELS}/{file}.metal"), metal, device);
            let translated = run(&format!("{CUDA}/{file}.cu"), &cuda, device);
            assert!(by_hand.iter().any(|&value| value != 0.0), "{file} does nothing");
            assert_eq!(by_hand.len(), translated.len());
            for (a, b) in by_hand.iter().zip(&translated) {
                // Products and sums are fused where each compiler likes.
                assert!((a - b).abs() <= 1e-5 * (1.0 + a.abs()), "{file} on {device}: {b} is not {a}");
            }
        }
    }
}

#[test]
fn bytes_are_counted_in_shared_memory() {
    let bench = Bench::new();
    let (by_hand, cuda) = (format!("{KERNELS}/histogram.metal"), format!("{CUDA}/histogram.cu"));
    let call = [
        "-k",
        "histogram",
        "--threads",
        "512",
        "--group",
        "128",
        "--arg",
        "0=rand:u8:5000",
        "--arg",
        "1=zeros:u32:256",
        "--arg",
        "2=u32:5000",
    ];
    for device in DEVICES {
        let counted = ints(&result(&bench, &cuda, &call, "1", device));
        assert_eq!(counted.iter().sum::<i32>(), 5000);
        assert_eq!(counted, ints(&result(&bench, &by_hand, &call, "1", device)));
    }
}

#[test]
fn warps_and_blocks_sum_scan_and_vote() {
    let (bench, file) = (Bench::new(), format!("{CUDA}/warps.cu"));
    for device in DEVICES {
        let run = |call: &[&str], argument: &str| ints(&result(&bench, &file, call, argument, device));
        let sums = [
            "-k",
            "sums",
            "--groups",
            "2",
            "--group",
            "128",
            "--arg",
            "0=iota:i32:300",
            "--arg",
            "1=i32:200",
            "--arg",
            "2=zeros:i32:2",
        ];
        assert_eq!(run(&sums, "2"), [(0..128).sum::<i32>(), (128..200).sum::<i32>()]);
        let scan = [
            "-k",
            "scan",
            "--groups",
            "1",
            "--group",
            "64",
            "--arg",
            "0=iota:i32:64",
            "--arg",
            "1=zeros:i32:64",
            "--threadgroup-memory",
            "0=512",
        ];
        let expected: Vec<i32> = (0..64).map(|i| i * (i + 1) / 2).collect();
        assert_eq!(run(&scan, "1"), expected);
        let votes = [
            "-k",
            "votes",
            "--groups",
            "1",
            "--group",
            "64",
            "--arg",
            "0=iota:i32:64",
            "--arg",
            "1=zeros:u32:12",
        ];
        let odd = 0xaaaa_aaaa_u32 as i32;
        assert_eq!(run(&votes, "1"), [odd, 32, 0, 1, 0, 2, odd, 32, 0, 0, 32, 34]);
        let counters = [
            "-k",
            "counters",
            "--groups",
            "1",
            "--group",
            "64",
            "--arg",
            "0=zeros:u32:4",
            "--arg",
            "1=i32:0",
        ];
        assert_eq!(run(&counters, "0"), [4, 63, 128, 64]);
    }
}

/// A report has all these parts.
fn told(report: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(report.contains(part), "`{part}` is not in {report}"));
}

#[test]
fn races_are_found_in_translated_kernels() {
    let bench = Bench::new();
    let cuda = format!("{CUDA}/race.cu");
    let check = |file: &str, kernel: &str| {
        bench.run(&[
            "check",
            file,
            "-k",
            kernel,
            "--groups",
            "1",
            "--group",
            "128",
            "--arg",
            "0=iota:i32:129",
            "--arg",
            "1=zeros:i32:1",
        ])
    };
    told(&check(&cuda, "reduce<false>").expect(3).stdout, &["data race", "race.cu:6:36", "race.cu:6:13"]);
    check(&cuda, "reduce<true>").expect(0);
}

#[test]
fn races_are_found_in_opencl_c() {
    let bench = Bench::new();
    let file = format!("{CUDA}/race.cl");
    let check = |kernel: &str| {
        bench.run(&["check", &file, "-k", kernel, "--groups", "1", "--group", "64", "--arg", "0=iota:i32:65"])
    };
    told(&check("shift").expect(3).stdout, &["data race", "race.cl:6:"]);
    told(&check("same_place").expect(3).stdout, &["data race", "race.cl:11:"]);
    told(&check("no_barrier").expect(3).stdout, &["race.cl:19:", "copy"]);
    check("barrier_between").expect(0);
    check("atomic_sum").expect(0);
}

#[test]
fn launches_are_written_for_trace() {
    let bench = Bench::new();
    let file = format!("{CUDA}/matmul.cu");
    let (metal, notes) = (bench.path("matmul.metal"), bench.path("matmul.toml"));
    let (metal, notes) = (metal.display().to_string(), notes.display().to_string());
    bench.run(&["translate", &file, "-o", &metal, "--launches", &notes]).expect(0);
    let text = std::fs::read_to_string(&notes).expect("it was written");
    for line in [
        "source = \"matmul.metal\"",
        "groups = [2, 2]",
        "group = [16, 16]",
        "\"a\" = \"zeros:f32:<count>\"",
        "args = [\"a\", \"b\", \"c\", \"u32:32\"]",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    // With the counts filled in it is a workload.
    std::fs::write(&notes, text.replace("<count>", "1024")).expect("it can be written");
    bench.run(&["trace", &notes, "-o", &bench.path("timeline.json").display().to_string()]).expect(0);
}

#[test]
fn what_cannot_be_translated_names_its_place() {
    let bench = Bench::new();
    bench.write("scale.cuh", "__device__ float scale(float x) {\n    return x * factor;\n}\n");
    bench.write("scale.cu", "#include \"scale.cuh\"\n__global__ void k(float* x) { *x = scale(*x); }\n");
    bench.run(&["compile", "scale.cu", "-k", "k"]).expect(1).says(&["scale.cuh:2:", "factor"]);
    let mixed = "__global__ void k(float* x) {\n    __shared__ float s[4];\n    float* p = x;\n    p = s;\n    *p = clock();\n}\n";
    bench.write("mixed.cu", mixed);
    let refused = bench.run(&["run", "mixed.cu", "-k", "k", "--threads", "1"]).expect(1);
    refused.says(&[
        "the pointer `p` refers to memory of more than one address space",
        "mixed.cu:3:12",
        "no `clock`",
    ]);
    bench.write("double.cu", "__global__ void k(double* x) { x[0] = 0.5; }\n");
    let call = ["run", "double.cu", "-k", "k", "--threads", "1", "--arg", "0=zeros:f32:1"];
    bench.run(&call).expect(1).says(&["Metal has no `double`", "--double float"]);
    bench.run(&[&call[..], &["--double", "float"]].concat()).expect(0);
}

#[test]
fn collectives_of_cub_reduce_scan_and_exchange() {
    let (bench, file) = (Bench::new(), format!("{CUDA}/cub.cu"));
    for device in DEVICES {
        let run = |kernel: &str, groups: &str, arguments: &[&str], result_of: &str| {
            let mut call = vec!["-k", kernel, "--groups", groups, "--group", "64"];
            arguments.iter().for_each(|argument| call.extend(["--arg", argument]));
            ints(&result(&bench, &file, &call, result_of, device))
        };
        let reduced = run("reductions", "2", &["0=iota:i32:128", "1=zeros:i32:16"], "1");
        let of_block = |first: i32| [first, first + 32, (first..first + 64).sum(), first + 49, 0, 0, 0, 0];
        assert_eq!(reduced, [of_block(0), of_block(64)].concat());
        let arguments = ["0=iota:i32:64", "1=zeros:i32:64", "2=zeros:i32:64"];
        let sums: Vec<i32> = (0..64).map(|i| i * (i + 1) / 2).collect();
        assert_eq!(run("scans", "1", &arguments, "1"), sums);
        let before: Vec<i32> = (0..64).map(|i| i * (i - 1) / 2 + 1000 * 63 * 32).collect();
        assert_eq!(run("scans", "1", &arguments, "2"), before);
        let pieces = run("pieces", "1", &["0=iota:i32:256", "1=zeros:i32:256", "2=i32:250"], "1");
        let expected: Vec<i32> = (0..256).map(|i| if i < 250 { i * (i + 1) / 2 } else { 0 }).collect();
        assert_eq!(pieces, expected);
    }
}

#[test]
fn work_groups_of_opencl_copy_together() {
    let (bench, file) = (Bench::new(), format!("{CUDA}/group-copy.cl"));
    for device in DEVICES {
        let run = |kernel: &str, arguments: &[&str]| {
            let mut call = vec!["-k", kernel, "--groups", "2", "--group", "64"];
            arguments.iter().for_each(|argument| call.extend(["--arg", argument]));
            ints(&result(&bench, &file, &call, "1", device))
        };
        let reversed = run("reversed", &["0=iota:i32:128", "1=zeros:i32:128", "2=i32:1000,2000,0,0"]);
        let first = (0..64).map(|i| 63 - i + 1000);
        assert_eq!(reversed, first.chain((0..64).map(|i| 127 - i + 2001)).collect::<Vec<i32>>());
        let even = run("even", &["0=iota:i32:256", "1=zeros:i32:384"]);
        let expected: Vec<i32> = (0..384).map(|i| if i % 3 == 0 { i / 3 * 2 } else { 0 }).collect();
        assert_eq!(even, expected);
    }
    let arguments = ["--groups", "2", "--group", "64", "--arg", "0=iota:i32:256", "--arg", "1=zeros:i32:384"];
    bench.run(&[&["check", &file, "-k", "even"][..], &arguments].concat()).expect(0);
    bench.run(&[&["check", &file, "-k", "hasty"][..], &arguments].concat()).expect(3);
}
