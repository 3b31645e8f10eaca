//! Running: on a queue, on a stream, over several streams; whole, or in pieces where the host has a part.
//!
//! Invariant: a piece begins when all before it has ended.

use std::cell::RefCell;
use std::time::Duration;

use anymetal_hal::command::{Command, CommandList, Deadline};
use anymetal_hal::completion::Completion;
use anymetal_hal::queue::Queue;
use anymetal_telemetry::record;
use anymetal_telemetry::span::{self, Span};

use super::Executable;
use crate::graph::encodings::{Prepared, RunMode};
use crate::graph::error::GraphError;
use crate::graph::node::{CheckedCondition, Conditional, HostContext, HostWork, Node, NodeWork};
use crate::graph::partition::{Partition, partitions};
use crate::graph::plan::PassKind;
use crate::stream::Stream;
use crate::submission as stream;
use crate::submission::command_buffer::CommandBuffer;

impl Executable {
    /// Submits the whole graph to a bare queue as one command buffer and does not wait. Refused for graphs
    /// with host nodes.
    pub fn submit(&self, queue: &dyn Queue) -> Result<Completion, GraphError> {
        let (commands, label) = (self.commands(self.order())?, self.graph.data.name.clone());
        Ok(queue.submit(CommandList::new(commands).label(label))?)
    }

    /// Submits the whole graph to a stream as one command buffer and does not wait. From the second time with
    /// the same arguments on the device has it in a form that costs no checks and no encoding. Refused for
    /// graphs with host nodes.
    pub fn submit_to(&self, stream: &Stream) -> Result<stream::CommittedCommands, GraphError> {
        self.submit_within(stream, Deadline::Default)
    }

    /// As [`Executable::submit_to`], with a limit for the time that the device takes for all of it.
    pub fn submit_within(
        &self,
        stream: &Stream,
        deadline: Deadline,
    ) -> Result<stream::CommittedCommands, GraphError> {
        let span = self.replayed(stream, "whole");
        let _entered = span.enter();
        let prepared = self.prepare(stream, RunMode::Whole);
        Ok(self.partition(stream, &prepared, 0)?.deadline(deadline).commit())
    }

    /// Records a run.
    fn replayed(&self, stream: &Stream, mode: &'static str) -> Span {
        let device = stream.context().device().name();
        record::graph_replay(device, mode);
        span::graph(device, &self.graph.data.name, mode)
    }

    /// A way of running this graph, with what the stream's device has encoded of it.
    fn prepare(&self, stream: &Stream, mode: RunMode) -> Prepared {
        let divide = || match mode {
            RunMode::Whole => vec![Partition::alone(self.order().collect())],
            RunMode::Over(streams) => partitions(&self.plan, streams),
            RunMode::BetweenHostNodes => self.device_segments(),
        };
        let commands = |nodes: &[usize]| self.commands(nodes.iter().copied()).ok();
        self.encodings.prepare(mode, stream.context().device(), divide, commands)
    }

    /// A command buffer with one part of the graph.
    fn partition(
        &self,
        stream: &Stream,
        prepared: &Prepared,
        number: usize,
    ) -> Result<CommandBuffer, GraphError> {
        // A trace tells the nodes one by one.
        let encoded = prepared.encoded(number).filter(|_| stream.context().trace().is_none());
        match encoded {
            None => self.command_buffer(stream, prepared.partitions[number].nodes.iter().copied()),
            Some(encoded) => {
                let mut command_buffer = stream.command_buffer()?.label(self.graph.data.name.clone());
                command_buffer.set_commands(vec![Command::ExecuteIndirect(encoded)]);
                Ok(command_buffer)
            }
        }
    }

    /// Submits the whole graph to several streams, of one device, and does not wait: what nothing orders may
    /// run at the same time, and what crosses from one stream to another waits for what it needs. What it
    /// gives ends when all of it has. It begins when what it is to run after has ended well. All streams must
    /// have room, or nothing is submitted. From the second time with the same arguments on the device has
    /// each stream's pieces in its own form. Refused for graphs with host nodes.
    pub fn submit_over(
        &self,
        streams: &[&Stream],
        after: &[stream::CommittedCommands],
    ) -> Result<stream::CommittedCommands, GraphError> {
        let Some(&first) = streams.first() else {
            return Err(GraphError::NoStream { graph: self.graph.data.name.clone() });
        };
        let span = self.replayed(first, "streams");
        let _entered = span.enter();
        let prepared = self.prepare(first, RunMode::Over(streams.len()));
        let partitions = &prepared.partitions;
        let mut command_buffers = Vec::with_capacity(partitions.len());
        for (number, partition) in partitions.iter().enumerate() {
            command_buffers.push(self.partition(streams[partition.stream], &prepared, number)?);
        }
        let mut end = first.command_buffer()?.label(format!("{}: end", self.graph.data.name));
        let mut submitted: Vec<stream::CommittedCommands> = Vec::with_capacity(partitions.len());
        for (partition, mut command_buffer) in partitions.iter().zip(command_buffers) {
            let waited = partition.after.iter().map(|&waited| &submitted[waited]);
            for before in waited.chain(after) {
                command_buffer = command_buffer.after(before);
            }
            let submission = command_buffer.commit();
            end = end.after(&submission);
            submitted.push(submission);
        }
        Ok(end.commit())
    }

    /// A command buffer with these nodes of the plan.
    fn command_buffer(
        &self,
        stream: &Stream,
        nodes: impl Iterator<Item = usize> + Clone,
    ) -> Result<CommandBuffer, GraphError> {
        let commands = self.commands(nodes.clone())?;
        let mut command_buffer = stream.command_buffer()?.label(self.graph.data.name.clone());
        command_buffer.set_commands(commands);
        if stream.context().trace().is_some() {
            command_buffer.set_names(nodes.map(|node| self.plan.nodes[node].node.name.clone()).collect());
        }
        Ok(command_buffer)
    }

    /// Runs the whole graph on a bare queue and waits for its end; gives the time that the device was at it.
    /// After an error nothing further is begun.
    pub fn run(&self, queue: &dyn Queue) -> Result<Duration, GraphError> {
        self.run_in(queue, &mut |_stage| {})
    }

    /// Runs the whole graph on a stream and waits for its end; gives the time that the device was at it. From
    /// the second time with the same arguments on the device has what lies between host nodes in its own
    /// form. After an error nothing further is begun.
    pub fn run_on(&self, stream: &Stream) -> Result<Duration, GraphError> {
        let span = self.replayed(stream, "segments");
        let _entered = span.enter();
        let prepared = self.prepare(stream, RunMode::BetweenHostNodes);
        let (mut device_time, mut next) = (Duration::ZERO, 0);
        self.each_segment(|segment| {
            device_time += match segment {
                Segment::Host(node) => self.on_host(GraphRunner::Stream(stream), node)?,
                Segment::Device(_) => {
                    next += 1;
                    self.partition(stream, &prepared, next - 1)?.commit().wait()?.device_time()
                }
            };
            Ok(())
        })?;
        Ok(device_time)
    }

    /// What the device runs between host nodes, in order.
    fn device_segments(&self) -> Vec<Partition> {
        let mut segments = Vec::new();
        let told = self.each_segment(|segment| {
            if let Segment::Device(nodes) = segment {
                segments.push(Partition::alone(nodes));
            }
            Ok(())
        });
        debug_assert!(told.is_ok(), "nothing here fails");
        segments
    }

    /// The plan cut at its host nodes, piece by piece; an error ends it.
    fn each_segment(
        &self,
        mut take: impl FnMut(Segment) -> Result<(), GraphError>,
    ) -> Result<(), GraphError> {
        let mut waiting = Vec::new();
        for pass in &self.plan.passes {
            let nodes = pass.stages.iter().flat_map(|stage| stage.nodes.iter().copied());
            if pass.kind != PassKind::Host {
                waiting.extend(nodes);
                continue;
            }
            if !waiting.is_empty() {
                take(Segment::Device(std::mem::take(&mut waiting)))?;
            }
            nodes.map(Segment::Host).try_for_each(&mut take)?;
        }
        if waiting.is_empty() { Ok(()) } else { take(Segment::Device(waiting)) }
    }

    /// Runs on a bare queue, each stage in the order that `arrange` gives it: any order must do, and tests
    /// try others.
    pub(super) fn run_in(
        &self,
        queue: &dyn Queue,
        arrange: &mut dyn FnMut(&mut Vec<usize>),
    ) -> Result<Duration, GraphError> {
        let mut device_time = Duration::ZERO;
        let mut waiting = Vec::new();
        for pass in &self.plan.passes {
            let mut nodes = Vec::new();
            for stage in &pass.stages {
                let mut stage = stage.nodes.clone();
                arrange(&mut stage);
                nodes.append(&mut stage);
            }
            if pass.kind != PassKind::Host {
                waiting.append(&mut nodes);
                continue;
            }
            device_time += self.finish(queue, &mut waiting)?;
            for node in nodes {
                device_time += self.on_host(GraphRunner::Queue(queue), node)?;
            }
        }
        Ok(device_time + self.finish(queue, &mut waiting)?)
    }

    /// Runs these nodes of the plan and waits for their end.
    fn finish(&self, queue: &dyn Queue, nodes: &mut Vec<usize>) -> Result<Duration, GraphError> {
        if nodes.is_empty() {
            return Ok(Duration::ZERO);
        }
        let commands = self.commands(std::mem::take(nodes).into_iter())?;
        let label = self.graph.data.name.clone();
        let ended = queue.submit(CommandList::new(commands).label(label))?.wait()?;
        Ok(ended.device_time())
    }

    fn on_host(&self, runner: GraphRunner<'_>, number: usize) -> Result<Duration, GraphError> {
        let planned = &self.plan.nodes[number];
        match &planned.node.work {
            NodeWork::Host(work) => self.call(&planned.node, work).map(|()| Duration::ZERO),
            NodeWork::Conditional(conditional) => {
                let taken = usize::from(!self.holds(conditional)?);
                let origin = planned.origin.first().map(|&node| &self.branches[node as usize][taken]);
                match origin {
                    Some(Some(branch)) => match runner {
                        GraphRunner::Queue(queue) => branch.run(queue),
                        GraphRunner::Stream(stream) => branch.run_on(stream),
                    },
                    _ => Ok(Duration::ZERO),
                }
            }
            NodeWork::Kernel(_) | NodeWork::Copy { .. } | NodeWork::Fill { .. } => Ok(Duration::ZERO),
        }
    }

    fn call(&self, node: &Node, work: &HostWork) -> Result<(), GraphError> {
        let context = HostContext { work, node, table: &self.table, misuse: RefCell::new(None) };
        let outcome = (work.callback)(&context);
        if let Some(misuse) = context.misuse.into_inner() {
            return Err(misuse);
        }
        outcome.map_err(|message| GraphError::HostFailed { node: node.name.clone(), message })
    }

    fn holds(&self, conditional: &Conditional) -> Result<bool, GraphError> {
        match &conditional.condition {
            CheckedCondition::Host(decide) => Ok(decide()),
            CheckedCondition::NotZero(bytes) => {
                let mut number = [0; 4];
                let (buffer, offset) = self.table.buffer(*bytes).ok_or_else(|| self.unset(*bytes))?;
                buffer.read(offset, &mut number)?;
                Ok(number != [0; 4])
            }
        }
    }
}

/// What runs the pieces of a graph.
#[derive(Clone, Copy)]
enum GraphRunner<'a> {
    Queue(&'a dyn Queue),
    Stream(&'a Stream),
}

/// A piece of a plan: nodes that the device runs, or one that the host does.
enum Segment {
    Device(Vec<usize>),
    Host(usize),
}
