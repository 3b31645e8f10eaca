//! A described workload, ready to run.
//!
//! Owns [`Program`]. Invariant: all kernels are compiled and all arguments known before the first round, so a
//! round does nothing but submit and wait.

use std::collections::BTreeMap;
use std::path::Path;

use anymetal::argument::{InlineBytes, Unbound};
use anymetal::graph::{Executable, GraphBuilder, NodeBuilder, PlanOptions};
use anymetal::{
    Buffer, CompileOptions, Device, Error, Extent, Library, LibraryDescriptor, Pipeline, Queue, Submission,
};

use super::description::{Action, Description, GraphDescription, GridSizes, Sizes, Step};
use crate::failure::Failure;
use crate::run::contents::Contents;
use crate::run::spec::Spec;
use crate::scalar;

/// A workload on a device.
#[derive(Debug)]
pub(super) struct Program<'a> {
    queues: BTreeMap<&'a str, Queue>,
    steps: Vec<(&'a Step, Act<'a>)>,
}

/// What a step does, with everything found.
#[derive(Debug)]
enum Act<'a> {
    Kernel(Call<'a>),
    Copy(Buffer<u8>, Buffer<u8>),
    Fill(Buffer<u8>, u8),
    Graph(Box<Executable>),
}

#[derive(Debug)]
struct Call<'a> {
    pipeline: Pipeline,
    values: Vec<Value>,
    grid: GridSizes<'a>,
    group: Option<&'a Sizes>,
}

/// An argument.
#[derive(Debug, Clone)]
enum Value {
    Buffer(Buffer<u8>),
    Bytes(Vec<u8>),
    Nothing,
}

/// State that every step needs while the program is built.
struct Parts<'a> {
    library: Library,
    buffers: BTreeMap<&'a str, Buffer<u8>>,
}

impl<'a> Program<'a> {
    /// Compiles the kernels, fills the buffers, builds the graphs.
    pub(super) fn new(
        device: &Device,
        description: &'a Description,
        path: &Path,
        options: &CompileOptions,
    ) -> Result<Program<'a>, Failure> {
        let source = path.parent().unwrap_or(Path::new("")).join(&description.source);
        let library = device.create_library(&LibraryDescriptor::from_file(&source).options(options))?;
        let buffers = description.buffers.iter();
        let buffers = buffers.map(|(name, spec)| Ok((name.as_str(), buffer(device, name, spec)?)));
        let parts = Parts { library, buffers: buffers.collect::<Result<_, Failure>>()? };
        let queue = |queue: &'a super::description::QueueDescription| {
            let options = device.queue_descriptor().label(queue.name.clone()).priority(queue.priority());
            Ok::<_, Error>((queue.name.as_str(), device.create_queue(&options)?))
        };
        let queues = description.queues.iter().map(queue).collect::<Result<_, _>>()?;
        let graph = |name: &str| description.graphs.iter().find(|graph| graph.name == name);
        let steps = description.steps.iter().map(|step| {
            let act = match step.action().map_err(Failure::Input)? {
                Action::Kernel { kernel, args, grid, group } => {
                    Act::Kernel(parts.call(step, kernel, args, grid, group)?)
                }
                Action::Copy { from, to } => Act::Copy(parts.buffer(from)?, parts.buffer(to)?),
                Action::Fill { buffer, value } => Act::Fill(parts.buffer(buffer)?, value),
                Action::Graph(name) => {
                    let unknown = || Failure::Input(format!("there is no graph `{name}`"));
                    Act::Graph(Box::new(parts.graph(graph(name).ok_or_else(unknown)?)?))
                }
            };
            Ok((step, act))
        });
        let steps = steps.collect::<Result<_, Failure>>()?;
        Ok(Program { queues, steps })
    }

    /// One round: submits every step, then waits for all.
    pub(super) fn run(&self) -> Result<(), Error> {
        let mut submitted: BTreeMap<&str, Submission> = BTreeMap::new();
        for (step, act) in &self.steps {
            let after = step.after.iter().filter_map(|before| submitted.get(before.as_str()));
            let submission = self.submit(step, act, &after.cloned().collect::<Vec<_>>())?;
            submitted.insert(&step.name, submission);
        }
        for submission in submitted.values() {
            submission.wait()?;
        }
        Ok(())
    }

    fn submit(&self, step: &Step, act: &Act<'_>, after: &[Submission]) -> Result<Submission, Error> {
        if let Act::Graph(graph) = act {
            let queues: Vec<&Queue> = step.queues.iter().map(|queue| &self.queues[queue.as_str()]).collect();
            return Queue::submit_graph_over(&queues, graph, after);
        }
        let queue = &self.queues[step.queue.as_deref().unwrap_or_default()];
        if let Act::Kernel(call) = act {
            let launch = queue.launch(&call.pipeline).label(&step.name);
            let launch = after.iter().fold(launch, |launch, before| launch.after(before));
            let launch = call.values.iter().fold(launch, |launch, value| match value {
                Value::Buffer(buffer) => launch.arg(buffer),
                Value::Bytes(bytes) => launch.arg(InlineBytes(bytes)),
                Value::Nothing => launch.arg(Unbound),
            });
            let launch = match call.grid {
                GridSizes::Threads(threads) => launch.threads(threads),
                GridSizes::Groups(groups) => launch.groups(groups),
            };
            return match call.group {
                Some(group) => launch.group_size(group),
                None => launch,
            }
            .submit();
        }
        let command_buffer = queue.command_buffer()?.label(&step.name);
        let mut command_buffer =
            after.iter().fold(command_buffer, |command_buffer, before| command_buffer.after(before));
        match act {
            Act::Copy(from, to) => {
                command_buffer.blit_encoder().copy(&from.view(0..from.len())?, &to.view(0..to.len())?)?;
            }
            Act::Fill(buffer, value) => {
                command_buffer.blit_encoder().fill(&buffer.view(0..buffer.len())?, *value)?;
            }
            Act::Kernel(_) | Act::Graph(_) => {}
        }
        command_buffer.commit()
    }
}

impl<'a> Parts<'a> {
    fn buffer(&self, name: &str) -> Result<Buffer<u8>, Failure> {
        let unknown = || Failure::Input(format!("there is no buffer `{name}`"));
        self.buffers.get(name).cloned().ok_or_else(unknown)
    }

    fn call(
        &self,
        step: &Step,
        kernel: &str,
        args: &[String],
        grid: GridSizes<'a>,
        group: Option<&'a Sizes>,
    ) -> Result<Call<'a>, Failure> {
        let pipeline = self.library.pipeline(kernel)?;
        let values = args.iter().map(|text| {
            self.value(text).map_err(|problem| Failure::Input(format!("`{}`: {problem}", step.name)))
        });
        Ok(Call { pipeline, values: values.collect::<Result<_, _>>()?, grid, group })
    }

    fn value(&self, text: &str) -> Result<Value, String> {
        if let Some(buffer) = self.buffers.get(text) {
            return Ok(Value::Buffer(buffer.clone()));
        }
        match Spec::parse(text) {
            Ok(Spec::Values(kind, values)) => Ok(Value::Bytes(scalar::bytes_of(kind, &values))),
            Ok(Spec::Hex(bytes)) => Ok(Value::Bytes(bytes)),
            Ok(Spec::Unbound) => Ok(Value::Nothing),
            _ => Err(format!("`{text}` is no buffer, and no TYPE:VALUE[,VALUE…], hex:BYTES or none")),
        }
    }

    fn graph(&self, description: &'a GraphDescription) -> Result<Executable, Failure> {
        let mut builder = GraphBuilder::new(&description.name);
        for node in &description.nodes {
            let name = node.name.as_str();
            match node.action().map_err(Failure::Input)? {
                Action::Kernel { kernel, args, grid, group } => {
                    let call = self.call(node, kernel, args, grid, group)?;
                    builder.kernel(name, call.node().build()?)?;
                }
                Action::Copy { from, to } => {
                    let (source, target) = (self.buffer(from)?, self.buffer(to)?);
                    let from = builder.view(from, source.region());
                    let to = builder.view(to, target.region());
                    builder.copy(name, from, to)?;
                }
                Action::Fill { buffer, value } => {
                    let target = builder.view(buffer, self.buffer(buffer)?.region());
                    builder.fill(name, target, value)?;
                }
                Action::Graph(_) => {}
            }
        }
        builder.order_as_added();
        let graph = builder.build()?;
        // Each described node is to be seen.
        let options = PlanOptions::new().fusion(false);
        Ok(Executable::new(&graph, options)?)
    }
}

impl Call<'_> {
    fn node(&self) -> NodeBuilder<'_> {
        let node = self.values.iter().fold(self.pipeline.node(), |node, value| match value {
            Value::Buffer(buffer) => node.arg(buffer),
            Value::Bytes(bytes) => node.arg(InlineBytes(bytes)),
            Value::Nothing => node.arg(Unbound),
        });
        let node = match self.grid {
            GridSizes::Threads(threads) => node.threads(threads),
            GridSizes::Groups(groups) => node.groups(groups),
        };
        match self.group {
            Some(group) => node.group_size(group),
            None => node,
        }
    }
}

impl From<&Sizes> for Extent {
    fn from(sizes: &Sizes) -> Extent {
        let all = match sizes {
            Sizes::One(one) => std::slice::from_ref(one),
            Sizes::Some(sizes) => sizes,
        };
        match *all {
            [x, y] => (x, y).into(),
            [x, y, z] => (x, y, z).into(),
            // One to three were checked.
            _ => all.first().copied().unwrap_or_default().into(),
        }
    }
}

fn buffer(device: &Device, name: &str, spec: &str) -> Result<Buffer<u8>, Failure> {
    let wrong = |problem: String| Failure::Input(format!("buffer `{name}`: {problem}"));
    let contents = Contents::open(&Spec::parse(spec).map_err(wrong)?).map_err(wrong)?;
    let count = usize::try_from(contents.bytes()).map_err(|_| wrong("it is too long".to_owned()))?;
    let buffer = device.buffer_zeroed(count)?;
    contents.write_to(&buffer)?;
    Ok(buffer)
}
