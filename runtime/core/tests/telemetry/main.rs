//! What the runtime records. The recorder is the process's and tests run beside each other, so each has a
//! device name of its own, which is a label of every series.

mod values;

use std::sync::Arc;
use std::time::Duration;

use anymetal_core::graph::node::KernelNode;
use anymetal_core::graph::{Executable, GraphBuilder, PlanOptions};
use anymetal_core::memory::pool::{AcquireRequest, Pool, PoolLimits, PoolOptions};
use anymetal_core::stream::context::Context;
use anymetal_core::stream::{Stream, StreamOptions};
use anymetal_hal::artifact::{Artifact, ArtifactCode, ArtifactTarget, KernelInfo};
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::clock::ManualClock;
use anymetal_hal::command::{Dispatch, Grid};
use anymetal_hal::device::Device;
use anymetal_hal::error::ErrorClass;
use anymetal_hal::pipeline::Pipeline;
use anymetal_telemetry::collect::{collect, sums};
use anymetal_telemetry::names::metrics as names;
use anymetal_testing::fault_injection::{FaultInjectingDevice, FaultPlan, Faults};
use anymetal_testing::null::NullDevice;
use values::{install, value};

struct Bench {
    clock: Arc<ManualClock>,
    device: Arc<dyn Device>,
    context: Context,
    stream: Stream,
    kernel: Arc<dyn Pipeline>,
}

/// A null device of that name, on which a completion takes 10 ms.
fn bench(name: &str, plan: FaultPlan) -> Bench {
    install();
    let clock = ManualClock::new();
    let null = Arc::new(NullDevice::named(name, clock.clone()));
    let latency = Duration::from_millis(10)..Duration::from_millis(10);
    let plan = plan.latency(latency);
    let device: Arc<dyn Device> = Arc::new(FaultInjectingDevice::new(null, plan, clock.clone()));
    let context = Context::with(Arc::clone(&device), clock.clone(), None);
    let stream = context.stream(StreamOptions::default()).unwrap();
    let artifact = Arc::new(Artifact::new(
        ArtifactTarget::Cpu { triple: String::new(), cpu: String::new(), features: String::new() },
        ArtifactCode::Object(Arc::from(Vec::new())),
        vec![KernelInfo::new("empty", "empty")],
    ));
    let kernel = context.pipeline(&artifact, "empty").unwrap();
    Bench { clock, device, context, stream, kernel }
}

impl Bench {
    fn dispatches(&self, count: usize) -> anymetal_core::submission::CommittedCommands {
        let mut command_buffer = self.stream.command_buffer().unwrap();
        for _ in 0..count {
            let grid = Grid::Threads([32, 1, 1]);
            let dispatch = Dispatch::new(Arc::clone(&self.kernel), grid, [32, 1, 1]);
            command_buffer.encode(dispatch).unwrap();
        }
        command_buffer.commit()
    }

    fn buffer(&self, length: u64) -> Arc<dyn Buffer> {
        self.device.buffer(&BufferDescriptor::shared(length)).unwrap()
    }
}

#[test]
fn a_dispatch_is_counted_with_its_device_backend_and_kernel_before_its_waiter_returns() {
    let bench = bench("one", FaultPlan::default());
    let submission = bench.dispatches(1);
    assert_eq!(value("anymetal_dispatches_total{device=one,backend=cpu,kernel=empty}"), (0, 0.0));
    bench.clock.advance(Duration::from_millis(10));
    submission.wait().unwrap();
    assert_eq!(value("anymetal_dispatches_total{device=one,backend=cpu,kernel=empty}"), (1, 1.0));
    assert_eq!(value("anymetal_dispatch_duration_seconds{device=one,backend=cpu,kernel=empty}").0, 1);
    assert_eq!(value("anymetal_submissions_total{device=one,outcome=ok}"), (1, 1.0));
    assert_eq!(value("anymetal_submission_wait_seconds{device=one}").0, 1);
    assert_eq!(value("anymetal_pipelines_created_total{device=one,backend=cpu}"), (1, 1.0));
}

#[test]
fn of_larger_command_buffers_every_dispatch_is_counted_and_one_in_sixteen_is_timed() {
    let bench = bench("many", FaultPlan::default());
    let submissions: Vec<_> = (0..17).map(|_| bench.dispatches(3)).collect();
    // Command buffers run one after the other.
    bench.clock.advance(Duration::from_secs(1));
    for submission in &submissions {
        submission.wait().unwrap();
    }
    assert_eq!(value("anymetal_dispatches_total{device=many,backend=cpu,kernel=empty}").1, 51.0);
    let timed = submissions.iter().filter_map(|submission| submission.command_timings()).count();
    let observed = value("anymetal_dispatch_duration_seconds{device=many,backend=cpu,kernel=empty}").0;
    assert!(timed <= 2 && observed == 3 * timed as u64, "{timed} submissions, {observed} dispatches");
}

#[test]
fn failures_are_counted_by_class_and_cancellations_apart() {
    let faults = Faults::at(0, ErrorClass::Transient);
    let bench = bench("fails", FaultPlan::default().completions(faults));
    let submission = bench.dispatches(1);
    bench.clock.advance(Duration::from_millis(10));
    assert!(submission.wait().is_err());
    assert_eq!(value("anymetal_errors_total{device=fails,class=transient}"), (1, 1.0));
    assert_eq!(value("anymetal_submissions_total{device=fails,outcome=failed}"), (1, 1.0));
    assert_eq!(value("anymetal_dispatches_total{device=fails,backend=cpu,kernel=empty}"), (0, 0.0));
    bench.stream.pause();
    let held = bench.dispatches(1);
    held.cancel();
    assert!(held.wait().unwrap_err().is_cancelled());
    assert_eq!(value("anymetal_submissions_total{device=fails,outcome=cancelled}"), (1, 1.0));
    assert_eq!(value("anymetal_submissions_total{device=fails,outcome=failed}"), (1, 1.0));
}

#[test]
fn copies_are_counted_in_bytes() {
    let bench = bench("copies", FaultPlan::default());
    let (from, to) = (bench.buffer(64), bench.buffer(64));
    let mut command_buffer = bench.stream.command_buffer().unwrap();
    let mut blit = command_buffer.blit();
    blit.copy(&from, 0..48, &to, 0).unwrap();
    blit.end_encoding();
    let submission = command_buffer.commit();
    bench.clock.advance(Duration::from_millis(10));
    submission.wait().unwrap();
    assert_eq!(value("anymetal_copied_bytes_total{device=copies,direction=device}"), (1, 48.0));
}

#[test]
fn gauges_of_streams_and_pools_are_collected_when_read() {
    let bench = bench("gauges", FaultPlan::default());
    let options = PoolOptions {
        limits: PoolLimits { max_buffers: 2, ..PoolLimits::default() },
        ..PoolOptions::default()
    };
    let pool = Pool::new(Arc::clone(&bench.device), bench.clock.clone(), options);
    let acquired = pool.acquire(&AcquireRequest::new(4096)).unwrap();
    drop(pool.acquire(&AcquireRequest::new(4096)).unwrap());
    let again = pool.acquire(&AcquireRequest::new(4096)).unwrap();
    assert!(pool.acquire(&AcquireRequest::new(4096)).is_err());
    drop(again);
    let submission = bench.dispatches(1);
    bench.stream.pause();
    let held = bench.dispatches(1);
    collect();
    assert_eq!(value("anymetal_pool_bytes{device=gauges,state=used}").1, 4096.0);
    assert_eq!(value("anymetal_pool_bytes{device=gauges,state=free}").1, 4096.0);
    assert_eq!(value("anymetal_pool_buffers{device=gauges}").1, 2.0);
    assert_eq!(value("anymetal_command_buffers_in_flight{device=gauges}").1, 1.0);
    assert_eq!(value("anymetal_command_buffers_waiting{device=gauges}").1, 1.0);
    let acquisitions =
        |outcome| value(&format!("anymetal_pool_acquisitions_total{{device=gauges,outcome={outcome}}}")).1;
    assert_eq!([acquisitions("hit"), acquisitions("miss"), acquisitions("refused")], [1.0, 2.0, 1.0]);
    assert_eq!(value("anymetal_allocation_failures_total{device=gauges,reason=exhausted}").1, 1.0);
    held.cancel();
    bench.clock.advance(Duration::from_millis(10));
    submission.wait().unwrap();
    drop((acquired, pool));
    assert_eq!(sums().get(&names::POOL_BUFFERS, &["gauges"]), None);
    collect();
    assert_eq!(value("anymetal_pool_buffers{device=gauges}").1, 0.0, "what nobody reports goes to zero");
    assert_eq!(value("anymetal_command_buffers_in_flight{device=gauges}").1, 0.0);
}

#[test]
fn runs_of_a_graph_are_counted_with_their_dispatches_encoded_or_not() {
    let bench = bench("graph", FaultPlan::default());
    let mut graph = GraphBuilder::new("pair");
    for name in ["first", "second"] {
        let node = KernelNode::new(Arc::clone(&bench.kernel), Grid::Threads([32, 1, 1]), [32, 1, 1]);
        graph.kernel(name, node).unwrap();
    }
    let graph = Executable::new(&graph.build().unwrap(), PlanOptions::default()).unwrap();
    for _ in 0..3 {
        let submission = graph.submit_to(&bench.stream).unwrap();
        bench.clock.advance(Duration::from_millis(10));
        submission.wait().unwrap();
    }
    assert_eq!(value("anymetal_graph_replays_total{device=graph,mode=whole}").1, 3.0);
    assert_eq!(value("anymetal_dispatches_total{device=graph,backend=cpu,kernel=empty}").1, 6.0);
    assert_eq!(bench.context.device().name(), "graph");
}
