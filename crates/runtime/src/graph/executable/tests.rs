//! Random graphs on the real CPU device against a sequential reference that knows nothing of graphs, with every
//! combination of transformations; and what graphs refuse.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anymetal_compiler::{Compiler, Source, SourceOptions, Specialisation, Target};
use anymetal_device_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::command::Grid;
use anymetal_hal::device::Device;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::test_runner::{Config, TestCaseError};

use super::*;
use crate::graph::encodings::Way;
use crate::graph::node::{Branch, Condition, HostNode, KernelNode};
use crate::graph::resource::{BytesId, ResourceId, ResourceRange};
use crate::graph::{GraphBuilder, Hazard};
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

/// Buffers of a random program, and their bytes. The first two are parameters.
const BUFFERS: usize = 4;
const PARAMETERS: usize = 2;
const LENGTH: u64 = 128;

/// A range: buffer, first byte, bytes; multiples of 4.
type Span = (usize, u64, u64);

/// One step of a random program.
#[derive(Debug, Clone)]
enum Step {
    Affine(Span, Span, u32),
    Accumulate(Span, Span),
    /// In so many contiguous pieces.
    Copy(Span, Span, u64),
    Fill(Span, u8, u64),
    /// The host writes the source's bytes with some bits flipped.
    Flip(Span, Span),
    /// If the number at the start of the first is not zero the second is copied to the third, else filled.
    Choose(Span, Span, Span),
    /// A copy in two contiguous halves, and between them what the first half wrote changes the second's source.
    Around(Span, Span),
    /// An inlined graph: affine from the first to the second, then accumulate back.
    Inlined(Span, Span),
}

fn span(length: u64) -> impl Strategy<Value = Span> {
    (0..BUFFERS, 0..=(LENGTH - length) / 4).prop_map(move |(buffer, word)| (buffer, word * 4, length))
}

fn apart(spans: &[Span]) -> bool {
    let overlap =
        |one: &Span, other: &Span| one.0 == other.0 && one.1 < other.1 + other.2 && other.1 < one.1 + one.2;
    (0..spans.len()).all(|later| (0..later).all(|one| !overlap(&spans[one], &spans[later])))
}

fn pair() -> impl Strategy<Value = (Span, Span)> {
    let lengths = prop_oneof![Just(4), Just(16), Just(32), Just(64)];
    let pair = lengths.prop_flat_map(|length| (span(length), span(length)));
    pair.prop_filter("the two must not overlap", |(one, other)| apart(&[*one, *other]))
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (pair(), any::<u32>()).prop_map(|((x, y), k)| Step::Affine(x, y, k)),
        1 => (span(32), any::<u32>()).prop_map(|(x, k)| Step::Affine(x, x, k)),
        2 => pair().prop_map(|(x, y)| Step::Accumulate(x, y)),
        4 => (pair(), 1..5u64).prop_map(|((x, y), pieces)| Step::Copy(x, y, pieces)),
        3 => (span(32), any::<u8>(), 1..5u64).prop_map(|(x, value, pieces)| Step::Fill(x, value, pieces)),
        1 => pair().prop_map(|(x, y)| Step::Flip(x, y)),
        1 => (span(4), pair()).prop_map(|(when, (x, y))| Step::Choose(when, x, y))
            .prop_filter("the three must not overlap", |step| {
                matches!(step, Step::Choose(a, b, c) if apart(&[*a, *b, *c]))
            }),
        1 => pair().prop_map(|(x, y)| Step::Inlined(x, y)),
        1 => pair().prop_filter_map("two words or more", |(x, y)| (x.2 > 4).then_some(Step::Around(x, y))),
    ]
}

fn pieces((buffer, first, length): Span, count: u64) -> impl Iterator<Item = Span> {
    let words = length / 4;
    let count = count.min(words);
    (0..count).map(move |piece| {
        let (from, to) = (words * piece / count, words * (piece + 1) / count);
        (buffer, first + from * 4, (to - from) * 4)
    })
}

fn halves((buffer, first, length): Span) -> [Span; 2] {
    [(buffer, first, length / 2), (buffer, first + length / 2, length / 2)]
}

/// The steps one after the other on plain bytes.
struct Reference([Vec<u8>; BUFFERS]);

impl Reference {
    fn words(&self, span: Span) -> Vec<u32> {
        let bytes = &self.0[span.0][span.1 as usize..(span.1 + span.2) as usize];
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    fn set(&mut self, span: Span, words: impl IntoIterator<Item = u32>) {
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
        self.0[span.0][span.1 as usize..(span.1 + span.2) as usize].copy_from_slice(&bytes);
    }

    fn affine(&mut self, x: Span, y: Span, k: u32) {
        let result = self.words(x).into_iter().map(|word| word.wrapping_mul(3).wrapping_add(k));
        self.set(y, result.collect::<Vec<_>>());
    }

    fn accumulate(&mut self, x: Span, y: Span) {
        let sum = self.words(x).into_iter().zip(self.words(y)).map(|(x, y)| x.wrapping_add(y));
        self.set(y, sum.collect::<Vec<_>>());
    }

    fn run(&mut self, step: &Step, extra: u32) {
        match *step {
            Step::Affine(x, y, k) => self.affine(x, y, k.wrapping_add(extra)),
            Step::Accumulate(x, y) => self.accumulate(x, y),
            Step::Copy(x, y, _) => self.set(y, self.words(x)),
            Step::Fill(x, value, _) => {
                self.set(x, self.words(x).into_iter().map(|_| u32::from_le_bytes([value; 4])))
            }
            Step::Flip(x, y) => self.set(y, self.words(x).into_iter().map(|word| word ^ 0x5a5a_5a5a)),
            Step::Choose(when, x, y) if self.words(when) != [0] => self.set(y, self.words(x)),
            Step::Choose(_, _, y) => self.set(y, self.words(y).into_iter().map(|_| 0x1111_1111)),
            Step::Around(x, y) => {
                let [[from, then_from], [to, then_to]] = [halves(x), halves(y)];
                self.set(to, self.words(from));
                self.accumulate(to, then_from);
                self.set(then_to, self.words(then_from));
            }
            Step::Inlined(x, y) => {
                self.affine(x, y, 1);
                self.accumulate(y, x);
            }
        }
    }
}

/// A program as a graph.
struct Program {
    builder: GraphBuilder,
    resources: Vec<ResourceId>,
    /// The constants of affine steps, as parameters.
    constants: Vec<(BytesId, u32)>,
}

impl Program {
    fn range(&self, (buffer, first, length): Span) -> ResourceRange {
        self.resources[buffer].range(first..first + length)
    }

    fn add(&mut self, bench: &Bench, number: usize, step: &Step) -> Result<(), GraphError> {
        let name = |what: &str, piece: usize| format!("{number} {what} {piece}");
        match *step {
            Step::Affine(x, y, k) => {
                let constant = self.builder.bytes_parameter(name("k", 0), k.to_le_bytes())?;
                self.constants.push((constant, k));
                let launch = bench.launch(&bench.affine, x.2).bind(0, self.range(x)).bind(1, self.range(y));
                self.builder.kernel(name("affine", 0), launch.bind_parameter(2, constant))?;
            }
            Step::Accumulate(x, y) => {
                let launch =
                    bench.launch(&bench.accumulate, x.2).bind(0, self.range(x)).bind(1, self.range(y));
                self.builder.kernel(name("accumulate", 0), launch)?;
            }
            Step::Copy(x, y, count) => {
                for (piece, (x, y)) in pieces(x, count).zip(pieces(y, count)).enumerate() {
                    let (x, y) = (self.range(x), self.range(y));
                    self.builder.copy(name("copy", piece), x, y)?;
                }
            }
            Step::Fill(x, value, count) => {
                for (piece, x) in pieces(x, count).enumerate() {
                    let x = self.range(x);
                    self.builder.fill(name("fill", piece), x, value)?;
                }
            }
            Step::Flip(x, y) => {
                let (from, to) = (self.resources[x.0], self.resources[y.0]);
                let flip = HostNode::new(move |context| {
                    let mut bytes = vec![0; x.2 as usize];
                    context.read(from, x.1, &mut bytes)?;
                    bytes.iter_mut().for_each(|byte| *byte ^= 0x5a);
                    context.write(to, y.1, &bytes)
                });
                let flip = flip.reads(self.range(x)).writes(self.range(y));
                self.builder.host(name("flip", 0), flip)?;
            }
            Step::Choose(when, x, y) => {
                let mut then = GraphBuilder::new("then");
                let (from, to) = (then.parameter("from", x.2)?, then.parameter("to", y.2)?);
                then.copy("copy", from, to)?;
                let then =
                    Branch::new(then.build()?).argument(from, self.range(x)).argument(to, self.range(y));
                let mut otherwise = GraphBuilder::new("otherwise");
                let to = otherwise.parameter("to", y.2)?;
                otherwise.fill("fill", to, 0x11)?;
                let otherwise = Branch::new(otherwise.build()?).argument(to, self.range(y));
                let when = Condition::NotZero(self.range(when));
                self.builder.conditional(name("choose", 0), when, then, Some(otherwise))?;
            }
            Step::Around(x, y) => {
                let [from, then_from] = halves(x).map(|span| self.range(span));
                let [to, then_to] = halves(y).map(|span| self.range(span));
                self.builder.copy(name("around", 0), from, to)?;
                let launch = bench.launch(&bench.accumulate, x.2 / 2).bind(0, to).bind(1, then_from);
                self.builder.kernel(name("between", 0), launch)?;
                self.builder.copy(name("around", 1), then_from, then_to)?;
            }
            Step::Inlined(x, y) => {
                let mut inner = GraphBuilder::new("inner");
                let (from, to) = (inner.parameter("from", x.2)?, inner.parameter("to", y.2)?);
                let there =
                    bench.launch(&bench.affine, x.2).bind(0, from).bind(1, to).bind_bytes(2, [1, 0, 0, 0]);
                let there = inner.kernel("there", there)?;
                let back = bench.launch(&bench.accumulate, x.2).bind(0, to).bind(1, from);
                let back = inner.kernel("back", back)?;
                inner.edge(there, back)?;
                let inner =
                    Branch::new(inner.build()?).argument(from, self.range(x)).argument(to, self.range(y));
                self.builder.subgraph(name("inlined", 0), inner)?;
            }
        }
        Ok(())
    }
}

fn all_options() -> impl Iterator<Item = PlanOptions> {
    (0..8).map(|bits| PlanOptions {
        merge_transfers: bits & 1 != 0,
        group_passes: bits & 2 != 0,
        few_barriers: bits & 4 != 0,
        // No kernel here brings a fuser along.
        fusion: true,
    })
}

fn initial(seed: u8) -> Vec<u8> {
    // Some words are zero, for conditions.
    (0..LENGTH as u8).map(|at| if at / 4 % 3 == 0 { 0 } else { at.wrapping_mul(37) ^ seed }).collect()
}

fn build(bench: &Bench, steps: &[Step]) -> (Program, Vec<BufferView>) {
    let mut builder = GraphBuilder::new("random");
    let views: Vec<BufferView> = (0..BUFFERS).map(|buffer| bench.view(&initial(buffer as u8))).collect();
    let mut resources = Vec::new();
    for (number, view) in views.iter().enumerate() {
        let name = format!("b{number}");
        resources.push(match number < PARAMETERS {
            true => builder.parameter(name, LENGTH).unwrap(),
            false => builder.buffer(name, view.clone()).unwrap(),
        });
    }
    let mut program = Program { builder, resources, constants: Vec::new() };
    for (number, step) in steps.iter().enumerate() {
        program.add(bench, number, step).unwrap();
    }
    program.builder.order_as_added();
    (program, views)
}

/// Runs with all options, the nodes of a stage in an order made from the seed, four times with other arguments, in
/// every way, each often enough that the device has encoded what it can.
fn runs_like_the_reference(bench: &Bench, steps: &[Step], mut seed: u64) -> Result<(), TestCaseError> {
    let (program, views) = build(bench, steps);
    let Program { builder, resources, constants } = program;
    let graph = builder.build().unwrap();
    for options in all_options() {
        let mut executable = Executable::new(&graph, options).unwrap();
        let mut reference = Reference(std::array::from_fn(|buffer| initial(buffer as u8)));
        for (view, bytes) in views.iter().zip(&reference.0) {
            view.write(0, bytes).unwrap();
        }
        for (run, swapped) in [(0, false), (1, true), (2, false), (3, false)] {
            let [first, second] = if swapped { [1, 0] } else { [0, 1] };
            let arguments = [(resources[0], views[first].clone()), (resources[1], views[second].clone())];
            // The last run keeps the buffers, so that its inline bytes alone make the device's form an old one.
            if run < 3 {
                executable.set_buffers(arguments).unwrap();
            }
            for (constant, k) in &constants {
                executable.set_bytes(*constant, &k.wrapping_add(run).to_le_bytes()).unwrap();
            }
            if swapped {
                reference.0.swap(0, 1);
            }
            steps.iter().for_each(|step| reference.run(step, run));
            if swapped {
                reference.0.swap(0, 1);
            }
            let shuffle = &mut |stage: &mut Vec<usize>| {
                for last in (1..stage.len()).rev() {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    stage.swap(last, (seed >> 33) as usize % (last + 1));
                }
            };
            // By pieces in another order, over three streams, and where the host takes part on a stream.
            match run {
                0 => executable.run_in(&*bench.queue, shuffle).map(drop).unwrap(),
                _ => match executable.submit_over(&bench.streams.each_ref(), &[]) {
                    Ok(submission) => submission.wait().map(drop).unwrap(),
                    Err(GraphError::NeedsHost { .. }) => {
                        executable.run_on(&bench.streams[0]).map(drop).unwrap()
                    }
                    Err(error) => panic!("{error}"),
                },
            }
            // More often, from what there is now: on one stream, over three, and with the host taking part.
            let ways: [&dyn Fn() -> Result<(), GraphError>; 3] = [
                &|| Ok(executable.submit_to(&bench.streams[1])?.wait().map(drop)?),
                &|| Ok(executable.submit_over(&bench.streams.each_ref(), &[])?.wait().map(drop)?),
                &|| executable.run_on(&bench.streams[2]).map(drop),
            ];
            for way in ways.into_iter().flat_map(|way| [way; 3]) {
                match way() {
                    Ok(()) => {}
                    Err(GraphError::NeedsHost { .. }) => continue,
                    Err(error) => panic!("{error}"),
                }
                if swapped {
                    reference.0.swap(0, 1);
                }
                steps.iter().for_each(|step| reference.run(step, run));
                if swapped {
                    reference.0.swap(0, 1);
                }
            }
            for (number, view) in views.iter().enumerate() {
                let (got, expected) = (contents(view), &reference.0[number]);
                prop_assert_eq!(
                    &got,
                    expected,
                    "b{} in run {} with {:?}\n{}",
                    number,
                    run,
                    options,
                    executable.plan()
                );
            }
        }
    }
    Ok(())
}

#[test]
fn random_graphs_run_like_the_reference() {
    let bench = bench();
    let mut runner = proptest::test_runner::TestRunner::new(Config {
        cases: 150,
        failure_persistence: None,
        ..Config::default()
    });
    let programs = (proptest::collection::vec(step(), 1..14), any::<u64>());
    runner.run(&programs, |(steps, seed)| runs_like_the_reference(&bench, &steps, seed)).unwrap();
}

/// Two chains of kernels that share nothing they write; if wanted, a host node behind one and two fills behind that.
fn two_chains(bench: &Bench, host: bool) -> (Executable, ResourceId) {
    let mut builder = GraphBuilder::new("two chains");
    let [x, y] = ["x", "y"].map(|name| builder.buffer(name, bench.view(&[1; 64])).unwrap());
    let z = builder.parameter("z", 64).unwrap();
    for (number, resource) in [x, y, x, y].into_iter().enumerate() {
        let launch = bench.launch(&bench.accumulate, 64).bind(0, z).bind(1, resource);
        builder.kernel(format!("add {number}"), launch).unwrap();
    }
    if host {
        builder.host("look", HostNode::new(|_context| Ok(())).reads(x).reads(y)).unwrap();
        builder.fill("left", x.range(0..16), 0).unwrap();
        builder.fill("right", x.range(32..48), 0).unwrap();
    }
    builder.order_as_added();
    let mut executable = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    executable.set_buffer(z, bench.view(&[1; 64])).unwrap();
    (executable, z)
}

#[test]
fn each_way_of_running_is_encoded_by_its_second_run_and_forgotten_with_its_arguments() {
    let bench = bench();
    let [first, second, _] = &bench.streams;
    let (mut chains, z) = two_chains(&bench, false);
    let (mut hosted, hosted_z) = two_chains(&bench, true);
    for _ in 0..2 {
        for run in 0..3usize {
            let encoded = |executable: &Executable, way| executable.encodings.encoded_parts(way);
            // What was there before this run.
            let since_the_second = usize::from(run >= 2);
            assert_eq!(encoded(&chains, Way::Whole), since_the_second);
            assert_eq!(encoded(&chains, Way::Over(2)), 2 * since_the_second, "one on each stream");
            assert_eq!(
                encoded(&hosted, Way::BetweenHostNodes),
                2 * since_the_second,
                "before it and after it"
            );
            chains.submit_to(first).unwrap().wait().unwrap();
            chains.submit_over(&[first, second], &[]).unwrap().wait().unwrap();
            hosted.run_on(first).unwrap();
        }
        chains.set_buffer(z, bench.view(&[2; 64])).unwrap();
        hosted.set_buffer(hosted_z, bench.view(&[2; 64])).unwrap();
    }
}

#[test]
fn transformations_never_make_a_plan_larger_and_do_make_some_smaller() {
    let bench = bench();
    let mut runner =
        proptest::test_runner::TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let smaller = [(); 3].map(|()| AtomicBool::new(false));
    runner
        .run(&proptest::collection::vec(step(), 1..14), |steps| {
            let graph = build(&bench, &steps).0.builder.build().unwrap();
            let stages = |plan: &Plan| plan.passes().iter().map(|pass| pass.stages.len()).sum::<usize>();
            let (best, plain) =
                (Plan::new(&graph, PlanOptions::default()), Plan::new(&graph, PlanOptions::none()));
            let sizes = [
                (best.nodes.len(), plain.nodes.len()),
                (best.passes().len(), plain.passes().len()),
                (stages(&best), stages(&plain)),
            ];
            for (smaller, (best, plain)) in smaller.iter().zip(sizes) {
                proptest::prelude::prop_assert!(best <= plain);
                smaller.fetch_or(best < plain, Ordering::Relaxed);
            }
            Ok(())
        })
        .unwrap();
    assert!(smaller.iter().all(|smaller| smaller.load(Ordering::Relaxed)), "each had an effect");
}

#[test]
fn cycles_and_hazards_are_told_by_names() {
    let bench = bench();
    let mut builder = GraphBuilder::new("g");
    let x = builder.buffer("x", bench.view(&[0; 64])).unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| builder.fill(name, x.range(0..16), 0).unwrap());
    for (from, to) in [(a, b), (b, c), (c, b)] {
        builder.edge(from, to).unwrap();
    }
    let cycle = builder.build().unwrap_err();
    assert_eq!(cycle.to_string(), "the graph `g` has a cycle: `b` -> `c` -> `b`");

    let mut builder = GraphBuilder::new("g");
    let x = builder.buffer("x", bench.view(&[0; 64])).unwrap();
    let y = builder.parameter("y", 16).unwrap();
    builder.fill("clear", x.range(0..32), 0).unwrap();
    builder.copy("save", x.range(24..40), y).unwrap();
    let hazard = Hazard {
        first: "clear".to_owned(),
        second: "save".to_owned(),
        resource: "x".to_owned(),
        offset: 24,
        length: 8,
        both_write: false,
    };
    let refused = builder.build().unwrap_err();
    assert_eq!(refused, GraphError::Hazards { graph: "g".to_owned(), hazards: vec![hazard] });
    assert!(refused.to_string().contains("one writes and one reads bytes 24..32 of `x`"), "{refused}");
}

#[test]
fn wrong_nodes_and_arguments_are_refused() {
    let bench = bench();
    let mut builder = GraphBuilder::new("g");
    let x = builder.buffer("x", bench.view(&[0; 64])).unwrap();
    let y = builder.parameter("y", 64).unwrap();
    let foreign = GraphBuilder::new("other").parameter("z", 64).unwrap();
    assert!(matches!(builder.parameter("x", 1), Err(GraphError::DuplicateName { what: "resource", .. })));
    assert!(matches!(builder.fill("f", foreign, 0), Err(GraphError::OfAnotherGraph { .. })));
    let outside = builder.fill("f", x.range(60..70), 0).unwrap_err();
    assert_eq!(outside.to_string(), "node `f`: bytes 60..70 are not within `x` of 64 bytes");
    assert!(matches!(builder.copy("c", x.range(0..4), y), Err(GraphError::CopyLengths { .. })));
    assert!(matches!(builder.copy("c", x.range(0..8), x.range(4..12)), Err(GraphError::Device(_))));
    let surplus = builder.kernel("k", bench.launch(&bench.affine, 4).bind(7, x)).unwrap_err();
    assert!(surplus.to_string().contains("no buffer argument 7"), "{surplus}");
    let copy = builder.copy("c", x, y).unwrap();
    assert!(matches!(builder.fill("c", x, 0), Err(GraphError::DuplicateName { what: "node", .. })));
    let graph = builder.build().unwrap();
    let mut executable = Executable::new(&graph, PlanOptions::default()).unwrap();
    let unset = executable.run(&*bench.queue).unwrap_err();
    assert_eq!(unset, GraphError::Unset { parameter: "y".to_owned() });
    let short = executable.set_buffer(y, bench.view(&[0; 32])).unwrap_err();
    assert_eq!(short.to_string(), "the parameter `y` takes 64 bytes, not 32");
    assert!(matches!(executable.set_buffer(x, bench.view(&[0; 64])), Err(GraphError::NotAParameter { .. })));
    let grid = executable.set_grid(copy, Grid::Threads([1; 3])).unwrap_err();
    assert_eq!(grid.to_string(), "`c` is not a kernel node of the graph and cannot be changed");
    executable.set_buffer(y, bench.view(&[1; 64])).unwrap();
    executable.submit(&*bench.queue).unwrap().wait().unwrap();
}

#[test]
fn an_argument_that_makes_a_hazard_is_refused_and_the_old_one_stays() {
    let bench = bench();
    let (memory, other) = (bench.view(&[1; 64]), bench.view(&[2; 64]));
    let mut builder = GraphBuilder::new("g");
    let x = builder.buffer("x", memory.clone()).unwrap();
    let y = builder.parameter("y", 64).unwrap();
    builder.fill("one", x, 5).unwrap();
    builder.fill("two", y, 6).unwrap();
    let mut executable = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    executable.set_buffer(y, other.clone()).unwrap();
    assert!(matches!(executable.set_buffer(y, memory.clone()), Err(GraphError::Hazards { .. })));
    executable.run(&*bench.queue).unwrap();
    assert_eq!((contents(&memory), contents(&other)), (vec![5; 64], vec![6; 64]));
}

#[test]
fn an_alias_that_the_edges_order_is_planned_anew() {
    let bench = bench();
    let memory = bench.view(&[1; 64]);
    let mut builder = GraphBuilder::new("g");
    let (x, y) = (builder.parameter("x", 64).unwrap(), builder.parameter("y", 64).unwrap());
    let one = builder.fill("one", x, 5).unwrap();
    let two = builder.fill("two", y.range(0..32), 6).unwrap();
    builder.edge(one, two).unwrap();
    let mut executable = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    assert_eq!(executable.plan().barriers(), 0, "nothing is shared");
    executable.set_buffers([(x, memory.clone()), (y, memory.clone())]).unwrap();
    assert_eq!(executable.plan().barriers(), 1);
    executable.run(&*bench.queue).unwrap();
    assert_eq!(contents(&memory), [[6; 32], [5; 32]].concat());
    executable.set_buffer(y, bench.view(&[0; 64])).unwrap();
    assert_eq!(executable.plan().barriers(), 0);
}

#[test]
fn host_nodes_touch_only_what_they_declare() {
    let bench = bench();
    let mut builder = GraphBuilder::new("g");
    let x = builder.buffer("x", bench.view(&[0; 64])).unwrap();
    let sneaky = HostNode::new(move |context| {
        let _refused = context.write(x, 0, &[1]);
        Ok(())
    });
    builder.host("sneaky", sneaky.reads(x)).unwrap();
    let executable = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    let error = executable.run(&*bench.queue).unwrap_err();
    assert_eq!(error.to_string(), "the host node `sneaky` touched `x` without declaring that it writes it");
    assert!(matches!(executable.submit(&*bench.queue), Err(GraphError::NeedsHost { .. })));

    let mut builder = GraphBuilder::new("g");
    builder.host("fails", HostNode::new(|_| Err("no disk".to_owned()))).unwrap();
    let executable = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    assert_eq!(
        executable.run(&*bench.queue).unwrap_err().to_string(),
        "the host node `fails` failed: no disk"
    );
}

/// load -> blur -> sum, with a copy of the source at any time and a fill in two pieces.
fn example(bench: &Bench) -> Graph {
    let mut builder = GraphBuilder::new("example <1>");
    let x = builder.buffer("x", bench.view(&[0; 64])).unwrap();
    let [y, z, w] = ["y", "z", "w"].map(|name| builder.parameter(name, 64).unwrap());
    let launch = || bench.launch(&bench.accumulate, 64);
    builder.fill("clear, left", z.range(0..32), 0).unwrap();
    let blur = builder.kernel("blur", launch().bind(0, x).bind(1, y)).unwrap();
    let save = builder.copy("save", x, w).unwrap();
    builder.fill("clear, right", z.range(32..64), 0).unwrap();
    let sum = builder.kernel("sum", launch().bind(0, y).bind(1, z)).unwrap();
    builder.edge(blur, save).unwrap();
    builder.edge(blur, sum).unwrap();
    builder.order_as_added();
    builder.build().unwrap()
}

#[test]
fn a_plan_prints_as_text_and_as_a_picture() {
    let bench = bench();
    let graph = example(&bench);
    assert_eq!(graph.levels(), [vec!["clear, left", "blur", "clear, right"], vec!["save", "sum"]]);
    let plan = Plan::new(&graph, PlanOptions::default());
    assert_eq!(
        plan.to_string(),
        "graph `example <1>`: 4 nodes, 2 encoders, 1 barriers\n\
         pass 0: blit\n  fill clear, left + clear, right\n  copy save\n\
         pass 1: compute\n  kernel blur\n  -- barrier --\n  kernel sum\n"
    );
    let svg = plan.to_svg();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("example &lt;1&gt;") && !svg.contains("<1>"));
    assert_eq!(svg.matches("<title>barrier</title>").count(), 1);
    assert_eq!(svg.matches("marker-end").count(), 2, "blur and clear before sum");
    assert_eq!((svg.matches("<g>").count(), svg.matches("</g>").count()), (4, 4));
    let plain = Plan::new(&graph, PlanOptions::none());
    assert_eq!((plain.nodes.len(), plain.encoders(), plain.merged(), plan.merged()), (5, 4, 0, 1));
}

proptest! {
    /// The fewest passes of two kinds, by trying every order of small graphs.
    #[test]
    fn no_order_needs_fewer_passes(
        kinds in proptest::collection::vec(any::<bool>(), 1..8),
        edges in proptest::collection::vec((0..8u32, 0..8u32), 0..12),
    ) {
        let bytes = kinds.len() as u64 * 4;
        let count = kinds.len() as u32;
        let edges: Vec<(u32, u32)> = edges.into_iter()
            .map(|(one, other)| (one % count, other % count))
            .filter(|(from, to)| from < to)
            .collect();
        let best = crate::graph::plan::fewest_passes_of(&kinds, &edges);
        prop_assert_eq!(best, exhaustive(&kinds, &edges), "{} bytes", bytes);
    }
}

/// The fewest changes of kind over all topological orders, plus one.
fn exhaustive(kinds: &[bool], edges: &[(u32, u32)]) -> usize {
    fn search(
        kinds: &[bool],
        edges: &[(u32, u32)],
        done: u32,
        last: Option<bool>,
        passes: usize,
        best: &mut usize,
    ) {
        if passes >= *best {
            return;
        }
        if done.count_ones() as usize == kinds.len() {
            *best = passes;
            return;
        }
        for node in 0..kinds.len() {
            let ready = edges.iter().all(|(from, to)| *to as usize != node || done >> from & 1 == 1);
            if ready && done >> node & 1 == 0 {
                let more = usize::from(last != Some(kinds[node]));
                search(kinds, edges, done | 1 << node, Some(kinds[node]), passes + more, best);
            }
        }
    }
    let mut best = usize::MAX;
    search(kinds, edges, 0, None, 0, &mut best);
    best
}
