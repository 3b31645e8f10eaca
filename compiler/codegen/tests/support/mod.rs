//! Runs a kernel's IR on the CPU device and in the interpreter. Without a libLLVM the tests that need one
//! fail, unless `ANYMETAL_TEST_WITHOUT_LLVM=1` says that its absence is meant.
#![allow(dead_code, reason = "each program uses a part of this module")]

mod extents;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anymetal_codegen::cpu::{CpuOptions, argument_slots, generate};
use anymetal_cpu::{CpuDevice, CpuDeviceOptions, Guard};
use anymetal_driver::cpu_features;
use anymetal_hal::artifact::{
    AddressSpace, ArgumentInfo, ArgumentKind, Artifact, ArtifactCode, ArtifactTarget, FaultSite, KernelInfo,
};
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::command::{
    Binding, BoundResource, Command, CommandList, Dispatch, Grid, ThreadgroupMemory,
};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::queue::QueueDescriptor;
use anymetal_interp::{Limits, Memory, NoObserver, Observer, Program, Report};
use anymetal_ir::{ArgKind, Module, parse_module, verify};
use anymetal_llvm::{CompileOptions, CpuLevel, HostCpu, Llvm, LlvmError, VectorFacts};
use extents::Extents;

/// The module that a text in the IR's language says, which must be valid.
pub(crate) fn parsed(text: &str) -> Module {
    let module = parse_module(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&module).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    module
}

/// How a kernel is launched.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    /// Threads per grid.
    pub(crate) threads: [u32; 3],
    /// Threads per threadgroup.
    pub(crate) group: [u32; 3],
    /// Whether to specialise the code on the threadgroup's size.
    pub(crate) specialise: bool,
    /// Whether to check bounds.
    pub(crate) checks: bool,
    /// Lengths of dynamic threadgroup memory, by position among those arguments.
    pub(crate) threadgroup: Vec<u64>,
    /// The processors to generate code for; `None`: this one.
    pub(crate) level: Option<CpuLevel>,
}

impl Launch {
    pub(crate) fn new(threads: [u32; 3], group: [u32; 3]) -> Self {
        Self { threads, group, specialise: true, checks: true, threadgroup: Vec::new(), level: None }
    }

    /// Whether no threadgroup is cut off at the grid's edge.
    fn is_whole(&self) -> bool {
        self.threads.iter().zip(self.group).all(|(threads, size)| threads.is_multiple_of(size))
    }
}

/// The LLVM of this machine, or `None` when tests may go without.
#[expect(clippy::print_stderr, reason = "a skipped test has to say so where the tester looks")]
pub(crate) fn llvm() -> Option<Arc<Llvm>> {
    static FOUND: OnceLock<Option<Arc<Llvm>>> = OnceLock::new();
    FOUND
        .get_or_init(|| match Llvm::load() {
            Ok(llvm) => Some(llvm),
            Err(LlvmError::Level(error)) => panic!("{error}"),
            Err(error) => {
                let allowed =
                    std::env::var_os("ANYMETAL_TEST_WITHOUT_LLVM").is_some_and(|value| value == "1");
                assert!(allowed, "{error}");
                eprintln!("skipped: {error}");
                None
            }
        })
        .clone()
}

/// A device whose buffers lie beside pages that may not be accessed.
fn device(guard: Guard) -> &'static CpuDevice {
    static BEHIND: OnceLock<CpuDevice> = OnceLock::new();
    static BEFORE: OnceLock<CpuDevice> = OnceLock::new();
    let device = match guard {
        Guard::Behind => &BEHIND,
        Guard::Before => &BEFORE,
    };
    device.get_or_init(|| {
        let options =
            CpuDeviceOptions { threads: Some(1), guard: Some(guard), ..CpuDeviceOptions::default() };
        CpuDevice::new(&options).expect("a CPU device")
    })
}

/// The LLVM text for this machine.
pub(crate) fn text(module: &Module, kernel: &str, launch: &Launch) -> String {
    let options = options(launch);
    generate(module, kernel, &options).expect("code").llvm_ir
}

pub(crate) fn options(launch: &Launch) -> CpuOptions {
    let here = HostCpu::detect().expect("a level of this processor").vector;
    options_for(launch, launch.level.map_or(here, CpuLevel::vector))
}

/// Whether products of matrices are multiplied in panels.
pub(crate) fn has_panels(launch: &Launch) -> bool {
    let features = options(launch).features;
    features.avx512 || features.avx2 && features.fma
}

/// Options for any processor.
pub(crate) fn options_for(launch: &Launch, vector: VectorFacts) -> CpuOptions {
    CpuOptions {
        checks: launch.checks,
        group_size: launch.specialise.then_some(launch.group),
        whole_threadgroups_only: launch.is_whole(),
        features: cpu_features(vector),
        ..CpuOptions::default()
    }
}

/// The object code of a text, which many launches of one kernel share.
fn object(llvm: &Llvm, text: String, level: Option<CpuLevel>, options: &CompileOptions) -> Arc<[u8]> {
    type Objects = HashMap<(String, Option<&'static str>), Arc<[u8]>>;
    static OBJECTS: OnceLock<Mutex<Objects>> = OnceLock::new();
    let objects = || OBJECTS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let key = (text, level.map(CpuLevel::name));
    if let Some(object) = objects().get(&key) {
        return Arc::clone(object);
    }
    let object: Arc<[u8]> = match llvm.compile(&key.0, options) {
        Ok(object) => Arc::from(object),
        Err(error) => {
            let path = std::env::temp_dir().join("anymetal-codegen-failed.ll");
            let _ = std::fs::write(&path, &key.0);
            panic!("LLVM refuses {}: {error}", path.display());
        }
    };
    objects().insert(key, Arc::clone(&object));
    object
}

/// Compiles for this machine.
pub(crate) fn compile(llvm: &Llvm, module: &Module, kernel: &str, launch: &Launch) -> Arc<Artifact> {
    let code = generate(module, kernel, &options(launch)).expect("code");
    let target = launch.level.map(|level| llvm.host_target().x86_64_level(level));
    let target = target.as_ref().unwrap_or(llvm.host_target());
    let compile_options = CompileOptions { target: Some(target.clone()), ..CompileOptions::default() };
    let description = module.kernel(kernel).expect("the kernel");
    let slots = argument_slots(description);
    let mut info = KernelInfo::new(kernel, code.symbol.clone());
    info.threadgroup_static_bytes = code.threadgroup_static_bytes;
    info.scratch_bytes = code.scratch_bytes;
    info.scratch_bytes_per_simdgroup = code.scratch_bytes_per_simdgroup;
    info.independent_simdgroups = code.independent_simdgroups;
    info.specialised_group = launch.specialise.then_some(launch.group);
    info.whole_threadgroups_only = launch.specialise && launch.is_whole();
    for (argument, slot) in description.args.iter().zip(slots) {
        info.arguments.push(
            ArgumentInfo::new(
                match argument.kind {
                    ArgKind::Buffer => ArgumentKind::Buffer,
                    ArgKind::ThreadgroupMemory => ArgumentKind::ThreadgroupMemory,
                },
                argument.index,
                argument.name.clone(),
            )
            .address_space(AddressSpace::Device)
            .type_name(argument.type_name.clone())
            .element_size(argument.element_size)
            .element_align(u64::from(argument.element_align))
            .min_bytes(if argument.reference { argument.element_size } else { 0 })
            .is_reference(argument.reference)
            .enabled(argument.enabled)
            .slot(slot.unwrap_or(0)),
        );
    }
    let sites = code.fault_sites.iter().map(|site| {
        FaultSite::new(kernel.to_owned(), site.kind)
            .argument(site.argument.map(|position| description.args[position].index))
            .argument_name(site.variable.clone())
            .access_bytes(site.access_bytes)
            .element_bytes(1)
            .file("test")
            .line(site.loc.line)
            .column(site.loc.column)
    });
    Arc::new(
        Artifact::new(
            ArtifactTarget::Cpu {
                triple: target.architecture.triple().to_owned(),
                cpu: target.cpu.clone(),
                features: target.features.clone(),
            },
            ArtifactCode::Object(object(llvm, code.llvm_ir, launch.level, &compile_options)),
            vec![info],
        )
        .fault_sites(sites.collect()),
    )
}

/// Runs an artifact; the buffers are bound at the buffer arguments in order. Gives the time of the
/// last of `repeat` runs in nanoseconds (the shortest), or the error of the first that failed.
pub(crate) fn execute(
    artifact: &Arc<Artifact>,
    launch: &Launch,
    buffers: &mut [Vec<u8>],
    repeat: usize,
) -> Result<u64, DeviceError> {
    execute_beside(Guard::Behind, artifact, launch, buffers, repeat)
}

fn execute_beside(
    guard: Guard,
    artifact: &Arc<Artifact>,
    launch: &Launch,
    buffers: &mut [Vec<u8>],
    repeat: usize,
) -> Result<u64, DeviceError> {
    let device = device(guard);
    let info = &artifact.kernels[0];
    let pipeline = device.pipeline(artifact, &info.name)?;
    let queue = device.queue(&QueueDescriptor::default())?;
    let mut bound: Vec<Arc<dyn Buffer>> = Vec::new();
    for bytes in buffers.iter() {
        let buffer = device.buffer(&BufferDescriptor::shared(bytes.len() as u64))?;
        buffer.write(0, bytes)?;
        bound.push(buffer);
    }
    let of_kind = |kind| info.arguments.iter().filter(move |a| a.enabled && a.kind == kind);
    let mut fastest = u64::MAX;
    let mut result = Ok(());
    for _ in 0..repeat.max(1) {
        let bindings = of_kind(ArgumentKind::Buffer)
            .zip(&bound)
            .map(|(argument, buffer)| {
                Binding::new(
                    argument.index,
                    BoundResource::Buffer { buffer: Arc::clone(buffer), offset: 0, length: None },
                )
            })
            .collect();
        let threadgroup_memory = of_kind(ArgumentKind::ThreadgroupMemory)
            .zip(&launch.threadgroup)
            .map(|(argument, &length)| ThreadgroupMemory::new(argument.index, length))
            .collect();
        let dispatch = Dispatch::new(Arc::clone(&pipeline), Grid::Threads(launch.threads), launch.group)
            .with_bindings(bindings)
            .with_threadgroup_memory(threadgroup_memory);
        let submission = CommandList::new(vec![Command::Dispatch(dispatch)]);
        match queue.submit(submission)?.wait() {
            Ok(timing) => fastest = fastest.min(timing.device_time().as_nanos() as u64),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    for (buffer, bytes) in bound.iter().zip(buffers.iter_mut()) {
        buffer.read(0, bytes)?;
    }
    result.map(|()| fastest)
}

/// Runs a kernel in the interpreter. Gives whether it was free of faults.
pub(crate) fn interpret(module: &Module, kernel: &str, launch: &Launch, buffers: &mut [Vec<u8>]) -> bool {
    interpreted(module, kernel, launch, buffers).fault_count == 0
}

/// Runs a kernel in the interpreter.
pub(crate) fn interpreted(module: &Module, kernel: &str, launch: &Launch, buffers: &mut [Vec<u8>]) -> Report {
    observed(module, kernel, launch, buffers, &mut NoObserver)
}

fn observed(
    module: &Module,
    kernel: &str,
    launch: &Launch,
    buffers: &mut [Vec<u8>],
    observer: &mut dyn Observer,
) -> Report {
    let program = Program::new(module, kernel).expect("a program");
    let mut memory = Memory::new();
    let mut bytes = buffers.iter_mut();
    let mut lengths = launch.threadgroup.iter();
    for argument in program.arguments() {
        memory = match argument.kind {
            ArgKind::Buffer => memory.bind(bytes.next().expect("a buffer")),
            ArgKind::ThreadgroupMemory => memory.threadgroup(*lengths.next().expect("a length")),
        };
    }
    let dispatch = anymetal_interp::Dispatch::threads(launch.threads, launch.group);
    anymetal_interp::run(&program, &dispatch, &mut memory, Limits::default(), observer)
        .expect("the interpreter runs it")
}

/// Runs on both and panics at the first byte that differs. All buffers lie beside pages that may not be
/// accessed. What is in bounds is run without checks, too, with buffers of which it needs every byte.
#[expect(clippy::print_stdout, reason = "an access to a guard ends the process: the last line tells where")]
pub(crate) fn agree(module: &Module, kernel: &str, launch: &Launch, buffers: &[Vec<u8>], what: &str) {
    let Some(llvm) = llvm() else { return };
    let mut expected = buffers.to_vec();
    let mut extents = Extents::new(module, kernel);
    let report = observed(module, kernel, launch, &mut expected, &mut extents);
    let clean = report.fault_count == 0;
    let run = |launch: &Launch, buffers: &[Vec<u8>], guard: Guard| {
        let what = format!("{what}, checked: {}, a guard {guard:?}", launch.checks);
        println!("{what}");
        let artifact = compile(&llvm, module, kernel, launch);
        let mut got = buffers.to_vec();
        let outcome = execute_beside(guard, &artifact, launch, &mut got, 1);
        assert_eq!(outcome.is_ok(), clean, "{what}: {outcome:?}");
        expect_same(&expected, &got, &what);
    };
    run(launch, buffers, Guard::Behind);
    if clean {
        let cut = extents.cut(buffers);
        for checks in [true, false] {
            let launch = Launch { checks, ..launch.clone() };
            run(&launch, &cut, Guard::Behind);
            run(&launch, &cut, Guard::Before);
        }
    }
}

/// Compares buffers, as far as they reach.
fn expect_same(expected: &[Vec<u8>], got: &[Vec<u8>], what: &str) {
    for (index, (expected, got)) in expected.iter().zip(got).enumerate() {
        if let Some(at) = (0..got.len()).find(|&at| expected[at] != got[at]) {
            let word = at / 4 * 4..(at / 4 * 4 + 4).min(got.len());
            panic!(
                "{what}: buffer {index} differs first at byte {at}: {:?} instead of {:?}",
                &got[word.clone()],
                &expected[word]
            );
        }
    }
}
