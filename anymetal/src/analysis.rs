//! What kernels do for each thread, found without running them: operations, bytes, access patterns,
//! registers, occupancy, and a threadgroup size by what is known of these. `docs/analyze.md` explains the
//! figures, which `anymetal analyze` prints.
//!
//! ```
//! # fn main() -> Result<(), anymetal::Error> {
//! use anymetal::analysis::{Options, Pattern};
//! use anymetal::{Device, FunctionConstants};
//!
//! let library = Device::system_default()?.library_from_source(
//!     "kernel void saxpy(device const float* x, device float* y, constant float& a,
//!                        uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }",
//! )?;
//! let saxpy = library.analyze("saxpy", &FunctionConstants::new(), &Options::default())?;
//! let arrays = saxpy.accesses.iter().filter(|site| site.pattern == Pattern::Contiguous);
//! assert_eq!((saxpy.dimensions, arrays.count()), (1, 3)); // x and y are loaded, y is stored
//! for occupancy in &saxpy.occupancy {
//!     println!("{}: limited by {:?}", occupancy.family, occupancy.limit);
//! }
//! # Ok(())
//! # }
//! ```

use crate::constants::FunctionConstants;
use crate::error::Error;
use crate::library::Library;

pub use anymetal_driver::analyze::{
    AccessSite, Cost, Counts, DeviceFamily, FAMILIES, Factor, FactorKind, Intensity, KernelAnalysis, Limit,
    Occupancy, Operation, Options, Pattern, Region, SizeChoice, SizeRequest, SizeStep, occupancy,
};

impl Library {
    /// What a kernel does for each thread. Nothing is run.
    ///
    /// # Errors
    /// Those of the kernel's source and of the constants; [`crate::error::DeviceError::Unsupported`] for
    /// ready code, whose source is not there.
    pub fn analyze(
        &self,
        kernel: &str,
        constants: &FunctionConstants,
        options: &Options,
    ) -> Result<KernelAnalysis, Error> {
        self.compiled().analyze(kernel, constants, options)
    }

    /// A threadgroup size by what is known without running, for the GPUs of a family, and how it came to be
    /// chosen. Launches that name no size have that of [`crate::Pipeline::default_group_size`].
    ///
    /// # Errors
    /// As [`Library::analyze`].
    pub fn choose_size(
        &self,
        kernel: &str,
        constants: &FunctionConstants,
        request: &SizeRequest<'_>,
    ) -> Result<SizeChoice, Error> {
        self.compiled().choose_size(kernel, constants, request)
    }
}
