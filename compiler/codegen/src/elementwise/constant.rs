//! Constants as LLVM writes them.

use anymetal_ir::{Scalar, eval};

use crate::llvm_text::{Opd, scalar_type, wrap_int};

/// A scalar constant from its bits.
pub(crate) fn constant(scalar: Scalar, bits: u64) -> Opd {
    match scalar {
        // LLVM writes `float` constants as the `double` of the same value; a signalling NaN would turn quiet
        // on the way, which nothing promises to keep.
        Scalar::F32 => Opd::text(format!("0x{:016X}", f64::from(f32::from_bits(bits as u32)).to_bits())),
        Scalar::F16 => Opd::text(format!("0xH{:04X}", bits as u16)),
        Scalar::Bool => Opd::bool(bits & 1 == 1),
        scalar => Opd::Int(wrap_int(scalar_type(scalar), (bits & eval::mask(scalar)) as i64)),
    }
}
