//! Code for 64-bit Arm, which cannot be run here: every kernel tried becomes an object that the loader links,
//! with no instruction of another processor used and no symbol missing.

use std::path::Path;

use anymetal_codegen::cpu::{CpuFeatures, CpuOptions, generate};
use anymetal_conformance::exec_file::files_below;
use anymetal_conformance::execute::on_large_stack;
use anymetal_conformance::suite::Level;
use anymetal_cpu::loader::{LoadedObject, default_symbols};
use anymetal_hal::launch::{FAULT_SYMBOL, GRID_SYNC_SYMBOL, SIMDGROUP_YIELD_SYMBOL};
use anymetal_harness::corpus::{self, CORPORA, CorpusFile};
use anymetal_harness::stages::Program;
use anymetal_ir::Module;
use anymetal_llvm::{CompileError, CompileOptions, Llvm};

/// The most instructions of a kernel that is tried without `ANYMETAL_FULL`.
const MAX_SAMPLED: usize = 5000;

fn known(symbol: &str) -> Option<*const ()> {
    let of_device = [FAULT_SYMBOL, GRID_SYNC_SYMBOL, SIMDGROUP_YIELD_SYMBOL].contains(&symbol);
    if of_device { Some(std::ptr::dangling()) } else { default_symbols(symbol) }
}

/// The problem with a kernel's code; none if LLVM lacks the target.
fn check(llvm: &Llvm, program: &Program, kernel: &str) -> Result<(), String> {
    let module = program.prepared(kernel).map_err(|failure| failure.message)?;
    let features = CpuFeatures { fma: true, f16c: true, neon: true, ..CpuFeatures::default() };
    let options = CpuOptions { features, ..CpuOptions::default() };
    let code = generate(&module, kernel, &options).map_err(|error| error.to_string())?;
    if let Some(line) = code.llvm_ir.lines().find(|line| line.contains("llvm.x86.")) {
        return Err(format!("asks for another processor: {line}"));
    }
    let target = Some(llvm.host_target().aarch64());
    match llvm.compile(&code.llvm_ir, &CompileOptions { target, ..CompileOptions::default() }) {
        Ok(object) => LoadedObject::check(&object, &known).map_err(|error| error.to_string()),
        Err(CompileError::UnknownTarget { .. }) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Checks one in `every` of the files' kernels.
fn check_files(files: &[CorpusFile], every: usize) {
    let llvm = Llvm::load().expect("libLLVM");
    let every = if Level::of_environment() == Level::Sample { every } else { 1 };
    let (mut failed, mut count) = (Vec::new(), 0);
    for file in files {
        let Ok(program) = Program::open(file) else { continue };
        for (at, kernel) in program.kernels().iter().enumerate() {
            let hash = kernel.bytes().fold(at, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
            // Those refused on every processor are listed in docs/corpus.md; large ones take minutes.
            let is_tried = |module: &Module| {
                let size: usize = module.functions.iter().map(|function| function.insts.len()).sum();
                every == 1 || size <= MAX_SAMPLED
            };
            if hash.is_multiple_of(every) && program.prepared(kernel).as_ref().is_ok_and(is_tried) {
                count += 1;
                let message = check(&llvm, &program, kernel).err();
                failed.extend(message.map(|message| format!("{} {kernel}: {message}", file.name)));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(count > 0, "no kernel was tried");
}

fn folder(name: &str) -> Vec<CorpusFile> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let paths = files_below(&folder).unwrap_or_default().into_iter();
    let metal = paths.filter(|path| path.extension().is_some_and(|extension| extension == "metal"));
    let file = |path: std::path::PathBuf| CorpusFile {
        package: "",
        name: path.display().to_string(),
        path,
        include_dirs: Vec::new(),
    };
    metal.map(file).collect()
}

#[test]
fn kernels_of_demo_and_bench() {
    on_large_stack(|| check_files(&folder("interfaces/cli/src/demo/kernels"), 4));
}

#[test]
fn language_and_library() {
    on_large_stack(|| check_files(&folder("tests/exec"), 12));
}

#[test]
fn public_kernels() {
    let files = CORPORA
        .iter()
        .flat_map(|corpus| corpus::files(corpus.package).unwrap_or_else(|error| panic!("{error}")));
    let files: Vec<CorpusFile> = files.collect();
    on_large_stack(|| check_files(&files, 800));
}
