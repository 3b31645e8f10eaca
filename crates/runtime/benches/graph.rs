//! What replaying a graph saves: 100 small nodes in one graph against 100 submissions.
//!
//! Run with `cargo bench -p anymetal-runtime --bench graph`. The sides take turns in one process and medians are
//! compared, so the ratios hold on a busy machine. Without `--bench` (as under `cargo test`) it runs once.
#![allow(clippy::print_stdout, reason = "a benchmark reports to its terminal")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use anymetal_compiler::{Compiler, Source, SourceOptions, Specialisation, Target};
use anymetal_device_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::command::{Binding, BoundResource, Command, Dispatch, Grid, Submission};
use anymetal_hal::completion::Completion;
use anymetal_hal::device::Device;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};
use anymetal_runtime::graph::node::KernelNode;
use anymetal_runtime::graph::resource::ResourceId;
use anymetal_runtime::graph::{Executable, GraphBuilder, GraphError, PlanOptions};
use anymetal_runtime::memory::view::BufferView;

const NODES: usize = 100;
const THREADS: u32 = 32;
const BYTES: u64 = THREADS as u64 * 4;
const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void step(device const uint* x, device uint* y, constant uint& k, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] + k;
}
";

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let full = std::env::args().any(|argument| argument == "--bench");
    let rounds = if full { 201 } else { 1 };
    let world = World::new()?;
    let (graph, parameters) = world.graph()?;
    let mut executable = Executable::new(&graph, PlanOptions::default())?;
    println!(
        "{NODES} kernels of {THREADS} threads; {} encoders, {} barriers",
        executable.plan().encoders(),
        executable.plan().barriers()
    );
    let [one, other] = [world.view()?, world.view()?];
    executable.set_buffers([(parameters[0], one.clone()), (parameters[1], other.clone())])?;
    let (mut replay, mut changed, mut waited, mut queued, mut batched) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        replay.push(microseconds(|| Ok(executable.submit(&*world.queue)?.wait().map(drop)?))?);
        let (first, second) = if round & 1 == 0 { (&one, &other) } else { (&other, &one) };
        changed.push(microseconds(|| {
            executable.set_buffers([(parameters[0], first.clone()), (parameters[1], second.clone())])?;
            Ok(executable.submit(&*world.queue)?.wait().map(drop)?)
        })?);
        waited.push(microseconds(|| {
            for node in 0..NODES {
                world.submit(vec![world.command(node, first, second)])?.wait()?;
            }
            Ok(())
        })?);
        queued.push(microseconds(|| {
            let mut last = None;
            for node in 0..NODES {
                last = Some(world.submit(vec![world.command(node, first, second)])?);
            }
            Ok(last.map_or(Ok(()), |last| last.wait().map(drop))?)
        })?);
        batched.push(microseconds(|| {
            let commands = (0..NODES).map(|node| world.command(node, first, second)).collect();
            Ok(world.submit(commands)?.wait().map(drop)?)
        })?);
    }
    let base = median(replay);
    println!("replay:                                    {base:8.1} us");
    for (name, times) in [
        ("replay with other buffers:                ", changed),
        ("100 submissions, each waited for:         ", waited),
        ("100 submissions, the last one waited for: ", queued),
        ("one command buffer encoded by hand:       ", batched),
    ] {
        let time = median(times);
        println!("{name} {time:8.1} us, {:5.2} times the replay", time / base);
    }
    Ok(())
}

struct World {
    device: Arc<dyn Device>,
    queue: Arc<dyn Queue>,
    pipeline: Arc<dyn Pipeline>,
}

impl World {
    fn new() -> Result<Self, Failure> {
        let device: Arc<dyn Device> = Arc::new(CpuDevice::new(&CpuDeviceOptions::default())?);
        let source = Source::from_text("bench.metal", SOURCE, SourceOptions::default());
        let compile = |error| format!("the kernel does not compile: {error:?}");
        let library = Compiler::global().library(source).map_err(compile)?;
        let artifact = library.artifact("step", &Specialisation::default(), Target::Cpu).map_err(compile)?;
        let pipeline = device.pipeline(&artifact, "step")?;
        let queue = device.queue(&QueueDescriptor::default())?;
        Ok(World { device, queue, pipeline })
    }

    fn view(&self) -> Result<BufferView, Failure> {
        Ok(BufferView::of(self.device.buffer(&BufferDescriptor::shared(BYTES))?))
    }

    /// A chain of kernels between two parameters.
    fn graph(&self) -> Result<(anymetal_runtime::graph::Graph, [ResourceId; 2]), GraphError> {
        let mut builder = GraphBuilder::new("chain");
        let parameters = [builder.parameter("x", BYTES)?, builder.parameter("y", BYTES)?];
        for node in 0..NODES {
            let kernel =
                KernelNode::new(Arc::clone(&self.pipeline), Grid::Threads([THREADS, 1, 1]), [THREADS, 1, 1]);
            let [from, to] = [parameters[node % 2], parameters[(node + 1) % 2]];
            let kernel = kernel.bind(0, from).bind(1, to).bind_bytes(2, (node as u32).to_le_bytes());
            builder.kernel(format!("step {node}"), kernel)?;
        }
        builder.order_as_added();
        Ok((builder.build()?, parameters))
    }

    fn command(&self, node: usize, one: &BufferView, other: &BufferView) -> Command {
        let [from, to] = if node.is_multiple_of(2) { [one, other] } else { [other, one] };
        let bind = |index, buffer: &Arc<dyn Buffer>| Binding {
            index,
            resource: BoundResource::Buffer { buffer: Arc::clone(buffer), offset: 0, length: Some(BYTES) },
        };
        let constant = BoundResource::Bytes((node as u32).to_le_bytes().to_vec());
        Command::Dispatch(Dispatch {
            pipeline: Arc::clone(&self.pipeline),
            bindings: vec![
                bind(0, from.buffer()),
                bind(1, to.buffer()),
                Binding { index: 2, resource: constant },
            ],
            threadgroup_memory: Vec::new(),
            grid: Grid::Threads([THREADS, 1, 1]),
            group_size: [THREADS, 1, 1],
        })
    }

    fn submit(&self, commands: Vec<Command>) -> Result<Completion, Failure> {
        Ok(self.queue.submit(Submission { commands, ..Submission::default() })?)
    }
}

fn microseconds(act: impl FnOnce() -> Result<(), Failure>) -> Result<f64, Failure> {
    let start = Instant::now();
    act()?;
    Ok(start.elapsed().as_nanos() as f64 / 1e3)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
