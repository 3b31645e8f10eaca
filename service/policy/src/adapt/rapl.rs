//! Power by RAPL, the energy counters of x86 processors.
//!
//! Owns [`Rapl`]. Source: the kernel's `Documentation/power/powercap/powercap.rst`: a package is a
//! folder `intel-rapl:N` with `energy_uj`, which counts microjoules and starts again after
//! `max_energy_range_uj`. Most systems let only the superuser read it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::power::{Power, PowerSource};
use super::thermal::Unavailable;

const WHAT: &str = "the power";

/// Measures the power of all packages between two readings.
#[derive(Debug)]
pub struct Rapl {
    root: PathBuf,
    last: Mutex<Option<Reading>>,
}

#[derive(Debug, Clone)]
struct Reading {
    at: Duration,
    /// Microjoules by package.
    energy: BTreeMap<PathBuf, u64>,
}

impl Default for Rapl {
    fn default() -> Self {
        Rapl::new("/sys/class/powercap")
    }
}

impl Rapl {
    /// The packages in that folder instead of `/sys/class/powercap`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Rapl { root: root.into(), last: Mutex::default() }
    }

    /// The folders of whole packages: `intel-rapl:0`, not its parts `intel-rapl:0:1`.
    fn packages(&self) -> Result<Vec<PathBuf>, Unavailable> {
        let entries = fs::read_dir(&self.root).map_err(|error| unavailable(&self.root, error))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let is_package = |path: &PathBuf| {
            let number = path.file_name().and_then(|name| name.to_str()?.strip_prefix("intel-rapl:"));
            number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        Ok(paths.filter(is_package).collect())
    }
}

impl PowerSource for Rapl {
    fn power(&self, now: Duration) -> Result<Option<Power>, Unavailable> {
        let mut energy = BTreeMap::new();
        for package in self.packages()? {
            let counted = count(&package.join("energy_uj"))?;
            energy.insert(package, counted);
        }
        if energy.is_empty() {
            return Err(unavailable(&self.root, "there is no package"));
        }
        let reading = Reading { at: now, energy: energy.clone() };
        let before = self.last.lock().unwrap_or_else(PoisonError::into_inner).replace(reading);
        let Some(before) = before.filter(|before| before.at < now) else { return Ok(None) };
        let mut microjoules = 0_u128;
        for (package, counted) in &energy {
            let Some(start) = before.energy.get(package) else { continue };
            microjoules += u128::from(used(package, *start, *counted)?);
        }
        let nanoseconds = (now - before.at).as_nanos();
        let milliwatts = microjoules.saturating_mul(1_000_000) / nanoseconds;
        Ok(Some(Power { milliwatts: u64::try_from(milliwatts).unwrap_or(u64::MAX) }))
    }
}

/// The energy between two counts; the counter may have started again once.
fn used(package: &Path, start: u64, end: u64) -> Result<u64, Unavailable> {
    match end.checked_sub(start) {
        Some(used) => Ok(used),
        None => Ok(count(&package.join("max_energy_range_uj"))?.saturating_sub(start).saturating_add(end)),
    }
}

fn count(path: &Path) -> Result<u64, Unavailable> {
    let text = fs::read_to_string(path).map_err(|error| unavailable(path, error))?;
    text.trim().parse().map_err(|_| unavailable(path, format!("`{}` is not a count", text.trim())))
}

fn unavailable(path: &Path, reason: impl ToString) -> Unavailable {
    Unavailable { what: WHAT, path: path.to_owned(), reason: reason.to_string() }
}
