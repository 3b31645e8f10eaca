//! Libraries: compiled source from which pipelines are made.

use std::path::PathBuf;

use anymetal_hal::artifact::KernelInfo;

use crate::compile::CompiledLibrary;
use crate::constants::FunctionConstants;
use crate::device::Device;
use crate::error::Error;
use crate::pipeline::{Pipeline, Specialiser};

/// How source is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompileOptions {
    /// The name of the source in diagnostics.
    pub file_name: String,
    /// Macros, as `-D NAME` or `-D NAME=VALUE`.
    pub defines: Vec<(String, Option<String>)>,
    /// Folders searched for `#include`, in order.
    pub include_folders: Vec<PathBuf>,
    /// What the compiler may do to floating-point arithmetic.
    pub math_mode: MathMode,
    /// Whether accesses are checked against what is bound.
    pub check_mode: CheckMode,
    /// The version of MSL, as `__METAL_VERSION__` gives it: 320 for Metal 3.2.
    pub language_version: u32,
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions {
            file_name: "source.metal".to_owned(),
            defines: Vec::new(),
            include_folders: Vec::new(),
            math_mode: MathMode::default(),
            check_mode: CheckMode::default(),
            language_version: 320,
        }
    }
}

/// What the compiler may do to floating-point arithmetic, in Metal's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MathMode {
    /// Nothing that changes a result.
    Safe,
    /// Reassociation and contraction, infinities and NaNs kept.
    Relaxed,
    /// As Metal's default: infinities and NaNs may be assumed away.
    #[default]
    Fast,
}

/// Whether memory accesses are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckMode {
    /// Out of bounds, loads give zero, stores are dropped, and the launch ends with an error.
    #[default]
    Bounds,
    /// Trusted code only: an access out of bounds is undefined behaviour of the whole process.
    Off,
}

/// Compiled source. Each kernel is compiled for the device when its pipeline is made.
#[derive(Debug)]
pub struct Library {
    device: Device,
    compiled: CompiledLibrary,
}

impl Library {
    pub(crate) fn new(device: Device, compiled: CompiledLibrary) -> Self {
        Library { device, compiled }
    }

    /// The device that it is for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The kernels' names, in source order.
    pub fn kernel_names(&self) -> Vec<String> {
        self.compiled.kernel_names()
    }

    /// A kernel's arguments, function constants and limits, without making it ready to run.
    pub fn reflect(&self, kernel: &str) -> Result<KernelInfo, Error> {
        self.compiled.reflect(kernel)
    }

    /// The diagnostics that did not stop compilation, rendered; empty if there are none.
    pub fn warnings(&self) -> &str {
        self.compiled.warnings()
    }

    /// Makes a kernel ready to run.
    pub fn pipeline(&self, kernel: &str) -> Result<Pipeline, Error> {
        self.pipeline_with(kernel, &FunctionConstants::default())
    }

    /// Makes a kernel ready to run, with values for its function constants.
    pub fn pipeline_with(&self, kernel: &str, constants: &FunctionConstants) -> Result<Pipeline, Error> {
        let specialiser = Specialiser {
            compiled: self.compiled.clone(),
            device: self.device.clone(),
            constants: constants.clone(),
        };
        Pipeline::new(kernel, specialiser)
    }
}
