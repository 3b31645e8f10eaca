//! Fused kernels give the bytes that the kernels give one after the other.

use anymetal::command::Grid;
use anymetal::graph::{Executable, Graph, GraphBuilder, PlanOptions};
use anymetal::{Buffer, CheckMode, CompileOptions, Device, Error, Library, LibraryDescriptor};

const SOURCE: &str = "
    #include <metal_stdlib>
    using namespace metal;
    kernel void affine(device const float* x, device float* y, constant float& a, constant float& b,
                       uint i [[thread_position_in_grid]]) { y[i] = a * x[i] + b; }
    kernel void add(device const float* x, device const float* y, device float* z,
                    uint i [[thread_position_in_grid]]) { z[i] = x[i] + y[i]; }
    kernel void mul(device const float* x, device const float* y, device float* z,
                    uint i [[thread_position_in_grid]]) { z[i] = clamp(x[i] * y[i], -4.0f, 4.0f); }
    kernel void relu(device float* x, constant uint& n, uint i [[thread_position_in_grid]]) {
        if (i >= n) return;
        x[i] = max(x[i], -0.5f);
    }
    kernel void bits(device uint* x, uint i [[thread_position_in_grid]]) { x[i] = x[i] ^ (x[i] >> 21 & 7); }
    kernel void bend(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
        y[i] = x[i] > 1.0f ? sqrt(x[i]) : x[i] < -1.0f ? tanh(x[i]) : 0.5f * x[i];
    }
    kernel void lanes(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 0.25f * simd_sum(x[i]); }
    kernel void blur(device const float* x, device float* y, constant uint& n,
                     uint i [[thread_position_in_grid]]) { y[i] = x[i] + (i + 1 < n ? x[i + 1] : 0.0f); }
    kernel void turn(device const float* x, device float* y, constant uint& n,
                     uint i [[thread_position_in_grid]]) { y[i] = x[n - 1 - i]; }
    kernel void later(device const float* x, device float* y, constant uint& first, constant uint& n,
                      uint i [[thread_position_in_grid]]) {
        if (first + i < n) y[first + i] = 0.5f * x[first + i] + 0.125f;
    }
    kernel void grouped(device float* x, uint group [[threadgroup_position_in_grid]],
                        uint local [[thread_position_in_threadgroup]],
                        uint size [[dispatch_threads_per_threadgroup]]) {
        uint i = group * size + local;
        x[i] = 0.75f * x[i] - 0.25f;
    }
    kernel void rows(device const float* x, device float* y, constant uint& width,
                     uint2 p [[thread_position_in_grid]]) {
        uint i = p.y * width + p.x;
        y[i] = 0.5f * x[i] + 0.25f * float(p.x & 3);
    }
    kernel void plane(device const float* x, device float* y, uint2 p [[thread_position_in_grid]],
                      uint2 grid [[threads_per_grid]]) {
        uint i = p.y * grid.x + p.x;
        y[i] += 0.125f * x[i];
    }
    kernel void columns(device float* x, constant uint& height, uint2 p [[thread_position_in_grid]]) {
        uint i = p.x * height + p.y;
        x[i] = 0.75f * x[i] + 0.5f;
    }
    kernel void shear(device const float* x, device float* y, constant uint& width,
                      uint2 p [[thread_position_in_grid]]) {
        y[p.y * width + p.x] = 0.5f * x[p.y * (width - 1) + p.x];
    }
    kernel void pairs(device float* x, uint i [[thread_position_in_grid]]) {
        float low = x[2 * i], high = x[2 * i + 1];
        x[2 * i] = 0.5f * (low + high);
        x[2 * i + 1] = 0.5f * (low - high);
    }";

/// Over a line, over a plane of as many threads, and over a line of half as many.
const NAMES: [&[&str]; 3] = [
    &["affine", "add", "mul", "relu", "bits", "bend", "lanes", "blur", "turn", "later", "grouped"],
    &["rows", "plane", "columns", "shear"],
    &["pairs"],
];
/// Threads, and elements of each buffer. The last threadgroup and its last SIMD-group are partial.
const N: usize = 1_003;
/// The same as a plane.
const PLANE: (usize, usize) = (59, 17);

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % limit as u64) as usize
    }
}

/// Random kernels over random buffers.
fn random_graph(
    library: &Library,
    buffers: &[Buffer<f32>],
    names: &[&str],
    random: &mut Random,
) -> Result<Graph, Error> {
    let mut graph = GraphBuilder::new("random");
    // Fused only with others of the same.
    let (first, width) = (random.below(3), PLANE.0 as u32);
    for number in 0..4 + random.below(8) {
        let name = names[random.below(names.len())];
        let [x, y, z] = [0; 3].map(|_| random.below(buffers.len()));
        // A launch that reads its neighbours' elements must not write them too.
        let y = if matches!(name, "blur" | "turn" | "shear") && x == y { (y + 1) % buffers.len() } else { y };
        let [x, y, z] = [x, y, z].map(|buffer| &buffers[buffer]);
        let pipeline = library.pipeline(name)?;
        let node = match name {
            "affine" => pipeline.node().arg(x).arg(y).arg(0.5f32 + number as f32).arg(-0.25f32),
            "add" | "mul" => pipeline.node().arg(x).arg(y).arg(z),
            "relu" => pipeline.node().arg(x).arg((N - random.below(70)) as u32),
            "bits" => pipeline.node().arg(x.region()),
            "bend" | "plane" => pipeline.node().arg(x).arg(y),
            "lanes" | "pairs" | "grouped" => pipeline.node().arg(x),
            "later" => {
                let first = if random.below(4) == 0 { first + 1 } else { first };
                pipeline.node().arg(x).arg(y).arg(first as u32).arg(N as u32)
            }
            "rows" | "shear" => pipeline.node().arg(x).arg(y).arg(width),
            "columns" => pipeline.node().arg(x).arg(PLANE.1 as u32),
            _ => pipeline.node().arg(x).arg(y).arg(N as u32),
        };
        // Nodes of another grid or threadgroup size stand between, now and then.
        let node = match (name, random.below(10)) {
            ("rows" | "plane" | "columns" | "shear", 0) => node.threads(PLANE).group_size((4, 4)),
            ("rows" | "columns" | "shear", 1) => node.threads((PLANE.0 - 1, PLANE.1)).group_size((8, 4)),
            ("rows" | "plane" | "columns" | "shear", _) => node.threads(PLANE).group_size((8, 4)),
            ("pairs", 0) => node.threads(N / 2 - 1).group_size(64),
            ("pairs", _) => node.threads(N / 2).group_size(64),
            (_, 0) => node.threads(N).group_size(96),
            (_, 1) => node.threads(N - 3).group_size(64),
            _ => node.threads(N).group_size(64),
        };
        graph.kernel(format!("{number} {name}"), node.build()?)?;
    }
    graph.order_as_added();
    graph.build()
}

/// The bits of all buffers after a graph ran twice, and how many kernels were fused into others.
fn run(
    device: &Device,
    graph: &Graph,
    buffers: &[Buffer<f32>],
    options: PlanOptions,
) -> Result<(Vec<Vec<u32>>, usize), Error> {
    for (number, buffer) in buffers.iter().enumerate() {
        let element = |i: usize| ((i * 37 + number * 11) % 101) as f32 / 25.0 - 2.0;
        buffer.write(&(0..N).map(element).collect::<Vec<f32>>())?;
    }
    let executable = Executable::new(graph, options)?;
    let queues = device.queues(2)?;
    queues.queue(0).submit_graph(&executable)?.wait()?;
    queues.submit_graph(&executable)?.wait()?;
    let bits = buffers.iter().map(|buffer| Ok(buffer.read()?.into_iter().map(f32::to_bits).collect()));
    Ok((bits.collect::<Result<_, Error>>()?, executable.plan().fused()))
}

#[test]
fn random_graphs_give_the_same_bytes_fused_and_not() -> Result<(), Error> {
    let device = Device::system_default()?;
    // Without checks nothing stands between a store of one kernel and the load of the next.
    let unchecked = CompileOptions::new().check_mode(CheckMode::Off);
    let libraries = [
        device.library_from_source(SOURCE)?,
        device.create_library(&LibraryDescriptor::from_source(SOURCE).options(&unchecked))?,
    ];
    let buffers = (0..5).map(|_| device.buffer(&[0.0f32; N])).collect::<Result<Vec<_>, Error>>()?;
    let mut fused_in_all = [0; NAMES.len()];
    for seed in 0..24 * NAMES.len() as u64 {
        let form = seed as usize / 2 % NAMES.len();
        let library = &libraries[seed as usize % 2];
        let graph = random_graph(library, &buffers, NAMES[form], &mut Random(seed))?;
        let (expected, none) = run(&device, &graph, &buffers, PlanOptions::none())?;
        let (got, fused) = run(&device, &graph, &buffers, PlanOptions::default())?;
        assert_eq!(none, 0);
        assert!(expected == got, "seed {seed}: {}", Executable::new(&graph, PlanOptions::default())?.plan());
        fused_in_all[form] += fused;
    }
    assert!(fused_in_all.iter().all(|fused| *fused > 24), "{fused_in_all:?}");
    Ok(())
}

/// A chain through `mid`, with what is added between.
fn chain(
    library: &Library,
    buffers: &[Buffer<f32>; 3],
    between: impl FnOnce(&mut GraphBuilder) -> Result<(), Error>,
) -> Result<Executable, Error> {
    let [x, mid, y] = buffers;
    let affine = library.pipeline("affine")?;
    let mut graph = GraphBuilder::new("chain");
    graph.kernel("one", affine.node().arg(x).arg(mid).arg(2.0f32).arg(1.0f32).threads(N).build()?)?;
    between(&mut graph)?;
    graph.kernel("two", affine.node().arg(mid).arg(y).arg(3.0f32).arg(0.0f32).threads(N).build()?)?;
    graph.order_as_added();
    Executable::new(&graph.build()?, PlanOptions::default())
}

#[test]
fn a_plan_shows_what_is_fused_and_a_set_grid_parts_it() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device.library_from_source(SOURCE)?;
    let buffers = [device.buffer(&[1.0f32; N])?, device.buffer(&[0.0f32; N])?, device.buffer(&[0.0f32; N])?];
    let affine = library.pipeline("affine")?;
    let mut graph = GraphBuilder::new("g");
    let [x, mid, y] = &buffers;
    let scale = graph.value("scale", 2.0f32)?;
    let one = affine.node().arg(x).arg(mid).arg(scale).arg(1.0f32).threads(N).build()?;
    let one = graph.kernel("one", one)?;
    let two = affine.node().arg(mid).arg(y).arg(3.0f32).arg(0.0f32).threads(N).build()?;
    let two = graph.kernel("two", two)?;
    graph.order_as_added();
    let mut graph = Executable::new(&graph.build()?, PlanOptions::default())?;
    let text = "graph `g`: 1 nodes, 1 encoders, 0 barriers\npass 0: compute\n  kernel one + two\n";
    assert_eq!(graph.plan().to_string(), text);
    assert!(graph.plan().to_svg().contains("kernel one + two"));
    let queue = device.queue()?;
    queue.submit_graph(&graph)?.wait()?;
    assert_eq!((mid.read()?, y.read()?), (vec![3.0; N], vec![9.0; N]));
    graph.set_value(scale, 4.0f32)?;
    queue.submit_graph(&graph)?.wait()?;
    assert_eq!((mid.read()?, y.read()?), (vec![5.0; N], vec![15.0; N]));

    y.write(&[0.0; N])?;
    graph.set_grid(two, Grid::Threads([3, 1, 1]))?;
    assert_eq!(graph.plan().fused(), 0);
    queue.submit_graph(&graph)?.wait()?;
    assert_eq!(y.read()?[..5], [15.0, 15.0, 15.0, 0.0, 0.0]);
    graph.set_grid(one, Grid::Threads([3, 1, 1]))?;
    assert_eq!(graph.plan().fused(), 1);
    Ok(())
}

/// One kernel, and two that need nothing but its result.
#[test]
fn branches_that_leave_room_for_each_other_stay_apart() -> Result<(), Error> {
    let device = Device::by_name("cpu")?;
    let library = device.library_from_source(
        "kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
            y[i] = 2 * x[i];
        }",
    )?;
    let twice = library.pipeline("twice")?;
    let fused = |threads: usize| -> Result<usize, Error> {
        let x = device.buffer(&vec![1.0f32; threads])?;
        let zeroed = || device.buffer_zeroed::<f32>(threads);
        let (mid, left, right) = (zeroed()?, zeroed()?, zeroed()?);
        let mut graph = GraphBuilder::new("branches");
        for (name, from, to) in [("root", &x, &mid), ("left", &mid, &left), ("right", &mid, &right)] {
            let node = twice.node().arg(from).arg(to).threads(threads).group_size(64).build()?;
            graph.kernel(name, node)?;
        }
        graph.order_as_added();
        let executable = Executable::new(&graph.build()?, PlanOptions::default())?;
        device.queue()?.submit_graph(&executable)?.wait()?;
        assert_eq!((left.read()?, right.read()?), (vec![4.0; threads], vec![4.0; threads]));
        Ok(executable.plan().fused())
    };
    let units = device.capabilities().compute_units as usize;
    assert_eq!(fused(64 * (4 * units - 1))?, 1, "the root with one of the branches");
    assert_eq!(fused(64 * 4 * units)?, 2);
    Ok(())
}

#[test]
fn results_between_kernels_are_rounded() -> Result<(), Error> {
    let device = Device::system_default()?;
    // Neither branches nor checks: LLVM would take the product from its register into a multiply-add.
    let options = CompileOptions::new().check_mode(CheckMode::Off);
    let library = device.create_library(&LibraryDescriptor::from_source("kernel void product(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
             y[i] = x[i] * x[i];
         }
         kernel void minus(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
             y[i] = x[i] - 1.0f;
         }").options(&options))?;
    let values: Vec<f32> = (0..1024u16).map(|i| 1.0 + f32::from(i) / 8192.0 + 1.0 / 1_048_576.0).collect();
    let [x, y, z] = [device.buffer(&values)?, device.acquire::<f32>(1024)?, device.acquire::<f32>(1024)?];
    let mut graph = GraphBuilder::new("rounding");
    let product = library.pipeline("product")?;
    let product = product.node().arg(&x).arg(&y).threads(1024).build()?;
    graph.kernel("product", product)?;
    let minus = library.pipeline("minus")?;
    graph.kernel("minus", minus.node().arg(&y).arg(&z).threads(1024).build()?)?;
    graph.order_as_added();
    let graph = Executable::new(&graph.build()?, PlanOptions::default())?;
    assert_eq!(graph.plan().fused(), 1);
    device.queue()?.submit_graph(&graph)?.wait()?;
    let expected: Vec<f32> = values.iter().map(|x| x * x - 1.0).collect();
    let contracted = values.iter().map(|x| x.mul_add(*x, -1.0));
    assert!(contracted.zip(&expected).any(|(one, other)| one != *other), "the values tell nothing");
    assert_eq!(z.read()?, expected);
    Ok(())
}

#[test]
fn long_chains_are_cut() -> Result<(), Error> {
    let device = Device::system_default()?;
    let bits = device.library_from_source(SOURCE)?.pipeline("bits")?;
    let x = device.buffer(&[0u32; N])?;
    let mut graph = GraphBuilder::new("long");
    for number in 0..18 {
        graph.kernel(number.to_string(), bits.node().arg(&x).threads(N).build()?)?;
    }
    graph.order_as_added();
    let graph = Executable::new(&graph.build()?, PlanOptions::default())?;
    let names = [0, 1, 2].map(|node| graph.plan().node_name(node).unwrap_or_default());
    let expected = ["0 + 1 + 2 + 3 + 4 + 5 + 6 + 7", "8 + 9 + 10 + 11 + 12 + 13 + 14 + 15", "16 + 17"];
    assert_eq!((graph.plan().fused(), names), (15, expected));
    Ok(())
}

#[test]
fn kernels_stay_apart_where_something_is_between_or_bytes_overlap() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = device.library_from_source(SOURCE)?;
    let buffers = [device.buffer(&[1.0f32; N])?, device.buffer(&[0.0f32; N])?, device.buffer(&[0.0f32; N])?];
    assert_eq!(chain(&library, &buffers, |_| Ok(()))?.plan().fused(), 1);
    let mid = &buffers[1];
    let filled = chain(&library, &buffers, |graph| {
        let mid = graph.view("mid", mid.region());
        graph.fill("between", mid.range(0..8), 0)?;
        Ok(())
    })?;
    assert_eq!(filled.plan().fused(), 0);
    let add = library.pipeline("add")?;
    let pair = |from: usize, grid: (usize, usize)| -> Result<usize, Error> {
        let mut graph = GraphBuilder::new("pair");
        let [x, mid, y] = &buffers;
        let one = add.node().arg(x).arg(x).arg(mid.view(0..N - 1)?).threads(grid).group_size(32);
        graph.kernel("one", one.build()?)?;
        let two = add.node().arg(mid.view(from..from + N - 1)?).arg(x).arg(y);
        graph.kernel("two", two.threads(grid).group_size(32).build()?)?;
        graph.order_as_added();
        Ok(Executable::new(&graph.build()?, PlanOptions::default())?.plan().fused())
    };
    assert_eq!(pair(0, (64, 1))?, 1);
    assert_eq!(pair(1, (64, 1))?, 0, "the same elements under other indices");
    assert_eq!(pair(0, (64, 2))?, 0, "two threads at one position along the first axis");
    let rows = library.pipeline("rows")?;
    let pair = |widths: [u32; 2], grid: (usize, usize)| -> Result<usize, Error> {
        let mut graph = GraphBuilder::new("rows");
        let [x, mid, y] = &buffers;
        let one = rows.node().arg(x).arg(mid).arg(widths[0]).threads(grid).group_size((8, 4));
        graph.kernel("one", one.build()?)?;
        let two = rows.node().arg(mid).arg(y).arg(widths[1]).threads(grid).group_size((8, 4));
        graph.kernel("two", two.build()?)?;
        graph.order_as_added();
        Ok(Executable::new(&graph.build()?, PlanOptions::default())?.plan().fused())
    };
    assert_eq!(pair([20, 20], (20, 9))?, 1);
    assert_eq!(pair([20, 20], (19, 9))?, 1, "with gaps");
    assert_eq!(pair([20, 20], (21, 9))?, 0, "rows overlap");
    assert_eq!(pair([20, 21], (20, 9))?, 0, "rows of two lengths");
    Ok(())
}
