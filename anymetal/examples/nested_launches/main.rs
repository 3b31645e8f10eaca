//! Nested launches: kernels that encode the work that follows, with counts that are on the device.
//!
//! A breadth-first search, a quadtree and a Mandelbrot set by adaptive subdivision. Each is compared with
//! plain Rust, and timed in turn with a form in which the host knows everything beforehand and encodes all
//! dispatches itself; the ratios of the medians are printed, of time and of processor time. With
//! `--pictures FOLDER` the quadtree and the set are written there as PNG files. Exits with 1 if anything is
//! wrong.
//!
//! `cargo run --release -p anymetal --example nested_launches -- [--pictures FOLDER]`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

mod bfs;
mod compare;
mod mandelbrot;
mod picture;
mod quadtree;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use anymetal::Device;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let pictures = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => None,
        ["--pictures", folder] => Some(PathBuf::from(folder)),
        _ => return Err("usage: nested_launches [--pictures FOLDER]".into()),
    };
    let device = Device::system_default()?;
    println!("device: {}, {:?}", device.name(), device.executor());
    bfs::run(&device)?;
    quadtree::run(&device, pictures.as_deref())?;
    mandelbrot::run(&device, pictures.as_deref())?;
    Ok(())
}
