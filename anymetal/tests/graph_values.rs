//! Values of graphs: converted by each kernel's signature as in launches, and refused as a whole.

use std::time::Duration;

use anymetal::argument::{Inline, Plain};
use anymetal::config::RuntimeConfig;
use anymetal::error::DeviceError;
use anymetal::graph::{Branch, Executable, GraphBuilder, GraphError, PlanOptions};
use anymetal::profile::Profiler;
use anymetal::testing::{ManualClock, null_device};
use anymetal::{Buffer, Device, Error, Pipeline, Pod, f16};

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
struct Step { float factor; uint offset; };
kernel void scale(device const float* x, device float* y, constant float& a, uint i [[thread_position_in_grid]]) {
    y[i] = a * x[i];
}
kernel void scale_half(device half* y, constant half& a, uint i [[thread_position_in_grid]]) { y[i] = a; }
kernel void scale_uint(device uint* y, constant uint& a, uint i [[thread_position_in_grid]]) { y[i] = a; }
kernel void step(device float* y, constant Step& s, uint i [[thread_position_in_grid]]) {
    y[i] = s.factor + s.offset;
}
kernel void endless(device atomic_uint* y) { while (atomic_load_explicit(y, memory_order_relaxed) == 0) {} }
kernel void sum(device float* y, constant float4& v, uint i [[thread_position_in_grid]]) {
    y[i] = v.x + v.y + v.z + v.w;
}
";

#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Step {
    factor: f32,
    offset: u32,
}

struct Fixture {
    device: Device,
    library: anymetal::Library,
}

impl Fixture {
    fn new() -> Result<Self, Error> {
        let device = Device::system_default()?;
        let library = device.library_from_source(SOURCE)?;
        Ok(Fixture { device, library })
    }

    fn kernel(&self, name: &str) -> Result<Pipeline, Error> {
        self.library.pipeline(name)
    }

    fn zeros<T: Pod>(&self) -> Result<Buffer<T>, Error> {
        self.device.buffer_zeroed(8)
    }

    fn run(&self, graph: &Executable) -> Result<(), Error> {
        self.device.queue()?.submit_graph(graph)?.wait().map(drop)
    }
}

#[test]
fn one_value_is_converted_for_each_kernel() -> Result<(), Error> {
    let fixture = Fixture::new()?;
    let (scale, half, word) =
        (fixture.kernel("scale")?, fixture.kernel("scale_half")?, fixture.kernel("scale_uint")?);
    let (x, y) = (fixture.device.buffer(&[2.0f32; 8])?, fixture.zeros::<f32>()?);
    let (h, w) = (fixture.zeros::<f16>()?, fixture.zeros::<u32>()?);
    let mut graph = GraphBuilder::new("one value");
    let a = graph.value("a", 3)?;
    graph.kernel("float", scale.node().arg(&x).arg(&y).arg(a).threads(8).build()?)?;
    graph.kernel("again", scale.node().arg(&y).arg(&x).arg_named("a", a).threads(8).build()?)?;
    graph.kernel("half", half.node().arg(&h).arg(a).threads(8).build()?)?;
    graph.kernel("uint", word.node().arg(&w).arg(a).threads(8).build()?)?;
    graph.order_as_added();
    let mut graph = Executable::new(&graph.build()?, PlanOptions::default())?;
    let results = || -> Result<_, Error> { Ok((x.read()?[0], y.read()?[7], h.read()?[3], w.read()?[5])) };
    fixture.run(&graph)?;
    assert_eq!(results()?, (18.0, 6.0, f16::from_f32(3.0), 3));
    graph.set_value(a, 1usize)?;
    fixture.run(&graph)?;
    assert_eq!(results()?, (18.0, 18.0, f16::ONE, 1));

    // 2.5 is no `uint`: then it is refused for all, and nothing has changed.
    let refused = graph.set_value(a, 2.5).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "kernel `scale_uint`: argument 1 `a` is `uint&`, but the number 2.5 was given"
    );
    fixture.run(&graph)?;
    assert_eq!(results()?, (18.0, 18.0, f16::ONE, 1));
    Ok(())
}

#[test]
fn structures_and_vectors_are_values_too() -> Result<(), Error> {
    let fixture = Fixture::new()?;
    let (step, sum) = (fixture.kernel("step")?, fixture.kernel("sum")?);
    let (y, z) = (fixture.zeros::<f32>()?, fixture.zeros::<f32>()?);
    let mut graph = GraphBuilder::new("structures");
    let s = graph.value("s", Plain(Step { factor: 0.5, offset: 4 }))?;
    let v = graph.value("v", [1.0f32, 2.0, 3.0, 4.0])?;
    graph.kernel("step", step.node().arg(&y).arg(s).threads(8).build()?)?;
    graph.kernel("sum", sum.node().arg(&z).arg(v).threads(8).build()?)?;
    let mut graph = Executable::new(&graph.build()?, PlanOptions::default())?;
    fixture.run(&graph)?;
    assert_eq!((y.read()?[0], z.read()?[0]), (4.5, 10.0));
    graph.set_value(s, Inline(&Step { factor: 1.5, offset: 1 }))?;
    graph.set_value(v, [0; 4])?;
    fixture.run(&graph)?;
    assert_eq!((y.read()?[0], z.read()?[0]), (2.5, 0.0));
    assert!(graph.set_value(s, 1.0).is_err() && graph.set_value(v, [1.0f32; 3]).is_err());
    assert!(matches!(graph.set_value(s, &y), Err(Error::Device(DeviceError::WrongType { .. }))));
    Ok(())
}

#[test]
fn values_of_another_graph_and_unfit_ones_are_refused() -> Result<(), Error> {
    let device = null_device(&ManualClock::new(), RuntimeConfig::default());
    let half = device.library_from_source(SOURCE)?.pipeline("scale_half")?;
    let y = device.buffer_zeroed::<f16>(8)?;
    let (mut one, mut other) = (GraphBuilder::new("one"), GraphBuilder::new("other"));
    let (first, huge) = (one.value("a", 1.0)?, one.value("huge", 70_000)?);
    assert!(matches!(
        one.value("a", 2.0),
        Err(Error::Graph(error)) if matches!(*error, GraphError::DuplicateName { what: "value", .. })
    ));
    let node = |value| half.node().arg(&y).arg(value).threads(8).build();
    let foreign = other.kernel("k", node(first)?).unwrap_err();
    assert_eq!(foreign.to_string(), "a value of another graph was used in `other`");
    let unfit = one.kernel("k", node(huge)?).unwrap_err();
    assert!(matches!(unfit, Error::Device(DeviceError::WrongType { .. })), "{unfit}");
    one.kernel("k", node(first)?)?;
    let graph = one.build()?;
    let mut executable = Executable::new(&other.build()?, PlanOptions::default())?;
    assert!(executable.set_value(first, 1.0).is_err());

    let mut outer = GraphBuilder::new("outer");
    outer.subgraph("inner", Branch::new(graph))?;
    let outer = Executable::new(&outer.build()?, PlanOptions::default())?;
    device.queue()?.submit_graph(&outer)?.wait()?;
    Ok(())
}

#[test]
fn a_profile_is_of_the_code_that_launches_run() -> Result<(), Error> {
    let fixture = Fixture::new()?;
    let (scale, queue) = (fixture.kernel("scale")?, fixture.device.queue()?);
    let (x, y) = (fixture.device.buffer(&[2.0f32; 8])?, fixture.zeros::<f32>()?);
    let mut rounds = 0;
    let profile = Profiler::default().warm_up(2).iterations(5).run(&queue, |commands| {
        rounds += 1;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&scale);
        encoder.set_buffer(0, &x, 0)?;
        encoder.set_buffer(1, &y, 0)?;
        encoder.set_argument(2, rounds);
        encoder.dispatch_threads(8, 8)
    })?;
    assert_eq!((rounds, profile.samples_ns().len(), y.read()?[0]), (7, 5, 14.0));
    // The code for groups of 8 is there; the code for any size, which a bare pipeline runs, was never made.
    assert_eq!(scale.compiled_group_sizes(), [[8, 1, 1]]);
    let fails = Profiler::default()
        .run(&queue, |commands| commands.blit_encoder().copy(&x.view(0..8)?, &y.view(0..4)?));
    assert!(matches!(fails, Err(Error::RangeOutsideBuffer { .. })));
    Ok(())
}

#[test]
fn a_graph_that_takes_longer_than_its_limit_is_stopped() -> Result<(), Error> {
    let device = Device::system_default()?;
    let endless = device.library_from_source(SOURCE)?.pipeline("endless")?;
    let flag = device.buffer(&[0u32])?;
    let mut graph = GraphBuilder::new("endless");
    graph.kernel("loop", endless.node().arg(&flag).threads(1).build()?)?;
    let graph = Executable::new(&graph.build()?, PlanOptions::default())?;
    let limit = Duration::from_millis(50);
    for _whether_encoded in 0..2 {
        let ended = device.queue()?.submit_graph_within(&graph, limit)?.wait();
        let Err(Error::Device(DeviceError::DeadlineExceeded { after, .. })) = ended else {
            panic!("{ended:?}");
        };
        assert_eq!(after, limit);
    }
    Ok(())
}
