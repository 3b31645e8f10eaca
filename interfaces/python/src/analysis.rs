//! Static analysis of kernels, as JSON for the Python side.

use anymetal_driver::analyze::Options;
use anymetal_driver::{Compiler, Source, SourceOptions, Specialisation};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::raised;
use crate::interpreter::detach;

/// The analyses of a kernel, or of all kernels of the source, as a JSON array.
#[pyfunction]
#[pyo3(signature = (source, kernel=None, group_size=None, threadgroup_memory=0, file_name="source.metal"))]
pub(crate) fn analyze(
    py: Python<'_>,
    source: &str,
    kernel: Option<&str>,
    group_size: Option<[u32; 3]>,
    threadgroup_memory: u64,
    file_name: &str,
) -> PyResult<String> {
    let options = Options { group: group_size, threadgroup_memory };
    let analyses = detach(py, || {
        let source = Source::from_text(file_name, source, SourceOptions::default());
        let library = Compiler::global().library_for(source, None)?;
        let names = match kernel {
            Some(kernel) => vec![kernel.to_owned()],
            None => library.kernel_names().to_vec(),
        };
        let specialisation = Specialisation { ignore_unknown_constants: true, ..Specialisation::default() };
        names
            .iter()
            .map(|name| library.analyze(name, &specialisation, &options))
            .collect::<Result<Vec<_>, _>>()
    });
    let analyses = analyses.map_err(|error| raised(&anymetal::Error::from(error)))?;
    serde_json::to_string(&analyses).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
