//! Libraries: compiled source from which pipelines are made.

use std::path::PathBuf;
use std::sync::Arc;

use anymetal_driver::{ArgumentLayout, GraphicsFunction, PassOptions};
use anymetal_hal::artifact::{Artifact, KernelInfo};
use anymetal_types::family::Family;

use crate::compile::CompiledLibrary;
use crate::compiling::Compiling;
use crate::constants::FunctionConstants;
use crate::device::Device;
use crate::error::Error;
use crate::pipeline::{Grids, Pipeline};
use crate::pipeline_descriptor::PipelineDescriptor;

/// How source is compiled.
///
/// ```
/// use anymetal::{CheckMode, CompileOptions, MathMode};
///
/// let options = CompileOptions::new().math_mode(MathMode::Safe).check_mode(CheckMode::Off).define("N", "4");
/// assert_eq!(options.defines, [("N".to_owned(), Some("4".to_owned()))]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompileOptions {
    /// The name of the source in diagnostics. One that ends in `.cl` is OpenCL C, one in `.cu` CUDA C++: its
    /// kernels are translated, which refuses what Metal lacks.
    pub file_name: String,
    /// Macros, as `-D NAME` or `-D NAME=VALUE`.
    pub defines: Vec<(String, Option<String>)>,
    /// Folders searched for `#include`, in order.
    pub include_folders: Vec<PathBuf>,
    /// What the compiler may do to floating-point arithmetic.
    pub math_mode: MathMode,
    /// Whether accesses are checked against what is bound.
    pub check_mode: CheckMode,
    /// Whether a kernel may access the bytes of a buffer before the offset at which it is bound, as on
    /// Metal's GPUs, for which pointer arithmetic ends with the buffer. Otherwise such an access is out of
    /// bounds. On NVIDIA GPUs it always is.
    pub whole_buffers: bool,
    /// The version of MSL, as `__METAL_VERSION__` gives it: 320 for Metal 3.2.
    pub language_version: u32,
    /// Whether kernels that would be interpreted, because there is no libLLVM, are refused with
    /// [`Error::NoMachineCode`] when their pipeline is made. The settings can require it of all libraries of
    /// a device (`kernels.require-machine-code`).
    pub require_machine_code: bool,
    /// Kernels that use what GPUs of this family lack are refused when their pipeline is made, with the place
    /// in the source. A device that emulates a family requires it of all its libraries; ready code is not
    /// checked.
    pub family: Option<Family>,
    /// Whether messages of kernels (`os_log`, MSL specification 6.19) are written to the log of their command
    /// buffer ([`crate::Submission::logs`]). If not, they go nowhere, as with Metal when logging is not
    /// enabled. Apple GPUs refuse it.
    pub logging: bool,
    /// Whether `double` of OpenCL C and CUDA C++, which Metal does not have, is translated to `float`, with a
    /// notice. If not, it is an error.
    pub doubles_as_floats: bool,
    /// Instantiations of kernel templates of CUDA C++, such as `scale<float>`, besides those that the source
    /// launches.
    pub instantiations: Vec<String>,
    /// Which passes of the compiler run: for finding the pass that breaks a kernel, and for code that is
    /// compiled fast. The interpreter runs what the passes for all targets leave.
    pub passes: PassOptions,
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions {
            file_name: "source.metal".to_owned(),
            defines: Vec::new(),
            include_folders: Vec::new(),
            math_mode: MathMode::default(),
            check_mode: CheckMode::default(),
            whole_buffers: false,
            language_version: 320,
            require_machine_code: false,
            family: None,
            logging: false,
            doubles_as_floats: false,
            instantiations: Vec::new(),
            passes: PassOptions::new(),
        }
    }
}

impl CompileOptions {
    /// The defaults.
    pub fn new() -> Self {
        CompileOptions::default()
    }

    /// See [`CompileOptions::file_name`](#structfield.file_name).
    pub fn file_name(mut self, name: impl Into<String>) -> Self {
        self.file_name = name.into();
        self
    }

    /// With a macro that has a value, as `-D NAME=VALUE`.
    pub fn define(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.defines.push((name.into(), Some(value.into())));
        self
    }

    /// With those macros, after those that it has.
    pub fn defines(mut self, defines: impl IntoIterator<Item = (String, Option<String>)>) -> Self {
        self.defines.extend(defines);
        self
    }

    /// With a folder that is searched for `#include`, after those that it has.
    pub fn include_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.include_folders.push(folder.into());
        self
    }

    /// With those folders, after those that it has.
    pub fn include_folders(mut self, folders: impl IntoIterator<Item = PathBuf>) -> Self {
        self.include_folders.extend(folders);
        self
    }

    /// See [`CompileOptions::math_mode`](#structfield.math_mode).
    pub fn math_mode(mut self, mode: MathMode) -> Self {
        self.math_mode = mode;
        self
    }

    /// See [`CompileOptions::check_mode`](#structfield.check_mode).
    pub fn check_mode(mut self, mode: CheckMode) -> Self {
        self.check_mode = mode;
        self
    }

    /// See [`CompileOptions::whole_buffers`](#structfield.whole_buffers).
    pub fn whole_buffers(mut self, whole: bool) -> Self {
        self.whole_buffers = whole;
        self
    }

    /// See [`CompileOptions::language_version`](#structfield.language_version).
    pub fn language_version(mut self, version: u32) -> Self {
        self.language_version = version;
        self
    }

    /// See [`CompileOptions::doubles_as_floats`](#structfield.doubles_as_floats).
    pub fn doubles_as_floats(mut self, as_floats: bool) -> Self {
        self.doubles_as_floats = as_floats;
        self
    }

    /// With an instantiation of a kernel template of CUDA C++, after those that it has.
    pub fn instantiate(mut self, kernel: impl Into<String>) -> Self {
        self.instantiations.push(kernel.into());
        self
    }

    /// See [`CompileOptions::require_machine_code`](#structfield.require_machine_code).
    pub fn require_machine_code(mut self, required: bool) -> Self {
        self.require_machine_code = required;
        self
    }

    /// See [`CompileOptions::family`](#structfield.family).
    pub fn family(mut self, family: impl Into<Option<Family>>) -> Self {
        self.family = family.into();
        self
    }

    /// See [`CompileOptions::passes`](#structfield.passes).
    pub fn passes(mut self, passes: PassOptions) -> Self {
        self.passes = passes;
        self
    }

    /// See [`CompileOptions::logging`](#structfield.logging).
    pub fn logging(mut self, logging: bool) -> Self {
        self.logging = logging;
        self
    }
}

/// What the compiler may do to floating-point arithmetic, in Metal's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
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
#[non_exhaustive]
pub enum CheckMode {
    /// As [`CheckMode::Bounds`] where the device can; on Apple GPUs, which cannot, accesses out of bounds are
    /// the device's affair.
    #[default]
    WhereSupported,
    /// Out of bounds, loads give zero, stores are dropped, and the launch ends with an error. Devices that
    /// cannot refuse it ([`crate::Capabilities::checks_accesses`]).
    Bounds,
    /// As [`CheckMode::Bounds`], with the bounds that Metal's GPUs have in threadgroup memory: an
    /// access beyond a variable or argument is an error only beyond all threadgroup memory of its
    /// threadgroup, of which there are 64 KiB. What it reads is arbitrary. For buffers, who allocates
    /// them decides: they end where their memory does. On NVIDIA GPUs as [`CheckMode::Bounds`].
    Pages,
    /// Trusted code only: an access out of bounds is undefined behaviour of the whole process.
    Off,
    /// Every launch runs in the interpreter under the sanitizer, and what it finds is in
    /// [`crate::sanitizer::findings`]: races, accesses out of bounds, undefined reads, wrong barriers. A
    /// launch with findings ends as one without.
    Sanitize,
}

impl CheckMode {
    /// All modes.
    pub const ALL: [CheckMode; 5] =
        [CheckMode::WhereSupported, CheckMode::Bounds, CheckMode::Pages, CheckMode::Off, CheckMode::Sanitize];
}

/// Compiled source. Each kernel is compiled for the device when its pipeline is made. Clones are the same
/// library.
#[derive(Debug, Clone)]
pub struct Library {
    device: Device,
    compiled: CompiledLibrary,
    label: String,
}

impl Library {
    pub(crate) fn new(device: Device, compiled: CompiledLibrary, label: String) -> Self {
        Library { device, compiled, label }
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

    /// The structure that a kernel's buffer argument points to, with the places of its members by their
    /// numbers (`[[id(n)]]`); `None` if it has no such argument or that points to no structure. A path that
    /// is not empty is followed from there: the structure that the member with its first number points to, of
    /// that the member with the next, and so on.
    pub fn argument_layout(
        &self,
        kernel: &str,
        index: u32,
        path: &[u32],
    ) -> Result<Option<ArgumentLayout>, Error> {
        self.compiled.argument_layout(kernel, index, path)
    }

    /// The names of the visible functions (`[[visible]]`, `[[stitchable]]`) with a definition, in source
    /// order.
    ///
    /// # Errors
    /// A library of ready code, which does not tell.
    pub fn visible_function_names(&self) -> Result<Vec<String>, Error> {
        self.compiled.visible_functions()
    }

    /// The graphics functions (`vertex`, `fragment` and the like) with a definition, in source order.
    /// They are checked with the source, and do not run.
    ///
    /// # Errors
    /// A library of ready code, which does not tell.
    pub fn graphics_functions(&self) -> Result<Vec<GraphicsFunction>, Error> {
        self.compiled.graphics_functions()
    }

    /// The type of a visible function in MSL, as `float(float)`.
    ///
    /// # Errors
    /// A function that the library does not have; mistakes in its declaration.
    pub fn function_type(&self, name: &str) -> Result<String, Error> {
        self.compiled.function_type(name)
    }

    pub(crate) fn compiled(&self) -> &CompiledLibrary {
        &self.compiled
    }

    /// The diagnostics that did not stop compilation, rendered; empty if there are none.
    pub fn warnings(&self) -> &str {
        self.compiled.warnings()
    }

    /// The name of its source in diagnostics; that of a library of ready code is empty.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Checks all kernels and the functions that they reach; without it, a kernel is checked when it is
    /// reflected or its pipeline is made. Each function is checked once, and nothing of a source that the
    /// cache on disk knows to be right.
    ///
    /// # Errors
    /// [`Error::Compile`] with all diagnostics. Parts of the language that are not supported here are not an
    /// error, since a kernel that does not use them compiles.
    pub fn check(&self) -> Result<(), Error> {
        self.compiled.check()
    }

    /// Makes a kernel ready to run: by its name, or with a label, function constants and known threadgroup
    /// sizes by a [`PipelineDescriptor`].
    pub fn pipeline(&self, kernel: impl Into<PipelineDescriptor>) -> Result<Pipeline, Error> {
        Pipeline::new(self.compiled.clone(), self.device.clone(), kernel.into())
    }

    /// As [`Library::pipeline`], in the background: a future, which also blocks and can be cancelled.
    pub fn pipeline_async(&self, kernel: impl Into<PipelineDescriptor>) -> Compiling<Pipeline> {
        let (compiled, device, descriptor) = (self.compiled.clone(), self.device.clone(), kernel.into());
        Compiling::start(move |token| token.run(|| Pipeline::new(compiled, device, descriptor)))
    }

    /// A kernel's code for any threadgroup size, without function constants.
    pub(crate) fn general_code(&self, kernel: &str) -> Result<Arc<Artifact>, Error> {
        self.compiled.artifact(kernel, &FunctionConstants::new(), None, Grids::ANY)
    }
}

#[cfg(test)]
mod tests {
    use super::CheckMode;

    #[test]
    fn the_list_has_every_check_mode() {
        let number = |mode| match mode {
            CheckMode::WhereSupported => 0,
            CheckMode::Bounds => 1,
            CheckMode::Pages => 2,
            CheckMode::Off => 3,
            CheckMode::Sanitize => 4,
        };
        assert_eq!(CheckMode::ALL.map(number), [0, 1, 2, 3, 4]);
    }
}
