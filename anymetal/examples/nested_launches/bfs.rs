//! Breadth-first search: each level encodes the next, over as many threads as its frontier has nodes.

use std::collections::VecDeque;

use anymetal::{Buffer, Device, Error, Pipeline, Queue};

use crate::compare::{MAX_DEPTH, Outcome, PingPong, Took, compare, library, timed};

const NODES: usize = 400_000;
const DEGREE: usize = 8;
const GROUP: usize = 256;
const UNSEEN: u32 = u32::MAX;

const SOURCE: &str = r"
#include <metal_stdlib>
#include <metal_command_buffer>
using namespace metal;

// The nodes of a level, and how many; two of them take turns.
struct Frontier { device uint* nodes; device atomic_uint* count; };

static void visit(device const uint* offsets, device const uint* edges, device atomic_uint* level_of, uint node,
                  uint level, Frontier next) {
    for (uint at = offsets[node]; at < offsets[node + 1]; at++) {
        uint unseen = 0xffffffff;
        uint other = edges[at];
        if (atomic_load_explicit(level_of + other, memory_order_relaxed) != unseen) continue;
        if (!atomic_compare_exchange_weak_explicit(level_of + other, &unseen, level + 1, memory_order_relaxed,
                                                   memory_order_relaxed)) continue;
        next.nodes[atomic_fetch_add_explicit(next.count, 1u, memory_order_relaxed)] = other;
    }
}

kernel void expand(device const uint* offsets [[buffer(0)]], device const uint* edges [[buffer(1)]],
                   device atomic_uint* level_of [[buffer(2)]], device const uint* nodes [[buffer(3)]],
                   device uint* next [[buffer(4)]], device atomic_uint* next_count [[buffer(5)]],
                   device const uint* level [[buffer(6)]], uint i [[thread_position_in_grid]]) {
    Frontier frontier = { next, next_count };
    visit(offsets, edges, level_of, nodes[i], *level, frontier);
}

// Counts, for the host's form too: of the frontier that was expanded, and of the next.
kernel void advance(device uint* level [[buffer(0)]], device uint* count [[buffer(1)]]) {
    ++*level;
    *count = 0;
}

struct Nested { command_buffer commands[2]; compute_pipeline_state expand; compute_pipeline_state plan; };

// state: the level, then the counts of both frontiers; ranges: of both indirect command buffers.
kernel void plan(constant Nested& nested [[buffer(0)]], device const uint* offsets [[buffer(1)]],
                 device const uint* edges [[buffer(2)]], device uint* level_of [[buffer(3)]],
                 device uint* frontiers [[buffer(4)]], device uint* state [[buffer(5)]],
                 device uint* ranges [[buffer(6)]], constant uint& capacity [[buffer(7)]]) {
    uint parity = ++state[0] & 1;
    device uint* counts = state + 1;
    uint count = counts[parity];
    counts[1 - parity] = 0;
    ranges[4 * parity + 1] = count == 0 ? 0 : 2;
    if (count == 0) return;
    device uint* nodes = frontiers + parity * capacity;
    device uint* next = frontiers + (1 - parity) * capacity;
    compute_command expand(nested.commands[parity], 0);
    expand.set_compute_pipeline_state(nested.expand);
    expand.set_kernel_buffer(offsets, 0);
    expand.set_kernel_buffer(edges, 1);
    expand.set_kernel_buffer(level_of, 2);
    expand.set_kernel_buffer(nodes, 3);
    expand.set_kernel_buffer(next, 4);
    expand.set_kernel_buffer(counts + (1 - parity), 5);
    expand.set_kernel_buffer(state, 6);
    expand.concurrent_dispatch_threads(uint3(count, 1, 1), uint3(256, 1, 1));
    compute_command again(nested.commands[parity], 1);
    again.set_compute_pipeline_state(nested.plan);
    again.set_barrier();
    again.set_kernel_buffer(&nested, 0);
    again.set_kernel_buffer(offsets, 1);
    again.set_kernel_buffer(edges, 2);
    again.set_kernel_buffer(level_of, 3);
    again.set_kernel_buffer(frontiers, 4);
    again.set_kernel_buffer(state, 5);
    again.set_kernel_buffer(ranges, 6);
    again.set_kernel_buffer(&capacity, 7);
    again.concurrent_dispatch_threadgroups(uint3(1), uint3(1));
}
";

/// A graph, and what plain Rust finds.
struct Graph {
    offsets: Vec<u32>,
    edges: Vec<u32>,
    level_of: Vec<u32>,
    /// How many nodes each level has.
    level_sizes: Vec<usize>,
}

impl Graph {
    /// Each node has edges to nodes nearby, and some far away, so that there are many levels.
    fn new() -> Graph {
        let mut seed = 1u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let mut edges = Vec::with_capacity(NODES * DEGREE);
        for node in 0..NODES {
            for edge in 0..DEGREE {
                let to = if edge == 0 && node % 8 == 0 { random(NODES) } else { node + random(2000) };
                edges.push((to % NODES) as u32);
            }
        }
        let offsets = (0..=NODES).map(|node| (node * DEGREE) as u32).collect();
        let mut graph = Graph { offsets, edges, level_of: Vec::new(), level_sizes: Vec::new() };
        graph.search();
        graph
    }

    fn search(&mut self) {
        let mut level_of = vec![UNSEEN; NODES];
        let mut left = VecDeque::from([0usize]);
        level_of[0] = 0;
        while let Some(node) = left.pop_front() {
            let level = level_of[node];
            if self.level_sizes.len() <= level as usize {
                self.level_sizes.push(0);
            }
            self.level_sizes[level as usize] += 1;
            for &other in &self.edges[node * DEGREE..(node + 1) * DEGREE] {
                if level_of[other as usize] == UNSEEN {
                    level_of[other as usize] = level + 1;
                    left.push_back(other as usize);
                }
            }
        }
        self.level_of = level_of;
    }
}

/// Everything on the device.
struct Search {
    graph: Graph,
    queue: Queue,
    expand: Pipeline,
    advance: Pipeline,
    plan: Pipeline,
    offsets: Buffer<u32>,
    edges: Buffer<u32>,
    level_of: Buffer<u32>,
    frontiers: Buffer<u32>,
    state: Buffer<u32>,
    nested: PingPong,
    handles: Buffer<u64>,
    capacity: Buffer<u32>,
}

impl Search {
    fn new(device: &Device) -> Outcome<Search> {
        let (graph, library) = (Graph::new(), library(device, SOURCE)?);
        let [expand, advance, plan] = ["expand", "advance", "plan"].map(|name| library.pipeline(name));
        let (expand, advance, plan) = (expand?, advance?, plan?);
        let nested = PingPong::new(device, 2, 8)?;
        let [one, other] = [0, 1].map(|at: usize| nested.commands[at].gpu_resource_id());
        let handles = [one, other, expand.gpu_resource_id(), plan.gpu_resource_id()];
        Ok(Search {
            queue: device.queue()?,
            offsets: device.buffer(&graph.offsets)?,
            edges: device.buffer(&graph.edges)?,
            level_of: device.buffer(&graph.level_of)?,
            frontiers: device.buffer_zeroed(2 * NODES)?,
            state: device.buffer_zeroed(3)?,
            handles: device.buffer(&handles)?,
            capacity: device.buffer(&[NODES as u32])?,
            expand,
            advance,
            plan,
            nested,
            graph,
        })
    }

    /// Node 0 is the only one that was reached.
    fn begin(&self, state: [u32; 3]) -> Result<(), Error> {
        let mut level_of = vec![UNSEEN; NODES];
        level_of[0] = 0;
        self.level_of.write(&level_of)?;
        self.frontiers.write_at(0, &[0])?;
        self.state.write(&state)
    }

    fn check(&self) -> Outcome<()> {
        match self.level_of.read()? == self.graph.level_of {
            true => Ok(()),
            false => Err("the levels of the search differ from plain Rust's".into()),
        }
    }

    /// The first plan is for the frontier of node 0; all else follows on the device.
    fn nested(&self) -> Outcome<Took> {
        self.begin([u32::MAX, 1, 0])?;
        let took = timed(|| {
            let mut commands = self.queue.command_buffer()?;
            let mut encoder = commands.compute_encoder();
            encoder.set_pipeline(&self.plan);
            encoder.use_indirect_command_buffer(&self.nested.commands[0])?;
            encoder.use_indirect_command_buffer(&self.nested.commands[1])?;
            encoder.set_buffer(0, &self.handles, 0)?;
            let arguments = [&self.offsets, &self.edges, &self.level_of, &self.frontiers, &self.state];
            for (argument, index) in
                arguments.into_iter().chain([&self.nested.ranges, &self.capacity]).zip(1..)
            {
                encoder.set_buffer(index, argument, 0)?;
            }
            encoder.dispatch_threads(1, 1)?;
            let ranges = [self.nested.ranges.view(0..2)?, self.nested.ranges.view(4..6)?];
            let [one, other] = &self.nested.commands;
            encoder.execute_commands_while_encoded(&[(one, &ranges[0]), (other, &ranges[1])], MAX_DEPTH)?;
            encoder.end_encoding();
            commands.commit()?.wait().map(drop)
        })?;
        self.check()?;
        Ok(took)
    }

    /// The host knows how many nodes each level has.
    fn host_driven(&self) -> Outcome<Took> {
        self.begin([0, 1, 0])?;
        let took = timed(|| {
            let mut commands = self.queue.command_buffer()?;
            for (level, &size) in self.graph.level_sizes.iter().enumerate() {
                let (parity, other) = (level % 2, 1 - level % 2);
                let mut encoder = commands.compute_encoder();
                encoder.set_pipeline(&self.expand);
                for (argument, index) in [&self.offsets, &self.edges, &self.level_of].into_iter().zip(0..) {
                    encoder.set_buffer(index, argument, 0)?;
                }
                encoder.set_buffer(3, &self.frontiers, parity * NODES)?;
                encoder.set_buffer(4, &self.frontiers, other * NODES)?;
                encoder.set_buffer(5, &self.state, 1 + other)?;
                encoder.set_buffer(6, &self.state, 0)?;
                encoder.dispatch_threads(size, GROUP)?;
                encoder.set_pipeline(&self.advance);
                encoder.set_buffer(0, &self.state, 0)?;
                encoder.set_buffer(1, &self.state, 1 + parity)?;
                encoder.dispatch_threads(1, 1)?;
                encoder.end_encoding();
            }
            commands.commit()?.wait().map(drop)
        })?;
        self.check()?;
        Ok(took)
    }
}

pub(crate) fn run(device: &Device) -> Outcome<()> {
    let search = Search::new(device)?;
    let levels = search.graph.level_sizes.len();
    let what = format!("breadth-first search, {NODES} nodes, {} edges, {levels} levels", NODES * DEGREE);
    compare(&what, || search.nested(), || search.host_driven())
}
