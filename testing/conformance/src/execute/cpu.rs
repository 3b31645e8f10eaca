//! The CPU device through the public crate, with default options.

use super::{Buffers, ExecError, Executor, Math, Opened, Prepared, Source};
use crate::case::{Binding, Constant, Grid, Launch};
use anymetal::{
    Buffer, CompileOptions, Device, DeviceError, Error, FunctionConstants, Library, MathMode, Pipeline,
    Queue, Unbound,
};

/// The CPU device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

impl Executor for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn open(&self, source: &Source) -> Result<Box<dyn Opened>, ExecError> {
        let device = Device::by_name("cpu").map_err(failed)?;
        let options = CompileOptions {
            file_name: source.name.clone(),
            include_folders: source.include_dirs.clone(),
            math_mode: match source.math {
                Math::Safe => MathMode::Safe,
                Math::Fast => MathMode::Fast,
            },
            ..CompileOptions::default()
        };
        let library = device
            .library_from_source_with(&source.text, &options)
            .map_err(|error| ExecError::Compile(error.to_string()))?;
        Ok(Box::new(OpenedLibrary { library }))
    }
}

struct OpenedLibrary {
    library: Library,
}

impl Opened for OpenedLibrary {
    fn kernels(&self) -> Vec<String> {
        self.library.kernel_names()
    }

    fn prepare(&self, kernel: &str, constants: &[(u32, Constant)]) -> Result<Box<dyn Prepared>, ExecError> {
        let constants = constants.iter().fold(FunctionConstants::new(), |all, &(index, value)| match value {
            Constant::Bool(value) => all.with(index, value),
            Constant::Integer(value) => all.with(index, value),
            Constant::Float(value) => all.with(index, value),
        });
        let pipeline = self.library.pipeline_with(kernel, &constants);
        let pipeline = pipeline.map_err(|error| ExecError::Compile(error.to_string()))?;
        let queue = self.library.device().queue().map_err(failed)?;
        Ok(Box::new(PreparedPipeline { device: self.library.device().clone(), queue, pipeline }))
    }
}

struct PreparedPipeline {
    device: Device,
    queue: Queue,
    pipeline: Pipeline,
}

impl Prepared for PreparedPipeline {
    fn run(&self, launch: &Launch) -> Result<Buffers, ExecError> {
        let mut buffers: Vec<Option<Buffer<u8>>> = Vec::new();
        let mut build = self.queue.launch(&self.pipeline);
        for arg in &launch.args {
            let mut buffer = None;
            build = match &arg.binding {
                Binding::Buffer { bytes, offset } => {
                    let whole = self.device.buffer(bytes).map_err(failed)?;
                    let view = whole.view(*offset..bytes.len()).map_err(failed)?;
                    buffer = Some(whole);
                    build.arg_at(arg.index, view)
                }
                Binding::Unbound => build.arg_at(arg.index, Unbound),
                Binding::Threadgroup(bytes) => build.threadgroup_memory(arg.index, *bytes),
            };
            buffers.push(buffer);
        }
        build = match launch.grid {
            Grid::Threads(threads) => build.threads(threads),
            Grid::Groups(groups) => build.groups(groups),
        };
        let outcome = build.group_size(launch.group).submit().and_then(|submitted| submitted.wait());
        let read = |buffer: &Option<Buffer<u8>>| match buffer {
            Some(buffer) => buffer.read().map_err(failed),
            None => Ok(Vec::new()),
        };
        let buffers = buffers.iter().map(read).collect::<Result<Buffers, _>>()?;
        match outcome {
            Ok(_) => Ok(buffers),
            Err(Error::Device(DeviceError::OutOfBounds(place))) => {
                Err(ExecError::Fault(place.to_string(), buffers))
            }
            Err(error) => Err(failed(error)),
        }
    }
}

fn failed(error: Error) -> ExecError {
    ExecError::Failed(error.to_string())
}
