//! The C symbols that generated code may call without the code generator having asked for them:
//! LLVM turns loops into `memcpy`, `frem` into `fmodf`, a wide `half` conversion into
//! `__truncsfhf2`. One table; anything not in it is an unresolved symbol and so an error at load.

use std::ffi::{c_int, c_void};

use super::soft_float;

macro_rules! c_functions {
    ($(fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => {
        #[link(name = "m")]
        unsafe extern "C" {
            $(fn $name($($arg: $ty),*) -> $ret;)*
        }

        /// The functions of the C library, by name.
        fn c_symbol(name: &str) -> Option<*const ()> {
            $(if name == stringify!($name) {
                return Some($name as *const ());
            })*
            None
        }

        #[cfg(test)]
        const C_NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

c_functions! {
    fn memcpy(to: *mut c_void, from: *const c_void, count: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, count: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: c_int, count: usize) -> *mut c_void;
    fn memcmp(a: *const c_void, b: *const c_void, count: usize) -> c_int;
    fn fmodf(x: f32, y: f32) -> f32;
    fn fmod(x: f64, y: f64) -> f64;
    fn fmaf(x: f32, y: f32, z: f32) -> f32;
    fn fma(x: f64, y: f64, z: f64) -> f64;
    fn sqrtf(x: f32) -> f32;
    fn sqrt(x: f64) -> f64;
    fn floorf(x: f32) -> f32;
    fn floor(x: f64) -> f64;
    fn ceilf(x: f32) -> f32;
    fn ceil(x: f64) -> f64;
    fn truncf(x: f32) -> f32;
    fn trunc(x: f64) -> f64;
    fn rintf(x: f32) -> f32;
    fn rint(x: f64) -> f64;
    fn nearbyintf(x: f32) -> f32;
    fn nearbyint(x: f64) -> f64;
    fn roundf(x: f32) -> f32;
    fn round(x: f64) -> f64;
    fn fminf(x: f32, y: f32) -> f32;
    fn fmin(x: f64, y: f64) -> f64;
    fn fmaxf(x: f32, y: f32) -> f32;
    fn fmax(x: f64, y: f64) -> f64;
    fn expf(x: f32) -> f32;
    fn exp(x: f64) -> f64;
    fn exp2f(x: f32) -> f32;
    fn exp2(x: f64) -> f64;
    fn logf(x: f32) -> f32;
    fn log(x: f64) -> f64;
    fn log2f(x: f32) -> f32;
    fn log2(x: f64) -> f64;
    fn log10f(x: f32) -> f32;
    fn log10(x: f64) -> f64;
    fn powf(x: f32, y: f32) -> f32;
    fn pow(x: f64, y: f64) -> f64;
    fn ldexpf(x: f32, exponent: c_int) -> f32;
    fn ldexp(x: f64, exponent: c_int) -> f64;
    fn frexpf(x: f32, exponent: *mut c_int) -> f32;
    fn frexp(x: f64, exponent: *mut c_int) -> f64;
    fn sinf(x: f32) -> f32;
    fn sin(x: f64) -> f64;
    fn cosf(x: f32) -> f32;
    fn cos(x: f64) -> f64;
    fn tanf(x: f32) -> f32;
    fn tan(x: f64) -> f64;
    fn asinf(x: f32) -> f32;
    fn asin(x: f64) -> f64;
    fn acosf(x: f32) -> f32;
    fn acos(x: f64) -> f64;
    fn atanf(x: f32) -> f32;
    fn atan(x: f64) -> f64;
    fn atan2f(y: f32, x: f32) -> f32;
    fn atan2(y: f64, x: f64) -> f64;
    fn sinhf(x: f32) -> f32;
    fn sinh(x: f64) -> f64;
    fn coshf(x: f32) -> f32;
    fn cosh(x: f64) -> f64;
    fn tanhf(x: f32) -> f32;
    fn tanh(x: f64) -> f64;
    fn asinhf(x: f32) -> f32;
    fn asinh(x: f64) -> f64;
    fn acoshf(x: f32) -> f32;
    fn acosh(x: f64) -> f64;
    fn atanhf(x: f32) -> f32;
    fn atanh(x: f64) -> f64;
    fn erff(x: f32) -> f32;
    fn erfcf(x: f32) -> f32;
}

// Functions that not every C library has, and 128-bit division, which LLVM calls by these names.

extern "C" fn round_even_f32(x: f32) -> f32 {
    x.round_ties_even()
}

extern "C" fn round_even_f64(x: f64) -> f64 {
    x.round_ties_even()
}

extern "C" fn exp10_f32(x: f32) -> f32 {
    10f64.powf(f64::from(x)) as f32
}

extern "C" fn exp10_f64(x: f64) -> f64 {
    10f64.powf(x)
}

extern "C" fn sincos_f32(x: f32, sine: &mut f32, cosine: &mut f32) {
    (*sine, *cosine) = x.sin_cos();
}

extern "C" fn sincos_f64(x: f64, sine: &mut f64, cosine: &mut f64) {
    (*sine, *cosine) = x.sin_cos();
}

// Division by zero is undefined behaviour in the IR that these calls come from; here it gives zero,
// because a panic must not cross generated code.

extern "C" fn divide_u128(a: u128, b: u128) -> u128 {
    a.checked_div(b).unwrap_or(0)
}

extern "C" fn remainder_u128(a: u128, b: u128) -> u128 {
    a.checked_rem(b).unwrap_or(0)
}

extern "C" fn divide_i128(a: i128, b: i128) -> i128 {
    a.checked_div(b).unwrap_or(0)
}

extern "C" fn remainder_i128(a: i128, b: i128) -> i128 {
    a.checked_rem(b).unwrap_or(0)
}

/// The address of a C library or compiler support function that generated code may call, or `None`.
pub fn default_symbols(name: &str) -> Option<*const ()> {
    let address = match name {
        "__truncsfhf2" => soft_float::truncsfhf2 as *const (),
        "__truncdfhf2" => soft_float::truncdfhf2 as *const (),
        "__truncsfbf2" => soft_float::truncsfbf2 as *const (),
        "__truncdfbf2" => soft_float::truncdfbf2 as *const (),
        "__extendhfsf2" => soft_float::extendhfsf2 as *const (),
        "__extendhfdf2" => soft_float::extendhfdf2 as *const (),
        "__extendbfsf2" => soft_float::extendbfsf2 as *const (),
        "__gnu_f2h_ieee" => soft_float::gnu_f2h_ieee as *const (),
        "__gnu_h2f_ieee" => soft_float::gnu_h2f_ieee as *const (),
        "roundevenf" => round_even_f32 as *const (),
        "roundeven" => round_even_f64 as *const (),
        "exp10f" => exp10_f32 as *const (),
        "exp10" => exp10_f64 as *const (),
        "sincosf" => sincos_f32 as *const (),
        "sincos" => sincos_f64 as *const (),
        "__udivti3" => divide_u128 as *const (),
        "__umodti3" => remainder_u128 as *const (),
        "__divti3" => divide_i128 as *const (),
        "__modti3" => remainder_i128 as *const (),
        _ => return c_symbol(name),
    };
    Some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_resolve_and_strangers_do_not() {
        for name in C_NAMES.iter().chain(&["__truncdfhf2", "roundeven", "__umodti3"]) {
            assert!(default_symbols(name).is_some_and(|address| !address.is_null()), "{name}");
        }
        assert_eq!(default_symbols("system"), None);
        assert_eq!(default_symbols(""), None);
    }
}
