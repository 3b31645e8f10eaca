//! `anymetal worker`: the process in which sources are compiled where `ANYMETAL_ISOLATE` requests it.
//!
//! Hidden: programs that use anymetal start it, with a socket as its standard input.

use clap::Args;

use crate::failure::Failure;

/// Compiles for the process that started this one.
#[derive(Args, Debug)]
pub(crate) struct WorkerArgs {
    /// Bytes that compiles may allocate
    memory_bytes: u64,
}

/// Serves until the other process ends.
pub(crate) fn worker(args: &WorkerArgs) -> Result<(), Failure> {
    let served = anymetal_driver::serve_worker(args.memory_bytes);
    served.map_err(|error| Failure::Usage(format!("this is no command for users: {error}")))
}
