//! A graph of 100 small nodes, replayed, against the same work submitted in other ways. Results are checked.

use anymetal::graph::{Executable, GraphBuilder, HostNode, PlanOptions, ResourceId, ValueId};
use anymetal::{Buffer, Device, Error, Queue};

use super::work::{Kernels, THREADS};
use super::{Figure, Goal, median, microseconds};

const NODES: usize = 100;
/// Chains of the partitioned graph, and its queues.
const LANES: usize = 3;
/// Nodes of each chain: 96 in all.
const LANE_NODES: usize = 32;
/// The cost per node is measured, so nodes must not be merged.
const APART: PlanOptions = PlanOptions::new().fusion(false);
/// Elements of the buffers of a chain that is fused, and its kernels.
const FUSED_ELEMENTS: usize = 1 << 22;
const FUSED_NODES: usize = 4;

pub(super) fn figures(device: &Device, kernels: &Kernels, rounds: u32) -> Result<Vec<Figure>, Error> {
    let queue = device.queue()?;
    let buffers = [zeros(device)?, zeros(device)?];
    // One that keeps its buffers, and one that gets others for each run.
    let ((mut kept, parameters), (mut changing, changed)) = (chain(kernels)?, chain(kernels)?);
    kept.set_buffers([(parameters[0], buffers[0].region()), (parameters[1], buffers[1].region())])?;
    let spare = [[zeros(device)?, zeros(device)?], [zeros(device)?, zeros(device)?]];
    let replay = |graph: &Executable| queue.submit_graph(graph)?.wait().map(drop);
    // The device encodes it in its second run.
    (0..2).try_for_each(|_| replay(&kept))?;
    let mut runs = 2;
    let mut times = [const { Vec::new() }; 5];
    for round in 0..20 * rounds as usize {
        times[0].push(microseconds(|| replay(&kept))?);
        times[1].push(microseconds(|| singly(&queue, kernels, &buffers, true))?);
        times[2].push(microseconds(|| singly(&queue, kernels, &buffers, false))?);
        times[3].push(microseconds(|| by_hand(&queue, kernels, &buffers))?);
        let [one, other] = &spare[round % 2];
        times[4].push(microseconds(|| {
            changing.set_buffers([(changed[0], one.region()), (changed[1], other.region())])?;
            replay(&changing)
        })?);
        runs += 4;
        let of_a_run: u32 = (0..NODES as u32).sum();
        check(&buffers, runs * of_a_run)?;
        check(&spare[round % 2], (round as u32 / 2 + 1) * of_a_run)?;
    }
    let [replayed, each, last, hand, changed] = times.map(median);
    let figure = |plain, goal| Figure::new("graph of 100 small nodes, replayed", "µs", replayed, plain, goal);
    let [spread, hosted] =
        [in_pieces(device, kernels, rounds, false)?, in_pieces(device, kernels, rounds, true)?];
    Ok(vec![
        figure(("100 submissions, each waited for", each), Goal::Faster(5.0)),
        figure(("100 submissions, the last waited for", last), Goal::None),
        figure(("one command buffer encoded by hand", hand), Goal::None),
        figure(("replayed with other buffers each time", changed), Goal::None),
        spread,
        hosted,
        fused(device, kernels, rounds)?,
    ])
}

/// A chain of elementwise kernels, all intermediate results kept, as one launch and as one for each kernel.
fn fused(device: &Device, kernels: &Kernels, rounds: u32) -> Result<Figure, Error> {
    let zeros = || device.buffer_zeroed(FUSED_ELEMENTS);
    let buffers = (0..=FUSED_NODES).map(|_| zeros()).collect::<Result<Vec<Buffer<u32>>, Error>>()?;
    let mut builder = GraphBuilder::new("elementwise");
    for (number, pair) in buffers.windows(2).enumerate() {
        let call = kernels.step.node().arg(&pair[0]).arg(&pair[1]).arg(7);
        builder.kernel(format!("step {number}"), call.threads(FUSED_ELEMENTS).build()?)?;
    }
    builder.order_as_added();
    let graph = builder.build()?;
    let graphs = [Executable::new(&graph, PlanOptions::default())?, Executable::new(&graph, APART)?];
    assert_eq!(graphs.each_ref().map(|graph| graph.plan().fused()), [FUSED_NODES - 1, 0]);
    let queue = device.queue()?;
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..4 * rounds {
        for (graph, times) in graphs.iter().zip(&mut times) {
            times.push(microseconds(|| queue.submit_graph(graph)?.wait().map(drop))?);
        }
    }
    for (number, buffer) in (0..).zip(&buffers) {
        let got = buffer.read()?;
        assert!(got.iter().all(|&got| got == 7 * number), "buffer {number} holds {}", got[0]);
    }
    let [fused, apart] = times.map(median);
    let name = "chain of 4 elementwise kernels over 2^22 numbers, fused";
    Ok(Figure::new(name, "µs", fused, ("one launch for each", apart), Goal::None))
}

/// Three chains of small nodes, replayed over three queues, or on one with a host node after each chain: with
/// the same arguments, which the device has encoded, against others each time, as every run was before it
/// encoded pieces.
fn in_pieces(device: &Device, kernels: &Kernels, rounds: u32, hosted: bool) -> Result<Figure, Error> {
    let (queue, queues) = (device.queue()?, device.queues(LANES)?);
    let buffers = (0..2 * LANES).map(|_| zeros(device)).collect::<Result<Vec<_>, Error>>()?;
    let ((kept, _), (mut changing, offset)) =
        (chains(kernels, &buffers, hosted)?, chains(kernels, &buffers, hosted)?);
    let replay = |graph: &Executable| match hosted {
        true => queue.run_graph(graph).map(drop),
        false => Ok(queues.submit_graph(graph)?.wait().map(drop)?),
    };
    (0..2).try_for_each(|_| replay(&kept))?;
    let (mut same, mut other, mut sum) = (Vec::new(), Vec::new(), 0);
    for round in 0..20 * rounds {
        same.push(microseconds(|| replay(&kept))?);
        other.push(microseconds(|| {
            changing.set_value(offset, round)?;
            replay(&changing)
        })?);
        sum += round;
    }
    // The first node of each chain adds the offset, 7 if it is kept.
    let of_a_run: u32 = (1..LANE_NODES as u32).sum();
    let expected = (2 + 40 * rounds) * of_a_run + (2 + 20 * rounds) * KEPT_OFFSET + sum;
    for chain in buffers.chunks(2) {
        let got = chain[0].read()?;
        assert!(got.iter().all(|&got| got == expected), "the chains compute {expected}, not {got:?}");
    }
    let name = match hosted {
        true => "graph of 96 small nodes and 3 on the host, replayed",
        false => "graph of 96 small nodes on three queues, replayed",
    };
    let plain = ("with another argument each time", median(other));
    Ok(Figure::new(name, "µs", median(same), plain, Goal::None))
}

const KEPT_OFFSET: u32 = 7;

/// Three chains that share nothing; with `hosted` a host node separates each from the next.
fn chains(kernels: &Kernels, buffers: &[Buffer<u32>], hosted: bool) -> Result<(Executable, ValueId), Error> {
    let mut builder = GraphBuilder::new("chains");
    let offset = builder.value("offset", KEPT_OFFSET)?;
    let mut told = None;
    for (chain, pair) in buffers.chunks(2).enumerate() {
        let pair = [
            builder.buffer(format!("x{chain}"), pair[0].region())?,
            builder.buffer(format!("y{chain}"), pair[1].region())?,
        ];
        for node in 0..LANE_NODES {
            let [from, to] = [pair[node % 2], pair[(node + 1) % 2]];
            let call = kernels.step.node().arg(from).arg(to);
            let call = if node == 0 { call.arg(offset) } else { call.arg(node) };
            let kernel = call.threads(THREADS).group_size(THREADS).build()?;
            let kernel = builder.kernel(format!("step {node} of {chain}"), kernel)?;
            if let Some(told) = told.filter(|_| node == 0) {
                builder.edge(told, kernel)?;
            }
        }
        if hosted {
            let all =
                pair.iter().fold(HostNode::new(|_context| Ok(())), |host, resource| host.reads(*resource));
            told = Some(builder.host(format!("look at {chain}"), all)?);
        }
    }
    builder.order_as_added();
    Ok((Executable::new(&builder.build()?, APART)?, offset))
}

fn zeros(device: &Device) -> Result<Buffer<u32>, Error> {
    device.buffer_zeroed(THREADS as usize)
}

/// A chain of kernels between two parameters.
fn chain(kernels: &Kernels) -> Result<(Executable, [ResourceId; 2]), Error> {
    let bytes = u64::from(THREADS) * 4;
    let mut builder = GraphBuilder::new("chain");
    let parameters = [builder.parameter("x", bytes)?, builder.parameter("y", bytes)?];
    for node in 0..NODES {
        let [from, to] = [parameters[node % 2], parameters[(node + 1) % 2]];
        let call = kernels.step.node().arg(from).arg(to).arg(node).threads(THREADS).group_size(THREADS);
        builder.kernel(format!("step {node}"), call.build()?)?;
    }
    builder.order_as_added();
    Ok((Executable::new(&builder.build()?, APART)?, parameters))
}

/// Each node its own submission.
fn singly(queue: &Queue, kernels: &Kernels, buffers: &[Buffer<u32>; 2], wait: bool) -> Result<(), Error> {
    let mut last = None;
    for node in 0..NODES {
        let (from, to) = (&buffers[node % 2], &buffers[(node + 1) % 2]);
        let launch = queue.launch(&kernels.step).arg(from).arg(to).arg(node);
        let submission = launch.threads(THREADS).group_size(THREADS).submit()?;
        if wait {
            submission.wait()?;
        }
        last = Some(submission);
    }
    last.map_or(Ok(()), |last| last.wait().map(drop))
}

/// All nodes in one command buffer, encoded anew.
fn by_hand(queue: &Queue, kernels: &Kernels, buffers: &[Buffer<u32>; 2]) -> Result<(), Error> {
    let mut commands = queue.command_buffer()?;
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&kernels.step);
    for node in 0..NODES {
        encoder.set_buffer(0, &buffers[node % 2], 0)?;
        encoder.set_buffer(1, &buffers[(node + 1) % 2], 0)?;
        encoder.set_argument(2, node);
        encoder.dispatch_threads(THREADS, THREADS)?;
    }
    encoder.end_encoding();
    commands.commit()?.wait().map(drop)
}

fn check(buffers: &[Buffer<u32>; 2], expected: u32) -> Result<(), Error> {
    let got = buffers[0].read()?;
    assert!(got.iter().all(|&sum| sum == expected), "the graph computes {expected}, not {got:?}");
    Ok(())
}
