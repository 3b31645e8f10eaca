//! Extents and strides of an array, without an allocation for the usual few.
//!
//! Owns [`Dims`] and [`Reach`], the check of the memory that another library claims. Invariant: the
//! dimensions are in one place: `few` if they fit there, else `many`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The most dimensions that need no allocation.
const MAX_FEW: usize = 4;

/// The most dimensions of an array: those of NumPy and PyTorch.
pub(super) const MAX_RANK: usize = 64;
/// No process has memory from here on: addresses have at most 57 bits, half of them for the system.
const ADDRESS_END: usize = 1 << 56;

/// One dimension.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Dim {
    pub(crate) extent: usize,
    /// In elements.
    pub(crate) stride: isize,
}

/// The dimensions of an array, from the slowest to the fastest in row-major order.
#[derive(Debug)]
pub(crate) struct Dims {
    few: [Dim; MAX_FEW],
    many: Box<[Dim]>,
    rank: usize,
}

impl Dims {
    /// `rank` dimensions, which [`check_rank`] has checked.
    pub(super) fn new(rank: usize, mut each: impl FnMut(usize) -> Dim) -> Dims {
        assert!(rank <= MAX_RANK, "the rank is checked before dimensions are read");
        let mut few = [Dim::default(); MAX_FEW];
        let mut many = Box::default();
        match few.get_mut(..rank) {
            Some(few) => few.iter_mut().enumerate().for_each(|(at, dim)| *dim = each(at)),
            None => many = (0..rank).map(each).collect(),
        }
        Dims { few, many, rank }
    }

    /// As they lie one after the other in row-major order.
    pub(super) fn row_major(rank: usize, extent: impl Fn(usize) -> usize) -> Dims {
        let mut dims = Dims::new(rank, |at| Dim { extent: extent(at), stride: 1 });
        let mut stride = 1isize;
        for dim in dims.as_mut_slice().iter_mut().rev() {
            dim.stride = stride;
            stride = stride.saturating_mul(dim.extent as isize);
        }
        dims
    }

    pub(crate) fn as_slice(&self) -> &[Dim] {
        self.few.get(..self.rank).unwrap_or(&self.many)
    }

    fn as_mut_slice(&mut self) -> &mut [Dim] {
        self.few.get_mut(..self.rank).unwrap_or(&mut self.many)
    }
}

/// Checks the rank that a protocol claims, before shape and strides are read.
pub(super) fn check_rank(rank: i32) -> PyResult<usize> {
    usize::try_from(rank).ok().filter(|&rank| rank <= MAX_RANK).ok_or_else(|| {
        PyValueError::new_err(format!("the array has {rank} dimensions; it must have from 0 to {MAX_RANK}"))
    })
}

/// Checks an extent that a protocol claims.
pub(super) fn check_extent(extent: i64) -> PyResult<usize> {
    usize::try_from(extent).map_err(|_| {
        PyValueError::new_err(format!("the array has a dimension of {extent}; it must not be negative"))
    })
}

/// The memory that an array's elements are in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// Elements.
    pub(super) count: usize,
    /// Bytes from the first element to the end of the last; `None` if elements are before the first.
    pub(super) extent: Option<usize>,
}

impl Reach {
    /// The reach of elements of `size` bytes from an address on. An error if shape, strides and address
    /// are not those of memory that a process can have.
    pub(super) fn of(dims: &[Dim], size: usize, start: usize) -> PyResult<Reach> {
        if dims.iter().any(|dim| dim.extent == 0) {
            return Ok(Reach { count: 0, extent: Some(0) });
        }
        let reach = Reach::checked(dims, size, start);
        reach.ok_or_else(|| {
            let (shape, strides): (Vec<usize>, Vec<isize>) =
                dims.iter().map(|dim| (dim.extent, dim.stride)).unzip();
            PyValueError::new_err(format!(
                "an array of shape {shape:?} and strides {strides:?} of {size} bytes at {start:#x} exceeds the \
                 address space"
            ))
        })
    }

    fn checked(dims: &[Dim], size: usize, start: usize) -> Option<Reach> {
        let count = dims.iter().try_fold(1usize, |count, dim| count.checked_mul(dim.extent))?;
        count.checked_mul(size).filter(|&bytes| isize::try_from(bytes).is_ok())?;
        let (mut before, mut after) = (0usize, 0usize);
        for dim in dims {
            let distance = (dim.extent - 1).checked_mul(dim.stride.unsigned_abs())?;
            let side = if dim.stride < 0 { &mut before } else { &mut after };
            *side = side.checked_add(distance)?;
        }
        let extent = after.checked_add(1)?.checked_mul(size)?;
        start.checked_add(extent).filter(|&end| end <= ADDRESS_END)?;
        start.checked_sub(before.checked_mul(size)?)?;
        Some(Reach { count, extent: (before == 0).then_some(extent) })
    }
}
