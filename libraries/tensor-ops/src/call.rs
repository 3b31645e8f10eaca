//! Kernel calls in the making: handed to the queue at once, or kept by a recording.
//!
//! Owns [`Call`] and what it takes for arguments. Invariant: memory that only an unfinished recording
//! fills is an argument of its own calls alone; the first mistake is told by [`Ops::submit`].

use anymetal::argument::Plain;
use anymetal::{Argument, Buffer, BufferView, Extent, Launch, Pipeline};
use bytemuck::NoUninit;

use crate::context::Ops;
use crate::error::OpError;
use crate::random::Draw;
use crate::recording::{OPEN, RecordedArgument, RecordedCall};

/// A call of one kernel.
pub(crate) struct Call<'a> {
    ops: &'a Ops,
    target: Target<'a>,
    mistake: Option<OpError>,
}

/// Where a call goes.
enum Target<'a> {
    Queue(Launch<'a>),
    Recording(RecordedCall),
}

/// What a kernel may be given.
pub(crate) trait CallArgument {
    /// The buffer that it is in, if it is in one.
    fn memory(&self) -> Option<Buffer<u8>>;
    fn launched<'a>(self, launch: Launch<'a>) -> Launch<'a>;
    fn recorded(self) -> RecordedArgument;
}

impl<'a> Call<'a> {
    pub(crate) fn new(ops: &'a Ops, pipeline: &'a Pipeline) -> Call<'a> {
        let target = match ops.recorder() {
            Some(_) => Target::Recording(RecordedCall::new(pipeline)),
            None => Target::Queue(ops.queue().launch(pipeline)),
        };
        Call { ops, target, mistake: None }
    }

    /// The next argument, in the order of their Metal indices.
    pub(crate) fn arg(mut self, argument: impl CallArgument) -> Self {
        match self.target {
            Target::Queue(launch) => {
                // Most often there is none, and nothing to look for.
                if OPEN.are_there()
                    && let Some(memory) = argument.memory()
                    && self.ops.is_unfinished(&memory)
                {
                    self.mistake.get_or_insert(OpError::unfinished());
                }
                self.target = Target::Queue(argument.launched(launch));
            }
            Target::Recording(call) => self.target = Target::Recording(call.argument(argument.recorded())),
        }
        self
    }

    /// A grid of that many threads.
    pub(crate) fn threads(self, threads: impl Into<Extent>) -> Self {
        let threads = threads.into();
        self.with(|launch| launch.threads(threads), |call| call.threads(threads))
    }

    /// A grid of that many full threadgroups.
    pub(crate) fn groups(self, groups: impl Into<Extent>) -> Self {
        let groups = groups.into();
        self.with(|launch| launch.groups(groups), |call| call.groups(groups))
    }

    pub(crate) fn group_size(self, size: impl Into<Extent>) -> Self {
        let size = size.into();
        self.with(|launch| launch.group_size(size), |call| call.group_size(size))
    }

    fn with(
        mut self,
        launched: impl FnOnce(Launch<'a>) -> Launch<'a>,
        recorded: impl FnOnce(RecordedCall) -> RecordedCall,
    ) -> Self {
        self.target = match self.target {
            Target::Queue(launch) => Target::Queue(launched(launch)),
            Target::Recording(call) => Target::Recording(recorded(call)),
        };
        self
    }
}

impl Ops {
    /// Begins a call of a kernel.
    pub(crate) fn call<'a>(&'a self, pipeline: &'a Pipeline) -> Call<'a> {
        Call::new(self, pipeline)
    }

    /// Hands a call over: to the queue, or to the recording.
    pub(crate) fn submit(&self, call: Call<'_>) -> Result<(), OpError> {
        if let Some(mistake) = call.mistake {
            return Err(mistake);
        }
        match call.target {
            Target::Queue(launch) => self.note_submission(launch.submit()?),
            Target::Recording(call) => match self.recorder() {
                Some(recorder) => recorder.add_call(call),
                None => return Err(OpError::unfinished()),
            },
        }
        Ok(())
    }
}

impl<T: anymetal::Pod> CallArgument for &Buffer<T> {
    fn memory(&self) -> Option<Buffer<u8>> {
        Some(self.bytes())
    }

    fn launched<'a>(self, launch: Launch<'a>) -> Launch<'a> {
        launch.arg(self)
    }

    fn recorded(self) -> RecordedArgument {
        let bytes = self.bytes();
        let length = bytes.len() as u64;
        RecordedArgument::Memory { buffer: bytes, offset: 0, length }
    }
}

impl CallArgument for &BufferView<u8> {
    fn memory(&self) -> Option<Buffer<u8>> {
        Some(self.buffer().clone())
    }

    fn launched<'a>(self, launch: Launch<'a>) -> Launch<'a> {
        launch.arg(self)
    }

    fn recorded(self) -> RecordedArgument {
        let (buffer, region) = (self.buffer().clone(), self.region());
        let offset = region.offset() - buffer.region().offset();
        RecordedArgument::Memory { buffer, offset, length: region.length() }
    }
}

/// Numbers and arrays of them.
macro_rules! values {
    ($($type:ty),*) => {
        $(
            impl CallArgument for $type {
                fn memory(&self) -> Option<Buffer<u8>> {
                    None
                }

                fn launched<'a>(self, launch: Launch<'a>) -> Launch<'a> {
                    launch.arg(self)
                }

                fn recorded(self) -> RecordedArgument {
                    RecordedArgument::Value(Box::new(self))
                }
            }
        )*
    };
}

values!(f32, i32, u32, i64, u64, [u32; 2], [i32; 2], [i32; 4], [f32; 4]);

impl<T: NoUninit + Send + Sync> CallArgument for Plain<T>
where
    Plain<T>: Argument,
{
    fn memory(&self) -> Option<Buffer<u8>> {
        None
    }

    fn launched<'a>(self, launch: Launch<'a>) -> Launch<'a> {
        launch.arg(self)
    }

    fn recorded(self) -> RecordedArgument {
        RecordedArgument::Value(Box::new(self))
    }
}

impl CallArgument for Draw {
    fn memory(&self) -> Option<Buffer<u8>> {
        None
    }

    fn launched<'a>(self, launch: Launch<'a>) -> Launch<'a> {
        launch.arg(self.take())
    }

    fn recorded(self) -> RecordedArgument {
        RecordedArgument::Draw(self)
    }
}
