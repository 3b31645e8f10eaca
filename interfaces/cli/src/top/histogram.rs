//! Histograms of an exposition, and quantiles of what came in between two looks.

use std::collections::BTreeMap;

use super::samples::{Samples, label};

/// Counts up to each bound, as Prometheus has them.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Histogram {
    /// Ascending bounds, each with the count of all values up to it.
    buckets: Vec<(f64, f64)>,
    pub(super) sum: f64,
    pub(super) count: f64,
}

impl Histogram {
    /// The histograms of that name, added up by some labels.
    pub(super) fn by_labels<const N: usize>(
        samples: &Samples,
        name: &str,
        labels: [&str; N],
    ) -> BTreeMap<[String; N], Histogram> {
        let mut found: BTreeMap<[String; N], Histogram> = BTreeMap::new();
        let mut buckets: BTreeMap<[String; N], BTreeMap<u64, (f64, f64)>> = BTreeMap::new();
        for sample in samples.of(&format!("{name}_bucket")) {
            let Ok(bound) = label(sample, "le").parse::<f64>() else { continue };
            if bound.is_nan() {
                continue;
            }
            let key = labels.map(|name| label(sample, name).to_owned());
            // Bits of positive numbers are in their order.
            let entry =
                buckets.entry(key).or_default().entry(bound.max(0.0).to_bits()).or_insert((bound, 0.0));
            entry.1 += sample.value;
        }
        for (key, buckets) in buckets {
            found.entry(key).or_default().buckets = buckets.into_values().collect();
        }
        for sample in samples.of(&format!("{name}_sum")) {
            let key = labels.map(|name| label(sample, name).to_owned());
            found.entry(key).or_default().sum += sample.value;
        }
        for sample in samples.of(&format!("{name}_count")) {
            let key = labels.map(|name| label(sample, name).to_owned());
            found.entry(key).or_default().count += sample.value;
        }
        found
    }

    /// What came in since an earlier look; all of it if the process was started again meanwhile.
    pub(super) fn since(&self, before: Option<&Histogram>) -> Histogram {
        let Some(before) = before.filter(|before| before.count <= self.count) else { return self.clone() };
        let earlier = |bound: f64| {
            before.buckets.iter().find(|(known, _)| *known == bound).map_or(0.0, |(_, count)| *count)
        };
        let buckets = self.buckets.iter().map(|&(bound, count)| (bound, (count - earlier(bound)).max(0.0)));
        Histogram {
            buckets: buckets.collect(),
            sum: (self.sum - before.sum).max(0.0),
            count: self.count - before.count,
        }
    }

    /// The value that this share of the values does not exceed, in between two bounds by a straight line, as
    /// Prometheus' `histogram_quantile` estimates it. Above the last finite bound it is that bound.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let total = self.buckets.last().map(|(_, count)| *count).filter(|total| *total > 0.0)?;
        let rank = share * total;
        let place = self.buckets.iter().position(|(_, count)| *count >= rank)?;
        let (bound, count) = self.buckets[place];
        let (lower, below) = place.checked_sub(1).map_or((0.0, 0.0), |before| self.buckets[before]);
        if bound.is_infinite() {
            return place.checked_sub(1).map(|before| self.buckets[before].0);
        }
        if count <= below {
            return Some(bound);
        }
        Some(lower + (bound - lower) * (rank - below) / (count - below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(text: &str) -> Histogram {
        Histogram::by_labels(&Samples::parse(text).unwrap(), "h", []).remove(&[]).unwrap()
    }

    const TEXT: &str = "# TYPE h histogram\nh_bucket{le=\"0.1\"} 50\nh_bucket{le=\"1\"} 100\n\
                        h_bucket{le=\"+Inf\"} 101\nh_sum 40\nh_count 101\n";

    #[test]
    fn quantiles_are_those_of_histogram_quantile() {
        let histogram = histogram(TEXT);
        let near = |share: f64, value: f64| {
            let got = histogram.quantile(share).unwrap();
            assert!((got - value).abs() < 1e-9, "{share}: {got}");
        };
        near(25.0 / 101.0, 0.05);
        near(75.0 / 101.0, 0.55);
        near(1.0, 1.0);
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn only_what_came_in_between_counts_and_a_new_process_starts_again() {
        let before = histogram(TEXT);
        let now = histogram(&TEXT.replace("100\n", "110\n").replace("101", "111"));
        let between = now.since(Some(&before));
        assert_eq!((between.count, between.quantile(0.5)), (10.0, Some(0.55)));
        let new = "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 3\nh_sum 1\nh_count 3\n";
        assert_eq!(histogram(new).since(Some(&before)).count, 3.0);
    }

    #[test]
    fn series_are_added_up_by_the_labels_that_count() {
        let series = |kernel: &str, count: u32| {
            let labels = format!("k=\"{kernel}\",d=\"x\"");
            format!(
                "h_bucket{{{labels},le=\"1\"}} {count}\nh_bucket{{{labels},le=\"+Inf\"}} {count}\n\
                 h_sum{{{labels}}} 0\nh_count{{{labels}}} {count}\n"
            )
        };
        let text = format!("# TYPE h histogram\n{}{}", series("a", 1), series("b", 2));
        let by_device = Histogram::by_labels(&Samples::parse(&text).unwrap(), "h", ["d"]);
        assert_eq!(by_device[&["x".to_owned()]].count, 3.0);
    }
}
