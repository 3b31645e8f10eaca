//! Graphs on the real CPU device: `runs` (random programs of `program` against a sequential reference that
//! knows nothing of graphs, with every combination of transformations), `plans`, and what is `refused`.

mod plans;
mod program;
mod refused;
mod runs;

use std::sync::Arc;

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_driver::{Compiler, Source, SourceOptions, Specialisation, Target};
use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::command::Grid;
use anymetal_hal::device::Device;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};

use crate::graph::node::KernelNode;
use crate::memory::view::BufferView;
use crate::stream::context::Context;
use crate::stream::{Stream, StreamOptions};

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void affine(device const uint* x, device uint* y, constant uint& k, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * 3 + k;
}
kernel void accumulate(device const uint* x, device uint* y, uint i [[thread_position_in_grid]]) {
    y[i] += x[i];
}
";

/// The device, its queue and the kernels, made once: compiling takes longer than a test.
struct Bench {
    device: Arc<dyn Device>,
    queue: Arc<dyn Queue>,
    affine: Arc<dyn Pipeline>,
    accumulate: Arc<dyn Pipeline>,
    streams: [Stream; 3],
}

fn bench() -> Bench {
    let options = CpuDeviceOptions { threads: Some(2), ..CpuDeviceOptions::default() };
    let device: Arc<dyn Device> = Arc::new(CpuDevice::new(&options).unwrap());
    let source = Source::from_text("graph.metal", SOURCE, SourceOptions::default());
    let library = Compiler::global().library(source).unwrap();
    let pipeline = |name| {
        let artifact = library.artifact(name, &Specialisation::default(), Target::Cpu).unwrap();
        device.pipeline(&artifact, name).unwrap()
    };
    let (affine, accumulate) = (pipeline("affine"), pipeline("accumulate"));
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let context = Context::new(Arc::clone(&device));
    let streams = std::array::from_fn(|_| context.stream(StreamOptions::default()).unwrap());
    Bench { device, queue, affine, accumulate, streams }
}

impl Bench {
    fn view(&self, bytes: &[u8]) -> BufferView {
        let view = BufferView::of(self.device.buffer(&BufferDescriptor::shared(bytes.len() as u64)).unwrap());
        view.write(0, bytes).unwrap();
        view
    }

    fn launch(&self, pipeline: &Arc<dyn Pipeline>, bytes: u64) -> KernelNode {
        KernelNode::new(Arc::clone(pipeline), Grid::Threads([bytes as u32 / 4, 1, 1]), [32, 1, 1])
    }
}

fn contents(view: &BufferView) -> Vec<u8> {
    let mut bytes = vec![0; view.length() as usize];
    view.read(0, &mut bytes).unwrap();
    bytes
}
