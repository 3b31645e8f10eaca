//! Whether what came out is what should.

use crate::data::{Data, Dtype};

/// How close is close enough.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Tolerance {
    /// The same value: zeros of either sign are equal, and so are all NaNs.
    Exact,
    /// The same bits; all NaNs are equal.
    Bits,
    /// At most that many units in the last place of the expected value; denormals count as zero.
    Ulps(f64),
    /// So far off at most, relative to the expected value and absolutely, added up.
    Near {
        /// The part relative to the expected value.
        relative: f64,
        /// The absolute part.
        absolute: f64,
    },
    /// The same bits, in rows of that many elements whose order is open.
    Unordered(usize),
    /// Not compared.
    Any,
}

impl Tolerance {
    /// That many units in the last place of a type, and that many times the one of 1 absolutely: for results
    /// of sums of terms near 1.
    pub fn rounding(dtype: Dtype, relative: f64, absolute: f64) -> Self {
        Self::Near { relative: relative * dtype.epsilon(), absolute: absolute * dtype.epsilon() }
    }
}

/// The first difference, and how many there are, as a message.
pub fn compare(expected: &Data, got: &Data, tolerance: Tolerance) -> Result<(), String> {
    if tolerance == Tolerance::Any {
        return Ok(());
    }
    if expected.bytes == got.bytes {
        return Ok(());
    }
    if expected.len() != got.len() {
        return Err(format!("{} elements instead of {}", got.len(), expected.len()));
    }
    if let Tolerance::Unordered(row) = tolerance {
        return compare(&rows_sorted(expected, row), &rows_sorted(got, row), Tolerance::Bits);
    }
    let wrong = |&i: &usize| !is_close(expected, got, i, tolerance);
    let mut differing = (0..expected.len()).filter(wrong);
    let Some(first) = differing.next() else { return Ok(()) };
    let (want, have) = (describe(expected, first), describe(got, first));
    let count = 1 + differing.count();
    Err(format!(
        "{count} of {} elements differ: [{first}] is {have} instead of {want} ({tolerance:?})",
        got.len()
    ))
}

/// The elements with each row in the order of its bits.
fn rows_sorted(data: &Data, row: usize) -> Data {
    let mut order: Vec<usize> = (0..data.len()).collect();
    order.chunks_mut(row.max(1)).for_each(|row| row.sort_by_key(|&i| data.bits(i)));
    data.pick(order)
}

fn describe(data: &Data, index: usize) -> String {
    if data.dtype.is_float() {
        format!("{:?} (0x{:x})", data.number(index), data.bits(index))
    } else {
        data.integer(index).to_string()
    }
}

fn is_close(expected: &Data, got: &Data, index: usize, tolerance: Tolerance) -> bool {
    if expected.bits(index) == got.bits(index) {
        return true;
    }
    let dtype = expected.dtype;
    if !dtype.is_float() {
        // A unit in the last place of an integer is 1.
        let distance = (expected.integer(index) - got.integer(index)).abs() as f64;
        return matches!(tolerance, Tolerance::Ulps(ulps) if distance <= ulps);
    }
    let (want, have) = (expected.number(index), got.number(index));
    if want.is_nan() || have.is_nan() {
        return want.is_nan() && have.is_nan();
    }
    match tolerance {
        Tolerance::Any => true,
        Tolerance::Bits | Tolerance::Unordered(_) => false,
        Tolerance::Exact => want == have,
        Tolerance::Ulps(ulps) => {
            let unit = unit_in_last_place(dtype, want);
            let flushed = want.abs().min(have.abs()) == 0.0 && (want - have).abs() < dtype.smallest_normal();
            want == have || (want - have).abs() <= ulps * unit || flushed
        }
        Tolerance::Near { relative, absolute } => {
            want == have || (want - have).abs() <= relative * want.abs() + absolute
        }
    }
}

fn unit_in_last_place(dtype: Dtype, value: f64) -> f64 {
    let magnitude = value.abs().max(dtype.smallest_normal());
    dtype.epsilon() * magnitude.log2().floor().exp2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_accept_and_reject_at_their_bounds() {
        let data = |numbers: &[f64]| Data::from_numbers(Dtype::F32, numbers.iter().copied());
        let one = data(&[1.0]);
        let next = data(&[1.0 + f64::from(f32::EPSILON)]);
        assert!(compare(&one, &next, Tolerance::Ulps(1.0)).is_ok());
        assert!(compare(&one, &next, Tolerance::Ulps(0.9)).is_err());
        assert!(compare(&one, &next, Tolerance::Exact).is_err());
        assert!(compare(&data(&[0.0]), &data(&[-0.0]), Tolerance::Exact).is_ok());
        assert!(compare(&data(&[0.0]), &data(&[-0.0]), Tolerance::Bits).is_err());
        assert!(compare(&data(&[f64::NAN]), &data(&[-f64::NAN]), Tolerance::Bits).is_ok());
        assert!(compare(&data(&[f64::NAN]), &data(&[1.0]), Tolerance::Ulps(1e9)).is_err());
        let rows = [data(&[1.0, 2.0, 3.0]), data(&[2.0, 1.0, 3.0]), data(&[3.0, 1.0, 2.0])];
        assert!(compare(&rows[0], &rows[1], Tolerance::Unordered(2)).is_ok());
        assert!(compare(&rows[0], &rows[2], Tolerance::Unordered(2)).is_err());
        let message =
            compare(&data(&[1.0, 2.0, 3.0]), &data(&[1.0, 2.5, 3.5]), Tolerance::Exact).unwrap_err();
        assert!(message.starts_with("2 of 3 elements differ: [1] is 2.5"), "{message}");
    }
}
