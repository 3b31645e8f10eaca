//! Conversions on bits.

use super::{float, mask, narrow, sign_extend, widen};
use crate::{CastOp, Scalar};

/// A conversion of one scalar. Pointers travel as `I64`.
pub fn eval_cast(op: CastOp, from: Scalar, to: Scalar, a: u64) -> u64 {
    debug_assert_eq!(a & !mask(from), 0, "the bits of a {}, zero-extended", from.name());
    match op {
        CastOp::Trunc | CastOp::ZExt | CastOp::Bitcast | CastOp::PtrToInt | CastOp::IntToPtr => a & mask(to),
        CastOp::SExt => sign_extend(from, a) as u64 & mask(to),
        CastOp::FCast if from == to => a,
        CastOp::FCast => narrow(to, widen(from, a)),
        CastOp::FToS => float_to_signed(to, widen(from, a)),
        CastOp::FToU => (widen(from, a) as u64).min(mask(to)),
        CastOp::SToF => {
            let value = sign_extend(from, a);
            let magnitude = unsigned_to_float(to, value.unsigned_abs());
            if value < 0 { magnitude | (1 << (to.bits() - 1)) } else { magnitude }
        }
        CastOp::UToF => unsigned_to_float(to, a),
    }
}

/// The elements of a vector (or scalar) seen as elements of another type of the same total size.
pub fn eval_bitcast(from: Scalar, elements: &[u64], to: Scalar) -> Vec<u64> {
    let size = elements.len() * from.size() as usize;
    debug_assert_eq!(size % to.size() as usize, 0, "{size} bytes are no whole elements of {}", to.name());
    let bytes: Vec<u8> =
        elements.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(from.size() as usize)).collect();
    bytes
        .chunks(to.size() as usize)
        .map(|chunk| chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
        .collect()
}

fn float_to_signed(to: Scalar, x: f64) -> u64 {
    let limit = 1i128 << (to.bits() - 1);
    // `as` truncates, saturates and maps NaN to 0; the clamp narrows the range.
    i128::from(x as i64).clamp(-limit, limit - 1) as u64 & mask(to)
}

fn unsigned_to_float(to: Scalar, value: u64) -> u64 {
    if to == Scalar::F32 {
        return float::from_f32(to, value as f32);
    }
    // Beyond 2^53 an `f64` would round a first time; folding the low bits into one sticky bit
    // keeps the second rounding correct.
    if value >> 53 == 0 {
        narrow(to, value as f64)
    } else {
        let sticky = (value >> 11) | u64::from(value & 0x7ff != 0);
        narrow(to, sticky as f64 * 2048.0)
    }
}
