//! Constants as LLVM writes them.

use anymetal_ir::{Scalar, eval};

use crate::llvm::{Opd, scalar_type, wrap_int};

/// A scalar constant from its bits.
pub(crate) fn constant(scalar: Scalar, bits: u64) -> Opd {
    match scalar {
        // LLVM writes `float` constants as the `double` of the same value; a signalling NaN would turn quiet
        // on the way, which nothing promises to keep.
        Scalar::F32 => Opd::float(f64::from(f32::from_bits(bits as u32))),
        Scalar::F16 => Opd::half(bits as u16),
        Scalar::Bool => Opd::bool(bits & 1 == 1),
        scalar => {
            let ty = scalar_type(scalar);
            Opd::int(ty, wrap_int(ty, (bits & eval::mask(scalar)) as i64))
        }
    }
}
