//! Where a kernel is under the measured roofline of a device.
//!
//! The ceilings are those of `anymetal report`. A kernel whose intensity is not known exactly is placed by
//! its bounds; nothing is said that does not hold for both.

use anymetal_driver::analyze::{Intensity, KernelAnalysis};
use serde_json::{Value, json};

use crate::device_choice;
use crate::failure::Failure;
use crate::report::{self, Ceilings};

/// A device and its ceilings.
pub(super) struct Roof {
    device: String,
    ceilings: Ceilings,
}

/// What limits a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Limit {
    Memory,
    Arithmetic,
    /// One or the other, by how often its regions are executed.
    Either,
}

impl Limit {
    fn word(self) -> &'static str {
        match self {
            Limit::Memory => "memory",
            Limit::Arithmetic => "arithmetic",
            Limit::Either => "either",
        }
    }
}

impl Roof {
    /// That of the device with that name, measured now.
    pub(super) fn of(name: Option<&str>) -> Result<Roof, Failure> {
        let choice = device_choice::choose(name, None)?;
        Ok(Roof { ceilings: report::ceilings_of(&choice.device)?, device: choice.name })
    }

    fn limit(&self, intensity: &Intensity) -> Limit {
        let ridge = self.ceilings.ridge();
        match (intensity.least, intensity.most) {
            (_, Some(most)) if most < ridge => Limit::Memory,
            (Some(least), _) if least >= ridge => Limit::Arithmetic,
            (None, None) => Limit::Arithmetic,
            _ => Limit::Either,
        }
    }

    /// The rates that the roof allows at the least and the most intensity.
    fn rates(&self, intensity: &Intensity) -> [f64; 2] {
        let peak = self.ceilings.flop_per_second;
        let at = |bound: Option<f64>| bound.map_or(peak, |bound| self.ceilings.roof(bound));
        [at(intensity.least), at(intensity.most)]
    }

    /// A line for people.
    pub(super) fn text(&self, intensity: &Intensity) -> String {
        let [peak, bandwidth] =
            [self.ceilings.flop_per_second, self.ceilings.bytes_per_second].map(|rate| rate / 1e9);
        let [least, most] = self.rates(intensity).map(|rate| rate / 1e9);
        let allowed = match least == most {
            true => format!("{least:.1}"),
            false => format!("{least:.1} to {most:.1}"),
        };
        let limit = match self.limit(intensity) {
            Limit::Memory => "limited by memory",
            Limit::Arithmetic => "limited by arithmetic",
            Limit::Either => "limited by memory or arithmetic, as its loops and branches decide",
        };
        format!(
            "  roofline of {}: {limit}, at most {allowed} GFLOP/s of {peak:.1} (copy {bandwidth:.1} GB/s, ridge at \
             {:.2} float operations per byte)\n",
            self.device,
            self.ceilings.ridge()
        )
    }

    /// The ceilings, and each kernel's place.
    pub(super) fn json(&self, analyses: &[KernelAnalysis]) -> Value {
        let place = |analysis: &KernelAnalysis| {
            let [least, most] = self.rates(&analysis.intensity);
            json!({
                "kernel": analysis.kernel,
                "limited_by": self.limit(&analysis.intensity).word(),
                "least_flop_per_second": least,
                "most_flop_per_second": most,
            })
        };
        json!({
            "device": self.device,
            "ceilings": self.ceilings,
            "ridge": self.ceilings.ridge(),
            "kernels": analyses.iter().map(place).collect::<Vec<_>>(),
        })
    }
}

/// The intensity in words; `None` of a kernel without float operations and bytes.
pub(super) fn intensity(intensity: &Intensity) -> Option<String> {
    match (intensity.exact(), intensity.least, intensity.most) {
        (Some(exact), ..) => Some(format!("{exact:.3}")),
        (None, Some(least), Some(most)) => Some(format!("{least:.3} to {most:.3}")),
        (None, Some(least), None) => Some(format!("{least:.3} or more")),
        (None, None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(least: Option<f64>, most: Option<f64>) -> Intensity {
        Intensity { regions: Vec::new(), least, most }
    }

    #[test]
    fn a_kernel_is_where_its_bounds_say() {
        let ceilings = Ceilings { flop_per_second: 100e9, bytes_per_second: 10e9 };
        let roof = Roof { device: "cpu".to_owned(), ceilings };
        let cases = [
            (bounds(Some(0.25), Some(0.25)), Limit::Memory, [2.5e9, 2.5e9]),
            (bounds(Some(20.0), Some(30.0)), Limit::Arithmetic, [100e9, 100e9]),
            (bounds(Some(1.0), None), Limit::Either, [10e9, 100e9]),
            (bounds(None, None), Limit::Arithmetic, [100e9, 100e9]),
        ];
        for (intensity, limit, rates) in cases {
            assert_eq!((roof.limit(&intensity), roof.rates(&intensity)), (limit, rates), "{intensity:?}");
        }
        let text = roof.text(&bounds(Some(0.25), Some(0.25)));
        assert!(text.contains("limited by memory, at most 2.5 GFLOP/s of 100.0"), "{text}");
        assert_eq!(intensity(&bounds(Some(0.5), None)).as_deref(), Some("0.500 or more"));
    }
}
