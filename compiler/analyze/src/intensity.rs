//! Arithmetic intensity: float operations for each byte of device and constant memory.
//!
//! How often most regions are executed is not known, so a kernel has bounds: whatever the factors are, its
//! intensity is a mean of those of its regions, weighted by their bytes. Regions whose executions are
//! constant count as one.

use serde::Serialize;

use crate::count::{Counts, Region};

/// The intensity of a kernel, in float operations per byte.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Intensity {
    /// Of each region by itself, by position; `None`: it accesses no memory.
    pub regions: Vec<Option<f64>>,
    /// The kernel's is at least this; `None`: it accesses no memory.
    pub least: Option<f64>,
    /// The kernel's is at most this; `None`: a region that accesses no memory may be executed any number of
    /// times.
    pub most: Option<f64>,
}

impl Intensity {
    pub(crate) fn of(regions: &[Region]) -> Self {
        let each: Vec<Option<f64>> = regions.iter().map(|region| intensity(&region.counts)).collect();
        let mut parts: Vec<(f64, f64)> = Vec::new();
        let mut constant = (0.0, 0.0);
        for region in regions {
            let (operations, bytes) = (region.counts.float_operations as f64, bytes(&region.counts) as f64);
            match region.executions {
                Some(times) => {
                    constant.0 += times as f64 * operations;
                    constant.1 += times as f64 * bytes;
                }
                None => parts.push((operations, bytes)),
            }
        }
        parts.push(constant);
        let known =
            || parts.iter().filter(|(_, bytes)| *bytes > 0.0).map(|(operations, bytes)| operations / bytes);
        let unbounded = parts.iter().any(|(operations, bytes)| *bytes == 0.0 && *operations > 0.0);
        Intensity {
            least: known().min_by(f64::total_cmp),
            most: known().max_by(f64::total_cmp).filter(|_| !unbounded),
            regions: each,
        }
    }

    /// The kernel's, if its bounds are the same.
    pub fn exact(&self) -> Option<f64> {
        self.least.filter(|_| self.least == self.most)
    }
}

fn bytes(counts: &Counts) -> u64 {
    counts.bytes_read + counts.bytes_written
}

fn intensity(counts: &Counts) -> Option<f64> {
    let bytes = bytes(counts);
    (bytes > 0).then(|| counts.float_operations as f64 / bytes as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(float_operations: u64, bytes_read: u64) -> Region {
        let counts = Counts { float_operations, bytes_read, ..Counts::default() };
        Region { parent: None, factor: None, executions: None, counts }
    }

    #[test]
    fn regions_with_constant_executions_count_as_one() {
        let times = |executions, float_operations, bytes_read| Region {
            executions: Some(executions),
            ..region(float_operations, bytes_read)
        };
        let kernel = [times(1, 0, 8), times(65, 0, 0), times(64, 2, 0)];
        assert_eq!(Intensity::of(&kernel).exact(), Some(16.0));
        // Of a region that is executed any number of times nothing is known.
        let open = Intensity::of(&[times(1, 0, 8), times(64, 2, 0), region(1, 4)]);
        assert_eq!((open.least, open.most), (Some(0.25), Some(16.0)));
    }

    #[test]
    fn a_kernel_of_one_region_has_one_intensity_and_others_have_bounds() {
        let one = Intensity::of(&[region(2, 12)]);
        assert_eq!((one.exact(), one.regions), (Some(2.0 / 12.0), vec![Some(2.0 / 12.0)]));
        let two = Intensity::of(&[region(0, 4), region(16, 8), region(0, 0)]);
        assert_eq!((two.least, two.most, two.exact()), (Some(0.0), Some(2.0), None));
        let loops = Intensity::of(&[region(1, 4), region(3, 0)]);
        assert_eq!((loops.least, loops.most), (Some(0.25), None));
        let none = Intensity::of(&[region(5, 0)]);
        assert_eq!((none.least, none.most), (None, None));
    }
}
