//! `anymetal worker`: the process that compiles sources or runs kernels where `ANYMETAL_ISOLATE` requests it.
//!
//! Hidden: programs that use anymetal start it, with a socket as its standard input.

use anymetal_driver::{COMPILER_IDENTITY, decode_interpreter, serve_worker};
use clap::Args;

use crate::failure::Failure;

/// Compiles, or runs kernels, for the process that started this one.
#[derive(Args, Debug)]
pub(crate) struct WorkerArgs {
    /// Bytes that the worker may allocate
    memory_bytes: u64,
    /// Runs kernels
    #[arg(long)]
    run: bool,
}

/// Serves until the other process ends.
pub(crate) fn worker(args: &WorkerArgs) -> Result<(), Failure> {
    let served = if args.run {
        anymetal_isolated::serve(args.memory_bytes, COMPILER_IDENTITY, |bytes| {
            decode_interpreter(bytes).map_err(|error| error.to_string())
        })
    } else {
        serve_worker(args.memory_bytes)
    };
    served.map_err(|error| Failure::Usage(format!("this is no command for users: {error}")))
}
