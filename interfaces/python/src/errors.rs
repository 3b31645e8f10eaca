//! Errors of the layers below as exceptions of `anymetal.errors`.
//!
//! Owns the one conversion. Invariant: the text of a diagnostic reaches the user whole, and the
//! class of an error is the exception's attribute `error_class`.

use anymetal::Error;
use anymetal::error::{DeviceError, ErrorClass};
use anymetal_tensor_ops::OpError;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// An exception class of `anymetal.errors` with its attributes.
fn exception(name: &str, message: String, attributes: &[(&str, &str)]) -> PyErr {
    Python::attach(|py| {
        let made = || -> PyResult<PyErr> {
            let class = py.import("anymetal.errors")?.getattr(name)?;
            let keywords = PyDict::new(py);
            for (name, value) in attributes {
                keywords.set_item(name, value)?;
            }
            Ok(PyErr::from_value(class.call((&message,), Some(&keywords))?))
        };
        // Without the package around it the module still tells what is wrong.
        made().unwrap_or_else(|_| PyRuntimeError::new_err(message.clone()))
    })
}

/// The exception for an error of the facade.
pub(crate) fn raised(error: &Error) -> PyErr {
    let class = class_word(error.class());
    match error {
        Error::Compile(failure) => {
            let (text, json) = (failure.render_text(false), failure.render_json());
            exception("CompileError", text, &[("diagnostics_json", &json), ("kind", failure.id())])
        }
        Error::Device(DeviceError::OutOfBounds(_)) => {
            exception("OutOfBoundsError", error.to_string(), &[("error_class", class)])
        }
        Error::Device(DeviceError::WrongType { .. }) => PyTypeError::new_err(error.to_string()),
        _ if error.is_cancelled() => {
            exception("CancelledError", error.to_string(), &[("error_class", class)])
        }
        _ if error.class() == ErrorClass::Caller => {
            exception("LaunchError", error.to_string(), &[("error_class", class)])
        }
        _ => exception("DeviceError", error.to_string(), &[("error_class", class)]),
    }
}

/// The exception for a mistake in a call that was found before anything ran.
pub(crate) fn mistake(message: String) -> PyErr {
    exception("LaunchError", message, &[("error_class", class_word(ErrorClass::Caller))])
}

/// The exception for an error of an operation.
pub(crate) fn raised_by_op(error: &OpError) -> PyErr {
    match error {
        OpError::Device(error) => raised(error),
        OpError::Type { .. } => PyTypeError::new_err(error.to_string()),
        OpError::IndexOutOfRange { .. } => PyIndexError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

fn class_word(class: ErrorClass) -> &'static str {
    class.word()
}

/// For `?` in methods: the facade's results as Python's.
pub(crate) trait Raise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> Raise<T> for Result<T, Error> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| raised(&error))
    }
}

impl<T> Raise<T> for Result<T, DeviceError> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(Error::from).or_raise()
    }
}

impl<T> Raise<T> for Result<T, OpError> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| raised_by_op(&error))
    }
}
