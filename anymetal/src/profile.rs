//! Profiling: the same work N times, by the code that launches run.
//!
//! Owns [`Profiler`]; the rounds and their statistics are the runtime's.

use anymetal_core::profile;
use anymetal_types::setters;

use crate::command_buffer::CommandBuffer;
use crate::error::Error;
use crate::queue::Queue;

pub use anymetal_core::profile::{CountedWork, Profile, TimeSource};
pub use anymetal_core::trace::{Trace, TracedCommand, TracedSubmission};
pub use anymetal_hal::clock::{Clock, SystemClock};
pub use anymetal_hal::completion::{CommandTiming, Timing};

/// Runs the same work again and again and measures each round.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::profile::{CountedWork, Profiler};
/// use anymetal::Device;
///
/// let device = Device::system_default()?;
/// let source = "kernel void twice(device float* y, uint i [[thread_position_in_grid]]) { y[i] *= 2; }";
/// let twice = device.library_from_source(source)?.pipeline("twice")?;
/// let y = device.buffer(&[1.0f32; 4096])?;
/// let work = CountedWork { flop: 4096, bytes: 2 * 4 * 4096 };
/// let profile = Profiler::default().iterations(10).work(work).run(&device.queue()?, |commands| {
///     let mut encoder = commands.compute_encoder();
///     encoder.set_pipeline(&twice);
///     encoder.set_buffer(0, &y, 0)?;
///     encoder.dispatch_threads(4096, 256)
/// })?;
/// assert_eq!(profile.samples_ns().len(), 10);
/// println!("{profile}"); // 10 rounds by the device's clock: median 2.1 us (least 2.0, …), 15.60 GB/s
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profiler {
    /// Rounds before the measured ones; what is compiled in the first one is not measured.
    pub warm_up: usize,
    /// Measured rounds, at least one.
    pub iterations: usize,
    /// What one round does, counted by the caller: rates are of it.
    pub work: CountedWork,
}

setters!(Profiler { warm_up: usize, iterations: usize, work: CountedWork });

impl Default for Profiler {
    fn default() -> Self {
        let profile::Profiler { warm_up, iterations, work } = profile::Profiler::default();
        Profiler { warm_up, iterations, work }
    }
}

impl Profiler {
    /// Runs the rounds one after the other, each a command buffer of that queue which `encode` fills. An
    /// error ends it.
    pub fn run(
        &self,
        queue: &Queue,
        mut encode: impl FnMut(&mut CommandBuffer) -> Result<(), Error>,
    ) -> Result<Profile, Error> {
        let Profiler { warm_up, iterations, work } = *self;
        let rounds = profile::Profiler { warm_up, iterations, work };
        rounds.run_encoded(queue.stream().context(), || {
            let mut commands = queue.command_buffer()?;
            encode(&mut commands)?;
            Ok(commands.into_inner())
        })
    }
}
