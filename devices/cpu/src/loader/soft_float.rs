//! Conversions between `half`, `bfloat` and the wider floats that generated code may call by name.
//!
//! LLVM calls `__truncdfhf2` and its relatives where the processor has no instruction for the
//! conversion. Their 16-bit argument or result travels in the low bits of the first vector register
//! on both x86-64 and 64-bit Arm; stable Rust can name that place only as an `f32`, whose upper 16
//! bits then carry nothing. Hence the signatures below: an `f32` stands for the register.
//! The `__gnu_*` names are older and pass the 16 bits as an integer.

/// Rounds to a 16-bit float of the given field widths, to nearest, ties to even.
fn narrow(value: f64, exponent_bits: u32, mantissa_bits: u32) -> u16 {
    let bits = value.to_bits();
    let sign = ((bits >> 63) as u16) << 15;
    let exponent = (bits >> 52 & 0x7ff) as i32;
    let mantissa = bits & ((1 << 52) - 1);
    let all_ones = ((1u16 << exponent_bits) - 1) << mantissa_bits;
    if exponent == 0x7ff {
        let quiet = if mantissa == 0 { 0 } else { 1 << (mantissa_bits - 1) };
        return sign | all_ones | quiet | (mantissa >> (52 - mantissa_bits)) as u16;
    }
    if exponent == 0 {
        return sign; // Zero, or a double so small that it rounds to zero.
    }
    let target = exponent - 1023 + (1 << (exponent_bits - 1)) - 1;
    let below_normal = if target <= 0 { (1 - target) as u32 } else { 0 };
    let shift = 52 - mantissa_bits + below_normal;
    if shift >= 54 {
        return sign; // Less than half of the smallest subnormal.
    }
    let significand = mantissa | 1 << 52;
    let dropped = significand & ((1 << shift) - 1);
    let half = 1u64 << (shift - 1);
    let mut rounded = (significand >> shift) as u32;
    if dropped > half || (dropped == half && rounded & 1 == 1) {
        rounded += 1;
    }
    // The leading bit is part of `rounded`, so adding carries into the exponent where it must.
    let encoded = if target > 0 { ((target as u32 - 1) << mantissa_bits) + rounded } else { rounded };
    sign | encoded.min(u32::from(all_ones)) as u16
}

/// The `f32` that a `half` stands for; exact.
fn widen_half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10 & 0x1f);
    let mantissa = u32::from(bits & 0x3ff);
    match exponent {
        0 => {
            let magnitude = mantissa as f32 / 16_777_216.0;
            f32::from_bits(sign | magnitude.to_bits())
        }
        0x1f => {
            let quiet = if mantissa == 0 { 0 } else { 1 << 22 };
            f32::from_bits(sign | 0x7f80_0000 | quiet | mantissa << 13)
        }
        _ => f32::from_bits(sign | (exponent + 112) << 23 | mantissa << 13),
    }
}

fn in_register(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits))
}

/// `half` from `float`.
pub(crate) extern "C" fn truncsfhf2(value: f32) -> f32 {
    in_register(narrow(f64::from(value), 5, 10))
}

/// `half` from `double`, rounded once.
pub(crate) extern "C" fn truncdfhf2(value: f64) -> f32 {
    in_register(narrow(value, 5, 10))
}

/// `bfloat` from `float`.
pub(crate) extern "C" fn truncsfbf2(value: f32) -> f32 {
    in_register(narrow(f64::from(value), 8, 7))
}

/// `bfloat` from `double`, rounded once.
pub(crate) extern "C" fn truncdfbf2(value: f64) -> f32 {
    in_register(narrow(value, 8, 7))
}

/// `float` from `half`.
pub(crate) extern "C" fn extendhfsf2(register: f32) -> f32 {
    widen_half(register.to_bits() as u16)
}

/// `double` from `half`.
pub(crate) extern "C" fn extendhfdf2(register: f32) -> f64 {
    f64::from(widen_half(register.to_bits() as u16))
}

/// `float` from `bfloat`.
pub(crate) extern "C" fn extendbfsf2(register: f32) -> f32 {
    f32::from_bits(register.to_bits() << 16)
}

/// `half` from `float`, in integer registers.
pub(crate) extern "C" fn gnu_f2h_ieee(value: f32) -> u16 {
    narrow(f64::from(value), 5, 10)
}

/// `float` from `half`, in integer registers.
pub(crate) extern "C" fn gnu_h2f_ieee(bits: u16) -> f32 {
    widen_half(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let wide = widen_half(bits);
            let back = gnu_f2h_ieee(wide);
            if wide.is_nan() {
                assert_eq!(back, bits | 0x200, "{bits:#06x}");
            } else {
                assert_eq!(back, bits, "{bits:#06x}");
            }
        }
    }

    #[test]
    fn every_bfloat_survives_the_round_trip() {
        for bits in 0..=u16::MAX {
            let wide = f32::from_bits(u32::from(bits) << 16);
            let back = truncsfbf2(wide).to_bits() as u16;
            if wide.is_nan() {
                assert_eq!(back, bits | 0x40, "{bits:#06x}");
            } else {
                // bfloat has float's exponents, so its subnormals are subnormal floats, and exact.
                assert_eq!(back, bits, "{bits:#06x}");
            }
        }
    }

    #[test]
    fn halfway_cases_round_to_even() {
        // Between two neighbours: 1 + 2^-11 is a tie, downwards; 1 + 3 * 2^-11 is a tie, upwards.
        assert_eq!(narrow(1.0 + 2f64.powi(-11), 5, 10), 0x3c00);
        assert_eq!(narrow(1.0 + 3.0 * 2f64.powi(-11), 5, 10), 0x3c02);
        // Just above the tie, in a place that only a double can hold.
        assert_eq!(narrow(1.0 + 2f64.powi(-11) + 2f64.powi(-40), 5, 10), 0x3c01);
        // Subnormals: half of the smallest is a tie to zero; a little more is not.
        assert_eq!(narrow(2f64.powi(-25), 5, 10), 0);
        assert_eq!(narrow(2f64.powi(-25) * 1.001, 5, 10), 1);
        assert_eq!(narrow(-(2f64.powi(-26)), 5, 10), 0x8000);
    }

    #[test]
    fn large_values_become_infinite() {
        assert_eq!(narrow(65504.0, 5, 10), 0x7bff);
        assert_eq!(narrow(65519.9, 5, 10), 0x7bff);
        assert_eq!(narrow(65520.0, 5, 10), 0x7c00);
        assert_eq!(narrow(-1e300, 5, 10), 0xfc00);
        assert_eq!(narrow(f64::INFINITY, 8, 7), 0x7f80);
        assert_eq!(narrow(f64::from(f32::MAX), 8, 7), 0x7f80);
    }
}
