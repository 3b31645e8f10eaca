//! Graphs whose kernels are fused, by a fuser over the compiler: the same bytes as not fused; and what graphs
//! leave apart whatever their fuser says.

use std::any::Any;
use std::sync::{Arc, Mutex};

use anymetal_core::graph::fuse::{Fused, Fuser, Launch};
use anymetal_core::graph::node::KernelNode;
use anymetal_core::graph::{Executable, GraphBuilder, PlanOptions};
use anymetal_core::memory::view::BufferView;
use anymetal_driver::{Compiler, Fusion, FusionPart, Library, Source, SourceOptions, Specialisation, Target};
use anymetal_hal::artifact::KernelInfo;
use anymetal_hal::buffer::BufferDescriptor;
use anymetal_hal::command::Grid;
use anymetal_hal::device::Device;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::QueueDescriptor;

use crate::machine::cpu as device;

const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void affine(device const uint* x, device uint* y, constant uint& k, uint i [[thread_position_in_grid]]) {
    y[i] = x[i] * 3 + k;
}
kernel void accumulate(device const uint* x, device uint* y, uint i [[thread_position_in_grid]]) { y[i] += x[i]; }
kernel void rows(device const uint* x, device uint* y, constant uint& width, uint2 p [[thread_position_in_grid]]) {
    y[p.y * width + p.x] ^= x[p.y * width + p.x] >> 1;
}
kernel void turn(device const uint* x, device uint* y, uint i [[thread_position_in_grid]],
                 uint n [[threads_per_grid]]) {
    y[i] = x[n - 1 - i] + 1;
}
kernel void sharing(device const uint* x, device uint* y, threadgroup uint* t [[threadgroup(0)]],
                    uint i [[thread_position_in_grid]], uint local [[thread_index_in_threadgroup]]) {
    t[local] = x[i];
    y[i] += t[local];
}
";
/// Words of each buffer, and threads of each launch.
const WORDS: u32 = 96;

/// Fuses by the compiler what the compiler proves.
#[derive(Debug)]
struct ByCompiler {
    device: Arc<dyn Device>,
    library: Library,
    kernel: KernelInfo,
}

impl ByCompiler {
    fn with<T>(
        launches: &[Launch<'_>],
        with: impl FnOnce(&Fusion<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let specialisation = Specialisation::default();
        let mut parts = Vec::new();
        for Launch { fuser, places, bytes, .. } in launches {
            let fuser: &ByCompiler = fuser.as_any().downcast_ref().ok_or("another fuser")?;
            let (library, kernel) = (&fuser.library, &fuser.kernel);
            parts.push(FusionPart { library, kernel, specialisation: &specialisation, places, bytes });
        }
        let (group_size, threads) = (launches[0].group_size, launches[0].threads);
        with(&Fusion::new(parts, Some(group_size), Some(threads)).ok_or("of other compilers")?)
    }
}

impl Fuser for ByCompiler {
    fn refusal(&self, launches: &[Launch<'_>]) -> Option<String> {
        Self::with(launches, |fusion| fusion.refusal().map_err(|error| error.to_string()))
            .unwrap_or_else(Some)
    }

    fn fills_device(&self, _threadgroups: u64) -> bool {
        true
    }

    fn fuse(&self, launches: &[Launch<'_>]) -> Result<Fused, String> {
        Self::with(launches, |fusion| {
            let artifact = fusion.artifact(Target::Cpu).map_err(|error| error.to_string())?;
            let pipeline = self.device.pipeline(&artifact, &fusion.name());
            let pipeline = pipeline.map_err(|error| error.to_string())?;
            let arguments = fusion.arguments().into_iter();
            let arguments = arguments.map(|argument| (argument.index, argument.part, argument.of_part));
            Ok(Fused::new(pipeline, arguments.collect()))
        })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A device and kernels for it.
struct Bench {
    device: Arc<dyn Device>,
    library: Library,
}

impl Bench {
    fn new() -> Self {
        let source = Source::from_text("fusion.metal", SOURCE, SourceOptions::default());
        Bench { device: device(), library: Compiler::global().library(source).unwrap() }
    }

    fn pipeline(&self, name: &str) -> Arc<dyn Pipeline> {
        let artifact = self.library.artifact(name, &Specialisation::default(), Target::Cpu).unwrap();
        self.device.pipeline(&artifact, name).unwrap()
    }

    fn node(&self, name: &str, grid: Grid, group_size: [u32; 3]) -> KernelNode {
        let kernel = self.library.reflect_specialised(name, &Specialisation::default()).unwrap();
        let fuser = ByCompiler { device: Arc::clone(&self.device), library: self.library.clone(), kernel };
        KernelNode::new(self.pipeline(name), grid, group_size).fused_by(Arc::new(fuser))
    }

    fn words(&self, seed: u32) -> BufferView {
        let buffer = self.device.buffer(&BufferDescriptor::shared(u64::from(WORDS) * 4)).unwrap();
        let view = BufferView::of(buffer);
        let words = (0..WORDS).flat_map(|word| (word.wrapping_mul(2_654_435_761) ^ seed).to_le_bytes());
        view.write(0, &words.collect::<Vec<u8>>()).unwrap();
        view
    }
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A random graph's bytes afterwards, and how many launches went into others.
fn run(bench: &Bench, seed: u64, options: PlanOptions) -> (Vec<Vec<u8>>, usize) {
    let mut random = Random(seed);
    let mut builder = GraphBuilder::new("random");
    let views: Vec<BufferView> = (0..4).map(|seed| bench.words(seed)).collect();
    let resources: Vec<_> = views.iter().map(|view| builder.view("words", view.clone())).collect();
    // As a line, and as a plane with rows of that width.
    let line = Grid::Threads([WORDS, 1, 1]);
    let plane = |width| Grid::Threads([width, WORDS / width, 1]);
    for number in 0..10 {
        let (x, y) = (random.below(4), random.below(4));
        // A launch that reads others' words writes elsewhere.
        let y = if x == y { (y + 1) % 4 } else { y };
        let launch = |name, grid, group_size| {
            let (x, y) = (resources[x as usize], resources[y as usize]);
            bench.node(name, grid, group_size).bind(0, x).bind(1, y)
        };
        let node = match random.below(8) {
            0 => launch("turn", line, [32, 1, 1]),
            _ if is_plane(seed) => {
                let width = if random.below(6) == 0 { 16u32 } else { 12 };
                launch("rows", plane(width), [4, 4, 1]).bind_bytes(2, width.to_le_bytes())
            }
            1..4 => launch("accumulate", line, [32, 1, 1]),
            _ => {
                let constant = random.below(1000) as u32;
                launch("affine", line, [32, 1, 1]).bind_bytes(2, constant.to_le_bytes())
            }
        };
        builder.kernel(number.to_string(), node).unwrap();
    }
    builder.order_as_added();
    let executable = Executable::new(&builder.build().unwrap(), options).unwrap();
    let queue = bench.device.queue(&QueueDescriptor::default()).unwrap();
    executable.run(&*queue).unwrap();
    executable.run(&*queue).unwrap();
    let bytes = views.iter().map(|view| {
        let mut bytes = vec![0; view.length() as usize];
        view.read(0, &mut bytes).unwrap();
        bytes
    });
    (bytes.collect(), executable.plan().fused())
}

fn is_plane(seed: u64) -> bool {
    seed.is_multiple_of(3)
}

#[test]
fn random_graphs_give_the_same_bytes_fused_and_not() {
    let bench = Bench::new();
    let (mut in_lines, mut in_planes) = (0, 0);
    for seed in 0..18 {
        let (expected, none) = run(&bench, seed, PlanOptions::none());
        let (got, fused) = run(&bench, seed, PlanOptions::default());
        assert_eq!(none, 0);
        assert!(expected == got, "seed {seed}");
        *(if is_plane(seed) { &mut in_planes } else { &mut in_lines }) += fused;
    }
    assert!(in_lines > 15 && in_planes > 6, "{in_lines} {in_planes}");
}

/// Says yes or no as it is told, and notes what it was asked about.
#[derive(Debug, Default)]
struct Scripted {
    refuses: bool,
    fuses_to: Option<Arc<dyn Pipeline>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Fuser for Scripted {
    fn refusal(&self, launches: &[Launch<'_>]) -> Option<String> {
        let shown = |launch: &Launch<'_>| {
            let Launch { places, bytes, threads, group_size, .. } = launch;
            format!("{places:?} {bytes:?} {threads:?} {group_size:?}")
        };
        self.asked.lock().unwrap().extend(launches.iter().map(shown));
        self.refuses.then(|| "as told".to_owned())
    }

    fn fills_device(&self, _threadgroups: u64) -> bool {
        true
    }

    fn fuse(&self, _launches: &[Launch<'_>]) -> Result<Fused, String> {
        let pipeline = self.fuses_to.clone().ok_or("as told")?;
        Ok(Fused::new(pipeline, vec![(0, 0, 0), (1, 1, 1)]))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The second of two launches, and what stands between.
#[derive(Clone)]
struct Second {
    kernel: &'static str,
    grid: Grid,
    group_size: [u32; 3],
    /// The bytes of `mid` that it reads; the first writes those of 40 words.
    reads: std::ops::Range<u64>,
    fill_between: bool,
    brings_fuser: bool,
}

/// What differs from the first launch in nothing.
fn alike() -> Second {
    let (grid, group_size) = (Grid::Threads([40, 1, 1]), [8, 1, 1]);
    Second { kernel: "accumulate", grid, group_size, reads: 0..160, fill_between: false, brings_fuser: true }
}

/// How many of two launches through `mid` were fused, and what the fuser was asked about.
fn pair(bench: &Bench, fuser: Scripted, second: &Second) -> (usize, Vec<String>) {
    let asked = Arc::clone(&fuser.asked);
    let fuser: Arc<dyn Fuser> = Arc::new(fuser);
    let mut builder = GraphBuilder::new("pair");
    let mid = bench.words(1);
    let views = [bench.words(0), mid.slice(0..160).unwrap(), mid.slice(second.reads.clone()).unwrap()];
    let [x, written, read] = views.map(|view| builder.view("view", view));
    let y = builder.view("y", bench.words(2));
    let one = KernelNode::new(bench.pipeline("accumulate"), Grid::Threads([40, 1, 1]), [8, 1, 1]);
    builder.kernel("one", one.bind(0, x).bind(1, written).fused_by(Arc::clone(&fuser))).unwrap();
    if second.fill_between {
        builder.fill("between", written, 0).unwrap();
    }
    let two = KernelNode::new(bench.pipeline(second.kernel), second.grid, second.group_size);
    let two = two.bind(0, read).bind(1, y);
    let two = if second.brings_fuser { two.fused_by(fuser) } else { two };
    let two = if second.kernel == "sharing" { two.threadgroup_memory(0, 64) } else { two };
    builder.kernel("two", two).unwrap();
    builder.order_as_added();
    let executable = Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    let asked = asked.lock().unwrap().clone();
    (executable.plan().fused(), asked)
}

#[test]
fn a_fuser_is_asked_only_about_what_the_graph_allows() {
    let bench = Bench::new();
    let yes = || Scripted { fuses_to: Some(bench.pipeline("accumulate")), ..Scripted::default() };
    let of = |places: &str| format!("{places} [] [40, 1, 1] [8, 1, 1]");
    let asked = vec![of("[(0, 0), (1, 1)]"), of("[(0, 1), (1, 2)]")];
    assert_eq!(pair(&bench, yes(), &alike()), (1, asked.clone()));
    assert_eq!(pair(&bench, Scripted { refuses: true, ..yes() }, &alike()), (0, asked.clone()));
    assert_eq!(pair(&bench, Scripted::default(), &alike()), (0, asked), "it was proved and not made");
    let never = [
        Second { grid: Grid::Threads([41, 1, 1]), ..alike() },
        Second { grid: Grid::Threads([20, 2, 1]), ..alike() },
        Second { grid: Grid::Threadgroups([5, 1, 1]), ..alike() },
        Second { group_size: [4, 1, 1], ..alike() },
        // The bytes that the first writes, and more, or a part.
        Second { reads: 0..164, ..alike() },
        Second { reads: 4..160, ..alike() },
        Second { fill_between: true, ..alike() },
        Second { brings_fuser: false, ..alike() },
        Second { kernel: "sharing", ..alike() },
    ];
    for (number, second) in never.iter().enumerate() {
        assert_eq!(pair(&bench, yes(), second), (0, vec![]), "{number}");
    }
}

/// The fuser learns of the bytes that stay as they are and not of those that may change.
#[test]
fn a_fuser_knows_the_bytes_that_stay() {
    let bench = Bench::new();
    let fuser = Scripted { refuses: true, ..Scripted::default() };
    let asked = Arc::clone(&fuser.asked);
    let fuser: Arc<dyn Fuser> = Arc::new(fuser);
    let mut builder = GraphBuilder::new("bytes");
    let resources = [0, 1, 2].map(|seed| builder.view("view", bench.words(seed)));
    let changes = builder.bytes_parameter("k", [1, 0, 0, 0]).unwrap();
    let grid = Grid::Threadgroups([3, 1, 1]);
    let node = |x: usize| {
        let node = KernelNode::new(bench.pipeline("affine"), grid, [32, 1, 1]).fused_by(Arc::clone(&fuser));
        node.bind(0, resources[x]).bind(1, resources[x + 1])
    };
    builder.kernel("one", node(0).bind_parameter(2, changes)).unwrap();
    builder.kernel("two", node(1).bind_bytes(2, [7, 0, 0, 0])).unwrap();
    builder.order_as_added();
    Executable::new(&builder.build().unwrap(), PlanOptions::default()).unwrap();
    let expected = [
        "[(0, 0), (1, 1), (2, 2)] [] [96, 1, 1] [32, 1, 1]",
        "[(0, 1), (1, 3), (2, 4)] [(2, [7, 0, 0, 0])] [96, 1, 1] [32, 1, 1]",
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
}
