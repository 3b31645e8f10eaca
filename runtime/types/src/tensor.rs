//! Shapes of tensors that are bound to kernels (MSL section 2.20.2.1).
//!
//! Owns [`TensorShape`]. A tensor argument is a buffer of elements and its shape, which kernels read as
//! [`anymetal_abi::tensors`] says.

pub use anymetal_abi::tensors::{MAX_RANK, shape_bytes};
use thiserror::Error;

/// The extents of a tensor and the strides of its dimensions, in elements, the fastest dimension first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorShape {
    extents: Vec<u64>,
    strides: Vec<u64>,
}

/// Why numbers are no shape.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// None, or more dimensions than Metal has.
    #[error("a tensor has 1 to {MAX_RANK} dimensions, not {rank}")]
    Rank {
        /// The number given.
        rank: usize,
    },
    /// Not a stride for each dimension.
    #[error("{strides} strides are given for {rank} dimensions")]
    Strides {
        /// The dimensions.
        rank: usize,
        /// The strides.
        strides: usize,
    },
    /// Addresses would not fit into 63 bits.
    #[error("the tensor is too large")]
    TooLarge,
}

impl TensorShape {
    /// A shape whose elements follow one another.
    ///
    /// # Errors
    /// If there are no or too many dimensions, or too many elements.
    pub fn new(extents: &[u64]) -> Result<Self, ShapeError> {
        let mut strides = Vec::with_capacity(extents.len());
        let mut next = 1_u64;
        for &extent in extents {
            strides.push(next);
            next = next.checked_mul(extent).ok_or(ShapeError::TooLarge)?;
        }
        Self::with_strides(extents, &strides)
    }

    /// A shape with strides in elements.
    ///
    /// # Errors
    /// If there are no or too many dimensions, not a stride for each, or the last element is too far away.
    pub fn with_strides(extents: &[u64], strides: &[u64]) -> Result<Self, ShapeError> {
        let rank = extents.len();
        if rank == 0 || rank > MAX_RANK {
            return Err(ShapeError::Rank { rank });
        }
        if strides.len() != rank {
            return Err(ShapeError::Strides { rank, strides: strides.len() });
        }
        let mut last = 0_u64;
        for (extent, stride) in extents.iter().zip(strides) {
            let reach = extent.saturating_sub(1).checked_mul(*stride);
            last = reach.and_then(|reach| last.checked_add(reach)).ok_or(ShapeError::TooLarge)?;
        }
        if last > i64::MAX as u64 || extents.iter().any(|&extent| extent > i64::MAX as u64) {
            return Err(ShapeError::TooLarge);
        }
        Ok(TensorShape { extents: extents.to_vec(), strides: strides.to_vec() })
    }

    /// How many dimensions it has.
    pub fn rank(&self) -> usize {
        self.extents.len()
    }

    /// The extents, the fastest dimension first.
    pub fn extents(&self) -> &[u64] {
        &self.extents
    }

    /// The strides in elements.
    pub fn strides(&self) -> &[u64] {
        &self.strides
    }

    /// How many elements the memory from the first to the last has; 0 for a tensor without elements.
    pub fn reach(&self) -> u64 {
        if self.extents.contains(&0) {
            return 0;
        }
        let steps = self.extents.iter().zip(&self.strides).map(|(extent, stride)| (extent - 1) * stride);
        steps.sum::<u64>() + 1
    }

    /// What kernels read.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(shape_bytes(self.rank()));
        for number in self.extents.iter().chain(&self.strides) {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_checked() {
        let shape = TensorShape::new(&[4, 3]).expect("it is one");
        assert_eq!((shape.strides(), shape.reach(), shape.to_bytes().len()), (&[1, 4][..], 12, 32));
        let spread = TensorShape::with_strides(&[3, 2], &[2, 10]).expect("it is one");
        assert_eq!(spread.reach(), 15);
        assert_eq!(TensorShape::new(&[5, 0]).expect("it is one").reach(), 0);
        assert_eq!(TensorShape::new(&[]), Err(ShapeError::Rank { rank: 0 }));
        assert_eq!(TensorShape::new(&[1; 17]), Err(ShapeError::Rank { rank: 17 }));
        assert_eq!(
            TensorShape::with_strides(&[1, 2], &[1]),
            Err(ShapeError::Strides { rank: 2, strides: 1 })
        );
        assert_eq!(TensorShape::new(&[1 << 40, 1 << 40]), Err(ShapeError::TooLarge));
        assert_eq!(TensorShape::with_strides(&[2], &[u64::MAX]), Err(ShapeError::TooLarge));
        assert_eq!(TensorShape::with_strides(&[u64::MAX], &[0]), Err(ShapeError::TooLarge));
    }
}
