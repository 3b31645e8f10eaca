//! Anomalies: a value that is far from what its series was.
//!
//! Owns [`robust_z`] and [`Ewma`]. The first compares with the median and the median absolute deviation
//! (Iglewicz and Hoaglin, 1993), which a few outliers do not move; the second follows a mean that drifts, by
//! exponential weights.

use std::f64::consts::FRAC_PI_2;

/// The standard deviation of a normal distribution in median absolute deviations.
const MAD_TO_SIGMA: f64 = 1.4826;

/// How many standard deviations a value is from the median of others; `None`: there are none. If all are
/// equal, another value is infinitely far.
pub fn robust_z(others: &[f64], value: f64) -> Option<f64> {
    let middle = median(others)?;
    let deviations: Vec<f64> = others.iter().map(|other| (other - middle).abs()).collect();
    let mut sigma = median(&deviations)? * MAD_TO_SIGMA;
    if sigma == 0.0 {
        // More than half are equal: the mean absolute deviation, which is that of a normal distribution
        // times the square root of two over pi.
        sigma = deviations.iter().sum::<f64>() / deviations.len() as f64 * FRAC_PI_2.sqrt();
    }
    let distance = value - middle;
    Some(if distance == 0.0 { 0.0 } else { distance / sigma })
}

/// The median; `None` of nothing. Values must be numbers.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + upper) / 2.0 } else { upper })
}

/// A mean and a variance with exponential weights.
#[derive(Debug, Clone)]
pub struct Ewma {
    weight: f64,
    state: Option<(f64, f64)>,
}

impl Ewma {
    /// With that weight of a new value, above 0 and at most 1; others are taken as the nearest that is.
    pub fn new(weight: f64) -> Self {
        Ewma { weight: weight.clamp(f64::EPSILON, 1.0), state: None }
    }

    /// How many standard deviations a value is from the mean before it, and takes it in; `None` of the first.
    pub fn observe(&mut self, value: f64) -> Option<f64> {
        let Some((mean, variance)) = self.state else {
            self.state = Some((value, 0.0));
            return None;
        };
        let distance = value - mean;
        let step = self.weight * distance;
        self.state = Some((mean + step, (1.0 - self.weight) * (variance + distance * step)));
        Some(if distance == 0.0 { 0.0 } else { distance / variance.sqrt() })
    }

    /// The mean, if there was a value.
    pub fn mean(&self) -> Option<f64> {
        self.state.map(|(mean, _)| mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_among_the_others_do_not_hide_an_outlier() {
        let mut others: Vec<f64> = (0..40).map(|n| 10.0 + f64::from(n % 5)).collect();
        others.extend([1e6, 2e6]);
        assert!(robust_z(&others, 12.0).unwrap().abs() < 1.0);
        assert!(robust_z(&others, 40.0).unwrap() > 10.0);
        assert_eq!(robust_z(&[], 1.0), None);
    }

    #[test]
    fn equal_values_and_nearly_equal_ones_have_a_scale() {
        assert_eq!(robust_z(&[2.0; 9], 2.0), Some(0.0));
        assert_eq!(robust_z(&[2.0; 9], 3.0), Some(f64::INFINITY));
        let mut nearly = vec![2.0; 9];
        nearly.push(3.0);
        assert!(robust_z(&nearly, 2.5).unwrap().is_finite());
    }

    #[test]
    fn a_mean_that_drifts_is_followed_and_a_jump_is_far() {
        let mut ewma = Ewma::new(0.2);
        for n in 0..200 {
            ewma.observe(f64::from(n) * 0.01 + f64::from(n % 3));
        }
        let steady = ewma.observe(3.0).unwrap();
        assert!(steady.abs() < 3.0, "{steady}");
        assert!(ewma.observe(60.0).unwrap() > 10.0);
        assert_eq!(Ewma::new(0.5).observe(1.0), None);
    }
}
