//! A call in the making: arguments and keywords of Python to a launch.
//!
//! Owns [`Call`], which direct calls, submissions, profiles and graphs share. Invariant: a call
//! that was made has an argument for each that the kernel declares, and holds what it lends.

use anymetal::BufferSlice;
use anymetal::command::ResourceUsage;
use anymetal::reflection::ArgumentInfo;
use anymetal::{Device, Launch, Pipeline, Queue};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::argument::{Given, Rules, Sorted, Tabled, sort};
use crate::casts::Casts;
use crate::extent::Extents;
use crate::lend::{Loans, Place};
use crate::library::Conventions;

/// What is said about a launch besides its arguments.
pub(crate) struct LaunchShape<'a, 'py> {
    pub(crate) threads: Option<&'a Bound<'py, PyAny>>,
    pub(crate) group_size: Option<&'a Bound<'py, PyAny>>,
    pub(crate) arg_casts: Option<&'a Bound<'py, PyAny>>,
    pub(crate) threadgroup_memory: Option<&'a Bound<'py, PyDict>>,
}

/// What is called.
pub(crate) struct Callee<'a> {
    pub(crate) name: &'a str,
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) device: &'a Device,
    /// The buffer arguments by their Metal indices.
    pub(crate) arguments: &'a [ArgumentInfo],
    pub(crate) max_threads: u32,
    pub(crate) required_group: Option<[u32; 3]>,
    pub(crate) conventions: Conventions,
}

impl Callee<'_> {
    /// The Metal index of the argument that the object at a position is for.
    pub(crate) fn index_at(&self, position: usize, count: usize) -> Option<u32> {
        match count == self.arguments.len() {
            true => self.arguments.get(position).map(|argument| argument.index),
            false => u32::try_from(position).ok(),
        }
    }
}

/// A call, ready to be launched as often as wished.
pub(crate) struct Call {
    given: Vec<(u32, Given)>,
    threads: [u32; 3],
    group_size: [u32; 3],
    threadgroup_memory: Vec<(u32, u64)>,
    /// Arrays that the kernel reaches through tables of pointers.
    resident: Vec<BufferSlice>,
    lends: bool,
    pub(crate) loans: Loans,
}

impl Call {
    /// Sorts and checks everything.
    pub(crate) fn new(
        callee: &Callee<'_>,
        args: &Bound<'_, PyTuple>,
        shape: &LaunchShape<'_, '_>,
    ) -> PyResult<Call> {
        let casts = Casts::of(shape.arg_casts)?;
        let rules = Rules {
            kernel: callee.name,
            pipeline: callee.pipeline,
            device: callee.device,
            casts: &casts,
            conventions: callee.conventions,
        };
        let mut loans = Loans::default();
        let mut tables = Vec::new();
        let mut given = Vec::with_capacity(callee.arguments.len());
        let mut first_count = None;
        let by_index = is_by_index(callee, args.len())?;
        for (order, argument) in callee.arguments.iter().enumerate() {
            let position = if by_index { argument.index as usize } else { order };
            let object = args.get_borrowed_item(position)?;
            match sort(&object, position, argument, &rules)? {
                Sorted::Given(bound, count) => {
                    first_count = first_count.or(count);
                    given.push((argument.index, bound));
                }
                Sorted::Host(array) => {
                    first_count = first_count.or(Some(array.count()));
                    let written = argument.access != anymetal::reflection::Access::Read;
                    loans.add(Place::Argument(given.len()), array, written);
                    given.push((argument.index, Given::Nothing));
                }
                Sorted::Table(arrays) => {
                    tables.push(Table::of(given.len(), arrays, &mut loans));
                    given.push((argument.index, Given::Nothing));
                }
            }
        }
        let (threads, group_size) = extents(callee, shape, first_count)?;
        let lends = loans.lend(callee.device, &mut |place, region| match place {
            Place::Argument(at) => given[at].1 = Given::Slice(region),
            Place::Element { argument, at } => {
                let table = tables.iter_mut().find(|table| table.argument == argument);
                if let Some(table) = table {
                    table.regions[at] = Some(region);
                }
            }
        })?;
        let mut resident = Vec::new();
        for table in tables {
            given[table.argument].1 = Given::Bytes(table.addresses(callee.device)?);
            resident.extend(table.regions.into_iter().flatten());
        }
        let threadgroup_memory = threadgroup_memory(shape.threadgroup_memory)?;
        Ok(Call { given, threads, group_size, threadgroup_memory, resident, lends, loans })
    }

    /// A launch of it.
    pub(crate) fn launch<'a>(&self, queue: &'a Queue, pipeline: &'a Pipeline) -> Launch<'a> {
        let mut launch = queue.launch(pipeline);
        for (index, given) in &self.given {
            launch = launch.arg_at(*index, given);
        }
        for &(index, bytes) in &self.threadgroup_memory {
            launch = launch.threadgroup_memory(index, bytes);
        }
        if !self.resident.is_empty() {
            launch = launch.use_resources(self.resident.iter().cloned(), ResourceUsage::ReadWrite);
        }
        launch.threads(self.threads).group_size(self.group_size)
    }

    /// Whether the kernel gets pointers to arrays in memory.
    pub(crate) fn has_tables(&self) -> bool {
        !self.resident.is_empty()
    }

    /// Whether it uses memory of another library's arrays.
    pub(crate) fn lends(&self) -> bool {
        self.lends
    }

    /// By Metal index, what each argument is bound to.
    pub(crate) fn given(&self) -> &[(u32, Given)] {
        &self.given
    }

    pub(crate) fn threads(&self) -> [u32; 3] {
        self.threads
    }

    pub(crate) fn group_size(&self) -> [u32; 3] {
        self.group_size
    }

    pub(crate) fn threadgroup_memory(&self) -> &[(u32, u64)] {
        &self.threadgroup_memory
    }
}

/// An argument buffer: the addresses of arrays, one after the other.
struct Table {
    /// Which of the call's arguments it is.
    argument: usize,
    /// Where the arrays are; those of the host once they are lent.
    regions: Vec<Option<BufferSlice>>,
}

impl Table {
    fn of(argument: usize, arrays: Vec<Tabled>, loans: &mut Loans) -> Table {
        let mut regions = Vec::with_capacity(arrays.len());
        for (at, array) in arrays.into_iter().enumerate() {
            match array {
                Tabled::Device(region) => regions.push(Some(region)),
                Tabled::Host(array) => {
                    loans.add(Place::Element { argument, at }, array, true);
                    regions.push(None);
                }
            }
        }
        Table { argument, regions }
    }

    /// What the kernel reads.
    fn addresses(&self, device: &Device) -> PyResult<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.regions.len() * size_of::<u64>());
        for region in self.regions.iter().flatten() {
            let address = region.gpu_address().ok_or_else(|| {
                PyNotImplementedError::new_err(format!(
                    "kernels of device `{}` cannot follow pointers in memory, so that they take no lists of arrays; \
                     pass each array as an argument of its own",
                    device.name()
                ))
            })?;
            bytes.extend(address.to_ne_bytes());
        }
        Ok(bytes)
    }
}

/// Which of the objects is for which argument: in order, or each at its Metal index (`true`) where
/// indices are left out.
fn is_by_index(callee: &Callee<'_>, count: usize) -> PyResult<bool> {
    let arguments = callee.arguments;
    if count == arguments.len() {
        return Ok(false);
    }
    let by_index = arguments.last().is_some_and(|last| last.index as usize + 1 == count);
    if by_index && count > arguments.len() {
        return Ok(true);
    }
    let names: Vec<String> = arguments.iter().map(declaration).collect();
    let (kernel, expected) = (callee.name, arguments.len());
    Err(PyTypeError::new_err(format!(
        "kernel `{kernel}` takes {expected} arguments ({}), {count} were given",
        names.join(", ")
    )))
}

/// An argument as messages tell it.
pub(crate) fn declaration(argument: &ArgumentInfo) -> String {
    let sign = match argument.is_reference {
        _ if argument.is_function_table() => "",
        true => "&",
        false => "*",
    };
    format!("{}{sign} {}", argument.type_name, argument.name)
}

fn extents(
    callee: &Callee<'_>,
    shape: &LaunchShape<'_, '_>,
    first_count: Option<usize>,
) -> PyResult<([u32; 3], [u32; 3])> {
    let kernel = callee.name;
    let threads = match (shape.threads, first_count) {
        (Some(threads), _) => Extents::of(threads, "threads")?,
        (None, Some(count)) => Extents::linear(count)?,
        (None, None) => {
            return Err(PyValueError::new_err(format!(
                "kernel `{kernel}` is given no array, so say how many threads: `threads=n`"
            )));
        }
    };
    let group_size = match shape.group_size {
        None => callee.required_group.unwrap_or_else(|| threads.default_group(callee.max_threads)),
        Some(group_size) => {
            let group_size = Extents::of(group_size, "group_size")?;
            if group_size.dimensions != threads.dimensions {
                return Err(PyValueError::new_err(format!(
                    "`threads` and `group_size` of kernel `{kernel}` have {} and {} dimensions; give both as many",
                    threads.dimensions, group_size.dimensions
                )));
            }
            group_size.sizes()
        }
    };
    Ok((threads.sizes(), group_size))
}

fn threadgroup_memory(given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(u32, u64)>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    given.iter().map(|(index, bytes)| Ok((index.extract()?, bytes.extract()?))).collect()
}
