//! `sin`, `cos` and `tan` of arguments beyond a hundred thousand, after Payne and Hanek.
//!
//! x = m 2^e with an integer m of 24 bits. x 2/π modulo 4 needs only a window of the bits of 2/π: those
//! above it contribute whole multiples of 4, those below too little to matter. 96 bits leave an error
//! of 2^-70 in the angle, while no float comes nearer than 2^-31 to a multiple of π/2.
//!
//! The function is kept out of line: it runs only where a lane needs it.

use super::MathDef;
use super::body::{Body, Inline, Lane};
use super::trigonometric::{sine_kernel, tangent_kernel};
use super::value::Val;

/// Which function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Circular {
    Sin,
    Cos,
    Tan,
}

/// The bits of 2/π after 32 zeros, most significant first.
const TWO_OVER_PI: [u32; 8] =
    [0x0000_0000, 0xA2F9_836E, 0x4E44_1529, 0xFC27_57D1, 0xF534_DDC0, 0xDB62_9599, 0x3C43_9041, 0xFE51_63AB];

/// First word of the window for the largest exponent.
const LAST_WORD: usize = 4;

const SIGN: i32 = i32::MIN;

/// `usual` where |x| ≤ `limit`, the function computed for huge arguments elsewhere.
pub(super) fn recomputed<'b>(
    function: Circular,
    body: &'b Body,
    x: Val<'b>,
    usual: Val<'b>,
    limit: f32,
) -> Val<'b> {
    let value = body.call(definition(function, body.width()), &[x], Lane::F32);
    x.abs().gt(limit).select(value, usual)
}

fn definition(function: Circular, width: u32) -> MathDef {
    let body = Body::new(width);
    let arguments = body.arguments(&[Lane::F32]);
    let x = arguments[0];
    let angle = quarter_turns(&body, x.abs());
    let result = match function {
        Circular::Sin => sine(&body, angle, x.bits() & SIGN),
        // A quarter turn on; the cosine does not see the sign.
        Circular::Cos => sine(&body, angle + (1_i64 << 62), body.i32(0)),
        Circular::Tan => tangent(&body, angle, x.bits() & SIGN),
    };
    let result = x.abs().lt(f32::INFINITY).select(result, f32::NAN);
    let name = format!("am_{}_huge_f32_w{width}", format!("{function:?}").to_lowercase());
    body.finish(&name, &arguments, result, Inline::Never)
}

/// |x| 2/π modulo 4, in units of 2^-62, for |x| from 2^16 on.
fn quarter_turns<'b>(body: &'b Body, x: Val<'b>) -> Val<'b> {
    let bits = x.bits();
    let mantissa = ((bits & 0x007F_FFFF) | 0x0080_0000).zero_extend(Lane::I64);
    // Position of the window in the table: weight 2 of the product is its highest bit.
    let position = bits.lshr(23) - 120;
    let word = position.lshr(5);
    let shift = position & 31;
    let pick = |offset: usize| {
        (0..LAST_WORD).rev().fold(body.i32(TWO_OVER_PI[LAST_WORD + offset].cast_signed()), |chosen, i| {
            word.eq(i as i32).select(body.i32(TWO_OVER_PI[i + offset].cast_signed()), chosen)
        })
    };
    let words: [Val<'b>; 4] = std::array::from_fn(pick);
    let window = |i: usize| words[i].funnel_left(words[i + 1], shift).zero_extend(Lane::I64);
    ((mantissa * window(0)) << 32) + mantissa * window(1) + (mantissa * window(2)).lshr(32)
}

/// Radians of an angle given as in [`quarter_turns`], between -π/2 and π/2.
fn radians(angle: Val<'_>) -> Val<'_> {
    const UNIT: f64 = std::f64::consts::FRAC_PI_2 / (1_u64 << 62) as f64;
    (angle.to_float(Lane::F64) * UNIT).round_to(Lane::F32)
}

fn sine<'b>(body: &'b Body, angle: Val<'b>, sign: Val<'b>) -> Val<'b> {
    // Beyond a quarter turn to either side: half a turn back, which changes the sign.
    let flipped = angle + (1_i64 << 62);
    let beyond = flipped.lt(0);
    let angle = beyond.select(angle ^ i64::MIN, angle);
    let sign = sign ^ beyond.select(body.i32(SIGN), 0);
    (sine_kernel(radians(angle)).bits() ^ sign).as_float(Lane::F32)
}

fn tangent<'b>(body: &'b Body, angle: Val<'b>, sign: Val<'b>) -> Val<'b> {
    let turns = (angle + (1_i64 << 61)).lshr(62);
    let odd = (turns.truncate(Lane::I32) & body.i32(1)).ne(0);
    let tangent = tangent_kernel(radians(angle - (turns << 62)), odd);
    (tangent.bits() ^ sign).as_float(Lane::F32)
}
