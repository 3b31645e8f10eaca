//! A quadtree of points: each node's launch sorts its points into quadrants and encodes a launch for each
//! quadrant that has too many.

use std::path::Path;

use anymetal::{Buffer, Device, Error, Pipeline, Queue};

use crate::compare::{MAX_DEPTH, Outcome, PingPong, Took, compare, library, timed};
use crate::picture;

const POINTS: usize = 200_000;
/// A node with more points has children.
const LEAF: u32 = 256;
const MAX_LEVEL: u32 = 12;
const MAX_NODES: usize = 1 << 14;
const GROUP: u32 = 256;
/// Words of a node: the first point, the count, the corner and the level, the first child or 0.
const NODE_WORDS: usize = 6;
/// Points have coordinates below this.
const EXTENT: u32 = 1 << 16;

const SOURCE: &str = r"
#include <metal_stdlib>
#include <metal_command_buffer>
using namespace metal;

struct Node { uint first, count; ushort2 corner; uint level, children, reserved; };
struct Nested { command_buffer commands[2]; compute_pipeline_state split; };

static uint quadrant(ushort2 point, Node node) {
    ushort half_size = ushort(0x8000 >> node.level);
    return (point.x - node.corner.x >= half_size ? 1 : 0) + (point.y - node.corner.y >= half_size ? 2 : 0);
}

// Sorts a node's points from one array to the other. Children that need it are split into the first array
// again, so the level says which is which. Gives the first child, or 0.
static uint sort(device Node* nodes, device Node& node, device ushort2* points, uint count,
                 device atomic_uint* node_count, threadgroup atomic_uint* totals, threadgroup uint* starts,
                 threadgroup uint* children, uint lane, uint size) {
    Node own = node;
    device ushort2* from = points + (own.level & 1) * count + own.first;
    device ushort2* to = points + (1 - (own.level & 1)) * count + own.first;
    if (lane < 4) atomic_store_explicit(totals + lane, 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint mine[4] = { 0, 0, 0, 0 };
    for (uint i = lane; i < own.count; i += size) mine[quadrant(from[i], own)]++;
    uint places[4];
    for (uint q = 0; q < 4; q++) places[q] = atomic_fetch_add_explicit(totals + q, mine[q], memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) {
        uint start = 0, first = atomic_fetch_add_explicit(node_count, 4u, memory_order_relaxed);
        ushort half_size = ushort(0x8000 >> own.level);
        for (uint q = 0; q < 4; q++) {
            uint total = atomic_load_explicit(totals + q, memory_order_relaxed);
            ushort2 corner = own.corner + ushort2(q & 1 ? half_size : 0, q & 2 ? half_size : 0);
            nodes[first + q] = { own.first + start, total, corner, own.level + 1, 0, 0 };
            starts[q] = start;
            start += total;
        }
        node.children = first;
        *children = first;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint q = 0; q < 4; q++) places[q] += starts[q];
    for (uint i = lane; i < own.count; i += size) {
        ushort2 point = from[i];
        to[places[quadrant(point, own)]++] = point;
    }
    return *children;
}

#define SPLIT_ARGUMENTS \
    device Node* nodes [[buffer(0)]], device Node& node [[buffer(1)]], device ushort2* points [[buffer(2)]], \
    constant uint& count [[buffer(3)]], device atomic_uint* node_count [[buffer(4)]]
#define SPLIT_THREADS \
    uint lane [[thread_position_in_threadgroup]], uint size [[threads_per_threadgroup]]
#define SORT \
    threadgroup atomic_uint totals[4]; \
    threadgroup uint starts[4], children; \
    uint first = sort(nodes, node, points, count, node_count, totals, starts, &children, lane, size);

kernel void split_only(SPLIT_ARGUMENTS, SPLIT_THREADS) { SORT }

// Before the nodes of a level: the next level has none yet.
kernel void clear(device uint* range [[buffer(0)]]) {
    range[0] = range[1] = 0;
    range[2] = 1;
}

kernel void split(SPLIT_ARGUMENTS, constant Nested& nested [[buffer(5)]], device uint* ranges [[buffer(6)]],
                  constant uint2& limits [[buffer(7)]], SPLIT_THREADS) {
    SORT
    if (lane >= 4) return;
    device Node& child = nodes[first + lane];
    if (child.count <= limits.x || child.level >= limits.y) return;
    uint parity = child.level & 1;
    device atomic_uint* range = (device atomic_uint*)(ranges + 4 * parity);
    // The first command clears the range of the level after.
    uint place = atomic_fetch_add_explicit(range + 2, 1u, memory_order_relaxed);
    atomic_fetch_max_explicit(range + 1, place + 1, memory_order_relaxed);
    compute_command command(nested.commands[parity], place);
    command.set_compute_pipeline_state(nested.split);
    command.set_barrier();
    command.set_kernel_buffer(nodes, 0);
    command.set_kernel_buffer(&child, 1);
    command.set_kernel_buffer(points, 2);
    command.set_kernel_buffer(&count, 3);
    command.set_kernel_buffer(node_count, 4);
    command.set_kernel_buffer(&nested, 5);
    command.set_kernel_buffer(ranges, 6);
    command.set_kernel_buffer(&limits, 7);
    command.concurrent_dispatch_threadgroups(uint3(1), uint3(size, 1, 1));
}
";

/// A node of plain Rust's tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Cell {
    level: u32,
    corner: [u16; 2],
    count: u32,
}

/// Points in clusters, and the tree that plain Rust makes of them.
struct Reference {
    points: Vec<[u16; 2]>,
    cells: Vec<Cell>,
}

impl Reference {
    fn new() -> Reference {
        let mut seed = 7u64;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u32 % below
        };
        let mut points = Vec::with_capacity(POINTS);
        while points.len() < POINTS {
            let (center, width) = ([random(EXTENT), random(EXTENT)], 600 + random(16_000));
            for _ in 0..2000.min(POINTS - points.len()) {
                let mut near = |at: u32| (at + random(width) + random(width)) % EXTENT;
                points.push(center.map(|at| near(at) as u16));
            }
        }
        let mut reference = Reference { points: points.clone(), cells: Vec::new() };
        reference.divide(&points, 0, [0, 0]);
        reference.cells.sort_unstable();
        reference
    }

    fn divide(&mut self, points: &[[u16; 2]], level: u32, corner: [u16; 2]) {
        self.cells.push(Cell { level, corner, count: points.len() as u32 });
        if points.len() as u32 <= LEAF || level >= MAX_LEVEL {
            return;
        }
        let half = (EXTENT / 2) >> level;
        for quadrant in 0..4u32 {
            let inside = |point: &&[u16; 2]| {
                let far = [0, 1].map(|axis| u32::from(point[axis] - corner[axis]) >= half);
                u32::from(far[0]) + 2 * u32::from(far[1]) == quadrant
            };
            let own: Vec<[u16; 2]> = points.iter().filter(inside).copied().collect();
            let moved = [quadrant & 1, quadrant >> 1].map(|far| (far * half) as u16);
            self.divide(&own, level + 1, [corner[0] + moved[0], corner[1] + moved[1]]);
        }
    }
}

struct Tree {
    reference: Reference,
    queue: Queue,
    split: Pipeline,
    /// Of the commands that the host encodes, whose pipeline must exist.
    _clear: Pipeline,
    split_only: Pipeline,
    nodes: Buffer<u32>,
    points: Buffer<[u16; 2]>,
    count: Buffer<u32>,
    node_count: Buffer<u32>,
    limits: Buffer<u32>,
    handles: Buffer<u64>,
    nested: PingPong,
    /// The nodes that a nested run split, level by level, for the host's form.
    split_nodes: Vec<usize>,
}

impl Tree {
    fn new(device: &Device) -> Outcome<Tree> {
        let (reference, library) = (Reference::new(), library(device, SOURCE)?);
        let (split, clear) = (library.pipeline("split")?, library.pipeline("clear")?);
        let nested = PingPong::new(device, MAX_NODES as u32, 8)?;
        for (at, commands) in nested.commands.iter().enumerate() {
            let mut command = commands.command(0)?;
            command.set_pipeline(&clear)?.set_buffer(0, &nested.ranges, 4 * (1 - at))?;
            command.dispatch_threads(1, 1)?;
        }
        let [one, other] = [0, 1].map(|at: usize| nested.commands[at].gpu_resource_id());
        Ok(Tree {
            queue: device.queue()?,
            split_only: library.pipeline("split_only")?,
            nodes: device.buffer_zeroed(MAX_NODES * NODE_WORDS)?,
            points: device.buffer_zeroed(2 * POINTS)?,
            count: device.buffer(&[POINTS as u32])?,
            node_count: device.buffer_zeroed(1)?,
            limits: device.buffer(&[LEAF, MAX_LEVEL])?,
            handles: device.buffer(&[one, other, split.gpu_resource_id()])?,
            split,
            _clear: clear,
            nested,
            reference,
            split_nodes: Vec::new(),
        })
    }

    fn begin(&self) -> Result<(), Error> {
        self.points.write(&self.reference.points)?;
        self.nodes.write(&[0, POINTS as u32, 0, 0, 0, 0])?;
        self.node_count.write(&[1])?;
        // The root is at level 0; its children are in the second indirect command buffer.
        self.nested.ranges.write(&[0, 0, 1, 0, 0, 0, 1, 0])
    }

    /// The cells, sorted, and the nodes that have children, by level.
    fn cells(&self) -> Result<(Vec<Cell>, Vec<usize>), Error> {
        let (nodes, count) = (self.nodes.read()?, self.node_count.read()?[0] as usize);
        let nodes = || nodes.as_chunks::<NODE_WORDS>().0.iter().take(count);
        let cell = |node: &[u32; NODE_WORDS]| Cell {
            level: node[3],
            corner: [node[2] as u16, (node[2] >> 16) as u16],
            count: node[1],
        };
        let mut cells: Vec<Cell> = nodes().map(cell).collect();
        cells.sort_unstable();
        let mut split: Vec<(u32, usize)> = nodes().map(|node| node[3]).zip(0..).collect();
        split.retain(|&(_, at)| nodes().nth(at).is_some_and(|node| node[4] != 0));
        split.sort_unstable();
        Ok((cells, split.into_iter().map(|(_, at)| at).collect()))
    }

    fn check(&self) -> Outcome<()> {
        match self.cells()?.0 == self.reference.cells {
            true => Ok(()),
            false => Err("the quadtree differs from plain Rust's".into()),
        }
    }

    fn nested(&self) -> Outcome<Took> {
        self.begin()?;
        let took = timed(|| {
            let mut commands = self.queue.command_buffer()?;
            let mut encoder = commands.compute_encoder();
            encoder.set_pipeline(&self.split);
            encoder.use_indirect_command_buffer(&self.nested.commands[0])?;
            encoder.use_indirect_command_buffer(&self.nested.commands[1])?;
            self.bind_split(&mut encoder, 0)?;
            encoder.set_buffer(5, &self.handles, 0)?;
            encoder.set_buffer(6, &self.nested.ranges, 0)?;
            encoder.set_buffer(7, &self.limits, 0)?;
            encoder.dispatch_threadgroups(1, GROUP)?;
            let ranges = [self.nested.ranges.view(4..6)?, self.nested.ranges.view(0..2)?];
            let [one, other] = &self.nested.commands;
            encoder.execute_commands_while_encoded(&[(other, &ranges[0]), (one, &ranges[1])], MAX_DEPTH)?;
            encoder.end_encoding();
            commands.commit()?.wait().map(drop)
        })?;
        self.check()?;
        Ok(took)
    }

    fn bind_split(&self, encoder: &mut anymetal::ComputeEncoder<'_>, node: usize) -> Result<(), Error> {
        encoder.set_buffer(0, &self.nodes, 0)?;
        encoder.set_buffer(1, &self.nodes, node * NODE_WORDS)?;
        encoder.set_buffer(2, &self.points, 0)?;
        encoder.set_buffer(3, &self.count, 0)?;
        encoder.set_buffer(4, &self.node_count, 0)
    }

    /// The host knows which nodes have children. Those of one level may take their places in another order
    /// than before, so the host's form splits in order, where each node's children come next.
    fn host_driven(&self) -> Outcome<Took> {
        self.begin()?;
        let took = timed(|| self.split_in_order())?;
        self.check()?;
        Ok(took)
    }

    fn split_in_order(&self) -> Result<(), Error> {
        let mut commands = self.queue.command_buffer()?;
        let mut encoder = commands.compute_encoder();
        encoder.set_pipeline(&self.split_only);
        for &node in &self.split_nodes {
            self.bind_split(&mut encoder, node)?;
            encoder.dispatch_threadgroups(1, GROUP)?;
        }
        encoder.end_encoding();
        commands.commit()?.wait().map(drop)
    }

    /// Learns which nodes have children when they are split in order.
    fn learn(&mut self) -> Outcome<()> {
        self.split_nodes = vec![0];
        loop {
            self.begin()?;
            self.split_in_order()?;
            let nodes = self.nodes.read()?;
            let count = self.node_count.read()?[0] as usize;
            let too_large = nodes
                .as_chunks::<NODE_WORDS>()
                .0
                .iter()
                .take(count)
                .map(|node| node[1] > LEAF && node[3] < MAX_LEVEL);
            let wanted: Vec<usize> =
                too_large.enumerate().filter(|&(_, too_large)| too_large).map(|(at, _)| at).collect();
            if wanted == self.split_nodes {
                return Ok(());
            }
            self.split_nodes = wanted;
        }
    }

    fn draw(&self, folder: &Path) -> Outcome<()> {
        let size = 1024usize;
        let scale = EXTENT as usize / size;
        let mut pixels = vec![[12u8, 14, 24]; size * size];
        for cell in &self.reference.cells {
            let [x, y] = cell.corner.map(|at| usize::from(at) / scale);
            let extent = (size >> cell.level).max(1);
            for step in 0..extent {
                pixels[y * size + (x + step).min(size - 1)] = [70, 90, 140];
                pixels[(y + step).min(size - 1) * size + x] = [70, 90, 140];
            }
        }
        for [x, y] in &self.reference.points {
            let pixel = &mut pixels[usize::from(*y) / scale * size + usize::from(*x) / scale];
            *pixel = [pixel[0].saturating_add(60), pixel[1].saturating_add(55), pixel[2].saturating_add(20)];
        }
        picture::write(folder, "quadtree.png", size, &pixels)
    }
}

pub(crate) fn run(device: &Device, pictures: Option<&Path>) -> Outcome<()> {
    let mut tree = Tree::new(device)?;
    tree.nested()?;
    tree.learn()?;
    let (cells, launches) = (tree.reference.cells.len(), tree.split_nodes.len());
    let what = format!("quadtree, {POINTS} points, {cells} nodes, {launches} launches");
    compare(&what, || tree.nested(), || tree.host_driven())?;
    pictures.map_or(Ok(()), |folder| tree.draw(folder))
}
