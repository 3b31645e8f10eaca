//! Apple's device by itself: what the hal promises, in Metal's terms, and what Metal cannot promise.

mod commands;
mod events;
mod kernels;
mod memory;
mod refusals;

use std::sync::Arc;

use anymetal_apple::{AppleDevice, AppleOptions};
use anymetal_driver::{
    CacheConfig, Compiler, CompilerOptions, ConstantKey, ConstantValue, Source, SourceOptions,
    Specialisation, Target,
};
use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor, StorageMode};
use anymetal_hal::command::{
    Binding, BoundResource, BufferCopy, Command, CommandList, Dispatch, Grid, ThreadgroupMemory,
};
use anymetal_hal::completion::Outcome;
use anymetal_hal::device::Device;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};

const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
constant uint factor [[function_constant(3)]];
kernel void scale(device uint* x [[buffer(0)]], constant uint& by [[buffer(2)]],
                  uint i [[thread_position_in_grid]]) { x[i] *= by; }
kernel void scale_by(device uint* x [[buffer(0)]], device const uint* by [[buffer(1)]],
                     uint i [[thread_position_in_grid]]) { x[i] *= by[0]; }
kernel void constants(device uint* x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = factor + i; }
kernel void rotate_rows(device uint* x [[buffer(0)]], threadgroup uint* rows [[threadgroup(0)]],
                        uint i [[thread_position_in_threadgroup]], uint n [[threads_per_threadgroup]]) {
    threadgroup uint fixed[8];
    fixed[i % 8] = 1;
    rows[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = rows[(i + fixed[i % 8]) % n];
}
";

/// A device of its own with a queue.
struct Bench {
    device: AppleDevice,
    queue: Arc<dyn Queue>,
}

impl Bench {
    fn new() -> Self {
        Bench::with(&AppleOptions::default())
    }

    fn with(options: &AppleOptions) -> Self {
        let device = AppleDevice::open(0, options).unwrap();
        let queue = device.queue(&QueueDescriptor::default().label("tests")).unwrap();
        Bench { device, queue }
    }

    fn buffer(&self, values: &[u32]) -> Arc<dyn Buffer> {
        let buffer = self.device.buffer(&BufferDescriptor::shared(values.len() as u64 * 4)).unwrap();
        buffer.write(0, &bytes_of(values)).unwrap();
        buffer
    }

    fn private(&self, bytes: u64) -> Arc<dyn Buffer> {
        let descriptor =
            BufferDescriptor::shared(bytes).storage_mode(StorageMode::Private);
        self.device.buffer(&descriptor).unwrap()
    }

    fn pipeline(&self, kernel: &str) -> Arc<dyn Pipeline> {
        self.device.pipeline(&artifact(kernel), kernel).unwrap()
    }

    fn run(&self, commands: Vec<Command>) -> Outcome {
        self.queue.submit(CommandList::new(commands))?.wait()
    }
}

fn bytes_of(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn values(buffer: &Arc<dyn Buffer>) -> Vec<u32> {
    let mut bytes = vec![0; buffer.length() as usize];
    buffer.read(0, &mut bytes).unwrap();
    bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

/// A kernel of [`SOURCE`] as the compiler hands it over.
fn artifact(kernel: &str) -> Arc<Artifact> {
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let library = compiler.library(Source::from_text("tests.metal", SOURCE, SourceOptions::default()));
    let constants = vec![(ConstantKey::Index(3), ConstantValue::from(40))];
    let specialisation =
        Specialisation { constants, ignore_unknown_constants: true, ..Specialisation::default() };
    library.unwrap().artifact(kernel, &specialisation, Target::Metal).unwrap()
}

fn bound(index: u32, buffer: &Arc<dyn Buffer>) -> Binding {
    bound_from(index, buffer, 0)
}

fn bound_from(index: u32, buffer: &Arc<dyn Buffer>, offset: u64) -> Binding {
    let buffer = Arc::clone(buffer);
    Binding::new(index, BoundResource::Buffer { buffer, offset, length: None })
}

fn dispatch(pipeline: &Arc<dyn Pipeline>, bindings: Vec<Binding>, threads: u32, group: u32) -> Dispatch {
    let grid = Grid::Threads([threads, 1, 1]);
    Dispatch::new(Arc::clone(pipeline), grid, [group, 1, 1]).with_bindings(bindings)
}

fn scale(pipeline: &Arc<dyn Pipeline>, x: &Arc<dyn Buffer>, by: u32, threads: u32) -> Command {
    let by = Binding::new(2, BoundResource::Bytes(by.to_le_bytes().to_vec()));
    Command::Dispatch(dispatch(pipeline, vec![bound(0, x), by], threads, 32))
}

fn copy(from: (&Arc<dyn Buffer>, u64), to: (&Arc<dyn Buffer>, u64), length: u64) -> Command {
    let range = from.1..from.1 + length;
    Command::Copy(BufferCopy::new(Arc::clone(from.0), range, Arc::clone(to.0), to.1).unwrap())
}

fn threadgroup(index: u32, length: u64) -> ThreadgroupMemory {
    ThreadgroupMemory::new(index, length)
}
