//! The measurements, in `xtask/ledger/results.json`, and their means.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Options;
use super::program::Program;
use super::workload::Workload;

/// Below the repository.
const FILE: &str = "xtask/ledger/results.json";

/// The sets, and their titles in the table.
pub(crate) const SETS: [(&str, &str); 3] =
    [("bench", "benchmarks"), ("suites", "OpenCL suites"), ("corpora", "candle, llama.cpp")];

/// A kernel with and without a pass or feature.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(super) set: String,
    pub(super) kernel: String,
    pub(super) switch: String,
    /// Run time without over with: more than 1 is a gain. `None`: the code is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run_time: Option<f64>,
    /// Compile time without over with; `None`: not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) compile_time: Option<f64>,
    /// Whether the results are the same.
    #[serde(default = "yes", skip_serializing_if = "is_so")]
    pub(super) agrees: bool,
}

fn yes() -> bool {
    true
}

fn is_so(flag: &bool) -> bool {
    *flag
}

impl Measurement {
    pub(super) fn same_code(workload: &Workload, switch: &str) -> Self {
        Self {
            set: workload.set.clone(),
            kernel: workload.name(),
            switch: switch.to_owned(),
            run_time: None,
            compile_time: None,
            agrees: true,
        }
    }

    pub(super) fn is_same_code(&self) -> bool {
        self.run_time.is_none()
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { set, kernel, switch, run_time, compile_time, agrees } = self;
        write!(
            formatter,
            "{set:8} {kernel:40} without {switch:32} run time ×{:.3}",
            run_time.unwrap_or(1.0)
        )?;
        compile_time.map_or(Ok(()), |ratio| write!(formatter, ", compile time ×{ratio:.3}"))?;
        if *agrees { Ok(()) } else { write!(formatter, ", RESULTS DIFFER") }
    }
}

/// All measurements, in order of switch, set and kernel.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Results {
    /// How the last measurement was made.
    pub(crate) description: String,
    measurements: Vec<Measurement>,
}

impl Results {
    /// Those of the repository; empty if there are none.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        match std::fs::read_to_string(root.join(FILE)) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| format!("{FILE}: {error}")),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("{FILE}: {error}")),
        }
    }

    pub(super) fn write(&self, root: &Path) -> Result<(), String> {
        let json = |error: serde_json::Error| error.to_string();
        let description = serde_json::to_string(&self.description).map_err(json)?;
        let lines: Result<Vec<String>, _> = self.measurements.iter().map(serde_json::to_string).collect();
        // One line per measurement keeps diffs readable.
        let lines = lines.map_err(json)?.join(",\n");
        let text = format!("{{\"description\": {description},\n\"measurements\": [\n{lines}\n]}}\n");
        std::fs::write(root.join(FILE), text).map_err(|error| format!("{FILE}: {error}"))
    }

    /// Notes what is measured, and how.
    pub(super) fn describe(&mut self, options: &Options) -> Result<(), String> {
        self.description = format!(
            "{}, {} threads, the least of {} rounds of {} launches",
            Program::new(options, 0).version()?,
            options.threads(),
            options.rounds,
            options.repeat
        );
        Ok(())
    }

    /// Replaces the measurement of the same kernel and switch.
    pub(super) fn add(&mut self, measurement: Measurement) {
        let key = |m: &Measurement| (m.switch.clone(), m.set.clone(), m.kernel.clone());
        match self.measurements.binary_search_by_key(&key(&measurement), key) {
            Ok(at) => self.measurements[at] = measurement,
            Err(at) => self.measurements.insert(at, measurement),
        }
    }

    /// Whether the results of a kernel are the same with and without each switch.
    pub(super) fn agree_on(&self, workload: &Workload) -> bool {
        let own = |m: &&Measurement| m.set == workload.set && m.kernel == workload.name();
        self.measurements.iter().filter(own).all(|m| m.agrees)
    }

    /// Run time and compile time without a switch over those with it, on the kernels of a set whose code the
    /// switch changes.
    pub(crate) fn mean(&self, switch: &str, set: &str) -> Mean {
        let own = |m: &&Measurement| m.switch == switch && m.set == set;
        let all: Vec<&Measurement> = self.measurements.iter().filter(own).collect();
        let run: Vec<f64> = all.iter().filter_map(|m| m.run_time).collect();
        let compile: Vec<f64> = all.iter().filter_map(|m| m.compile_time).collect();
        Mean {
            kernels: all.len(),
            changed: run.len(),
            run_time: geometric_mean(&run),
            compile_time: geometric_mean(&compile),
        }
    }

    pub(super) fn print_means(&self) {
        let switches: BTreeSet<&str> = self.measurements.iter().map(|m| m.switch.as_str()).collect();
        for switch in switches {
            let means: Vec<String> =
                SETS.iter().map(|(set, name)| format!("{name}: {}", self.mean(switch, set))).collect();
            println!("without {switch:32} {}", means.join("; "));
        }
    }
}

/// Geometric means of ratios.
#[derive(Debug, PartialEq)]
pub(crate) struct Mean {
    /// Kernels that were tried.
    pub(crate) kernels: usize,
    /// Those whose code differs without the pass or feature.
    pub(crate) changed: usize,
    run_time: Option<f64>,
    compile_time: Option<f64>,
}

/// As in the table: `1.34× (2 of 14)`.
impl fmt::Display for Mean {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.kernels, self.run_time) {
            (0, _) => formatter.write_str("not measured"),
            (kernels, None) => write!(formatter, "same code ({kernels})"),
            (kernels, Some(ratio)) => {
                write!(formatter, "{ratio:.2}× ({} of {kernels})", self.changed)?;
                self.compile_time.map_or(Ok(()), |ratio| write!(formatter, ", compile {ratio:.2}×"))
            }
        }
    }
}

fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| (sum / ratios.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(kernel: &str, run_time: Option<f64>) -> Measurement {
        Measurement {
            set: "bench".to_owned(),
            kernel: kernel.to_owned(),
            switch: "licm".to_owned(),
            run_time,
            compile_time: None,
            agrees: true,
        }
    }

    #[test]
    fn means_are_geometric_and_of_changed_kernels() {
        let mut results = Results::default();
        for (kernel, ratio) in [("a", Some(9.0)), ("b", None), ("c", Some(8.0)), ("a", Some(2.0))] {
            results.add(measured(kernel, ratio));
        }
        assert_eq!(results.mean("licm", "bench").to_string(), "4.00× (2 of 3)");
        assert_eq!(results.mean("licm", "suites").to_string(), "not measured");
        results.add(measured("a", None));
        results.add(measured("c", None));
        assert_eq!(results.mean("licm", "bench").to_string(), "same code (3)");
    }
}
