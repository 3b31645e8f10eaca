//! Visible functions: those that kernels are linked with, and tables of them.
//!
//! Owns [`PyFunction`], [`Linked`] and [`PyFunctionTable`], thin over the facade's. Invariant: a table knows
//! its functions' names, so that what Python reads of it is what kernels call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anymetal::BufferSlice;
use anymetal::functions::{LinkedFunctions, VisibleFunctionTable};
use anymetal::{Device, Error, FunctionConstants, Pipeline};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};

use crate::errors::{Raise, mistake};
use crate::interpreter::wait;
use crate::items::items_of;
use crate::library::{LibraryState, PyLibrary, constants_dictionary};

/// A visible function of a library, to be linked with kernels of others.
#[derive(Debug, Clone)]
pub(crate) struct Linked {
    library: Arc<LibraryState>,
    name: String,
    alias: Option<String>,
    constants: FunctionConstants,
}

impl Linked {
    /// The function of that name, which kernels know by its alias if it has one.
    pub(crate) fn new(
        library: &Arc<LibraryState>,
        name: String,
        alias: Option<String>,
        constants: FunctionConstants,
    ) -> PyResult<Linked> {
        let existing = library.library().visible_function_names().or_raise()?;
        if !existing.contains(&name) {
            let listed = if existing.is_empty() { "none".to_owned() } else { existing.join(", ") };
            return Err(mistake(format!("the library has no visible function `{name}`; it has {listed}")));
        }
        Ok(Linked { library: Arc::clone(library), name, alias, constants })
    }

    fn add_to(&self, functions: LinkedFunctions, is_checked: bool) -> Result<LinkedFunctions, Error> {
        let library = if is_checked { self.library.checked()? } else { self.library.library().clone() };
        let (name, constants) = (self.name.as_str(), self.constants.clone());
        Ok(match &self.alias {
            Some(alias) => functions.function_as(&library, name, alias.as_str(), constants),
            None => functions.function_with(&library, name, constants),
        })
    }
}

/// All of them for a pipeline; `is_checked`: for one under the sanitizer.
pub(crate) fn linked_functions(functions: &[Linked], is_checked: bool) -> Result<LinkedFunctions, Error> {
    functions.iter().try_fold(LinkedFunctions::new(), |all, function| function.add_to(all, is_checked))
}

/// A visible function of a library, to be linked with kernels of others.
#[pyclass(frozen, name = "Function", module = "anymetal")]
pub(crate) struct PyFunction {
    pub(crate) linked: Linked,
}

#[pymethods]
impl PyFunction {
    /// The name by which kernels and tables know it.
    #[getter]
    fn name(&self) -> &str {
        self.linked.alias.as_deref().unwrap_or(&self.linked.name)
    }

    /// Its type in MSL, such as `float(float)`.
    #[getter]
    fn r#type(&self, py: Python<'_>) -> PyResult<String> {
        wait(py, || self.linked.library.library().function_type(&self.linked.name))
    }

    fn __repr__(&self) -> String {
        match &self.linked.alias {
            Some(alias) => format!("<function {} as {alias}>", self.linked.name),
            None => format!("<function {}>", self.linked.name),
        }
    }

    /// A function is pickled as its library and name.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let Linked { library, name, alias, constants } = &self.linked;
        let rebuild = py.import("anymetal._shader")?.getattr("rebuild_function")?;
        let library = PyLibrary { state: Arc::clone(library) };
        let parts = (library, name, constants_dictionary(py, constants)?, alias);
        Ok((rebuild, parts.into_pyobject(py)?))
    }
}

/// A table of visible functions, an argument of kernels that declare a `visible_function_table`. Its items
/// are names of functions, or `None` for an entry without one.
#[pyclass(frozen, name = "FunctionTable", module = "anymetal")]
pub(crate) struct PyFunctionTable {
    table: VisibleFunctionTable,
    pipeline: Pipeline,
    device: Device,
    /// Of the entries that have a function.
    names: Mutex<BTreeMap<usize, String>>,
}

impl PyFunctionTable {
    /// A table for a kernel: of so many entries without a function, or of a list's.
    pub(crate) fn of(pipeline: &Pipeline, device: &Device, given: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (table, names) = match (given.cast::<PyInt>(), names_in(given)?) {
            (Ok(count), _) => (VisibleFunctionTable::new(pipeline, count.extract()?).or_raise()?, Vec::new()),
            (_, Some(names)) => (table_of(pipeline, &names)?, names),
            (_, None) => {
                return Err(PyTypeError::new_err(format!(
                    "a table of functions is made of a list of their names or of a number of entries, not {}",
                    kind_of(given)
                )));
            }
        };
        let names = names.into_iter().enumerate().filter_map(|(at, name)| Some((at, name?))).collect();
        let (pipeline, device) = (pipeline.clone(), device.clone());
        Ok(PyFunctionTable { table, pipeline, device, names: Mutex::new(names) })
    }

    /// What a kernel of the device is bound to.
    pub(crate) fn region_for(&self, device: &Device) -> PyResult<BufferSlice> {
        if !self.device.is_same(device) {
            return Err(PyValueError::new_err(format!(
                "the table of functions is of device `{}`, and the kernel of `{}`",
                self.device.name(),
                device.name()
            )));
        }
        Ok(self.table.region())
    }

    fn names(&self) -> MutexGuard<'_, BTreeMap<usize, String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry that Python means, which may count from the end.
    fn position(&self, index: isize) -> PyResult<usize> {
        let count = self.table.len();
        let at = if index < 0 { count.checked_add_signed(index) } else { usize::try_from(index).ok() };
        at.filter(|&at| at < count)
            .ok_or_else(|| PyIndexError::new_err(format!("the table has {count} entries, and none {index}")))
    }
}

#[pymethods]
impl PyFunctionTable {
    fn __len__(&self) -> usize {
        self.table.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Option<String>> {
        Ok(self.names().get(&self.position(index)?).cloned())
    }

    fn __setitem__(&self, py: Python<'_>, index: isize, name: Option<String>) -> PyResult<()> {
        let at = self.position(index)?;
        wait(py, || {
            let mut names = self.names();
            match name {
                Some(name) => {
                    self.table.set(at, &self.pipeline.function_handle(&name)?)?;
                    names.insert(at, name);
                }
                None => {
                    self.table.clear(at)?;
                    names.remove(&at);
                }
            }
            Ok::<_, Error>(())
        })
    }

    fn __repr__(&self) -> String {
        format!("<function table of {} entries>", self.table.len())
    }
}

/// A table with those functions of a pipeline.
pub(crate) fn table_of(pipeline: &Pipeline, names: &[Option<String>]) -> PyResult<VisibleFunctionTable> {
    let table = VisibleFunctionTable::new(pipeline, names.len()).or_raise()?;
    for (at, name) in names.iter().enumerate() {
        if let Some(name) = name {
            table.set(at, &pipeline.function_handle(name).or_raise()?).or_raise()?;
        }
    }
    Ok(table)
}

/// The names in a list or tuple of names and `None`; `None` for everything else.
pub(crate) fn names_in(given: &Bound<'_, PyAny>) -> PyResult<Option<Vec<Option<String>>>> {
    if !given.is_instance_of::<PyList>() && !given.is_instance_of::<PyTuple>() {
        return Ok(None);
    }
    let name = |item: Bound<'_, PyAny>| match item.cast::<PyString>() {
        Ok(name) => Ok(Some(name.to_cow()?.into_owned())),
        Err(_) if item.is_none() => Ok(None),
        Err(_) => Err(PyTypeError::new_err(format!(
            "a table's entries are names of functions or None, not {}",
            kind_of(&item)
        ))),
    };
    items_of(given, VisibleFunctionTable::MAX_ENTRIES, "a table of functions")?
        .into_iter()
        .map(name)
        .collect::<PyResult<Vec<_>>>()
        .map(Some)
}

/// The functions that a kernel is linked with.
pub(crate) fn linked_in(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Linked>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let function = |item: Bound<'_, PyAny>| match item.cast::<PyFunction>() {
        Ok(function) => Ok(function.get().linked.clone()),
        Err(_) => Err(PyTypeError::new_err(format!(
            "linked functions are those that `library.function(name)` gives, not {}",
            kind_of(&item)
        ))),
    };
    items_of(given, VisibleFunctionTable::MAX_ENTRIES, "the list of linked functions")?
        .into_iter()
        .map(function)
        .collect()
}

/// The linked functions of a kernel, as Python has them.
pub(crate) fn as_list<'py>(py: Python<'py>, functions: &[Linked]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for linked in functions {
        list.append(Py::new(py, PyFunction { linked: linked.clone() })?)?;
    }
    Ok(list)
}

fn kind_of(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "that".to_owned(), |name| name.to_string())
}
