//! Compiles in worker processes: results equal those of this process, and each death of a worker is a typed
//! error after which the next compile works.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anymetal_driver::hal::artifact::{Artifact, ArtifactCode};
use anymetal_driver::hal::encoding::encode;
use anymetal_driver::{
    CacheConfig, CompileError, Compiler, CompilerOptions, Definition, Emit, Fusion, FusionPart, Isolate,
    IsolateSettings, IsolationError, Library, LinkedFunction, PrintAfter, Source, SourceOptions,
    Specialisation, Target,
};
use rustix::process::{Pid, Signal, kill_process};

fn settings() -> IsolateSettings {
    let worker = Some(PathBuf::from(env!("CARGO_BIN_EXE_anymetal")));
    IsolateSettings { worker, workers: 2, ..IsolateSettings::default() }
}

fn isolated(settings: IsolateSettings) -> Compiler {
    let isolate = Isolate::Compile(settings);
    Compiler::new(&CompilerOptions { cache: CacheConfig::memory_only(), isolate })
}

fn here() -> Compiler {
    Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()))
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

fn file(name: &str) -> Source {
    let path = tests().join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    Source::from_file(&path, bytes, SourceOptions::default())
}

fn text(text: impl Into<Vec<u8>>) -> Source {
    Source::from_text("test.metal", text, SourceOptions::default())
}

const SMALL: &str = "kernel void k(device uint* y, uint t [[thread_position_in_grid]]) { y[t] *= 3; }";

/// Checks that a compiler compiles.
#[track_caller]
fn works(compiler: &Compiler) {
    // Not one of the sources that it may have in memory.
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let source = format!("// {}\n{SMALL}", COUNT.fetch_add(1, Ordering::Relaxed));
    let artifact = code(&compiler.library(text(source)).expect("a library"), Target::CpuLlvm);
    assert!(artifact.is_ok(), "{artifact:?}");
}

fn code(library: &Library, target: Target) -> Result<std::sync::Arc<Artifact>, CompileError> {
    library.artifact("k", &Specialisation::default(), target)
}

/// A kernel that LLVM needs long and much memory for.
fn bomb() -> Source {
    let line = "acc = acc * 3 + p[acc & 3]; p[(acc >> 3) & 3] = acc;\n";
    let body = line.repeat(400);
    text(format!(
        "kernel void k(device uint* y, uint t [[thread_position_in_grid]]) {{
            uint a[4] = {{5, 6, 7, 8}}, b[6] = {{1, 2, 3, 4, 5, 6}}, acc = y[t];
            thread uint* p = acc % 2 == 1 ? a : b;
            {body}
            y[t] = acc;
        }}"
    ))
}

#[track_caller]
fn isolation_error<T: std::fmt::Debug>(result: Result<T, CompileError>) -> IsolationError {
    match result {
        Err(CompileError::Isolation(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Both results are alike, errors in their texts.
#[track_caller]
fn assert_alike<T: PartialEq + std::fmt::Debug>(
    what: &str,
    isolated: Result<T, CompileError>,
    here: Result<T, CompileError>,
) {
    match (isolated, here) {
        (Ok(isolated), Ok(here)) => assert!(isolated == here, "{what}: {isolated:?}\nis not\n{here:?}"),
        (Err(isolated), Err(here)) => {
            let shown = |error: CompileError| {
                (
                    error.id(),
                    error.is_user_error(),
                    error.render_text(false),
                    error.render_text(true),
                    error.render_json(),
                )
            };
            assert_eq!(shown(isolated), shown(here), "{what}");
        }
        (isolated, here) => panic!("{what}: {isolated:?}\nis not\n{here:?}"),
    }
}

fn bytes(artifact: Result<std::sync::Arc<Artifact>, CompileError>) -> Result<Vec<u8>, CompileError> {
    artifact.map(|artifact| match &artifact.code {
        ArtifactCode::Interpreter(_) => format!("{:?}", artifact.kernels).into_bytes(),
        _ => encode(&artifact).expect("it has bytes"),
    })
}

#[test]
fn whole_sources_are_checked_alike() {
    let (isolated, here) = (isolated(settings()), here());
    for name in ["ui/preprocessor.metal", "ui/warnings.metal", "exec/resources/array-references.metal"] {
        let found = |compiler: &Compiler| {
            let found = compiler.check_source(&file(name)).expect("it is checked");
            (found.render_text(false), found.render_json())
        };
        let (text, json) = found(&isolated);
        assert_eq!((text, json), found(&here), "{name}");
    }
    let missing =
        IsolateSettings { worker: Some(PathBuf::from("/nonexistent")), ..IsolateSettings::default() };
    isolation_error(self::isolated(missing).check_source(&text(SMALL)).map(drop));
}

/// Everything that a library can be asked is alike.
fn compare(name: &str, isolated: &Library, here: &Library, targets: &[Target]) {
    assert_eq!(isolated.kernel_names(), here.kernel_names(), "{name}");
    assert_eq!(isolated.warnings(), here.warnings(), "{name}");
    assert_eq!(isolated.visible_functions(), here.visible_functions(), "{name}");
    for function in here.visible_functions() {
        assert_alike(name, isolated.function_type(function), here.function_type(function));
    }
    let plain = Specialisation::default();
    let sized =
        Specialisation { group_size: Some([64, 1, 1]), whole_threadgroups_only: true, ..plain.clone() };
    for kernel in here.kernel_names() {
        let what = format!("{name}, {kernel}");
        assert_alike(&what, isolated.kernel_warnings(kernel), here.kernel_warnings(kernel));
        assert_alike(&what, isolated.reflect(kernel), here.reflect(kernel));
        assert_alike(&what, isolated.argument_layout(kernel, 0, &[]), here.argument_layout(kernel, 0, &[]));
        let family = "apple5".parse().expect("a family");
        assert_alike(
            &what,
            isolated.check_family(kernel, &plain, family),
            here.check_family(kernel, &plain, family),
        );
        for emit in [Emit::FrontEndIr, Emit::Ir, Emit::Llvm] {
            assert_alike(&what, isolated.emit(kernel, &plain, emit), here.emit(kernel, &plain, emit));
        }
        for specialisation in [&plain, &sized] {
            let described = |library: &Library| library.describe(kernel, specialisation);
            assert_alike(&what, described(isolated), described(here));
            let specialised = |library: &Library| library.reflect_specialised(kernel, specialisation);
            assert_alike(&what, specialised(isolated), specialised(here));
            for &target in targets {
                let made = |library: &Library| bytes(library.artifact(kernel, specialisation, target));
                assert_alike(&format!("{what}, {target:?}"), made(isolated), made(here));
            }
        }
        let passes = PrintAfter::All;
        let printed = |library: &Library| library.print_after(kernel, &plain, Target::Cpu, &passes);
        assert_alike(&what, printed(isolated), printed(here));
    }
}

#[test]
fn compiles_equal_those_of_this_process() {
    let files = [
        "exec/types/nested-struct-layout.metal",
        "exec/pointers/argument-buffer.metal",
        "exec/constants/function-constants.metal",
        "exec/types/constant-tables.metal",
        "exec/atomics/threadgroup.metal",
        "exec/vectors/swizzles.metal",
        "exec/matrices/arithmetic.metal",
    ];
    let targets = [Target::Cpu, Target::Nvidia { sm: 80 }, Target::Metal, Target::Interpreter];
    let (isolated, here) = (isolated(settings()), here());
    for name in files {
        let [isolated, here] = [&isolated, &here].map(|compiler| compiler.library(file(name)).expect(name));
        compare(name, &isolated, &here, &targets);
    }
}

#[test]
fn diagnostics_equal_those_of_this_process() {
    let (isolated, here) = (isolated(settings()), here());
    let mut compared = 0;
    for entry in std::fs::read_dir(tests().join("ui")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "metal") {
            continue;
        }
        let name = path.display().to_string();
        let source = || {
            let include_folders = vec![tests().join("ui/include")];
            let options = SourceOptions { include_folders, ..SourceOptions::default() };
            Source::from_text(name.clone(), std::fs::read(&path).expect("a readable file"), options)
        };
        match [&isolated, &here].map(|compiler| compiler.library(source())) {
            [Ok(isolated), Ok(here)] => compare(&name, &isolated, &here, &[]),
            [isolated, here] => assert_alike(&name, isolated.map(drop), here.map(drop)),
        }
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn included_files_are_found_by_this_process() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (root, other) = (folder.path().join("root"), folder.path().join("other"));
    std::fs::create_dir_all(root.join("inner")).unwrap();
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(folder.path().join("secret.h"), "secret").unwrap();
    std::fs::write(root.join("inner/a.h"), "#include \"b.h\"").unwrap();
    std::fs::write(root.join("inner/b.h"), "#define FACTOR 3").unwrap();
    std::fs::write(other.join("c.h"), "#define MORE 4").unwrap();
    let source = |includes: &str| {
        let options = SourceOptions {
            include_folders: vec![other.clone()],
            definitions: vec![Definition::Define("ONE=1".into())],
            ..SourceOptions::default()
        };
        let body = "kernel void k(device int* y, uint t [[thread_position_in_grid]]) { y[t] = FACTOR + MORE + ONE; }";
        Source::from_file(&root.join("main.metal"), format!("{includes}\n{body}").into_bytes(), options)
    };
    let (isolated, here) = (isolated(settings()), here());
    let good = "#include \"inner/a.h\"\n#include <c.h>";
    let [first, same] = [&isolated, &here].map(|compiler| compiler.library(source(good)).expect("a library"));
    compare("includes", &first, &same, &[Target::Cpu]);
    for bad in [
        "#include \"missing.h\"",
        "#include \"../secret.h\"",
        "#include \"/etc/passwd\"",
        "#include \"inner\"",
    ] {
        let parsed = [&isolated, &here].map(|compiler| compiler.library(source(bad)).map(drop));
        let [isolated, here] = parsed;
        assert!(here.is_err(), "{bad}");
        assert_alike(bad, isolated, here);
    }
    // A changed file is another library; the worker has the old one.
    std::fs::write(root.join("inner/b.h"), "#define FACTOR 5").unwrap();
    let [second, same] =
        [&isolated, &here].map(|compiler| compiler.library(source(good)).expect("a library"));
    let made = |library: &Library| bytes(code(library, Target::Cpu)).expect("code");
    assert_eq!(made(&second), made(&same));
    assert_ne!(made(&second), made(&first));
}

#[test]
fn linked_and_fused_kernels_equal_those_of_this_process() {
    let functions = "[[visible]] float twice(float x) { return 2 * x; }";
    let caller = "
        [[visible]] float twice(float);
        kernel void k(device float* y, uint t [[thread_position_in_grid]]) { y[t] = twice(y[t]); }";
    let pair = "
        kernel void first(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                          uint t [[thread_position_in_grid]]) { y[t] = x[t] + 1; }
        kernel void second(device const float* x [[buffer(0)]], device float* y [[buffer(1)]],
                           uint t [[thread_position_in_grid]]) { y[t] = x[t] * 3; }";
    let made = |compiler: &Compiler| {
        let linked = LinkedFunction {
            library: compiler.library(text(functions)).expect("functions"),
            name: "twice".to_owned(),
            alias: None,
            constants: Vec::new(),
            is_private: false,
        };
        let library =
            compiler.library(text(caller)).expect("a caller").linked_with(vec![linked]).expect("linked");
        let linked = bytes(code(&library, Target::Cpu)).expect("linked code");
        let library = compiler.library(text(pair)).expect("a pair");
        let specialisation = Specialisation::default();
        let kernels = ["first", "second"].map(|name| library.describe(name, &specialisation).expect(name));
        let places: [&[(u32, u32)]; 2] = [&[(0, 0), (1, 1)], &[(0, 1), (1, 2)]];
        let parts = kernels.iter().zip(places).map(|(kernel, places)| FusionPart {
            library: &library,
            kernel,
            specialisation: &specialisation,
            places,
            bytes: &[],
        });
        let fusion = Fusion::new(parts.collect(), Some([64, 1, 1]), None).expect("parts of one compiler");
        assert_eq!(fusion.refusal().expect("a verdict"), None);
        let fused = [Target::Cpu, Target::Nvidia { sm: 80 }, Target::Interpreter];
        let fused = fused.map(|target| bytes(fusion.artifact(target)).expect("fused code"));
        (linked, fused)
    };
    assert!(made(&isolated(settings())) == made(&here()));
}

#[test]
fn this_process_loads_no_llvm() {
    works(&isolated(settings()));
    // Under `cargo test` other tests of this process load it.
    if std::env::var_os("NEXTEST").is_some() {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("the maps of this process");
        assert!(!maps.contains("libLLVM"), "{maps}");
    }
}

#[test]
fn a_compile_that_needs_too_much_memory_is_a_typed_error() {
    let limit = 48 << 20;
    let compiler = isolated(IsolateSettings { memory_bytes: limit, ..settings() });
    works(&compiler);
    let library = compiler.library(bomb()).expect("it parses");
    assert_eq!(isolation_error(code(&library, Target::CpuLlvm)), IsolationError::Memory { limit });
    works(&compiler);
}

#[test]
fn a_compile_that_takes_too_long_is_a_typed_error() {
    let limit = Duration::from_secs(5);
    let compiler = isolated(IsolateSettings { time: limit, ..settings() });
    works(&compiler);
    let library = compiler.library(slow()).expect("it parses");
    let started = Instant::now();
    assert_eq!(isolation_error(code(&library, Target::CpuLlvm)), IsolationError::Time { limit });
    assert!(started.elapsed() < 2 * limit, "{:?}", started.elapsed());
    works(&compiler);
}

/// A kernel that takes minutes to compile.
fn slow() -> Source {
    let bytes = std::fs::read(tests().join("cli/compile-bomb.metal")).expect("a file");
    let definitions = vec![Definition::Define("N=C C C C C C C C C C C C C C C C".into())];
    Source::from_text("bomb.metal", bytes, SourceOptions { definitions, ..SourceOptions::default() })
}

/// The workers of this process with that memory limit, which tells those of one test.
fn workers(memory_bytes: u64) -> Vec<Pid> {
    let children = std::fs::read_dir("/proc").expect("processes").flatten().filter_map(|entry| {
        let id: i32 = entry.file_name().to_str()?.parse().ok()?;
        let command = std::fs::read(entry.path().join("cmdline")).ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let parent: u32 = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        let argument = format!("\0worker\0{memory_bytes}\0");
        let is_ours = parent == std::process::id() && String::from_utf8_lossy(&command).contains(&argument);
        Pid::from_raw(id).filter(|_| is_ours)
    });
    children.collect()
}

#[test]
fn a_worker_killed_during_a_compile_is_a_typed_error() {
    let memory_bytes = (4 << 30) + 1;
    let compiler = isolated(IsolateSettings { memory_bytes, ..settings() });
    let library = compiler.library(slow()).expect("it parses");
    let compile = std::thread::spawn(move || code(&library, Target::CpuLlvm));
    std::thread::sleep(Duration::from_secs(1));
    let [worker] = workers(memory_bytes)[..] else { panic!("one worker") };
    kill_process(worker, Signal::KILL).expect("it runs");
    assert_eq!(isolation_error(compile.join().expect("no panic")), IsolationError::Killed);
    works(&compiler);
}

#[test]
fn a_worker_killed_between_compiles_is_replaced() {
    let memory_bytes = (4 << 30) + 2;
    let compiler = isolated(IsolateSettings { memory_bytes, ..settings() });
    works(&compiler);
    for signal in [Signal::KILL, Signal::TERM, Signal::ABORT] {
        let [worker] = workers(memory_bytes)[..] else { panic!("one worker") };
        kill_process(worker, signal).expect("it runs");
        let folder = PathBuf::from(format!("/proc/{}", worker.as_raw_nonzero()));
        // The first thread ends as a zombie; the process has ended when it is the only one.
        let is_gone = || {
            let stat = std::fs::read_to_string(folder.join("stat"));
            let threads = std::fs::read_dir(folder.join("task")).map_or(0, Iterator::count);
            stat.map_or(true, |stat| stat.contains(") Z ")) && threads <= 1
        };
        while !is_gone() {
            std::thread::sleep(Duration::from_millis(1));
        }
        works(&compiler);
        assert_ne!(workers(memory_bytes), [worker]);
    }
}

#[test]
fn threads_share_a_bounded_number_of_workers() {
    let memory_bytes = (4 << 30) + 3;
    let compiler = isolated(IsolateSettings { memory_bytes, workers: 2, ..settings() });
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| works(&compiler));
        }
    });
    assert!((1..=2).contains(&workers(memory_bytes).len()));
}

#[test]
fn settings_that_cannot_be_followed_refuse_every_compile() {
    let missing = PathBuf::from("/no/such/worker");
    let compiler = isolated(IsolateSettings { worker: Some(missing.clone()), ..settings() });
    let error = isolation_error(compiler.library(text(SMALL)));
    assert_eq!(error, IsolationError::WorkerNotFound { tried: vec![missing] });
    let isolate = Isolate::Refused(IsolationError::Unsupported { what: "isolation".to_owned() });
    let compiler = Compiler::new(&CompilerOptions { cache: CacheConfig::memory_only(), isolate });
    assert_eq!(isolation_error(compiler.library(text(SMALL))).id(), "isolation-unsupported");
}

#[test]
fn the_command_line_isolates_on_request() {
    let run = |arguments: &str, isolate: &str| {
        let worker = env!("CARGO_BIN_EXE_anymetal");
        let output = std::process::Command::new(worker)
            .args(arguments.split(' '))
            .current_dir(tests().join("cli"))
            .envs([
                ("ANYMETAL_CACHE", "off"),
                ("ANYMETAL_ISOLATE", isolate),
                ("ANYMETAL_ISOLATE_WORKER", worker),
            ])
            .output()
            .expect("the command runs");
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (output.status.code(), out, err)
    };
    for arguments in [
        "check faults.metal -k past_the_end --threads 8 --arg 0=zeros:f32:4 --arg 1=zeros:f32:4",
        "compile saxpy.metal -k doubled --emit llvm",
        "compile saxpy.metal -k doubledd",
        "analyze saxpy.metal -k doubled",
    ] {
        let here = run(arguments, "off");
        assert_eq!(run(arguments, "compile"), here, "{arguments}");
        // The sanitizer of `check` runs kernels in the program.
        if !arguments.starts_with("check") {
            assert_eq!(run(arguments, "run"), here, "{arguments}");
        }
    }
    let arguments = "run saxpy.metal -k doubled --threads 8 --arg 0=iota:i32:8 --arg 1=zeros:i32:8";
    for isolate in ["off", "run"] {
        let (code, out, error) = run(arguments, isolate);
        assert_eq!(code, Some(0), "{isolate}: {error}");
        assert!(out.starts_with("doubled on cpu: 8 threads in threadgroups of 32x1x1, "), "{out}");
    }
}
