//! The analysis of the demo's kernels against runs: operations and bytes, executions of each region, patterns
//! of each access.

use anymetal_analyze::{KernelAnalysis, Options, Pattern, Recorder, analyze, disagreements};
use anymetal_interp::{Dispatch, Limits, Memory, Program, run};
use anymetal_ir::Module;
use anymetal_msl::pp::MemoryIncludes;
use anymetal_msl::{CompileOptions, Library};

/// A launch of whole threadgroups; buffers by size in bytes, or by contents.
struct Launch {
    file: &'static str,
    kernel: &'static str,
    groups: [u32; 3],
    group: [u32; 3],
    buffers: Vec<Vec<u8>>,
}

fn word(value: u32) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

/// Numbers from 1 on.
fn numbers(count: usize) -> Vec<u8> {
    (1..=count).flat_map(|n| (n as f32).to_le_bytes()).collect()
}

fn words<const N: usize>(values: [u32; N]) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn line(file: &'static str, kernel: &'static str, groups: u32, group: u32, buffers: Vec<Vec<u8>>) -> Launch {
    Launch { file, kernel, groups: [groups, 1, 1], group: [group, 1, 1], buffers }
}

fn launches() -> Vec<Launch> {
    let a = 2.5f32.to_le_bytes().to_vec();
    let viewport: Vec<u8> = [-2.0f32, -1.0, 0.15, 0.2].iter().flat_map(|x| x.to_le_bytes()).collect();
    let tile = |file, kernel, n: u32, tile: u32, group, count: usize| {
        let mut buffers = vec![numbers((n * n) as usize); count];
        buffers.push(word(n));
        Launch { file, kernel, groups: [n / tile, n / tile, 1], group, buffers }
    };
    vec![
        line("saxpy", "saxpy", 2, 64, vec![numbers(100), numbers(100), a.clone(), word(100)]),
        line("saxpy", "saxpy", 2, 64, vec![numbers(128), numbers(128), a, word(128)]),
        line("nbody", "nbody", 1, 64, vec![numbers(160), numbers(160), word(40)]),
        line("reduce", "reduce", 2, 256, vec![numbers(500), numbers(2), word(500)]),
        line("softmax", "softmax", 3, 64, vec![numbers(210), numbers(210), word(70)]),
        line("scan", "scan_groups", 2, 256, vec![words([3; 500]), words([0; 500]), words([0; 2]), word(500)]),
        line("scan", "scan_add", 2, 256, vec![words([3; 500]), words([5; 2]), word(500)]),
        line("histogram", "histogram", 2, 64, vec![vec![7; 1000], vec![0; 1024], word(1000)]),
        line("sort", "bitonic_step", 2, 64, vec![words([9; 256]), word(4), word(2)]),
        tile("transpose", "transpose", 64, 32, [32, 8, 1], 2),
        tile("matmul", "matmul", 32, 16, [16, 16, 1], 3),
        Launch {
            file: "stencil",
            kernel: "blur",
            groups: [1, 2, 1],
            group: [32, 8, 1],
            buffers: vec![numbers(260), numbers(260), words([20, 13])],
        },
        Launch {
            file: "mandelbrot",
            kernel: "mandelbrot",
            groups: [1, 3, 1],
            group: [32, 4, 1],
            buffers: vec![numbers(180), words([20, 9]), viewport, word(20)],
        },
    ]
}

/// The kernel's module as the analysis takes it.
fn module(launch: &Launch) -> Module {
    let path =
        format!("{}/../../interfaces/cli/src/demo/kernels/{}.metal", env!("CARGO_MANIFEST_DIR"), launch.file);
    let text = std::fs::read(&path).expect("the demo has the kernel");
    let (library, diagnostics) =
        Library::parse(launch.file, &text, &CompileOptions::default(), &mut MemoryIncludes::default());
    let library = library.unwrap_or_else(|| panic!("{}", diagnostics.render_text(false)));
    let made = library.module(launch.kernel);
    let mut module = made.unwrap_or_else(|errors| panic!("{}", errors.render_text(false)));
    anymetal_opt::inline(&mut module).expect("it can be inlined");
    anymetal_opt::optimise(&mut module);
    module
}

fn analyzed(launch: &Launch, module: &Module) -> KernelAnalysis {
    let options = Options { group: Some(launch.group), ..Options::default() };
    analyze(module, launch.kernel, &options).expect("the kernel is there")
}

/// Runs it; the program, what was recorded, and the threads.
fn recorded(launch: &Launch, module: &Module) -> (Program, Recorder, u64) {
    let program = Program::new(module, launch.kernel).expect("it can be run");
    let mut buffers = launch.buffers.clone();
    let mut memory = buffers.iter_mut().fold(Memory::new(), |memory, bytes| memory.bind(bytes));
    let dispatch = Dispatch::groups(launch.groups, launch.group);
    let mut recorder = Recorder::default();
    let report = run(&program, &dispatch, &mut memory, Limits::default(), &mut recorder).expect("it ends");
    assert_eq!(report.fault_count, 0, "{}: {:?}", launch.kernel, report.faults);
    assert!(recorder.sites().count() > 0, "{}", launch.kernel);
    let product = |sizes: [u32; 3]| sizes.iter().map(|&size| u64::from(size)).product::<u64>();
    (program, recorder, product(launch.groups) * product(launch.group))
}

#[test]
fn operations_bytes_and_patterns_are_those_of_runs() {
    for launch in launches() {
        let module = module(&launch);
        let analysis = analyzed(&launch, &module);
        let (program, recorder, threads) = recorded(&launch, &module);
        let found = disagreements(&analysis, &program, &recorder, threads);
        assert_eq!(found, [""; 0], "{}", launch.kernel);
    }
}

#[test]
fn what_does_not_agree_is_found() {
    let launch = &launches()[1];
    let module = module(launch);
    let (program, recorder, threads) = recorded(launch, &module);
    let told =
        |analysis: &KernelAnalysis, threads| disagreements(analysis, &program, &recorder, threads).join("\n");
    let right = analyzed(launch, &module);
    assert!(told(&right, threads + 1).contains("of region 0 were executed {128, 129} times"));
    let mut wrong = right.clone();
    wrong.regions.iter_mut().for_each(|region| region.counts.float_operations += 1);
    wrong.accesses.iter_mut().for_each(|access| access.pattern = Pattern::Uniform);
    let told_wrong = told(&wrong, threads);
    assert!(told_wrong.contains("by the analysis, 256 in the run"), "{told_wrong}");
    assert!(told_wrong.contains("Contiguous of"), "{told_wrong}");
    wrong.accesses.clear();
    assert!(told(&wrong, threads).contains("no access is known"));
}

#[test]
fn saxpy_is_contiguous_and_its_operations_are_counted() {
    let launch = &launches()[0];
    let module = module(launch);
    let analysis = analyzed(launch, &module);
    let arrays =
        analysis.accesses.iter().filter(|access| matches!(access.variable.as_deref(), Some("x" | "y")));
    let patterns: Vec<Pattern> = arrays.map(|access| access.pattern).collect();
    assert_eq!(patterns, [Pattern::Contiguous; 3], "{:#?}", analysis.accesses);
    let floats: u64 = analysis.regions.iter().map(|region| region.counts.float_operations).sum();
    assert_eq!((floats, analysis.dimensions), (2, 1));
}
