//! The launch builder: one kernel, its arguments, its grid, now.
//!
//! Owns [`Launch`]. Invariant: the first mistake is kept and told by [`Launch::submit`]; nothing runs then.

use anymetal_core::submission::argument::Argument;
use anymetal_hal::command::{BoundResource, Deadline, Grid, ResourceUsage};

use crate::buffer::{BufferSlice, BufferView};
use crate::call::KernelCall;
use crate::error::Error;
use crate::pipeline::Pipeline;
use crate::queue::Queue;
use crate::submission::{Outcome, Submission, told};
use crate::{call_setters, texture_setters};

/// A launch in the making.
#[derive(Debug)]
#[must_use = "nothing runs before `submit`"]
pub struct Launch<'a> {
    queue: &'a Queue,
    pipeline: &'a Pipeline,
    call: KernelCall<'a, BoundResource>,
    deadline: Deadline,
    label: String,
    after: Vec<Submission>,
    /// Buffers that the kernel reaches through pointers in memory.
    resident: Vec<(BufferSlice, ResourceUsage)>,
}

impl<'a> Launch<'a> {
    pub(crate) fn new(queue: &'a Queue, pipeline: &'a Pipeline) -> Self {
        let call = KernelCall::new(pipeline.signature());
        Launch {
            queue,
            pipeline,
            call,
            deadline: Deadline::Default,
            label: String::new(),
            after: Vec::new(),
            resident: Vec::new(),
        }
    }

    call_setters!(Argument, bind);
    texture_setters!(Argument, bind, crate::texture::Texture);

    /// A grid of as many full threadgroups as the view's first three elements say when the launch's turn
    /// comes, which work before it may have written. Their size is given with `group_size`. Counts beyond the
    /// limits end the work with an error.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// let device = anymetal::Device::system_default()?;
    /// let library = device.library_from_source(
    ///     "kernel void decide(device uint* groups) { groups[0] = 3; groups[1] = groups[2] = 1; }
    ///      kernel void mark(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = 1; }",
    /// )?;
    /// let (decide, mark) = (library.pipeline("decide")?, library.pipeline("mark")?);
    /// let (groups, y) = (device.buffer_zeroed::<u32>(3)?, device.buffer_zeroed::<u32>(128)?);
    /// let queue = device.queue()?;
    /// queue.launch(&decide).arg(&groups).threads(1).submit()?;
    /// queue.launch(&mark).arg(&y).groups_from(&groups.view(0..3)?).group_size(32).submit()?.wait()?;
    /// assert_eq!(y.read()?.iter().sum::<u32>(), 96);
    /// # Ok(())
    /// # }
    /// ```
    pub fn groups_from(mut self, counts: &BufferView<u32>) -> Self {
        self.call.groups_from(counts);
        self
    }

    /// All threadgroups are in progress at once, so that they can meet at barriers of the grid
    /// (`grid_sync()` of `<anymetal_groups>`). A kernel with such barriers is refused without it, with
    /// [`DeviceError::NotCooperative`]; so is a grid that the device has no room for as a whole, with
    /// [`DeviceError::CooperativeGridTooLarge`].
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// let device = anymetal::Device::system_default()?;
    /// let library = device.library_from_source(
    ///     "#include <anymetal_groups>
    ///      kernel void sum(device const uint* x, device uint* parts, device uint* y,
    ///                      uint i [[thread_position_in_grid]], uint n [[threads_per_grid]]) {
    ///        anymetal::grid_group grid = anymetal::this_grid();
    ///        parts[i] = x[i];
    ///        for (uint half_of = n / 2; half_of > 0; half_of /= 2) {
    ///          grid.sync();
    ///          if (i < half_of) parts[i] += parts[i + half_of];
    ///        }
    ///        if (i == 0) *y = parts[0];
    ///      }",
    /// )?;
    /// let sum = library.pipeline("sum")?;
    /// let x = device.buffer(&(0..1024u32).collect::<Vec<_>>())?;
    /// let (parts, y) = (device.buffer_zeroed::<u32>(1024)?, device.buffer_zeroed::<u32>(1)?);
    /// let queue = device.queue()?;
    /// let launch = queue.launch(&sum).arg(&x).arg(&parts).arg(&y).threads(1024).group_size(64);
    /// launch.cooperative().submit()?.wait()?;
    /// assert_eq!(y.read()?, [1023 * 512]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// [`DeviceError::NotCooperative`]: crate::error::DeviceError::NotCooperative
    /// [`DeviceError::CooperativeGridTooLarge`]: crate::error::DeviceError::CooperativeGridTooLarge
    pub fn cooperative(mut self) -> Self {
        self.call.cooperative();
        self
    }

    /// Makes a buffer reachable for the kernel, which finds the buffer's address in memory; see
    /// [`crate::ComputeEncoder::use_resource`].
    pub fn use_resource(mut self, resource: impl Into<BufferSlice>, usage: ResourceUsage) -> Self {
        self.resident.push((resource.into(), usage));
        self
    }

    /// As [`Launch::use_resource`], of several.
    pub fn use_resources<R: Into<BufferSlice>>(
        mut self,
        resources: impl IntoIterator<Item = R>,
        usage: ResourceUsage,
    ) -> Self {
        self.resident.extend(resources.into_iter().map(|resource| (resource.into(), usage)));
        self
    }

    /// Stops the kernel when it has run for that [`Duration`](std::time::Duration), in place of the default
    /// (the setting `streams.deadline`, or else 60 s); [`Deadline::Never`] turns the deadline off.
    pub fn deadline(mut self, deadline: impl Into<Deadline>) -> Self {
        self.deadline = deadline.into();
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

    /// The grid with the number of its dimensions, if it was given.
    pub(crate) fn grid_given(&self) -> Option<(Grid, usize)> {
        self.call.grid_given()
    }

    /// Compiles the code for the shape of the launch now, so that [`Launch::submit`] does not compile.
    /// Returns the threads of its threadgroups along x, y and z.
    ///
    /// # Errors
    /// The first mistake of the calls so far, and those of the compiler. Missing arguments are found by
    /// [`Launch::submit`].
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// let device = anymetal::Device::system_default()?;
    /// let source = "kernel void set(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = 1; }";
    /// let (set, queue) = (device.library_from_source(source)?.pipeline("set")?, device.queue()?);
    /// let y = device.buffer_zeroed::<u32>(1000)?;
    /// let launch = queue.launch(&set).arg(&y).threads(1000);
    /// assert_eq!(launch.warm_up()?, [256, 1, 1]);
    /// launch.submit()?.wait()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn warm_up(&self) -> Result<[u32; 3], Error> {
        self.call.warm_up(self.pipeline)
    }

    /// Checks the launch and hands it over.
    pub fn submit(self) -> Result<Submission, Error> {
        Submission::accepted(self.encoded()?.commit())
    }

    /// Checks the launch, runs it and waits for its end: as `submit()?.wait()`, with less to do for a short
    /// kernel on a queue that has nothing else to do, which the calling thread then runs itself.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// let device = anymetal::Device::system_default()?;
    /// let source = "kernel void twice(device uint* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }";
    /// let (twice, queue) = (device.library_from_source(source)?.pipeline("twice")?, device.queue()?);
    /// let y = device.buffer(&[1u32, 2, 3])?;
    /// for _ in 0..20 {
    ///     queue.launch(&twice).arg(&y).threads(3).run()?;
    /// }
    /// assert_eq!(y.read()?, [1, 2, 3].map(|value| value << 20));
    /// # Ok(())
    /// # }
    /// ```
    pub fn run(self) -> Outcome {
        told(self.encoded()?.run())
    }

    fn encoded(self) -> Result<anymetal_core::submission::command_buffer::CommandBuffer, Error> {
        let Launch { queue, pipeline, call, deadline, label, after, resident } = self;
        let dispatch = call.finish()?.dispatch(pipeline)?;
        let mut command_buffer = queue.stream().command_buffer()?;
        if !label.is_empty() {
            command_buffer = command_buffer.label(label);
        }
        if deadline != Deadline::Default {
            command_buffer = command_buffer.deadline(deadline);
        }
        for other in &after {
            command_buffer = command_buffer.after(other.inner());
        }
        for (region, usage) in &resident {
            command_buffer.use_resource(region.buffer(), *usage);
        }
        dispatch.encode(&mut command_buffer)?;
        Ok(command_buffer)
    }
}
