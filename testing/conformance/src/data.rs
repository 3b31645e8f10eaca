//! Elements of a type as bytes, and numbers rounded to a type.
//!
//! Invariant: the bytes' length is a multiple of the element size. References compute with `f64` and `i128`
//! and round with [`Dtype::round`] after each operation that the kernel rounds: for `+ - * / sqrt` on `f32`
//! and narrower that gives the same bits as computing in the type.

use anymetal_types::scalar::ScalarType;
use half::{bf16, f16};

/// The type of an element: a scalar type with the arithmetic of references. A newtype, because what follows
/// is of use to tests only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Dtype(pub ScalarType);

#[allow(missing_docs, reason = "the names are the types'")]
impl Dtype {
    pub const BOOL: Self = Self(ScalarType::Bool);
    pub const I8: Self = Self(ScalarType::I8);
    pub const U8: Self = Self(ScalarType::U8);
    pub const I16: Self = Self(ScalarType::I16);
    pub const U16: Self = Self(ScalarType::U16);
    pub const I32: Self = Self(ScalarType::I32);
    pub const U32: Self = Self(ScalarType::U32);
    pub const I64: Self = Self(ScalarType::I64);
    pub const U64: Self = Self(ScalarType::U64);
    pub const F16: Self = Self(ScalarType::F16);
    pub const BF16: Self = Self(ScalarType::BF16);
    pub const F32: Self = Self(ScalarType::F32);
}

impl Dtype {
    /// The type of that name, as test files and candle's kernels spell it.
    pub fn named(name: &str) -> Option<Self> {
        ScalarType::named(name).map(Self)
    }

    /// Bytes of an element.
    pub fn size(self) -> usize {
        self.0.size() as usize
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        self.0.is_float()
    }

    /// The nearest value of a floating-point type.
    pub fn round(self, value: f64) -> f64 {
        match self {
            Self::F16 => f16::from_f32(odd_single(value)).to_f64(),
            Self::BF16 => bf16::from_f32(odd_single(value)).to_f64(),
            Self::F32 => f64::from(value as f32),
            _ => value,
        }
    }

    /// The distance from 1 to the next number.
    pub fn epsilon(self) -> f64 {
        match self {
            Self::F16 => 1.0 / 1024.0,
            Self::BF16 => 1.0 / 128.0,
            _ => f64::from(f32::EPSILON),
        }
    }

    /// The smallest positive normal number of a floating-point type.
    pub fn smallest_normal(self) -> f64 {
        match self {
            Self::F16 => f64::from(f16::MIN_POSITIVE),
            _ => f64::from(f32::MIN_POSITIVE),
        }
    }

    /// An integer wrapped into an integer type.
    pub fn wrap(self, value: i128) -> i128 {
        let bits = self.size() as u32 * 8;
        match self {
            Self::BOOL => i128::from(value != 0),
            _ => {
                let low = value & ((1i128 << bits) - 1);
                if self.0.is_signed() && low >> (bits - 1) != 0 { low - (1i128 << bits) } else { low }
            }
        }
    }

    /// A number converted to an integer type as MSL's compilers here do: towards zero, saturating, NaN is 0.
    pub fn saturate(self, value: f64) -> i128 {
        let (low, high) = self.0.integer_limits().expect("the type is an integer type or bool");
        (value as i128).clamp(low, high)
    }
}

/// Elements of one type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Data {
    /// Their type.
    pub dtype: Dtype,
    /// Little endian.
    pub bytes: Vec<u8>,
}

impl Data {
    /// None.
    pub fn new(dtype: Dtype) -> Self {
        Self { dtype, bytes: Vec::new() }
    }

    /// That many zeros.
    pub fn zeros(dtype: Dtype, count: usize) -> Self {
        Self { dtype, bytes: vec![0; count * dtype.size()] }
    }

    /// Numbers, rounded for floating-point types, saturated for others.
    pub fn from_numbers(dtype: Dtype, numbers: impl IntoIterator<Item = f64>) -> Self {
        let mut data = Self::new(dtype);
        numbers.into_iter().for_each(|number| data.push_number(number));
        data
    }

    /// Integers, wrapped for integer types, rounded for floating-point ones.
    pub fn from_integers(dtype: Dtype, integers: impl IntoIterator<Item = i128>) -> Self {
        let mut data = Self::new(dtype);
        integers.into_iter().for_each(|integer| data.push_integer(integer));
        data
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends a number.
    pub fn push_number(&mut self, number: f64) {
        match self.dtype {
            Dtype::F16 => self.bytes.extend(f16::from_f32(odd_single(number)).to_le_bytes()),
            Dtype::BF16 => self.bytes.extend(bf16::from_f32(odd_single(number)).to_le_bytes()),
            Dtype::F32 => self.bytes.extend((number as f32).to_le_bytes()),
            other => self.push_integer(other.saturate(number)),
        }
    }

    /// Appends an integer.
    pub fn push_integer(&mut self, integer: i128) {
        if self.dtype.is_float() {
            // The widest integers here have 64 bits; one rounding must do.
            match self.dtype {
                Dtype::F32 => self.bytes.extend((integer as f32).to_le_bytes()),
                _ => self.push_number(round_to_odd(integer)),
            }
        } else {
            let size = self.dtype.size();
            self.bytes.extend(&self.dtype.wrap(integer).to_le_bytes()[..size]);
        }
    }

    /// The element's bits, zero-extended.
    pub fn bits(&self, index: usize) -> u64 {
        let size = self.dtype.size();
        let mut word = [0; 8];
        word[..size].copy_from_slice(&self.bytes[index * size..(index + 1) * size]);
        u64::from_le_bytes(word)
    }

    /// The element as a number.
    pub fn number(&self, index: usize) -> f64 {
        let bits = self.bits(index);
        match self.dtype {
            Dtype::F16 => f16::from_bits(bits as u16).to_f64(),
            Dtype::BF16 => bf16::from_bits(bits as u16).to_f64(),
            Dtype::F32 => f64::from(f32::from_bits(bits as u32)),
            _ => self.integer(index) as f64,
        }
    }

    /// The element of an integer type.
    pub fn integer(&self, index: usize) -> i128 {
        self.dtype.wrap(i128::from(self.bits(index)))
    }

    /// The elements at those indices.
    pub fn pick(&self, indices: impl IntoIterator<Item = usize>) -> Self {
        let size = self.dtype.size();
        let bytes = indices.into_iter().flat_map(|i| self.bytes[i * size..(i + 1) * size].iter().copied());
        Self { dtype: self.dtype, bytes: bytes.collect() }
    }
}

/// A double as a float such that rounding it to 16 bits rounds once: inexact results get an odd last bit.
/// (The `half` crate's own conversion from `f64` ignores its lower half.)
fn odd_single(number: f64) -> f32 {
    let near = number as f32;
    let back = f64::from(near);
    if back == number || !near.is_finite() || near.to_bits() & 1 == 1 {
        return near;
    }
    let outwards = u32::from(number.abs() > back.abs());
    f32::from_bits(near.to_bits() - 1 + 2 * outwards)
}

/// An integer as a double such that rounding it further rounds once: inexact results get an odd last bit.
fn round_to_odd(integer: i128) -> f64 {
    let near = integer as f64;
    let back = near as i128;
    if back == integer || near.to_bits() & 1 == 1 {
        return near;
    }
    // The neighbour on the integer's side has the odd last bit.
    let outwards = (integer.abs() > back.abs()) as u64;
    f64::from_bits(near.to_bits() - 1 + 2 * outwards)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_integers_are_rounded_once() {
        // Halfway between two bfloat numbers plus one: up. Through f64 it would be a tie, to even: down.
        let tricky = (1i128 << 62) + (1i128 << 54) + 1;
        let data = Data::from_integers(Dtype::BF16, [tricky, -tricky, 3, -7]);
        assert_eq!(data.number(0), ((1i128 << 62) + (1i128 << 55)) as f64);
        assert_eq!(data.number(1), -data.number(0));
        assert_eq!((data.number(2), data.number(3)), (3.0, -7.0));
    }

    #[test]
    fn numbers_are_rounded_once() {
        // 1 + half a unit + a bit that only a double holds.
        let above = 1.0 + Dtype::F16.epsilon() / 2.0 + 1e-12;
        assert_eq!(Dtype::F16.round(above), 1.0 + Dtype::F16.epsilon());
        assert_eq!(Dtype::F16.round(above - 1e-12), 1.0);
        assert_eq!(Dtype::BF16.round(-1.0 - Dtype::BF16.epsilon() / 2.0 + 1e-12), -1.0);
        assert_eq!(Dtype::F16.round(1e-9), 0.0);
        assert_eq!(Dtype::F16.round(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn integers_wrap_and_saturate() {
        assert_eq!(Dtype::I8.wrap(200), -56);
        assert_eq!(Dtype::U8.wrap(-1), 255);
        assert_eq!(Dtype::U8.saturate(300.7), 255);
        assert_eq!(Dtype::I32.saturate(f64::NAN), 0);
        assert_eq!(Dtype::I64.saturate(-1e30), i128::from(i64::MIN));
    }
}
