//! The launch builder: one kernel, its arguments, its grid, now.
//!
//! Owns [`Launch`]. Invariant: the first mistake is kept and told by [`Launch::submit`]; nothing runs then.

use std::time::Duration;

use anymetal_hal::command::{Binding, BoundResource, Deadline, Dispatch, Grid};
use anymetal_runtime::submission::argument::Argument;

use crate::call::{FinishedCall, KernelCall, call_setters};
use crate::error::Error;
use crate::extent::Extent;
use crate::pipeline::Pipeline;
use crate::queue::Queue;
use crate::submission::Submission;

/// A launch in the making.
#[derive(Debug)]
#[must_use = "nothing runs before `submit`"]
pub struct Launch<'a> {
    queue: &'a Queue,
    call: KernelCall<'a, BoundResource>,
    deadline: Deadline,
    label: String,
    after: Vec<Submission>,
}

impl<'a> Launch<'a> {
    pub(crate) fn new(queue: &'a Queue, pipeline: &'a Pipeline) -> Self {
        let call = KernelCall::new(pipeline);
        Launch { queue, call, deadline: Deadline::Default, label: String::new(), after: Vec::new() }
    }

    call_setters!(Argument, bind);

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

    /// Runs it only after other work, of any queue and device, has ended well.
    pub fn after(mut self, other: &Submission) -> Self {
        self.after.push(other.clone());
        self
    }

    /// Checks the launch and hands it over.
    pub fn submit(self) -> Result<Submission, Error> {
        let Launch { queue, call, deadline, label, after } = self;
        let dispatch = dispatch(call)?;
        let mut command_buffer = queue.stream().command_buffer()?.label(label).deadline(deadline);
        for other in &after {
            command_buffer = command_buffer.after(other.inner());
        }
        command_buffer.compute().encode(dispatch)?;
        Submission::accepted(command_buffer.commit())
    }
}

fn dispatch(call: KernelCall<'_, BoundResource>) -> Result<Dispatch, Error> {
    let pipeline = call.pipeline;
    let FinishedCall { bindings, threadgroup_memory, grid, group_size } = call.finish()?;
    let bindings = bindings.into_iter().map(|(index, resource)| Binding { index, resource });
    Ok(Dispatch {
        pipeline: pipeline.for_launch(grid, group_size)?,
        bindings: bindings.collect(),
        threadgroup_memory,
        grid,
        group_size,
    })
}
