//! Artifacts for the tests: C kernels compiled by gcc, and helpers to launch them.

use std::process::Command as Process;
use std::sync::{Arc, OnceLock};

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::artifact::{
    AccessKind, AddressSpace, ArgumentInfo, ArgumentKind, Artifact, ArtifactCode, ArtifactTarget,
    ElementType, FaultSite, KernelInfo, ScalarType,
};
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::command::{Binding, BoundResource, Command, CommandList, Dispatch, Grid};
use anymetal_hal::device::Device;
use anymetal_hal::pipeline::Pipeline;

/// A device with so many threads.
pub(crate) fn device(threads: usize) -> CpuDevice {
    CpuDevice::new(&CpuDeviceOptions { threads: Some(threads), ..CpuDeviceOptions::default() }).unwrap()
}

/// The kernels of `kernels.c`, compiled once per process.
pub(crate) fn artifact() -> Arc<Artifact> {
    static ARTIFACT: OnceLock<Arc<Artifact>> = OnceLock::new();
    Arc::clone(ARTIFACT.get_or_init(|| Arc::new(compile())))
}

fn compile() -> Artifact {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/device/kernels.c");
    let output =
        std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kernels-{}.o", std::process::id()));
    let flags = ["-c", "-O2", "-ffreestanding", "-ffp-contract=off", "-Wall", "-Werror", "-o"];
    let status = Process::new("gcc").args(flags).arg(&output).arg(source).status().expect("gcc runs");
    assert!(status.success(), "gcc refused kernels.c");
    let object = std::fs::read(&output).unwrap();
    std::fs::remove_file(&output).unwrap();
    let mut worker_memory = kernel("worker_memory", &["out"]);
    worker_memory.threadgroup_static_bytes = 100;
    worker_memory.scratch_bytes = 4096;
    worker_memory.scratch_bytes_per_simdgroup = 64;
    worker_memory.arguments.push(
        argument(0, "tile").kind(ArgumentKind::ThreadgroupMemory).address_space(AddressSpace::Threadgroup),
    );
    let mut saxpy = kernel("saxpy", &["x", "y", "a"]);
    saxpy.arguments[2].is_reference = true;
    saxpy.arguments[2].min_bytes = 4;
    Artifact::new(
        ArtifactTarget::Cpu { triple: "host".into(), cpu: "host".into(), features: String::new() },
        ArtifactCode::Object(object.into()),
        vec![
            kernel("empty", &[]),
            saxpy,
            kernel("count", &["counts"]),
            kernel("tally", &["counter"]),
            kernel("endless", &[]),
            kernel("while_set", &["set"]),
            kernel("checked_store", &["out"]),
            worker_memory,
        ],
    )
    .fault_sites(vec![
        FaultSite::new("checked_store", AccessKind::Store)
            .argument(Some(0))
            .argument_name("out")
            .access_bytes(4)
            .element_bytes(4)
            .file("store.metal")
            .line(12)
            .column(5),
    ])
    .fingerprint("tests")
}

/// A kernel whose arguments are float buffers.
pub(crate) fn kernel(name: &str, arguments: &[&str]) -> KernelInfo {
    let mut kernel = KernelInfo::new(name, name);
    kernel.arguments = (0..).zip(arguments).map(|(index, name)| argument(index, name)).collect();
    kernel
}

fn argument(index: u32, name: &str) -> ArgumentInfo {
    ArgumentInfo::new(ArgumentKind::Buffer, index, name)
        .address_space(AddressSpace::Device)
        .type_name("float")
        .element(ElementType::Scalar(ScalarType::F32))
        .element_size(4)
        .element_align(4)
        .slot(index)
}

/// The pipeline of a test kernel.
pub(crate) fn pipeline(device: &CpuDevice, kernel: &str) -> Arc<dyn Pipeline> {
    device.pipeline(&artifact(), kernel).unwrap()
}

/// A buffer of so many zero bytes.
pub(crate) fn zeroed(device: &CpuDevice, length: u64) -> Arc<dyn Buffer> {
    device.buffer(&BufferDescriptor::shared(length)).unwrap()
}

/// A buffer with those words.
pub(crate) fn words(device: &CpuDevice, words: &[u32]) -> Arc<dyn Buffer> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let buffer = zeroed(device, bytes.len() as u64);
    buffer.write(0, &bytes).unwrap();
    buffer
}

/// The words of a buffer.
pub(crate) fn read_words(buffer: &dyn Buffer) -> Vec<u32> {
    let mut bytes = vec![0; buffer.length() as usize];
    buffer.read(0, &mut bytes).unwrap();
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Binds a whole buffer.
pub(crate) fn bind(index: u32, buffer: &Arc<dyn Buffer>) -> Binding {
    Binding::new(index, BoundResource::Buffer { buffer: Arc::clone(buffer), offset: 0, length: None })
}

/// A dispatch in one dimension.
pub(crate) fn dispatch(
    pipeline: &Arc<dyn Pipeline>,
    bindings: Vec<Binding>,
    threads: u32,
    group: u32,
) -> Command {
    let dispatch = Dispatch::new(Arc::clone(pipeline), Grid::Threads([threads, 1, 1]), [group, 1, 1]);
    Command::Dispatch(dispatch.with_bindings(bindings))
}

/// A submission with default settings.
pub(crate) fn submission(commands: Vec<Command>) -> CommandList {
    CommandList::new(commands)
}
