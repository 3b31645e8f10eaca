//! The samples of a process's metrics, by name.
//!
//! Owns [`Samples`]; the text is read by the library's own reader of Prometheus' format, so that a line of
//! another form is an error with its number: values that were half read would be believed.

use std::collections::BTreeMap;

use anymetal_service::export::scrape;

pub(super) use anymetal_service::export::scrape::Sample;

/// All samples of an exposition, by name.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Samples {
    by_name: BTreeMap<String, Vec<Sample>>,
}

/// A label's value; empty if there is none.
pub(super) fn label<'a>(sample: &'a Sample, name: &str) -> &'a str {
    sample.label(name).unwrap_or_default()
}

impl Samples {
    /// Reads an exposition.
    pub(super) fn parse(text: &str) -> Result<Samples, String> {
        let mut samples = Samples::default();
        let families = scrape::parse(text);
        let told = |error: scrape::ScrapeError| format!("line {} is no metric: {}", error.line, error.reason);
        for family in families.map_err(told)? {
            for sample in family.samples {
                samples.by_name.entry(sample.name.clone()).or_default().push(sample);
            }
        }
        Ok(samples)
    }

    /// The samples of that name.
    pub(super) fn of(&self, name: &str) -> &[Sample] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    /// The values of that name added up by a label.
    pub(super) fn by_label(&self, name: &str, by: &str) -> BTreeMap<&str, f64> {
        let mut sums = BTreeMap::new();
        for sample in self.of(name) {
            *sums.entry(label(sample, by)).or_default() += sample.value;
        }
        sums
    }

    /// All values of that name added up.
    pub(super) fn total(&self, name: &str) -> f64 {
        self.of(name).iter().fold(0.0, |sum, sample| sum + sample.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_found_by_name_and_added_up_by_label() {
        let text = "# TYPE a counter\na 3\na{x=\"1\"} 4.5\n# TYPE b histogram\nb_bucket{le=\"+Inf\"} 2\nb_sum 1\n\
                    b_count 2\n";
        let samples = Samples::parse(text).unwrap();
        assert_eq!((samples.of("a").len(), samples.total("a")), (2, 7.5));
        assert_eq!(samples.by_label("a", "x"), BTreeMap::from([("", 3.0), ("1", 4.5)]));
        assert_eq!((samples.of("b_bucket")[0].value, samples.of("none").len()), (2.0, 0));
        assert!(Samples::parse("# TYPE a gauge\na b\n").unwrap_err().starts_with("line 2 is no metric: "));
    }
}
