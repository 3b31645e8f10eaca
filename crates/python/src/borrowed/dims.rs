//! Extents and strides of an array, without an allocation for the usual few.
//!
//! Owns [`Dims`]. Invariant: the dimensions are in one place: `few` if they fit there, else `many`.

/// The most dimensions that need no allocation.
const MAX_FEW: usize = 4;

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
    /// So many, each as told.
    pub(super) fn new(rank: usize, mut each: impl FnMut(usize) -> Dim) -> Dims {
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
