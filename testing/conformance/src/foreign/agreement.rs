//! Whether two executors left the same in a buffer.

use super::layout::{Layout, Leaf};
use anymetal_msl::hir::ScalarTy;
use half::{bf16, f16};

/// How close is the same.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Closeness {
    /// The same bits, but for NaN.
    Bits,
    /// Floats as close as this, relative to the larger of the two and to the largest in the buffer.
    Near(f64),
}

/// Where and how a buffer differs first, and how much of it does.
pub(super) fn difference(layout: &Layout, want: &[u8], have: &[u8], closeness: Closeness) -> Option<String> {
    if want == have {
        return None;
    }
    let whole = want.len() / layout.size * layout.size;
    let scale = if closeness == Closeness::Bits { 0.0 } else { largest(layout, want) };
    let mut wrong = Vec::new();
    for start in (0..whole).step_by(layout.size) {
        let end = start + layout.size;
        if want[start..end] == have[start..end] {
            continue;
        }
        wrong.extend(layout.leaves.iter().copied().filter_map(|leaf| {
            let (want, have) = (value(leaf, &want[start..]), value(leaf, &have[start..]));
            (!is_same(want, have, closeness, scale)).then_some((start + leaf.offset, leaf.scalar, want, have))
        }));
    }
    if layout.leaves.is_empty() || (wrong.is_empty() && closeness == Closeness::Bits && padding(layout)) {
        let at = (0..want.len()).find(|&at| want[at] != have[at])?;
        return Some(format!("byte {at}: {:#04x} instead of {:#04x}", have[at], want[at]));
    }
    if layout.is_bytes() {
        wrong.retain(|&(at, ..)| !hides_nan(want, have, at));
    }
    let &(at, scalar, want, have) = wrong.first()?;
    let scalar = scalar.msl_name();
    let total = whole / layout.size * layout.leaves.len();
    Some(format!(
        "{} of {total} scalars differ: at byte {at} ({scalar}) {have} instead of {want}",
        wrong.len()
    ))
}

/// Whether a byte is part of a `half` or `float` that is NaN in both: formats of blocks are declared as
/// bytes.
fn hides_nan(want: &[u8], have: &[u8], at: usize) -> bool {
    let is_nan = |bytes: &[u8], size: usize| {
        let word = bytes.get(at / size * size..(at / size + 1) * size);
        match word {
            Some(&[a, b]) => f16::from_le_bytes([a, b]).is_nan(),
            Some(&[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).is_nan(),
            _ => false,
        }
    };
    [2, 4].into_iter().any(|size| is_nan(want, size) && is_nan(have, size))
}

/// Whether some bytes belong to no scalar.
fn padding(layout: &Layout) -> bool {
    layout.leaves.iter().map(|leaf| leaf.scalar.size() as usize).sum::<usize>() < layout.size
}

/// A scalar, for comparison and display.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Value {
    Integer(u64),
    Float(f64),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value:#x}"),
            Self::Float(value) => write!(f, "{value:?}"),
        }
    }
}

fn value(leaf: Leaf, element: &[u8]) -> Value {
    let mut word = [0; 8];
    let size = leaf.scalar.size() as usize;
    word[..size].copy_from_slice(&element[leaf.offset..leaf.offset + size]);
    let bits = u64::from_le_bytes(word);
    match leaf.scalar {
        ScalarTy::F16 => Value::Float(f16::from_bits(bits as u16).to_f64()),
        ScalarTy::BF16 => Value::Float(bf16::from_bits(bits as u16).to_f64()),
        ScalarTy::F32 => Value::Float(f64::from(f32::from_bits(bits as u32))),
        _ => Value::Integer(bits),
    }
}

fn is_same(want: Value, have: Value, closeness: Closeness, scale: f64) -> bool {
    let (Value::Float(want), Value::Float(have)) = (want, have) else { return want == have };
    if want.is_nan() || have.is_nan() {
        return want.is_nan() && have.is_nan();
    }
    match closeness {
        Closeness::Bits => want.to_bits() == have.to_bits(),
        Closeness::Near(part) => {
            want == have || (want - have).abs() <= part * want.abs().max(have.abs()).max(scale)
        }
    }
}

/// The largest finite float of a buffer.
fn largest(layout: &Layout, bytes: &[u8]) -> f64 {
    let elements = bytes.chunks_exact(layout.size);
    let values = elements.flat_map(|element| layout.leaves.iter().map(|&leaf| value(leaf, element)));
    values.fold(0.0, |most, value| match value {
        Value::Float(value) if value.is_finite() => most.max(value.abs()),
        _ => most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_reported_with_their_index() {
        let leaf = |offset, scalar| Leaf { offset, scalar };
        let layout = Layout { size: 8, leaves: vec![leaf(0, ScalarTy::F32), leaf(4, ScalarTy::U32)] };
        let bytes = |float: f32, word: u32| [float.to_le_bytes(), word.to_le_bytes()].concat();
        let differs = |a: &[u8], b: &[u8], closeness| difference(&layout, a, b, closeness);
        let (one, near) = (bytes(1.0, 5), bytes(1.0 + f32::EPSILON, 5));
        assert!(differs(&one, &near, Closeness::Bits).is_some_and(|text| text.contains("byte 0 (float)")));
        assert_eq!(differs(&one, &near, Closeness::Near(1e-5)), None);
        assert!(differs(&one, &bytes(1.0, 6), Closeness::Near(1.0)).is_some());
        assert_eq!(differs(&bytes(f32::NAN, 1), &bytes(-f32::NAN, 1), Closeness::Bits), None);
    }
}
