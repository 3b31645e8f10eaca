//! Linux' thermal zones.
//!
//! Owns [`LinuxThermal`]. Source: the kernel's `Documentation/ABI/testing/sysfs-class-thermal`: a
//! zone has its temperature in `temp` and its trip points in `trip_point_N_temp` and
//! `trip_point_N_type`, all in thousandths of a degree Celsius.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::thermal::{ThermalSource, ThermalState, Unavailable};

const WHAT: &str = "the temperature";

/// Trip points of a zone that has none of its own, in thousandths of a degree Celsius.
const USUAL: TripPoints = TripPoints { passive: 85_000, critical: 100_000 };

/// Below the passive trip point by this much it is already fair, below the critical one already
/// critical.
const MARGIN: i64 = 5_000;

/// Reads the hottest of all thermal zones, in relation to its trip points.
#[derive(Debug, Clone)]
pub struct LinuxThermal {
    root: PathBuf,
}

/// Where the kernel lowers clocks, and where it stops the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TripPoints {
    passive: i64,
    critical: i64,
}

impl Default for LinuxThermal {
    fn default() -> Self {
        LinuxThermal::new("/sys/class/thermal")
    }
}

impl LinuxThermal {
    /// The zones in that folder instead of `/sys/class/thermal`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        LinuxThermal { root: root.into() }
    }

    fn unavailable(&self, reason: impl ToString) -> Unavailable {
        Unavailable { what: WHAT, path: self.root.clone(), reason: reason.to_string() }
    }

    fn zones(&self) -> Result<Vec<PathBuf>, Unavailable> {
        let entries = fs::read_dir(&self.root).map_err(|error| self.unavailable(error))?;
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let is_zone = |path: &PathBuf| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with("thermal_zone"))
        };
        Ok(paths.filter(is_zone).collect())
    }
}

impl ThermalSource for LinuxThermal {
    fn thermal_state(&self) -> Result<ThermalState, Unavailable> {
        // A zone that cannot be read, as of a sensor that sleeps, leaves the others.
        let states = self.zones()?.into_iter().filter_map(|zone| {
            let temperature = number(&zone.join("temp"))?;
            Some(state(temperature, trip_points(&zone)))
        });
        states.max().ok_or_else(|| self.unavailable("no zone has a temperature"))
    }

    /// By the zones' types, such as `x86_pkg_temp`; of zones of one type the hottest.
    fn temperatures(&self) -> Vec<(String, f64)> {
        let mut hottest = BTreeMap::new();
        for zone in self.zones().unwrap_or_default() {
            let (Some(millidegrees), Ok(kind)) =
                (number(&zone.join("temp")), fs::read_to_string(zone.join("type")))
            else {
                continue;
            };
            let known = hottest.entry(kind.trim().to_owned()).or_insert(millidegrees);
            *known = millidegrees.max(*known);
        }
        hottest.into_iter().map(|(zone, millidegrees)| (zone, millidegrees as f64 / 1000.0)).collect()
    }
}

fn state(temperature: i64, trips: TripPoints) -> ThermalState {
    if temperature >= trips.critical - MARGIN {
        ThermalState::Critical
    } else if temperature >= trips.passive {
        ThermalState::Serious
    } else if temperature >= trips.passive - MARGIN {
        ThermalState::Fair
    } else {
        ThermalState::Nominal
    }
}

/// The lowest trip points of each type; those that the zone lacks are the usual ones.
fn trip_points(zone: &Path) -> TripPoints {
    let mut found = (None, None);
    for number_of in 0.. {
        let Ok(kind) = fs::read_to_string(zone.join(format!("trip_point_{number_of}_type"))) else { break };
        // Firmware marks trip points that do not exist by temperatures of 0 and below.
        let at = number(&zone.join(format!("trip_point_{number_of}_temp"))).filter(|at| *at > 0);
        let lowest = |known: Option<i64>| known.into_iter().chain(at).min();
        match kind.trim() {
            "passive" | "hot" => found.0 = lowest(found.0),
            "critical" => found.1 = lowest(found.1),
            _ => {}
        }
    }
    let critical = found.1.unwrap_or(USUAL.critical);
    let passive = found.0.unwrap_or(USUAL.passive).min(critical - 2 * MARGIN);
    TripPoints { passive, critical }
}

/// The whole number that a file holds.
pub(super) fn number(path: &Path) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
