//! Code for other processors than the one at hand: lower levels of x86-64 run here, code for 64-bit Arm is
//! linked.

mod support;

use anymetal_codegen::cpu::generate;
use anymetal_cpu::loader::{LoadedObject, default_symbols};
use anymetal_hal::launch::FAULT_SYMBOL;
use anymetal_ir::Module;
use anymetal_ir_random::{RandomKernel, RandomOptions, kernel};
use anymetal_llvm::{CompileError, CompileOptions, CpuLevel, Emit, Llvm, Target};
use anymetal_opt::{inline, optimise};
use support::{Launch, agree, llvm, options_for};

fn random(seed: u64) -> (RandomKernel, Launch) {
    let mut random = kernel(seed, &RandomOptions::default());
    inline(&mut random.module).expect("random kernels can be inlined");
    if !seed.is_multiple_of(3) {
        optimise(&mut random.module);
    }
    let mut launch = Launch::new(random.threads, random.threads_per_group);
    launch.specialise = seed.is_multiple_of(2);
    (random, launch)
}

#[test]
fn lower_levels_agree_with_the_interpreter() {
    for level in CpuLevel::ALL.into_iter().filter(|level| level.is_available()) {
        for seed in 0..6 {
            let (random, launch) = random(seed);
            let launch = Launch { level: Some(level), ..launch };
            agree(&random.module, "k", &launch, &random.buffers, &format!("seed {seed} at {level}"));
        }
    }
}

/// What LLVM makes of a kernel for a processor; `None` if this LLVM does not know it.
fn compiled(llvm: &Llvm, module: &Module, launch: &Launch, target: &Target, emit: Emit) -> Option<Vec<u8>> {
    let code = generate(module, "k", &options_for(launch, target.vector)).expect("code");
    if target.cpu == "generic" {
        assert!(!code.llvm_ir.contains("llvm.x86"), "an instruction of another processor");
    }
    let options = CompileOptions { target: Some(target.clone()), emit, ..CompileOptions::default() };
    match llvm.compile(&code.llvm_ir, &options) {
        Ok(bytes) => Some(bytes),
        Err(CompileError::UnknownTarget { .. }) => None,
        Err(error) => panic!("for {}: {error}", target.cpu),
    }
}

#[test]
fn levels_keep_to_their_registers() {
    let Some(llvm) = llvm() else { return };
    let (random, launch) = random(2);
    let registers = [
        (CpuLevel::X86_64, ["%xmm"].as_slice(), ["%ymm", "%zmm"].as_slice()),
        (CpuLevel::X86_64V3, &["%ymm"], &["%zmm", "%k1"]),
        (CpuLevel::X86_64V4, &["%zmm", "%k1"], &[]),
    ];
    for (level, used, unknown) in registers {
        let target = llvm.host_target().x86_64_level(level);
        let text = compiled(&llvm, &random.module, &launch, &target, Emit::Assembly);
        let Some(text) = text.map(|text| String::from_utf8_lossy(&text).into_owned()) else { return };
        used.iter().for_each(|name| assert!(text.contains(name), "{level} without {name}"));
        unknown.iter().for_each(|name| assert!(!text.contains(name), "{level} with {name}"));
    }
}

#[test]
fn code_for_arm_links() {
    let Some(llvm) = llvm() else { return };
    let known = |name: &str| {
        if name == FAULT_SYMBOL { Some(std::ptr::dangling::<()>()) } else { default_symbols(name) }
    };
    for seed in 0..8 {
        let (random, launch) = random(seed);
        let target = llvm.host_target().aarch64();
        let Some(object) = compiled(&llvm, &random.module, &launch, &target, Emit::Object) else { return };
        LoadedObject::check(&object, &known).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    }
}
