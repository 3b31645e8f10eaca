//! Times a few kernels on this machine: `cargo run --release -p anymetal-codegen --example codegen_speed`.
//! With the name of a kernel and `text` it prints that kernel's LLVM IR, with `optimised` or
//! `assembly` what LLVM makes of it; `object` writes a file.
#![allow(clippy::print_stdout, reason = "a program whose output is its purpose")]

#[path = "../../tests/support/mod.rs"]
mod support;

use anymetal_ir::{Module, parse_module, verify};
use anymetal_llvm::{CompileOptions, Emit, Llvm};
use anymetal_opt::optimise;
use support::{Launch, compile, execute};

struct Case {
    name: &'static str,
    text: &'static str,
    launch: Launch,
    buffers: Vec<Vec<u8>>,
    /// What one run does, and in which unit per nanosecond it is told.
    work: f64,
    unit: &'static str,
    repeat: usize,
}

fn floats(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| ((n % 17) as f32 * 0.25 - 2.0).to_le_bytes()).collect()
}

fn word(value: u32) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

fn cases() -> Vec<Case> {
    let launch = |threads, group| Launch::new(threads, group);
    let saxpy = |name, n: usize, repeat| Case {
        name,
        text: include_str!("saxpy.ir"),
        launch: launch([n as u32, 1, 1], [256, 1, 1]),
        buffers: vec![floats(n), floats(n), word(n as u32), 2.0_f32.to_le_bytes().to_vec()],
        work: 12.0 * n as f64,
        unit: "GB/s",
        repeat,
    };
    let softmax = |name, rows: u32, repeat| Case {
        name,
        text: include_str!("softmax.ir"),
        launch: launch([256 * rows, 1, 1], [256, 1, 1]),
        buffers: vec![floats(1024 * rows as usize), vec![0; 4096 * rows as usize], word(1024)],
        work: 1024.0 * f64::from(rows),
        unit: "Gelement/s",
        repeat,
    };
    let reduce = |name, n: u32, repeat| Case {
        name,
        text: include_str!("reduce.ir"),
        launch: launch([n, 1, 1], [256, 1, 1]),
        buffers: vec![floats(n as usize), vec![0; n as usize / 64], word(n)],
        work: 4.0 * f64::from(n),
        unit: "GB/s",
        repeat,
    };
    vec![
        saxpy("saxpy", 1 << 22, 60),
        saxpy("saxpy-l2", 1 << 15, 2000),
        Case {
            name: "mandelbrot",
            text: include_str!("mandelbrot.ir"),
            launch: launch([1024, 16, 1], [32, 8, 1]),
            buffers: vec![vec![0; 4 << 20], word(1024)],
            work: 0.0,
            unit: "Giter/s",
            repeat: 100,
        },
        Case {
            name: "nbody",
            text: include_str!("nbody.ir"),
            launch: launch([2048, 1, 1], [256, 1, 1]),
            buffers: vec![floats(4 * 2048), vec![0; 16 * 2048], word(2048)],
            work: 20.0 * 2048.0 * 2048.0,
            unit: "GF/s",
            repeat: 100,
        },
        Case {
            name: "matmul",
            text: include_str!("matmul.ir"),
            launch: launch([256, 256, 1], [16, 16, 1]),
            buffers: vec![floats(1 << 16), floats(1 << 16), vec![0; 4 << 16], word(256)],
            work: 2.0 * 256.0_f64.powi(3),
            unit: "GF/s",
            repeat: 200,
        },
        reduce("reduce", 1 << 24, 30),
        reduce("reduce-l2", 1 << 17, 10000),
        softmax("softmax", 4096, 30),
        softmax("softmax-l2", 64, 10000),
    ]
}

fn module(case: &Case) -> Module {
    let mut module = parse_module(case.text).expect("the kernel's text");
    verify(&module).expect("a valid kernel");
    optimise(&mut module);
    module
}

fn kernel_name(case: &Case) -> &'static str {
    case.name.split('-').next().unwrap_or(case.name)
}

/// The machine's own loop, compiled by rustc.
fn plain_saxpy(n: usize, repeat: usize) -> f64 {
    let x: Vec<f32> = (0..n).map(|n| n as f32).collect();
    let mut y = x.clone();
    let mut best = f64::MAX;
    for _ in 0..repeat {
        let start = std::time::Instant::now();
        for (y, x) in y.iter_mut().zip(&x) {
            *y += 2.0 * x;
        }
        std::hint::black_box(&mut y);
        best = best.min(start.elapsed().as_nanos() as f64);
    }
    12.0 * n as f64 / best
}

fn show(llvm: &Llvm, case: &Case, what: &str) {
    let text = support::text(&module(case), kernel_name(case), &case.launch);
    if what == "object" {
        let bytes = llvm.compile(&text, &CompileOptions::default()).expect("LLVM");
        return std::fs::write(format!("{}.o", case.name), bytes).expect("a writable folder");
    }
    let emit = match what {
        "optimised" => Emit::OptimizedIr,
        "assembly" => Emit::Assembly,
        _ => return println!("{text}"),
    };
    let bytes = llvm.compile(&text, &CompileOptions { emit, ..CompileOptions::default() }).expect("LLVM");
    println!("{}", String::from_utf8_lossy(&bytes));
}

/// How long a kernel in a file takes from IR to object code, for any threadgroup size (`any`) or one.
fn time_to_compile(llvm: &Llvm, path: &str, kernel: &str, group: &str) {
    let text = std::fs::read_to_string(path).expect("a file");
    let mut module = parse_module(&text).expect("the kernel's text");
    let size: Option<u32> = group.parse().ok();
    let group = [size.unwrap_or(1), 1, 1];
    let mut launch = Launch::new(group, group);
    launch.specialise = size.is_some();
    for round in 0..3 {
        let start = std::time::Instant::now();
        optimise(&mut module);
        let optimised = start.elapsed();
        let text = support::text(&module, kernel, &launch);
        let written = start.elapsed();
        llvm.compile(&text, &CompileOptions::default()).expect("LLVM");
        let milliseconds = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        println!(
            "round {round}: optimise {:.0} ms, text {:.0} ms ({} lines), LLVM {:.0} ms",
            milliseconds(optimised),
            milliseconds(written - optimised),
            text.lines().count(),
            milliseconds(start.elapsed() - written)
        );
    }
}

fn main() {
    let llvm = support::llvm().expect("an LLVM");
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [path, kernel, group] = arguments.as_slice() {
        return time_to_compile(&llvm, path, kernel, group);
    }
    if let [name, what] = arguments.as_slice() {
        let case = cases().into_iter().find(|case| case.name == name).expect("a kernel of that name");
        return show(&llvm, &case, what);
    }
    for mut case in cases() {
        if arguments.first().is_some_and(|name| *name != case.name) {
            continue;
        }
        let mut line = format!("{:12}", case.name);
        for (label, checks, specialise) in
            [("checked", true, true), ("unchecked", false, true), ("any group", true, false)]
        {
            case.launch.checks = checks;
            case.launch.specialise = specialise;
            let module = module(&case);
            let start = std::time::Instant::now();
            let artifact = compile(&llvm, &module, kernel_name(&case), &case.launch);
            let made = start.elapsed().as_secs_f64() * 1e3;
            let mut buffers = case.buffers.clone();
            let time = execute(&artifact, &case.launch, &mut buffers, case.repeat).expect("it runs");
            let work = match case.name {
                "mandelbrot" => buffers[0]
                    .chunks(4)
                    .map(|n| f64::from(u32::from_le_bytes([n[0], n[1], n[2], n[3]])))
                    .sum(),
                _ => case.work,
            };
            line += &format!("  {label} {:7.2} {} ({made:.0} ms)", work / time as f64, case.unit);
        }
        println!("{line}");
    }
    println!(
        "plain saxpy in Rust, one thread: {:.1} GB/s, in L2 {:.1} GB/s",
        plain_saxpy(1 << 22, 60),
        plain_saxpy(1 << 15, 2000)
    );
}
