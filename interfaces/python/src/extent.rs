//! Grids and threadgroups as Python gives them: a number, or up to three.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PySequence};

/// One to three extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extents {
    sizes: [u32; 3],
    pub(crate) dimensions: usize,
}

impl Extents {
    /// One dimension.
    pub(crate) fn linear(threads: usize) -> PyResult<Extents> {
        let threads = u32::try_from(threads).map_err(|_| {
            PyValueError::new_err(format!("{threads} threads are too many for one dimension of a grid"))
        })?;
        Ok(Extents { sizes: [threads, 1, 1], dimensions: 1 })
    }

    /// What Python gave; `what` names it in messages.
    pub(crate) fn of(given: &Bound<'_, PyAny>, what: &str) -> PyResult<Extents> {
        if given.is_instance_of::<PyInt>() {
            return Ok(Extents { sizes: [one(given, what)?, 1, 1], dimensions: 1 });
        }
        let Ok(list) = given.cast::<PySequence>() else {
            if let Ok(number) = given.call_method0("__index__") {
                return Extents::of(&number, what);
            }
            let name = given.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "`{what}` is an integer or a sequence of one to three, not {name}"
            )));
        };
        let dimensions = list.len()?;
        if !(1..=3).contains(&dimensions) {
            return Err(PyValueError::new_err(format!(
                "`{what}` has one to three dimensions, not {dimensions}"
            )));
        }
        let mut sizes = [1; 3];
        for (at, size) in sizes.iter_mut().enumerate().take(dimensions) {
            *size = one(&list.get_item(at)?, what)?;
        }
        Ok(Extents { sizes, dimensions })
    }

    pub(crate) fn sizes(self) -> [u32; 3] {
        self.sizes
    }

    /// The size of threadgroups for a grid that came without: as many threads along x as the kernel
    /// may have, and no more than there are in a grid of one dimension.
    pub(crate) fn default_group(self, limit: u32) -> [u32; 3] {
        let x = if self.dimensions == 1 { self.sizes[0].clamp(1, limit) } else { limit };
        [x, 1, 1]
    }
}

fn one(given: &Bound<'_, PyAny>, what: &str) -> PyResult<u32> {
    let number: i64 = given.extract().map_err(|_| {
        PyTypeError::new_err(format!("`{what}` has integers that fit 64 bits, not {given:?}"))
    })?;
    u32::try_from(number).map_err(|_| {
        PyValueError::new_err(format!(
            "`{what}` has a dimension of {number}; it must be from 0 to {}",
            u32::MAX
        ))
    })
}
