//! What library to make: source, a file or ready code, and how it is compiled.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use anymetal_hal::artifact::Artifact;

use crate::library::CompileOptions;

/// A library to make with [`crate::Device::create_library`].
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::{CompileOptions, Device, LibraryDescriptor, MathMode};
///
/// let device = Device::system_default()?;
/// let options = CompileOptions::new().math_mode(MathMode::Safe).define("SCALE", "3");
/// let source = "kernel void k(device float* y, uint i [[thread_position_in_grid]]) { y[i] *= SCALE; }";
/// let library = device.create_library(&LibraryDescriptor::from_source(source).options(&options))?;
/// assert_eq!(library.kernel_names(), ["k"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct LibraryDescriptor<'a> {
    pub(crate) origin: Origin<'a>,
    pub(crate) options: Cow<'a, CompileOptions>,
}

/// What a library is made of.
#[derive(Debug, Clone)]
pub(crate) enum Origin<'a> {
    Source(&'a str),
    File(&'a Path),
    Artifact(Arc<Artifact>),
}

impl<'a> LibraryDescriptor<'a> {
    /// Source in MSL, or in another language that [`CompileOptions::file_name`] tells.
    pub fn from_source(source: &'a str) -> Self {
        LibraryDescriptor::of(Origin::Source(source))
    }

    /// A file in MSL, in OpenCL C (`.cl`) or in CUDA C++ (`.cu`); its folder is searched for includes first.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use anymetal::{Device, LibraryDescriptor};
    ///
    /// # let folder = tempfile::tempdir().expect("a folder");
    /// # let path = folder.path().join("saxpy.cl");
    /// # let text = "kernel void saxpy(global const float* x, global float* y, float a)
    /// #             { size_t i = get_global_id(0); y[i] += a * x[i]; }";
    /// # std::fs::write(&path, text).expect("a file");
    /// let device = Device::system_default()?;
    /// let library = device.create_library(&LibraryDescriptor::from_file(&path))?; // saxpy.cl
    /// let (x, y) = (device.buffer(&[1.0f32, 2.0])?, device.buffer_zeroed::<f32>(2)?);
    /// let saxpy = library.pipeline("saxpy")?;
    /// device.queue()?.launch(&saxpy).arg(&x).arg(&y).arg(3.0).threads(2).submit()?.wait()?;
    /// assert_eq!(y.read()?, [3.0, 6.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn from_file<P: AsRef<Path> + ?Sized>(path: &'a P) -> Self {
        LibraryDescriptor::of(Origin::File(path.as_ref()))
    }

    /// Code that was compiled before. Machine code in it runs with the rights of the process, so take it only
    /// from where you would take a program. Options do not apply to it.
    pub fn from_artifact(artifact: Arc<Artifact>) -> Self {
        LibraryDescriptor::of(Origin::Artifact(artifact))
    }

    fn of(origin: Origin<'a>) -> Self {
        LibraryDescriptor { origin, options: Cow::Owned(CompileOptions::default()) }
    }

    /// Compiled with those options.
    pub fn options(mut self, options: &'a CompileOptions) -> Self {
        self.options = Cow::Borrowed(options);
        self
    }
}
