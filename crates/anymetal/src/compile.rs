//! The thin layer between this crate and the compiler.
//!
//! Owns [`CompiledLibrary`], the only place that knows `anymetal_compiler`. Invariant: everything else in the
//! crate sees artifacts, names and rendered diagnostics.

use std::path::PathBuf;
use std::sync::Arc;

use anymetal_hal::artifact::{Artifact, FunctionConstantInfo};
use anymetal_hal::device::Device as HalDevice;
use anymetal_hal::error::DeviceError;

use crate::constants::FunctionConstants;
use crate::error::Error;
use crate::library::CompileOptions;

/// Source that was compiled as far as it can be without knowing kernel and constants, or ready code.
#[derive(Debug)]
pub(crate) struct CompiledLibrary {
    artifact: Arc<Artifact>,
}

impl CompiledLibrary {
    pub(crate) fn from_source(
        source: &str,
        options: &CompileOptions,
        device: &dyn HalDevice,
    ) -> Result<Self, Error> {
        let _ = (source, options);
        Err(no_compiler(device))
    }

    pub(crate) fn from_file(
        path: PathBuf,
        options: &CompileOptions,
        device: &dyn HalDevice,
    ) -> Result<Self, Error> {
        let _ = (path, options);
        Err(no_compiler(device))
    }

    pub(crate) fn from_artifact(artifact: Arc<Artifact>) -> Self {
        CompiledLibrary { artifact }
    }

    pub(crate) fn kernel_names(&self) -> Vec<String> {
        self.artifact.kernel_names().map(str::to_owned).collect()
    }

    pub(crate) fn function_constants(&self) -> Vec<FunctionConstantInfo> {
        let mut constants: Vec<FunctionConstantInfo> = Vec::new();
        for constant in self.artifact.kernels.iter().flat_map(|kernel| &kernel.function_constants) {
            if !constants.contains(constant) {
                constants.push(constant.clone());
            }
        }
        constants
    }

    pub(crate) fn warnings(&self) -> &str {
        ""
    }

    pub(crate) fn artifact(
        &self,
        kernel: &str,
        constants: &FunctionConstants,
        _device: &dyn HalDevice,
    ) -> Result<Arc<Artifact>, Error> {
        if let Some((constant, _)) = constants.iter().next() {
            let problem = format!("kernel `{kernel}` was compiled before, its constants are fixed");
            return Err(Error::FunctionConstant { constant: constant.to_string(), problem });
        }
        Ok(Arc::clone(&self.artifact))
    }
}

fn no_compiler(device: &dyn HalDevice) -> Error {
    Error::Device(DeviceError::Unsupported {
        device: device.name().to_owned(),
        what: "compiling source".to_owned(),
        alternative: "this build has no compiler".to_owned(),
    })
}
