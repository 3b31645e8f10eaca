//! Gauges that are summed up when someone reads them.
//!
//! Owns the process's list of [`Collect`]ors. What a pool holds or a stream has in flight changes with every
//! launch; nothing is paid for it there. An exporter calls [`collect`] before it reads, and a program with a
//! recorder of its own does the same. Invariant: series with the same labels, as those of two pools of one
//! device, are added up; a series that is no longer reported goes to zero.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::handle::{Gauge, metrics_on};
use crate::names::Metric;

/// Something with gauges.
pub trait Collect: Send + Sync {
    /// Adds its values.
    fn collect(&self, sums: &mut Sums);
}

/// A series: the metric's name and the labels' values, in the metric's order.
type Series = (&'static str, Vec<String>);

/// The sums of one reading.
#[derive(Debug, Default)]
pub struct Sums {
    values: BTreeMap<Series, (&'static Metric, f64)>,
}

impl Sums {
    /// Adds a value to a series. The labels' values are in the order of the metric's labels.
    pub fn add(&mut self, metric: &'static Metric, values: &[&str], value: f64) {
        let series = (metric.name, values.iter().map(|&value| value.to_owned()).collect());
        self.values.entry(series).or_insert((metric, 0.0)).1 += value;
    }

    /// The sum of a series, if anything was added to it.
    pub fn get(&self, metric: &Metric, values: &[&str]) -> Option<f64> {
        let series = (metric.name, values.iter().map(|&value| value.to_owned()).collect());
        self.values.get(&series).map(|(_, value)| *value)
    }

    fn set(&self) {
        for ((_, values), (metric, value)) in &self.values {
            let labels: Vec<_> =
                metric.labels.iter().copied().zip(values.iter().map(String::as_str)).collect();
            Gauge::new(metric, &labels).set(*value);
        }
    }
}

struct Collectors {
    list: Vec<Weak<dyn Collect>>,
    /// What was set last.
    last: Vec<(Series, &'static Metric)>,
}

static COLLECTORS: Mutex<Collectors> = Mutex::new(Collectors { list: Vec::new(), last: Vec::new() });

/// Has something collected from now on, while it lives.
pub fn add_collector(collector: Weak<dyn Collect>) {
    let mut collectors = COLLECTORS.lock().unwrap_or_else(PoisonError::into_inner);
    collectors.list.retain(|known| known.strong_count() > 0);
    collectors.list.push(collector);
}

/// What all collectors tell now.
pub fn sums() -> Sums {
    let list: Vec<Arc<dyn Collect>> = {
        let collectors = COLLECTORS.lock().unwrap_or_else(PoisonError::into_inner);
        collectors.list.iter().filter_map(Weak::upgrade).collect()
    };
    // Outside the lock: a collector takes its own.
    let mut sums = Sums::default();
    list.iter().for_each(|collector| collector.collect(&mut sums));
    sums
}

/// Sets all collected gauges to their values now.
pub fn collect() {
    if !metrics_on() {
        return;
    }
    let mut sums = sums();
    {
        let mut collectors = COLLECTORS.lock().unwrap_or_else(PoisonError::into_inner);
        for (series, metric) in std::mem::take(&mut collectors.last) {
            sums.values.entry(series).or_insert((metric, 0.0));
        }
        collectors.last = sums.values.iter().map(|(series, (metric, _))| (series.clone(), *metric)).collect();
    }
    sums.set();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::metrics::{POOL_BUFFERS, POOL_BYTES};

    struct Pool(f64);

    impl Collect for Pool {
        fn collect(&self, sums: &mut Sums) {
            sums.add(&POOL_BYTES, &["collected", "used"], self.0);
        }
    }

    #[test]
    fn series_of_the_same_labels_are_added_up_while_their_collectors_live() {
        let pools: Vec<Arc<dyn Collect>> = vec![Arc::new(Pool(3.0)), Arc::new(Pool(4.0))];
        pools.iter().for_each(|pool| add_collector(Arc::downgrade(pool)));
        assert_eq!(sums().get(&POOL_BYTES, &["collected", "used"]), Some(7.0));
        assert_eq!(sums().get(&POOL_BUFFERS, &["collected"]), None);
        drop(pools);
        assert_eq!(sums().get(&POOL_BYTES, &["collected", "used"]), None);
    }
}
