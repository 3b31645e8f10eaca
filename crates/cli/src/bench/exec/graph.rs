//! A graph of 100 small nodes, replayed, against the same work submitted in other ways. Results are checked.

use anymetal::{Buffer, Device, Error, Executable, GraphBuilder, PlanOptions, Queue, ResourceId};

use super::work::{Kernels, THREADS};
use super::{Figure, Goal, median, microseconds};

const NODES: usize = 100;

pub(super) fn figures(device: &Device, kernels: &Kernels, rounds: u32) -> Result<Vec<Figure>, Error> {
    let queue = device.queue()?;
    let buffers = [zeros(device)?, zeros(device)?];
    // One that keeps its buffers, and one that gets others for each run.
    let ((mut kept, parameters), (mut changing, changed)) = (chain(kernels)?, chain(kernels)?);
    kept.set_buffers([(parameters[0], buffers[0].region()), (parameters[1], buffers[1].region())])?;
    let spare = [[zeros(device)?, zeros(device)?], [zeros(device)?, zeros(device)?]];
    let replay = |graph: &Executable| Ok::<_, Error>(queue.submit_graph(graph)?.wait().map(drop)?);
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
    Ok(vec![
        figure(("100 submissions, each waited for", each), Goal::Faster(5.0)),
        figure(("100 submissions, the last waited for", last), Goal::None),
        figure(("one command buffer encoded by hand", hand), Goal::None),
        figure(("replayed with other buffers each time", changed), Goal::None),
    ])
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
    Ok((Executable::new(&builder.build()?, PlanOptions::default())?, parameters))
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
    Ok(last.map_or(Ok(()), |last| last.wait().map(drop))?)
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
    Ok(commands.commit()?.wait().map(drop)?)
}

fn check(buffers: &[Buffer<u32>; 2], expected: u32) -> Result<(), Error> {
    let got = buffers[0].read()?;
    assert!(got.iter().all(|&sum| sum == expected), "the graph computes {expected}, not {got:?}");
    Ok(())
}
