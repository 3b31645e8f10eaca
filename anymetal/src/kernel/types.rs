//! Types that kernels written in Rust may use.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Sub, SubAssign};

use bytemuck::Pod;
use half::{bf16, f16};

use super::source::Source;

/// A type of device code.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no type of device code",
    note = "structures get it by `#[derive(DeviceStruct)]` and `#[repr(C)]`"
)]
pub trait DeviceType {
    /// The declaration of a variable, in MSL.
    fn declare(name: &str) -> String;

    /// Adds what the declaration needs.
    fn define(source: &mut Source);
}

/// A structure whose literals device code may have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has arrays, so device code cannot have literals of it",
    note = "declare a variable from a buffer and assign its fields"
)]
pub trait DeviceLiteral: DeviceType {
    /// Adds the function that makes one.
    fn define_literal(source: &mut Source);
}

impl<T: DeviceType, const N: usize> DeviceType for [T; N] {
    fn declare(name: &str) -> String {
        T::declare(&format!("{name}[{N}]"))
    }

    fn define(source: &mut Source) {
        T::define(source);
    }
}

/// A constant that device code may name.
#[diagnostic::on_unimplemented(message = "constants of device code are numbers, not `{Self}`")]
pub trait DeviceConstant {
    /// Its definition, in MSL.
    fn define(&self, name: &str) -> String;
}

/// Numbers for type parameters of kernels.
pub trait Number:
    Copy
    + Pod
    + PartialOrd
    + DeviceType
    + WideArithmetic
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
}

/// Types that C++ computes with as they are. Smaller integers it widens, so where a macro cannot see the type
/// of a sum, the compiler asks for this.
#[diagnostic::on_unimplemented(
    message = "device code cannot see that this is a `{Self}`, whose sums wrap around in Rust and not in MSL",
    note = "convert it before: `x as u32`, or bind it with its type: `let x: {Self} = …;`"
)]
pub trait WideArithmetic {}

/// The value itself, of a type that C++ computes with as it is. The macros put it where they cannot see a
/// type:
///
/// ```compile_fail
/// use anymetal::kernel::{DeviceStruct, kernel};
///
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, DeviceStruct)]
/// #[repr(C)]
/// struct Pair {
///     a: u8,
///     b: u8,
/// }
///
/// #[kernel]
/// fn sums(pairs: &[Pair], out: &mut [u32], #[thread_position_in_grid] i: u32) {
///     // 200 + 100 is 44 in Rust (or a panic) and 300 in C++.
///     out[i as usize] = (pairs[i as usize].a + pairs[i as usize].b) as u32;
/// }
/// ```
pub const fn wide<T: WideArithmetic + Copy>(value: T) -> T {
    value
}

macro_rules! scalars {
    ($($type:ty = $msl:literal),+) => { $(
        impl DeviceType for $type {
            fn declare(name: &str) -> String {
                format!("{} {name}", $msl)
            }

            fn define(_source: &mut Source) {}
        }
    )+ };
}

scalars!(
    bool = "bool",
    i8 = "char",
    u8 = "uchar",
    i16 = "short",
    u16 = "ushort",
    i32 = "int",
    u32 = "uint",
    i64 = "long",
    u64 = "ulong",
    isize = "long",
    usize = "ulong",
    f16 = "half",
    bf16 = "bfloat",
    f32 = "float"
);

macro_rules! wide {
    ($($type:ty),+) => { $( impl WideArithmetic for $type {} )+ };
}

wide!(i32, u32, i64, u64, isize, usize, f16, bf16, f32);

macro_rules! numbers {
    ($($type:ty),+) => { $( impl Number for $type {} )+ };
}

numbers!(i32, u32, i64, u64, f16, bf16, f32);

macro_rules! constants {
    ($($type:ty = $suffix:literal),+) => { $(
        impl DeviceConstant for $type {
            fn define(&self, name: &str) -> String {
                format!("{} = {self}{}", <$type as DeviceType>::declare(name), $suffix)
            }
        }
    )+ };
}

constants!(bool = "", i8 = "", u8 = "", i16 = "", u16 = "", i32 = "", u32 = "u", u64 = "ul", usize = "ul");

/// The least value is no literal of its type.
macro_rules! long_constants {
    ($($type:ty),+) => { $(
        impl DeviceConstant for $type {
            fn define(&self, name: &str) -> String {
                let declared = <$type as DeviceType>::declare(name);
                match self.checked_neg() {
                    Some(_) => format!("{declared} = {self}l"),
                    None => format!("{declared} = {}l - 1l", self + 1),
                }
            }
        }
    )+ };
}

long_constants!(i64, isize);

impl DeviceConstant for f32 {
    /// The shortest digits that are read back as the same value.
    fn define(&self, name: &str) -> String {
        let text = format!("{self:?}");
        if self.is_finite() {
            format!("float {name} = {text}f")
        } else {
            format!("float {name} = as_type<float>({:#x}u)", self.to_bits())
        }
    }
}
