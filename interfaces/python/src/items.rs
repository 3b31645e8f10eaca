//! Sequences of Python, whose `__len__` and iterator may say anything.
//!
//! Owns [`Items`], a parameter in place of `Vec<T>`, which reserves as many items as `__len__` claims, and
//! [`items_of`]. Invariant: memory grows with the items that were iterated, up to a limit.

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// The most items of a sequence that is a parameter.
const MAX_ITEMS: usize = 1 << 16;

/// The items of a sequence.
pub(crate) struct Items<T>(pub(crate) Vec<T>);

impl<T> Items<T> {
    pub(crate) fn none() -> Items<T> {
        Items(Vec::new())
    }
}

impl<'py, T: FromPyObjectOwned<'py>> FromPyObject<'_, 'py> for Items<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
            return Err(PyTypeError::new_err(format!("a sequence of items is needed, not {object:?}")));
        }
        let items = items_of(&object, MAX_ITEMS, "a sequence")?;
        let items = items.iter().map(|item| item.extract::<T>().map_err(Into::into));
        items.collect::<PyResult<_>>().map(Items)
    }
}

/// The items of an iterable, of which `what` tells in messages; more than `limit` are an error.
pub(crate) fn items_of<'py>(
    object: &Bound<'py, PyAny>,
    limit: usize,
    what: &str,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut items = Vec::new();
    for item in object.try_iter()? {
        if items.len() == limit {
            return Err(PyValueError::new_err(format!("{what} has more than {limit} items")));
        }
        items.push(item?);
    }
    Ok(items)
}
