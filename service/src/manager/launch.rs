//! Launches of managed kernels and graphs in the making.
//!
//! Owns [`ManagedLaunch`] and [`ManagedGraphLaunch`], with what their options take: checks of
//! results ([`Produced`]) and pieces of split work ([`Piece`], [`PieceCall`]). Invariant: the first
//! mistake is kept and told by `execute`; nothing runs then.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::clock::wait_for;
use anymetal_policy::idempotence::Declaration;
use bytemuck::Pod;

use super::buffer::{ManagedArgument, ManagedBinding, ManagedBuffer, elements};
use super::core::Core;
use super::error::ManagerError;
use super::execution::Execution;
use super::graph::{GraphShared, ManagedGraph, Placed, undeclared};
use super::job::Job;
use super::kernel::ManagedKernel;
use super::memory::Memory;
use super::run::{Options, run};
use super::texture::ManagedTexture;
use anymetal::Error;
use anymetal::call::Signature;
use anymetal::call::{FinishedCall, KernelCall};
use anymetal::{call_setters, texture_setters};

/// A check of a result.
pub(super) type Verify<'a> = Box<dyn Fn(&Produced<'_>) -> Result<bool, ManagerError> + Send + Sync + 'a>;

/// Makes the launch of one piece.
pub(super) type Split<'a> = Box<dyn for<'p> Fn(Piece, PieceCall<'p>) -> PieceCall<'p> + Send + Sync + 'a>;

/// The setters of a launch with a field `options`, and its end; `job` makes its job.
macro_rules! execution_setters {
    () => {
        /// Says that running it again, even after a part of it ran, gives the same result: nothing is
        /// copied or restored.
        pub fn idempotent(mut self) -> Self {
            self.options.declaration = Declaration::Idempotent;
            self
        }

        /// Says that it must not run again once it may have had an effect.
        pub fn once(mut self) -> Self {
            self.options.declaration = Declaration::Once;
            self
        }

        /// How long all attempts with their delays may take from `execute` on. The policies may give
        /// less.
        pub fn deadline(mut self, length: Duration) -> Self {
            self.options.deadline = Some(length);
            self
        }

        /// Checks the result of each attempt before it counts; one that is rejected is tried again as
        /// after a transient failure.
        pub fn verify(
            mut self,
            check: impl Fn(&Produced<'_>) -> Result<bool, ManagerError> + Send + Sync + 'a,
        ) -> Self {
            self.options.verify = Some(Box::new(check));
            self
        }

        /// Runs it by the manager's policies and waits for the result.
        pub fn execute(mut self) -> Result<Execution, ManagerError> {
            self.options.blocking = true;
            let clock = Arc::clone(&self.core.clock);
            let executed = wait_for(&*clock, None, self.execute_async());
            executed.expect("waiting without a limit ends with the future")
        }

        /// Runs it by the manager's policies, awaited under any executor. Compiling and copying run on
        /// the thread that polls. If the future is dropped, work that runs keeps its buffers until it
        /// has ended, and what it writes is unspecified.
        pub async fn execute_async(self) -> Result<Execution, ManagerError> {
            let core = Arc::clone(self.core);
            let (job, options) = self.into_job()?;
            run(&core, &job, &options).await
        }
    };
}

/// A launch of a managed kernel in the making.
#[must_use = "nothing runs before `execute`"]
pub struct ManagedLaunch<'a> {
    core: &'a Arc<Core>,
    kernel: &'a ManagedKernel,
    call: KernelCall<'a, ManagedBinding>,
    split: Option<Split<'a>>,
    reduced: Option<&'a ManagedKernel>,
    options: Options<'a>,
}

impl<'a> ManagedLaunch<'a> {
    pub(super) fn new(core: &'a Arc<Core>, kernel: &'a ManagedKernel) -> Self {
        let (call, options) = (KernelCall::new(kernel.shared.signature()), Options::default());
        ManagedLaunch { core, kernel, call, split: None, reduced: None, options }
    }

    call_setters!(ManagedArgument, bind_managed);
    texture_setters!(ManagedArgument, bind_managed, ManagedTexture);

    /// How the work is done in pieces, one after the other, where a device cannot do it at once: the
    /// second level of degradation asks for 2, each further one for twice as many. A piece uses
    /// buffers of the whole, or views of them, and all pieces together do what the whole does.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal_service::ManagerError> {
    /// let manager = anymetal_service::Manager::system()?;
    /// let source = "kernel void twice(device const float* x, device float* y,
    ///                                 uint i [[thread_position_in_grid]]) { y[i] = 2 * x[i]; }";
    /// let twice = manager.kernel(source, "twice")?;
    /// let (x, y) = (manager.buffer(&[1.0f32; 100])?, manager.buffer_zeroed::<f32>(100)?);
    /// let launch = manager.launch(&twice).arg(&x).arg(&y).threads(100);
    /// launch
    ///     .split(|piece, call| {
    ///         let part = piece.range(100);
    ///         let views = (x.view(part.clone()), y.view(part.clone()));
    ///         match views {
    ///             (Ok(x), Ok(y)) => call.arg(x).arg(y).threads(part.len()),
    ///             _ => call, // a call that is not complete fails
    ///         }
    ///     })
    ///     .execute()?;
    /// assert_eq!(y.read()?, [2.0; 100]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn split(
        mut self,
        split: impl for<'p> Fn(Piece, PieceCall<'p>) -> PieceCall<'p> + Send + Sync + 'a,
    ) -> Self {
        self.split = Some(Box::new(split));
        self
    }

    /// From the first level of degradation on, this kernel runs in place of the launch's, with the same
    /// arguments: one that computes in `half`, say, or in fewer steps. [`Execution::is_reduced`] says so.
    ///
    /// # Errors
    /// [`ManagerError::ReducedDiffers`] of `execute`, if the arguments of the two are not alike.
    pub fn reduced(mut self, kernel: &'a ManagedKernel) -> Self {
        self.reduced = Some(kernel);
        self
    }

    execution_setters!();

    fn into_job(self) -> Result<(Job<'a>, Options<'a>), ManagerError> {
        let call = self.call.finish()?;
        let reduced = self.reduced.map(|kernel| &*kernel.shared);
        Ok((Job::kernel(self.core, &self.kernel.shared, reduced, call, self.split)?, self.options))
    }
}

/// A launch of a managed graph in the making.
#[must_use = "nothing runs before `execute`"]
pub struct ManagedGraphLaunch<'a> {
    core: &'a Arc<Core>,
    graph: &'a GraphShared,
    options: Options<'a>,
}

impl<'a> ManagedGraphLaunch<'a> {
    pub(super) fn new(core: &'a Arc<Core>, graph: &'a ManagedGraph) -> Self {
        ManagedGraphLaunch { core, graph: &graph.shared, options: Options::default() }
    }

    execution_setters!();

    fn into_job(self) -> Result<(Job<'a>, Options<'a>), ManagerError> {
        Ok((Job::graph(self.core, self.graph)?, self.options))
    }
}

/// The buffers of an attempt that ended well, before its result counts.
#[derive(Debug)]
pub struct Produced<'a> {
    work: &'a str,
    placed: &'a Placed,
}

impl<'a> Produced<'a> {
    pub(super) fn new(work: &'a str, placed: &'a Placed) -> Self {
        Produced { work, placed }
    }

    /// A copy of the elements of a buffer that the work uses, as the attempt left them.
    pub fn read<T: Pod>(&self, buffer: &ManagedBuffer<T>) -> Result<Vec<T>, ManagerError> {
        Ok(elements(&self.bytes(buffer.memory())?, buffer.len()))
    }

    /// A copy of the texels of the first level of a texture that the work uses, as the attempt left them.
    pub fn read_texture<T: Pod>(&self, texture: &ManagedTexture) -> Result<Vec<T>, ManagerError> {
        Ok(texture.texels_of(&self.bytes(texture.memory())?)?)
    }

    fn bytes(&self, memory: &Memory) -> Result<Vec<u8>, ManagerError> {
        let placed = self.placed.get(&memory.id()).ok_or_else(|| undeclared(self.work, memory))?;
        let mut bytes = vec![0; memory.length() as usize];
        placed.as_hal().read(0, &mut bytes).map_err(Error::from)?;
        Ok(bytes)
    }
}

/// Which piece of split work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    number: usize,
    count: usize,
}

impl Piece {
    pub(super) fn new(number: usize, count: usize) -> Self {
        Piece { number, count }
    }

    /// Its number, from 0.
    pub fn number(self) -> usize {
        self.number
    }

    /// How many pieces there are.
    pub fn count(self) -> usize {
        self.count
    }

    /// Its share of that many elements; shares differ by one element at most.
    pub fn range(self, elements: usize) -> Range<usize> {
        let bound = |number: usize| (elements as u128 * number as u128 / self.count as u128) as usize;
        bound(self.number)..bound(self.number + 1)
    }
}

/// The launch of one piece in the making.
#[derive(Debug)]
#[must_use = "a piece is what the closure gives back"]
pub struct PieceCall<'a> {
    call: KernelCall<'a, ManagedBinding>,
}

impl<'a> PieceCall<'a> {
    pub(super) fn new(signature: &'a Signature) -> Self {
        PieceCall { call: KernelCall::new(signature) }
    }

    call_setters!(ManagedArgument, bind_managed);
    texture_setters!(ManagedArgument, bind_managed, ManagedTexture);

    pub(super) fn finish(self) -> Result<FinishedCall<ManagedBinding>, Error> {
        self.call.finish()
    }
}

impl fmt::Debug for ManagedLaunch<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ManagedLaunch").field("kernel", self.kernel).finish_non_exhaustive()
    }
}

impl fmt::Debug for ManagedGraphLaunch<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ManagedGraphLaunch")
            .field("graph", &self.graph.name())
            .finish_non_exhaustive()
    }
}
