//! Running a planned graph, again and again.
//!
//! Owns [`Executable`]. Invariant: the buffers that are set never make a hazard that the graph's edges do not
//! order: setting is refused as a whole otherwise. When resources begin or cease to share bytes the plan is
//! made anew; else setting a buffer costs a look at the resources only. What a device has encoded is what the
//! present arguments say.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::command::{
    Binding, BoundResource, BufferCopy, BufferFill, Command, Dispatch, Grid, Submission,
};
use anymetal_hal::completion::Completion;
use anymetal_hal::queue::Queue;

use crate::graph::builder::Graph;
use crate::graph::encodings::{Encodings, Prepared, Way};
use crate::graph::error::GraphError;
use crate::graph::node::{
    Bound, CheckedBranch, CheckedCondition, Conditional, HostContext, HostWork, KernelWork, Node, NodeId,
    Work,
};
use crate::graph::order::check_hazards;
use crate::graph::plan::{PassKind, Plan, PlanOptions};
use crate::graph::resource::{Bytes, BytesId, ResourceId, Table};
use crate::graph::spread::{Part, parts};
use crate::graph::transform::PlanNode;
use crate::memory::view::BufferView;
use crate::stream::Stream;
use crate::submission as stream;
use crate::submission::command_buffer::CommandBuffer;

/// A planned graph with its arguments.
#[derive(Debug)]
pub struct Executable {
    graph: Graph,
    options: PlanOptions,
    table: Table,
    aliased: bool,
    plan: Plan,
    /// Grids that replace those of the graph's kernels, by the graph's node numbers.
    grids: Vec<Option<Grid>>,
    /// Whether a grid was set of a kernel that was fused.
    regrouped: bool,
    /// The branches of conditional nodes, by the graph's node numbers.
    branches: Vec<[Option<Box<Executable>>; 2]>,
    /// Anew whenever an argument changes.
    encodings: Encodings,
}

impl Executable {
    /// Plans a graph and makes it ready to run once its parameters are set.
    pub fn new(graph: &Graph, options: PlanOptions) -> Result<Self, GraphError> {
        let data = &graph.data;
        let branches = data.nodes.iter().map(|node| match &node.work {
            Work::Conditional(conditional) => {
                let [then, otherwise] = &conditional.branches;
                Ok([Self::of_branch(then.as_ref(), options)?, Self::of_branch(otherwise.as_ref(), options)?])
            }
            Work::Kernel(_) | Work::Copy { .. } | Work::Fill { .. } | Work::Host(_) => Ok([None, None]),
        });
        let branches = branches.collect::<Result<Vec<_>, GraphError>>()?;
        let mut executable = Executable {
            graph: graph.clone(),
            options,
            table: data.table.clone(),
            aliased: data.table.has_aliases(),
            plan: Plan::new(graph, options),
            grids: vec![None; data.nodes.len()],
            regrouped: false,
            branches,
            encodings: Encodings::default(),
        };
        executable.set_branches()?;
        Ok(executable)
    }

    fn of_branch(
        branch: Option<&CheckedBranch>,
        options: PlanOptions,
    ) -> Result<Option<Box<Self>>, GraphError> {
        branch.map(|branch| Executable::new(&branch.graph, options).map(Box::new)).transpose()
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Sets the buffer of a parameter.
    pub fn set_buffer(&mut self, parameter: ResourceId, view: BufferView) -> Result<(), GraphError> {
        self.set_buffers([(parameter, view)])
    }

    /// Sets the buffers of several parameters at once, all or none: two that swap their buffers never share one.
    pub fn set_buffers(
        &mut self,
        arguments: impl IntoIterator<Item = (ResourceId, BufferView)>,
    ) -> Result<(), GraphError> {
        self.encodings.forget();
        let mut table = self.table.clone();
        for (parameter, view) in arguments {
            self.check_own(parameter.graph, "resource")?;
            let resource = &mut table.resources[parameter.index as usize];
            if !resource.is_parameter {
                let (name, what) = (resource.name.clone(), "buffer parameter");
                return Err(GraphError::NotAParameter { name, what });
            }
            if view.length() != resource.length {
                let (parameter, expected) = (resource.name.clone(), resource.length);
                return Err(GraphError::WrongLength { parameter, expected, got: view.length() });
            }
            resource.view = Some(view);
        }
        let aliased = table.has_aliases();
        if aliased || self.aliased {
            let data = &self.graph.data;
            check_hazards(&data.name, &table, &data.nodes, &data.edges)?;
            self.plan = Plan::with_arguments(&self.graph, &table, &self.grids, self.options);
        }
        let before = std::mem::replace(&mut self.table, table);
        let set = self.set_branches();
        if let Err(error) = set {
            self.table = before;
            self.replan();
            // What was set before was accepted then.
            self.set_branches()?;
            return Err(error);
        }
        self.aliased = aliased;
        Ok(())
    }

    /// Hands the buffers of the outer resources to the branches of conditional nodes.
    fn set_branches(&mut self) -> Result<(), GraphError> {
        for (node, executables) in self.graph.data.nodes.iter().zip(&mut self.branches) {
            let Work::Conditional(conditional) = &node.work else { continue };
            for (branch, executable) in conditional.branches.iter().zip(executables) {
                let (Some(branch), Some(executable)) = (branch, executable) else { continue };
                let inner = branch.graph.data.id;
                let mut arguments = Vec::new();
                for (index, bytes) in &branch.arguments {
                    if let Some(view) = view_of(&self.table, *bytes) {
                        arguments.push((ResourceId { graph: inner, index: *index }, view));
                    }
                }
                executable.set_buffers(arguments)?;
            }
        }
        Ok(())
    }

    /// Sets inline bytes; their length stays.
    pub fn set_bytes(&mut self, parameter: BytesId, bytes: &[u8]) -> Result<(), GraphError> {
        self.check_own(parameter.graph, "resource")?;
        let inline = &mut self.table.inline[parameter.index as usize];
        if inline.bytes.len() != bytes.len() {
            return Err(GraphError::WrongLength {
                parameter: inline.name.clone(),
                expected: inline.bytes.len() as u64,
                got: bytes.len() as u64,
            });
        }
        inline.bytes.copy_from_slice(bytes);
        self.encodings.forget();
        Ok(())
    }

    /// Sets the grid of a kernel node.
    pub fn set_grid(&mut self, node: NodeId, grid: Grid) -> Result<(), GraphError> {
        self.check_own(node.graph, "node")?;
        let known = &self.graph.data.nodes[node.index as usize];
        if !matches!(known.work, Work::Kernel(_)) {
            let (name, what) = (known.name.clone(), "kernel node");
            return Err(GraphError::NotAParameter { name, what });
        }
        self.grids[node.index as usize] = Some(grid);
        self.encodings.forget();
        // One launch has one grid: what is fused may have to part, and once parted may belong together again.
        let is_fused = |planned: &PlanNode| planned.origin.len() > 1 && planned.origin.contains(&node.index);
        if self.regrouped || self.plan.nodes.iter().any(is_fused) {
            self.regrouped = true;
            self.replan();
        }
        Ok(())
    }

    fn replan(&mut self) {
        self.plan = Plan::with_arguments(&self.graph, &self.table, &self.grids, self.options);
    }

    fn check_own(&self, graph: u64, what: &'static str) -> Result<(), GraphError> {
        if graph == self.graph.data.id {
            return Ok(());
        }
        Err(GraphError::OfAnotherGraph { graph: self.graph.data.name.clone(), what })
    }

    /// Submits the whole graph to a bare queue as one command buffer and does not wait. Refused for graphs with
    /// host nodes.
    pub fn submit(&self, queue: &dyn Queue) -> Result<Completion, GraphError> {
        let (commands, label) = (self.commands(self.order())?, self.graph.data.name.clone());
        Ok(queue.submit(Submission { commands, label, ..Submission::default() })?)
    }

    /// Submits the whole graph to a stream as one command buffer and does not wait. From the second time with the
    /// same arguments on the device has it in a form that costs no checks and no encoding. Refused for graphs
    /// with host nodes.
    pub fn submit_to(&self, stream: &Stream) -> Result<stream::Submission, GraphError> {
        let prepared = self.prepare(stream, Way::Whole);
        Ok(self.part(stream, &prepared, 0)?.commit())
    }

    /// A way of running this graph, with what the stream's device has encoded of it.
    fn prepare(&self, stream: &Stream, way: Way) -> Prepared {
        let divide = || match way {
            Way::Whole => vec![Part::alone(self.order().collect())],
            Way::Over(lanes) => parts(&self.plan, lanes),
            Way::BetweenHostNodes => self.device_pieces(),
        };
        let commands = |nodes: &[usize]| self.commands(nodes.iter().copied()).ok();
        self.encodings.prepare(way, stream.context().device(), divide, commands)
    }

    /// A command buffer with one part of the graph.
    fn part(&self, stream: &Stream, prepared: &Prepared, number: usize) -> Result<CommandBuffer, GraphError> {
        // A trace tells the nodes one by one.
        let encoded = prepared.encoded(number).filter(|_| stream.context().trace().is_none());
        match encoded {
            None => self.command_buffer(stream, prepared.parts[number].nodes.iter().copied()),
            Some(encoded) => {
                let mut command_buffer = stream.command_buffer()?.label(self.graph.data.name.clone());
                command_buffer.set_commands(vec![Command::ExecuteIndirect(encoded)]);
                Ok(command_buffer)
            }
        }
    }

    /// Submits the whole graph to several streams, of one device, and does not wait: what nothing orders may run
    /// at the same time, and what crosses from one stream to another waits for what it needs. What it gives
    /// ends when all of it has. It begins when what it is to run after has ended well. All streams must have
    /// room, or nothing is submitted. From the second time with the same arguments on the device has each stream's
    /// pieces in its own form. Refused for graphs with host nodes.
    pub fn submit_over(
        &self,
        streams: &[&Stream],
        after: &[stream::Submission],
    ) -> Result<stream::Submission, GraphError> {
        let Some(&first) = streams.first() else {
            return Err(GraphError::NoStream { graph: self.graph.data.name.clone() });
        };
        let prepared = self.prepare(first, Way::Over(streams.len()));
        let parts = &prepared.parts;
        let mut command_buffers = Vec::with_capacity(parts.len());
        for (number, part) in parts.iter().enumerate() {
            command_buffers.push(self.part(streams[part.lane], &prepared, number)?);
        }
        let mut end = first.command_buffer()?.label(format!("{}: end", self.graph.data.name));
        let mut submitted: Vec<stream::Submission> = Vec::with_capacity(parts.len());
        for (part, mut command_buffer) in parts.iter().zip(command_buffers) {
            let waited = part.after.iter().map(|&waited| &submitted[waited]);
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

    /// Runs the whole graph on a stream and waits for its end; gives the time that the device was at it. From the
    /// second time with the same arguments on the device has what lies between host nodes in its own form. After
    /// an error nothing further is begun.
    pub fn run_on(&self, stream: &Stream) -> Result<Duration, GraphError> {
        let prepared = self.prepare(stream, Way::BetweenHostNodes);
        let (mut device_time, mut next) = (Duration::ZERO, 0);
        self.each_piece(|piece| {
            device_time += match piece {
                Piece::Host(node) => self.on_host(Lane::Stream(stream), node)?,
                Piece::Device(_) => {
                    next += 1;
                    self.part(stream, &prepared, next - 1)?.commit().wait()?.device_time()
                }
            };
            Ok(())
        })?;
        Ok(device_time)
    }

    /// What the device runs between host nodes, in order.
    fn device_pieces(&self) -> Vec<Part> {
        let mut pieces = Vec::new();
        let told = self.each_piece(|piece| {
            if let Piece::Device(nodes) = piece {
                pieces.push(Part::alone(nodes));
            }
            Ok(())
        });
        debug_assert!(told.is_ok(), "nothing here fails");
        pieces
    }

    /// The plan cut at its host nodes, piece by piece; an error ends it.
    fn each_piece(&self, mut take: impl FnMut(Piece) -> Result<(), GraphError>) -> Result<(), GraphError> {
        let mut waiting = Vec::new();
        for pass in &self.plan.passes {
            let nodes = pass.stages.iter().flat_map(|stage| stage.nodes.iter().copied());
            if pass.kind != PassKind::Host {
                waiting.extend(nodes);
                continue;
            }
            if !waiting.is_empty() {
                take(Piece::Device(std::mem::take(&mut waiting)))?;
            }
            nodes.map(Piece::Host).try_for_each(&mut take)?;
        }
        if waiting.is_empty() { Ok(()) } else { take(Piece::Device(waiting)) }
    }

    /// All nodes in the order of the plan, by their numbers there.
    fn order(&self) -> impl Iterator<Item = usize> + Clone {
        self.plan.passes.iter().flat_map(|pass| &pass.stages).flat_map(|stage| stage.nodes.iter().copied())
    }

    fn commands(&self, nodes: impl Iterator<Item = usize>) -> Result<Vec<Command>, GraphError> {
        nodes.map(|node| self.command(node)).collect()
    }

    /// Runs on a bare queue, each stage in the order that `arrange` gives it: any order must do, and tests try others.
    fn run_in(
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
                device_time += self.on_host(Lane::Queue(queue), node)?;
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
        let ended = queue.submit(Submission { commands, label, ..Submission::default() })?.wait()?;
        Ok(ended.device_time())
    }

    fn on_host(&self, lane: Lane<'_>, number: usize) -> Result<Duration, GraphError> {
        let planned = &self.plan.nodes[number];
        match &planned.node.work {
            Work::Host(work) => self.call(&planned.node, work).map(|()| Duration::ZERO),
            Work::Conditional(conditional) => {
                let taken = usize::from(!self.holds(conditional)?);
                let origin = planned.origin.first().map(|&node| &self.branches[node as usize][taken]);
                match origin {
                    Some(Some(branch)) => match lane {
                        Lane::Queue(queue) => branch.run(queue),
                        Lane::Stream(stream) => branch.run_on(stream),
                    },
                    _ => Ok(Duration::ZERO),
                }
            }
            Work::Kernel(_) | Work::Copy { .. } | Work::Fill { .. } => Ok(Duration::ZERO),
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

    fn unset(&self, bytes: Bytes) -> GraphError {
        GraphError::Unset { parameter: self.table.resource(bytes).name.clone() }
    }

    /// The command of a device node.
    fn command(&self, number: usize) -> Result<Command, GraphError> {
        let planned = &self.plan.nodes[number];
        let place = |bytes: Bytes| {
            let (buffer, offset) = self.table.buffer(bytes).ok_or_else(|| self.unset(bytes))?;
            Ok::<_, GraphError>((Arc::clone(buffer), offset))
        };
        match &planned.node.work {
            Work::Kernel(kernel) => {
                let grid = planned.origin.first().and_then(|&node| self.grids[node as usize]);
                self.dispatch(kernel, grid.unwrap_or(kernel.grid))
            }
            Work::Copy { source, destination } => {
                let (from, source_offset) = place(*source)?;
                let (to, destination_offset) = place(*destination)?;
                Ok(Command::Copy(BufferCopy {
                    source: from,
                    source_offset,
                    destination: to,
                    destination_offset,
                    length: source.length,
                }))
            }
            Work::Fill { target, value } => {
                let (buffer, offset) = place(*target)?;
                Ok(Command::Fill(BufferFill { buffer, offset, length: target.length, value: *value }))
            }
            Work::Host(_) | Work::Conditional(_) => Err(GraphError::NeedsHost {
                graph: self.graph.data.name.clone(),
                node: planned.node.name.clone(),
            }),
        }
    }

    fn dispatch(&self, kernel: &KernelWork, grid: Grid) -> Result<Command, GraphError> {
        let mut bindings = Vec::with_capacity(kernel.bindings.len());
        for (index, bound) in &kernel.bindings {
            let resource = match bound {
                Bound::Range(bytes) => {
                    let (buffer, offset) = self.table.buffer(*bytes).ok_or_else(|| self.unset(*bytes))?;
                    let buffer = Arc::clone(buffer);
                    BoundResource::Buffer { buffer, offset, length: Some(bytes.length) }
                }
                Bound::Bytes(bytes) => BoundResource::Bytes(bytes.clone()),
                Bound::Parameter(id) => {
                    BoundResource::Bytes(self.table.inline[id.index as usize].bytes.clone())
                }
                Bound::Unbound => BoundResource::Unbound,
            };
            bindings.push(Binding { index: *index, resource });
        }
        Ok(Command::Dispatch(Dispatch {
            pipeline: Arc::clone(&kernel.pipeline),
            bindings,
            threadgroup_memory: kernel.threadgroup_memory.clone(),
            grid,
            group_size: kernel.group_size,
        }))
    }
}

/// What runs a graph piece by piece.
#[derive(Clone, Copy)]
enum Lane<'a> {
    Queue(&'a dyn Queue),
    Stream(&'a Stream),
}

/// A piece of a plan: nodes that the device runs, or one that the host does.
enum Piece {
    Device(Vec<usize>),
    Host(usize),
}

/// The view of bytes, if their resource has a buffer.
fn view_of(table: &Table, bytes: Bytes) -> Option<BufferView> {
    let (buffer, offset) = table.buffer(bytes)?;
    Some(BufferView::within(Arc::clone(buffer), offset, bytes.length))
}

#[cfg(all(test, not(loom)))]
mod tests;
