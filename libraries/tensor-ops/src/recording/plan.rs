//! From what was recorded to a graph that can run again and again.
//!
//! Owns [`Planned`]. Invariant: nodes touch memory in the order of the calls; memory that no node and no
//! tensor needs goes back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anymetal::argument::{ArgumentTarget, InlineBytes};
use anymetal::error::DeviceError;
use anymetal::graph::{Executable, GraphBuilder, KernelNode, PlanOptions, ResourceId, ValueId};
use anymetal::{Argument, Buffer};

use super::fused_source::FusedKernel;
use super::fusion::Group;
use super::recorder::{Memory, Recorded, RecordedArgument, RecordedCall, Role, Step};
use crate::context::Ops;
use crate::counted::{CallRecord, Path};
use crate::error::OpError;
use crate::kernels::Source;
use crate::launch::Walk;
use crate::layout::Operand;
use crate::random::Draw;

/// What a replay needs.
pub(super) struct Planned {
    /// `None`: there is nothing to run.
    pub(super) executable: Option<Executable>,
    /// By the number of memory: what is bound before each run.
    pub(super) parameters: BTreeMap<usize, ResourceId>,
    pub(super) draws: Vec<(ValueId, Draw)>,
    pub(super) calls: Vec<CallRecord>,
    /// Memory that stays, held so that its pool does not take it back.
    pub(super) held: Vec<Buffer<u8>>,
    pub(super) kernels: Vec<String>,
}

/// A call, or maps that become one.
enum Piece<'a> {
    Call { call: &'a RecordedCall, operation: &'static str },
    Group(Group<'a>),
}

/// Plans what was recorded; `outputs` are the memory that results are in.
pub(super) fn plan(
    ops: &Ops,
    name: &str,
    recorded: &Recorded,
    outputs: &BTreeSet<usize>,
) -> Result<Planned, OpError> {
    let pieces = pieces(&recorded.steps);
    let needs = Needs::of(&pieces, recorded, outputs);
    let mut planner = Planner {
        ops,
        recorded,
        outputs,
        graph: GraphBuilder::new(name),
        resources: BTreeMap::new(),
        planned: Planned {
            executable: None,
            parameters: BTreeMap::new(),
            draws: Vec::new(),
            calls: recorded.calls.clone(),
            held: Vec::new(),
            kernels: Vec::new(),
        },
    };
    for (number, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Call { call, operation } => planner.add(call, operation)?,
            Piece::Group(group) => {
                if group.steps.iter().any(|step| needs.contains(number, step.operands[0].memory)) {
                    planner.add_group(group, |memory| needs.contains(number, memory))?;
                }
            }
        }
    }
    planner.finish()
}

fn pieces(steps: &[Step]) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    for step in steps {
        match step {
            Step::Call { call, operation } => pieces.push(Piece::Call { call, operation }),
            Step::Map(step) => match pieces.last_mut() {
                Some(Piece::Group(group)) if group.takes(step) => group.add(step),
                _ => pieces.push(Piece::Group(Group::of(step))),
            },
        }
    }
    pieces
}

/// Which memory must hold what a piece has made of it.
struct Needs<'a> {
    readers: BTreeMap<usize, BTreeSet<usize>>,
    recorded: &'a Recorded,
    outputs: &'a BTreeSet<usize>,
}

impl<'a> Needs<'a> {
    fn of(pieces: &[Piece<'_>], recorded: &'a Recorded, outputs: &'a BTreeSet<usize>) -> Self {
        let mut readers: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (number, piece) in pieces.iter().enumerate() {
            let read: Vec<usize> = match piece {
                // Which arguments it reads does not matter: what it only writes is no group's.
                Piece::Call { call, .. } => memory_of(call, recorded).collect(),
                Piece::Group(group) => group.reads().iter().copied().collect(),
            };
            for memory in read {
                readers.entry(memory).or_default().insert(number);
            }
        }
        Needs { readers, recorded, outputs }
    }

    fn contains(&self, piece: usize, memory: usize) -> bool {
        let is_seen = match &self.recorded.memory[memory].role {
            Role::Constant | Role::Input(_) => true,
            // One is the recording's own.
            Role::Made(token) => Arc::strong_count(token) > 1,
        };
        let is_read = |readers: &BTreeSet<usize>| readers.iter().any(|&reader| reader != piece);
        is_seen || self.outputs.contains(&memory) || self.readers.get(&memory).is_some_and(is_read)
    }
}

fn memory_of<'a>(call: &'a RecordedCall, recorded: &'a Recorded) -> impl Iterator<Item = usize> + 'a {
    call.arguments.iter().filter_map(|argument| match argument {
        RecordedArgument::Memory { buffer, .. } => recorded.known(buffer),
        RecordedArgument::Value(_) | RecordedArgument::Draw(_) => None,
    })
}

/// A graph in the making.
struct Planner<'a> {
    ops: &'a Ops,
    recorded: &'a Recorded,
    outputs: &'a BTreeSet<usize>,
    graph: GraphBuilder,
    resources: BTreeMap<usize, ResourceId>,
    planned: Planned,
}

impl Planner<'_> {
    fn finish(self) -> Result<Planned, OpError> {
        let Planner { mut graph, mut planned, .. } = self;
        if !planned.kernels.is_empty() {
            graph.order_as_added();
            // Maps are fused already, and proofs about other kernels cost more than they save.
            let options = PlanOptions::new().fusion(false);
            planned.executable = Some(Executable::new(&graph.build()?, options)?);
        }
        Ok(planned)
    }

    fn resource(&mut self, memory: usize) -> Result<ResourceId, OpError> {
        if let Some(&known) = self.resources.get(&memory) {
            return Ok(known);
        }
        let Memory { buffer, role } = &self.recorded.memory[memory];
        let is_parameter = matches!(role, Role::Input(_)) || self.outputs.contains(&memory);
        let id = if is_parameter {
            let id = self.graph.parameter(format!("tensor {memory}"), buffer.len() as u64)?;
            self.planned.parameters.insert(memory, id);
            id
        } else {
            self.planned.held.push(buffer.clone());
            self.graph.view(format!("tensor {memory}"), buffer)
        };
        self.resources.insert(memory, id);
        Ok(id)
    }

    fn add(&mut self, call: &RecordedCall, operation: &str) -> Result<(), OpError> {
        let node = self.node(call)?;
        let kernel = if operation.is_empty() { call.pipeline.name() } else { operation };
        self.graph.kernel(format!("{} {kernel}", self.planned.kernels.len()), node)?;
        self.planned.kernels.push(kernel.to_owned());
        Ok(())
    }

    fn node(&mut self, call: &RecordedCall) -> Result<KernelNode, OpError> {
        let mut node = call.pipeline.node();
        for argument in &call.arguments {
            node = match argument {
                RecordedArgument::Memory { buffer, offset, length } => {
                    let Some(memory) = self.recorded.known(buffer) else {
                        return Err(OpError::unfinished());
                    };
                    node.arg(self.resource(memory)?.range(*offset..offset + length))
                }
                RecordedArgument::Value(value) => node.arg(&**value),
                RecordedArgument::Draw(draw) => {
                    let id = self.graph.value(format!("draw {}", self.planned.draws.len()), 0u64)?;
                    self.planned.draws.push((id, draw.clone()));
                    node.arg(id)
                }
            };
        }
        node = match call.grid {
            Some((groups, true)) => node.groups(groups),
            Some((threads, false)) => node.threads(threads),
            None => node,
        };
        if let Some(size) = call.group_size {
            node = node.group_size(size);
        }
        Ok(node.build()?)
    }

    fn add_group(&mut self, group: &Group<'_>, is_stored: impl Fn(usize) -> bool) -> Result<(), OpError> {
        let Some(&first) = group.steps.first() else { return Ok(()) };
        if group.steps.len() > 1 {
            return self.add_fused(group, is_stored);
        }
        let operands: Vec<Operand<'_>> = first
            .operands
            .iter()
            .map(|operand| Operand { strides: &operand.strides, offset: operand.offset })
            .collect();
        let walk = Walk::over(&first.shape, &operands);
        let defines = first.function.defines().and(walk.defines(operands.len()));
        let pipeline = self.ops.pipeline(Source::Elementwise, first.function.kernel(), defines)?;
        let mut call = RecordedCall::new(&pipeline);
        for operand in &first.operands {
            call = call.argument(self.whole(operand.memory));
        }
        call = call.argument(RecordedArgument::Value(Box::new(walk.argument())));
        if first.function.takes_parameters() {
            call = call.argument(RecordedArgument::Value(Box::new(first.function.parameters)));
        }
        self.add(&on_grid(call, &walk), first.operation)?;
        self.count(first.operation, first.flop, first.bytes);
        Ok(())
    }

    fn add_fused(&mut self, group: &Group<'_>, is_stored: impl Fn(usize) -> bool) -> Result<(), OpError> {
        let operands: Vec<Operand<'_>> =
            group.places().iter().map(|&(strides, offset)| Operand { strides, offset }).collect();
        let walk = Walk::over(&group.steps[0].shape, &operands);
        let FusedKernel { source, memory, parameters } = FusedKernel::of(group, is_stored);
        let pipeline = self.ops.fused_pipeline(source, walk.defines(operands.len()))?;
        let mut call = RecordedCall::new(&pipeline);
        let mut bytes = 0;
        for memory in memory {
            call = call.argument(self.whole(memory));
            bytes += self.recorded.memory[memory].buffer.len() as u64;
        }
        call = call.argument(RecordedArgument::Value(Box::new(walk.argument())));
        call = call.argument(RecordedArgument::Value(Box::new(Parameters(parameters))));
        let operations: Vec<&str> = group.steps.iter().map(|step| step.operation).collect();
        self.add(&on_grid(call, &walk), &operations.join(" + "))?;
        self.count("fused", group.steps.iter().map(|step| step.flop).sum(), bytes);
        Ok(())
    }

    fn whole(&self, memory: usize) -> RecordedArgument {
        let buffer = self.recorded.memory[memory].buffer.clone();
        let length = buffer.len() as u64;
        RecordedArgument::Memory { buffer, offset: 0, length }
    }

    fn count(&mut self, operation: &'static str, flop: u64, bytes: u64) {
        self.planned.calls.push(CallRecord::new(operation, Path::Own, flop, bytes));
    }
}

fn on_grid(call: RecordedCall, walk: &Walk) -> RecordedCall {
    call.threads(walk.threads().into()).group_size(walk.group().into())
}

/// The parameters of all maps of a kernel.
struct Parameters(Vec<[f32; 4]>);

impl Argument for Parameters {
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<anymetal::argument::BoundResource, DeviceError> {
        InlineBytes(bytemuck::cast_slice(&self.0)).bind(target)
    }
}
