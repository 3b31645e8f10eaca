//! What is known of the types of objects that were seen.
//!
//! Owns [`TypeFacts`] and the table of them, so that a call looks at an object's type once in a
//! process and not each time. Invariant: the types are held, so that no other gets their address.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyType;

use super::dlpack::{Table, table_of};

/// The most types that are remembered.
const MAX_KNOWN: usize = 64;

static KNOWN: Mutex<Vec<(Py<PyType>, TypeFacts)>> = Mutex::new(Vec::new());

/// What a type is.
#[derive(Clone, Copy)]
pub(crate) struct TypeFacts {
    /// DLPack's table of C functions.
    pub(crate) exchange: Option<Table>,
    /// A scalar of NumPy, which has the protocols of arrays too.
    pub(crate) is_numpy_scalar: bool,
}

/// What is known of a type, found out if it is new.
pub(crate) fn facts(class: &Bound<'_, PyType>) -> PyResult<TypeFacts> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, facts)) = known.iter().find(|(known, _)| known.is(class)) {
        return Ok(*facts);
    }
    drop(known);
    let facts = TypeFacts { exchange: table_of(class)?, is_numpy_scalar: is_numpy_scalar(class)? };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() < MAX_KNOWN {
        known.push((class.clone().unbind(), facts));
    }
    Ok(facts)
}

fn is_numpy_scalar(class: &Bound<'_, PyType>) -> PyResult<bool> {
    let of_numpy = class.module().is_ok_and(|module| module.to_string_lossy() == "numpy");
    if !of_numpy {
        return Ok(false);
    }
    class.is_subclass(&class.py().import("numpy")?.getattr("generic")?)
}
