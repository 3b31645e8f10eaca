//! Libraries: MSL source, compiled, from which kernels are made.
//!
//! Owns [`LibraryState`] and [`PyLibrary`]. Invariant: the same source is compiled for the
//! sanitizer at most once, when the first of its kernels runs under it.

use std::sync::{Arc, OnceLock};

use anymetal::argument::Scalar;
use anymetal::reflection::ConstantKey;
use anymetal::{CheckMode, CompileOptions, Error, FunctionConstants, Library, LibraryDescriptor, MathMode};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyTuple};

use crate::device::{DeviceState, PyDevice};
use crate::errors::Raise;
use crate::fork;
use crate::functions::{Linked, PyFunction, linked_in};
use crate::interpreter::wait;
use crate::items::Items;
use crate::kernel::PyKernel;

/// How freely kernels take arrays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Conventions {
    /// Arrays with any positive strides, as they are in memory.
    pub(crate) strided: bool,
    /// As PyTorch's own kernels: arrays of any type, and what a kernel reports is told when the
    /// program synchronises.
    pub(crate) torch: bool,
}

/// Compiled source with what it was made of.
#[derive(Debug)]
pub(crate) struct LibraryState {
    pub(crate) device: Arc<DeviceState>,
    pub(crate) source: String,
    pub(crate) options: CompileOptions,
    pub(crate) conventions: Conventions,
    library: Library,
    checked: OnceLock<Result<Library, Error>>,
}

impl LibraryState {
    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    /// The library whose kernels run under the sanitizer.
    pub(crate) fn checked(&self) -> Result<Library, Error> {
        let made = self.checked.get_or_init(|| {
            let options = self.options.clone().check_mode(CheckMode::Sanitize);
            self.device.device.create_library(&LibraryDescriptor::from_source(&self.source).options(&options))
        });
        made.clone()
    }

    /// What it is made of where it is unpickled: source, name of the device, keywords of `Library`.
    pub(crate) fn made_from<'py>(&self, py: Python<'py>) -> PyResult<(&str, &str, Bound<'py, PyDict>)> {
        let keywords = PyDict::new(py);
        let folders = self.options.include_folders.iter();
        let folders: Vec<String> = folders.map(|folder| folder.to_string_lossy().into_owned()).collect();
        keywords.set_item("file_name", &self.options.file_name)?;
        keywords.set_item("defines", &self.options.defines)?;
        keywords.set_item("include_folders", folders)?;
        keywords.set_item("math_mode", math_mode_name(self.options.math_mode))?;
        keywords.set_item("strided", self.conventions.strided)?;
        keywords.set_item("torch", self.conventions.torch)?;
        Ok((&self.source, self.device.device.name(), keywords))
    }
}

/// Compiled MSL source.
#[pyclass(frozen, name = "Library", module = "anymetal._native")]
pub(crate) struct PyLibrary {
    pub(crate) state: Arc<LibraryState>,
}

#[pymethods]
impl PyLibrary {
    /// Compiles source. `defines` are pairs of a name and a value or `None`.
    #[new]
    #[pyo3(signature = (
        source, device=None, *, file_name="source.metal", defines=Items::none(), include_folders=Items::none(),
        math_mode="safe", strided=false, torch=false
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        source: &str,
        device: Option<&Bound<'_, PyDevice>>,
        file_name: &str,
        defines: Items<(String, Option<String>)>,
        include_folders: Items<std::path::PathBuf>,
        math_mode: &str,
        strided: bool,
        torch: bool,
    ) -> PyResult<PyLibrary> {
        let device = match device {
            Some(device) => Arc::clone(&device.get().state),
            None => DeviceState::named(py, None)?,
        };
        fork::note_use()?;
        let options = CompileOptions::new()
            .file_name(file_name)
            .defines(defines.0)
            .include_folders(include_folders.0)
            .math_mode(math_mode_named(math_mode)?);
        let library = wait(py, || {
            device.device.create_library(&LibraryDescriptor::from_source(source).options(&options))
        })?;
        let (source, checked) = (source.to_owned(), OnceLock::new());
        let conventions = Conventions { strided, torch };
        let state = LibraryState { device, source, options, conventions, library, checked };
        Ok(PyLibrary { state: Arc::new(state) })
    }

    /// The kernels' names, in source order.
    #[getter]
    fn kernel_names(&self) -> Vec<String> {
        self.state.library.kernel_names()
    }

    /// What the compiler warned of.
    #[getter]
    fn warnings(&self) -> &str {
        self.state.library.warnings()
    }

    #[getter]
    fn source(&self) -> &str {
        &self.state.source
    }

    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice { state: Arc::clone(&self.state.device) }
    }

    /// The names of the visible functions with a definition, in source order.
    #[getter]
    fn function_names(&self) -> PyResult<Vec<String>> {
        self.state.library.visible_function_names().or_raise()
    }

    /// A kernel, ready to run; `constants` are values of its function constants by name or index, `linked`
    /// visible functions of other libraries that it may call.
    #[pyo3(signature = (name, constants=None, linked=None))]
    fn kernel(
        &self,
        py: Python<'_>,
        name: &str,
        constants: Option<&Bound<'_, PyDict>>,
        linked: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyKernel> {
        fork::check()?;
        PyKernel::make(py, &self.state, name, function_constants(constants)?, linked_in(linked)?)
    }

    /// A visible function, to be linked with kernels of other libraries, which know it by its alias if it has
    /// one.
    #[pyo3(signature = (name, constants=None, alias=None))]
    fn function(
        &self,
        name: String,
        constants: Option<&Bound<'_, PyDict>>,
        alias: Option<String>,
    ) -> PyResult<PyFunction> {
        fork::check()?;
        Ok(PyFunction { linked: Linked::new(&self.state, name, alias, function_constants(constants)?)? })
    }

    /// A library is pickled as its source and options, and compiled again where it arrives.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let rebuild = py.import("anymetal._shader")?.getattr("rebuild_library")?;
        Ok((rebuild, self.state.made_from(py)?.into_pyobject(py)?))
    }
}

fn function_constants(given: Option<&Bound<'_, PyDict>>) -> PyResult<FunctionConstants> {
    let mut constants = FunctionConstants::new();
    let Some(given) = given else { return Ok(constants) };
    for (key, value) in given.iter() {
        let value = if let Ok(truth) = value.cast::<PyBool>() {
            Scalar::Bool(truth.is_true())
        } else if value.is_instance_of::<PyInt>() {
            Scalar::Integer(value.extract::<i64>()?.into())
        } else if value.is_instance_of::<PyFloat>() {
            Scalar::Float(value.extract()?)
        } else {
            return Err(PyTypeError::new_err(format!(
                "function constant {key} is {value:?}; function constants are bool, int or float"
            )));
        };
        constants = match key.extract::<u32>() {
            Ok(index) => constants.with(index, value),
            Err(_) => constants.with(key.extract::<String>()?.as_str(), value),
        };
    }
    Ok(constants)
}

/// Values of function constants as the dictionary that gives them again.
pub(crate) fn constants_dictionary<'py>(
    py: Python<'py>,
    constants: &FunctionConstants,
) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for (key, value) in constants.iter() {
        let key = match key {
            ConstantKey::Index(index) => index.into_pyobject(py)?.into_any(),
            ConstantKey::Name(name) => name.into_pyobject(py)?.into_any(),
            // Python gives no vectors yet.
            ConstantKey::Component(..) => continue,
        };
        match value {
            Scalar::Bool(value) => dictionary.set_item(key, value)?,
            Scalar::Integer(value) => dictionary.set_item(key, value as i64)?,
            Scalar::Float(value) => dictionary.set_item(key, value)?,
        }
    }
    Ok(dictionary)
}

fn math_mode_named(name: &str) -> PyResult<MathMode> {
    match name {
        "safe" => Ok(MathMode::Safe),
        "relaxed" => Ok(MathMode::Relaxed),
        "fast" => Ok(MathMode::Fast),
        _ => Err(PyValueError::new_err(format!(
            "math_mode is \"safe\", \"relaxed\" or \"fast\", not \"{name}\""
        ))),
    }
}

fn math_mode_name(mode: MathMode) -> &'static str {
    match mode {
        MathMode::Relaxed => "relaxed",
        MathMode::Fast => "fast",
        _ => "safe",
    }
}
