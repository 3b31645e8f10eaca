//! The launch builder: one kernel, its arguments, its grid.
//!
//! Owns [`Launch`]. Invariant: the first mistake is kept and told by [`Launch::submit`]; nothing runs then.

use std::time::Duration;

use anymetal_hal::artifact::{ArgumentInfo, ArgumentKind};
use anymetal_hal::command::{Binding, Command, Deadline, Dispatch, Grid, Submission, ThreadgroupMemory};
use anymetal_hal::validate::surplus;

use crate::argument::{Argument, ArgumentTarget};
use crate::error::Error;
use crate::extent::Extent;
use crate::pipeline::Pipeline;
use crate::queue::{Queue, Submitted};

/// A launch in the making.
#[derive(Debug)]
#[must_use = "nothing runs before `submit`"]
pub struct Launch<'a> {
    queue: &'a Queue,
    pipeline: &'a Pipeline,
    bindings: Vec<Binding>,
    positional: usize,
    threadgroup_memory: Vec<ThreadgroupMemory>,
    grid: Option<(Grid, usize)>,
    group_size: Option<[u32; 3]>,
    deadline: Deadline,
    label: String,
    mistake: Option<Error>,
}

impl<'a> Launch<'a> {
    pub(crate) fn new(queue: &'a Queue, pipeline: &'a Pipeline) -> Self {
        Launch {
            queue,
            pipeline,
            bindings: Vec::new(),
            positional: 0,
            threadgroup_memory: Vec::new(),
            grid: None,
            group_size: None,
            deadline: Deadline::Default,
            label: String::new(),
            mistake: None,
        }
    }

    /// The next argument, in the order of their Metal indices.
    pub fn arg(mut self, value: impl Argument) -> Self {
        let arguments = self.pipeline.buffer_arguments();
        if let Some(argument) = arguments.get(self.positional) {
            self.bind(argument, &value);
        }
        // One too many is noticed by `submit`, which then knows the whole count.
        self.positional += 1;
        self
    }

    /// The argument with that Metal index.
    pub fn arg_at(mut self, index: u32, value: impl Argument) -> Self {
        let pipeline = self.pipeline;
        match pipeline.kernel().argument(ArgumentKind::Buffer, index) {
            Some(argument) => self.bind(argument, &value),
            None => self.note(surplus(pipeline.kernel(), ArgumentKind::Buffer, index).into()),
        }
        self
    }

    /// The argument with that name.
    pub fn arg_named(mut self, name: &str, value: impl Argument) -> Self {
        match self.pipeline.buffer_argument_named(name) {
            Ok(argument) => self.bind(argument, &value),
            Err(error) => self.note(error),
        }
        self
    }

    /// So many bytes for the threadgroup memory argument with that index.
    pub fn threadgroup_memory(mut self, index: u32, bytes: u64) -> Self {
        self.threadgroup_memory.push(ThreadgroupMemory { index, length: bytes });
        self
    }

    /// A grid of so many threads; the last threadgroups may be partial.
    pub fn threads(mut self, threads: impl Into<Extent>) -> Self {
        let threads = threads.into();
        match threads.to_array() {
            Ok(array) => self.grid = Some((Grid::Threads(array), threads.dimensions())),
            Err(error) => self.note(error),
        }
        self
    }

    /// A grid of so many full threadgroups. Give their size with [`Launch::group_size`].
    pub fn groups(mut self, groups: impl Into<Extent>) -> Self {
        let groups = groups.into();
        match groups.to_array() {
            Ok(array) => self.grid = Some((Grid::Threadgroups(array), groups.dimensions())),
            Err(error) => self.note(error),
        }
        self
    }

    /// Threads per threadgroup. Without it a grid of threads gets 256, 16×16 or 8×8×4, or what the kernel
    /// demands.
    pub fn group_size(mut self, size: impl Into<Extent>) -> Self {
        match size.into().to_array() {
            Ok(array) => self.group_size = Some(array),
            Err(error) => self.note(error),
        }
        self
    }

    /// Stops the kernel when it has run that long.
    pub fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Deadline::After(after);
        self
    }

    /// A name for messages.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Checks the launch and hands it over.
    pub fn submit(mut self) -> Result<Submitted, Error> {
        let dispatch = self.dispatch()?;
        let (deadline, label) = (self.deadline, self.label);
        let submission = Submission {
            commands: vec![Command::Dispatch(dispatch)],
            deadline,
            label,
            ..Submission::default()
        };
        Ok(Submitted::new(self.queue.hal().submit(submission)?))
    }

    fn dispatch(&mut self) -> Result<Dispatch, Error> {
        if let Some(mistake) = self.mistake.take() {
            return Err(mistake);
        }
        let kernel = self.pipeline.name();
        let expected = self.pipeline.buffer_arguments().len();
        // All by position: then the count itself is the clearest thing to say.
        let wrong_count =
            self.positional > expected || (self.positional > 0 && self.bindings.len() < expected);
        if wrong_count {
            let got = self.positional.max(self.bindings.len());
            return Err(Error::ArgumentCount { kernel: kernel.to_owned(), expected, got });
        }
        let (grid, dimensions) = self.grid.ok_or_else(|| Error::NoGrid { kernel: kernel.to_owned() })?;
        let group_size = match (self.group_size, grid) {
            (Some(size), _) => size,
            (None, Grid::Threads(_)) => self.pipeline.group_size_for(dimensions),
            (None, Grid::Threadgroups(_)) => {
                let required = self.pipeline.kernel().required_threads_per_threadgroup;
                required.ok_or_else(|| Error::NoGroupSize { kernel: kernel.to_owned() })?
            }
        };
        Ok(Dispatch {
            pipeline: self.pipeline.for_launch(grid, group_size)?,
            bindings: std::mem::take(&mut self.bindings),
            threadgroup_memory: std::mem::take(&mut self.threadgroup_memory),
            grid,
            group_size,
        })
    }

    fn bind(&mut self, argument: &ArgumentInfo, value: &dyn Argument) {
        match value.bind(ArgumentTarget { kernel: self.pipeline.name(), argument }) {
            Ok(resource) => {
                self.bindings.retain(|binding| binding.index != argument.index);
                self.bindings.push(Binding { index: argument.index, resource });
            }
            Err(error) => self.note(error.into()),
        }
    }

    fn note(&mut self, error: Error) {
        self.mistake.get_or_insert(error);
    }
}
