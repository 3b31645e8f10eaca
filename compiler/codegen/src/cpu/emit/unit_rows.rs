//! Scalars that take several units of a private array: the array's smallest access decides its unit.
//!
//! Each part of the scalar is a row of 32 units, one of each lane. Interleaving the rows pairwise brings the
//! parts of each lane together. A shared function does it, because written out at each access it would be
//! most of the text of programs whose structures mix scalars of all sizes; `inline_budget` decides whether it
//! is inlined.

use std::fmt::Write as _;

use crate::llvm::LANES;

/// The text of `@am.load.units.UNIT.BITS`: one scalar of all lanes, in bits.
pub(super) fn load_units(unit: u32, bits: u32) -> String {
    let parts = parts(unit, bits);
    let mut text = format!(
        "define internal <32 x i{bits}> @am.load.units.{unit}.{bits}(ptr %base) \
         alwaysinline nounwind willreturn memory(argmem: read) {{\n"
    );
    for part in 0..parts {
        // What was never written is arbitrary, but must not be undefined to LLVM.
        let _ = write!(
            text,
            "  %p{part} = getelementptr i8, ptr %base, i64 {}
  %raw{part} = load <32 x i{unit}>, ptr %p{part}, align {}
  %v{unit}.{part} = freeze <32 x i{unit}> %raw{part}
",
            row_start(unit, part),
            unit / 8
        );
    }
    let interleaved = mask((0..LANES).flat_map(|lane| [lane, LANES + lane]));
    let mut narrow = unit;
    while narrow < bits {
        let wide = narrow * 2;
        for pair in 0..bits / wide {
            let [low, high] = [0, 1].map(|half| format!("<32 x i{narrow}> %v{narrow}.{}", pair * 2 + half));
            let _ = write!(
                text,
                "  %both{wide}.{pair} = shufflevector {low}, {high}, <64 x i32> {interleaved}
  %v{wide}.{pair} = bitcast <64 x i{narrow}> %both{wide}.{pair} to <32 x i{wide}>
"
            );
        }
        narrow = wide;
    }
    let _ = write!(text, "  ret <32 x i{bits}> %v{bits}.0\n}}\n");
    text
}

/// The text of `@am.store.units.UNIT.BITS`, its reverse.
pub(super) fn store_units(unit: u32, bits: u32) -> String {
    let parts = parts(unit, bits);
    let mut text = format!(
        "define internal void @am.store.units.{unit}.{bits}(ptr %base, <32 x i{bits}> %v{bits}.0) \
         alwaysinline nounwind willreturn memory(argmem: write) {{\n"
    );
    let [low, high] = [0, 1].map(|half| mask((0..LANES).map(|lane| 2 * lane + half)));
    let mut wide = bits;
    while wide > unit {
        let narrow = wide / 2;
        for pair in 0..bits / wide {
            let both = format!("<64 x i{narrow}> %both{wide}.{pair}, <64 x i{narrow}> poison, <32 x i32>");
            let _ = write!(
                text,
                "  %both{wide}.{pair} = bitcast <32 x i{wide}> %v{wide}.{pair} to <64 x i{narrow}>
  %v{narrow}.{} = shufflevector {both} {low}
  %v{narrow}.{} = shufflevector {both} {high}
",
                pair * 2,
                pair * 2 + 1
            );
        }
        wide = narrow;
    }
    for part in 0..parts {
        let _ = write!(
            text,
            "  %p{part} = getelementptr i8, ptr %base, i64 {}
  store <32 x i{unit}> %v{unit}.{part}, ptr %p{part}, align {}
",
            row_start(unit, part),
            unit / 8
        );
    }
    text.push_str("  ret void\n}\n");
    text
}

fn parts(unit: u32, bits: u32) -> u32 {
    let is_scalar = |bits| matches!(bits, 8 | 16 | 32 | 64);
    assert!(is_scalar(unit) && is_scalar(bits) && unit < bits, "{bits} bits in units of {unit}");
    bits / unit
}

/// The byte at which a row of units begins.
fn row_start(unit: u32, row: u32) -> u32 {
    row * unit / 8 * LANES as u32
}

/// The elements that a `shufflevector` takes.
fn mask(elements: impl Iterator<Item = usize>) -> String {
    let elements: Vec<String> = elements.map(|element| format!("i32 {element}")).collect();
    format!("<{}>", elements.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{load_units, store_units};

    #[test]
    fn parts_of_a_lane_come_from_the_same_place_of_each_row() {
        let text = load_units(16, 32);
        assert!(text.contains("%p1 = getelementptr i8, ptr %base, i64 64\n"), "{text}");
        assert!(text.contains("<64 x i32> <i32 0, i32 32, i32 1, i32 33,"), "{text}");
        assert!(text.ends_with("  ret <32 x i32> %v32.0\n}\n"), "{text}");
    }

    #[test]
    fn a_scalar_is_halved_until_its_parts_are_units() {
        let text = store_units(8, 64);
        assert_eq!(text.matches("shufflevector").count(), 2 + 4 + 8);
        assert_eq!(text.matches("store <32 x i8>").count(), 8);
        assert!(text.contains(
            "%v32.1 = shufflevector <64 x i32> %both64.0, <64 x i32> poison, <32 x i32> <i32 1, i32 3,"
        ));
    }
}
