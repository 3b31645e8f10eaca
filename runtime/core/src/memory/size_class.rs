//! Size classes: how lengths are rounded so that buffers fit again.
//!
//! Owns [`SizeClasses`]: four classes per doubling from 256 bytes up, the last one cut to the device's
//! largest buffer. Invariant: a class is never smaller than the lengths in it, and above the smallest class
//! it wastes less than a quarter of the length.

/// The smallest class in bytes.
const SMALLEST: u64 = 256;
const SMALLEST_LOG2: u32 = SMALLEST.trailing_zeros();
/// Classes per doubling, and its logarithm.
const STEPS: u32 = 4;
const STEPS_LOG2: u32 = STEPS.trailing_zeros();

/// How many classes there are at most.
pub(crate) const CLASS_COUNT: usize = 1 + ((64 - SMALLEST_LOG2) * STEPS) as usize;

/// The classes of a device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizeClasses {
    /// The largest buffer.
    pub(crate) largest: u64,
}

impl SizeClasses {
    /// The class of a length that is not above the largest.
    pub(crate) fn class_of(self, length: u64) -> usize {
        if length <= SMALLEST {
            return 0;
        }
        // The last byte's index decides, so that exact classes stay exact.
        let last = length - 1;
        let doubling = last.ilog2();
        let step = (last >> (doubling - STEPS_LOG2)) as u32 & (STEPS - 1);
        1 + ((doubling - SMALLEST_LOG2) * STEPS + step) as usize
    }

    /// The bytes of a class.
    pub(crate) fn bytes_of(self, class: usize) -> u64 {
        let Some(above) = class.checked_sub(1) else {
            return SMALLEST.min(self.largest);
        };
        let (doubling, step) = (above as u32 / STEPS + SMALLEST_LOG2, above as u32 % STEPS);
        let bytes = (1u128 << doubling) + ((u128::from(step) + 1) << (doubling - STEPS_LOG2));
        u64::try_from(bytes).unwrap_or(u64::MAX).min(self.largest)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::*;

    const CLASSES: SizeClasses = SizeClasses { largest: 1 << 40 };

    #[test]
    fn classes_of_round_sizes() {
        for (length, bytes) in [
            (0, 256),
            (256, 256),
            (257, 320),
            (320, 320),
            (321, 384),
            (512, 512),
            (513, 640),
            (1 << 20, 1 << 20),
            ((1 << 20) + 1, 5 << 18),
            (1 << 40, 1 << 40),
        ] {
            assert_eq!(CLASSES.bytes_of(CLASSES.class_of(length)), bytes, "{length}");
        }
        let cut = SizeClasses { largest: 1000 };
        assert_eq!(cut.bytes_of(cut.class_of(1000)), 1000);
        let whole = SizeClasses { largest: u64::MAX };
        assert_eq!(whole.bytes_of(whole.class_of(u64::MAX)), u64::MAX);
        assert!(whole.class_of(u64::MAX) < CLASS_COUNT);
    }

    proptest! {
        #[test]
        fn a_class_holds_its_lengths_and_wastes_less_than_a_quarter(length in any::<u64>()) {
            let classes = SizeClasses { largest: u64::MAX };
            let class = classes.class_of(length);
            let bytes = classes.bytes_of(class);
            prop_assert!(bytes >= length);
            prop_assert!(length <= SMALLEST || bytes - length <= length / 4);
            prop_assert!(class == 0 || classes.bytes_of(class - 1) < length.max(SMALLEST + 1));
        }
    }
}
