//! The machine around the process: limits, control groups, sensors. Linux has them as files; where there are
//! none, a line says so.

use std::fs;
use std::path::{Path, PathBuf};

use super::finding::{Finding, bytes};

const LIMITS: &str = "limits";
const SENSORS: &str = "sensors";

/// Open files below this are few for a service.
const FEW_OPEN_FILES: u64 = 1024;

/// Where the files of a machine are.
pub(super) struct Host {
    root: PathBuf,
}

impl Host {
    /// The machine whose file system begins there; a test has its own.
    pub(super) fn of(root: &Path) -> Self {
        Host { root: root.to_owned() }
    }

    pub(super) fn check(&self) -> Vec<Finding> {
        let mut findings = self.process_limits();
        findings.extend(self.memory_of_group());
        findings.extend(self.processors_of_group());
        findings.push(self.thermal_zones());
        findings.push(self.energy_counters());
        findings
    }

    fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    fn process_limits(&self) -> Vec<Finding> {
        let Some(text) = self.read("proc/self/limits") else {
            return vec![Finding::ok(LIMITS, "process", "not told by this system")];
        };
        let mut findings = Vec::new();
        if let Some(soft) = soft_limit(&text, "Max locked memory") {
            findings.push(Finding::ok(LIMITS, "locked memory", soft.map_or("unlimited".to_owned(), bytes)));
        }
        match soft_limit(&text, "Max open files") {
            Some(Some(files)) if files < FEW_OPEN_FILES => {
                let advice = format!("raise it to {FEW_OPEN_FILES} or more (ulimit -n)");
                findings.push(Finding::warning(LIMITS, "open files", files.to_string(), advice));
            }
            Some(files) => {
                let value = files.map_or("unlimited".to_owned(), |files| files.to_string());
                findings.push(Finding::ok(LIMITS, "open files", value));
            }
            None => {}
        }
        findings
    }

    /// A file of the process's control group: of its own, or of the one that the container shows as the root.
    fn group_file(&self, name: &str) -> Option<String> {
        let own = self.read("proc/self/cgroup").unwrap_or_default();
        let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default().to_owned();
        let group = Path::new("sys/fs/cgroup");
        self.read(group.join(own).join(name)).or_else(|| self.read(group.join(name)))
    }

    fn memory_of_group(&self) -> Option<Finding> {
        let most = self.group_file("memory.max")?;
        let used: Option<u64> = self.group_file("memory.current").and_then(|text| text.trim().parse().ok());
        let Ok(most) = most.trim().parse::<u64>() else {
            return Some(Finding::ok(LIMITS, "memory of the control group", "unlimited"));
        };
        let value = match used {
            Some(used) => format!("{} of {} used", bytes(used), bytes(most)),
            None => format!("at most {}", bytes(most)),
        };
        let name = "memory of the control group";
        if used.is_some_and(|used| used > most / 10 * 9) {
            return Some(Finding::warning(
                LIMITS,
                name,
                value,
                "raise memory.max, or set memory.budget lower",
            ));
        }
        Some(Finding::ok(LIMITS, name, value))
    }

    fn processors_of_group(&self) -> Option<Finding> {
        let text = self.group_file("cpu.max")?;
        let mut words = text.split_whitespace();
        let (quota, period) = (words.next()?, words.next()?);
        let (Ok(quota), Ok(period)) = (quota.parse::<f64>(), period.parse::<f64>()) else {
            return Some(Finding::ok(LIMITS, "processors of the control group", "unlimited"));
        };
        let allowed = quota / period.max(1.0);
        let value = format!("the time of {allowed:.1} processors");
        let name = "processors of the control group";
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        if allowed + 0.5 < threads as f64 {
            let advice =
                format!("{threads} threads would be throttled: set ANYMETAL_CPU_THREADS={allowed:.0}");
            return Some(Finding::warning(LIMITS, name, value, advice));
        }
        Some(Finding::ok(LIMITS, name, value))
    }

    fn thermal_zones(&self) -> Finding {
        let readings = self.numbers("sys/class/thermal", "thermal_zone", "temp");
        let warmest = readings.iter().copied().flatten().max();
        let name = "thermal zones";
        match (readings.len(), warmest) {
            (0, _) => {
                let advice = "none are needed; policies that lower load when it gets hot have no effect";
                Finding::warning(SENSORS, name, "none", advice)
            }
            (zones, None) => {
                let advice = "let this user read /sys/class/thermal; thermal policies have no effect";
                Finding::warning(SENSORS, name, format!("{zones}, not readable"), advice)
            }
            (zones, Some(warmest)) => {
                let value = format!("{zones}, the warmest at {:.0} °C", warmest as f64 / 1e3);
                Finding::ok(SENSORS, name, value)
            }
        }
    }

    fn energy_counters(&self) -> Finding {
        let readings = self.numbers("sys/class/powercap", "intel-rapl", "energy_uj");
        let readable = readings.iter().flatten().count();
        let name = "energy counters (RAPL)";
        match (readings.len(), readable) {
            (0, _) => Finding::ok(SENSORS, name, "none"),
            (all, 0) => {
                let advice = "let this user read energy_uj under /sys/class/powercap, for power policies";
                Finding::warning(SENSORS, name, format!("{all}, not readable"), advice)
            }
            (all, readable) => Finding::ok(SENSORS, name, format!("{readable} of {all} readable")),
        }
    }

    /// The number in a file of each folder whose name begins so; `None`: not readable.
    fn numbers(&self, folder: &str, prefix: &str, file: &str) -> Vec<Option<i64>> {
        let entries = fs::read_dir(self.root.join(folder)).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
        let number = |path: PathBuf| fs::read_to_string(path).ok()?.trim().parse().ok();
        ours.map(|entry| number(entry.path().join(file))).collect()
    }
}

/// The soft limit of a row of `/proc/self/limits`; `Some(None)`: unlimited.
fn soft_limit(text: &str, name: &str) -> Option<Option<u64>> {
    let row = text.lines().find_map(|line| line.strip_prefix(name))?;
    match row.split_whitespace().next()? {
        "unlimited" => Some(None),
        number => Some(Some(number.parse().ok()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn found(files: &[(&str, &str)]) -> Vec<Finding> {
        Host::of(machine(files).path()).check()
    }

    #[track_caller]
    fn assert_says(findings: &[Finding], name: &str, state: State, value: &str) {
        let finding = findings.iter().find(|finding| finding.name == name).expect("a line of that name");
        assert_eq!((finding.state, finding.value.as_str()), (state, value));
        assert_eq!(finding.advice.is_some(), state != State::Ok);
    }

    const LIMITS_FILE: &str = "\
Limit                     Soft Limit           Hard Limit           Units
Max processes             95000                95000                processes
Max open files            256                  1048576              files
Max locked memory         8388608              8388608              bytes
";

    #[test]
    fn limits_and_control_groups_are_read_where_linux_has_them() {
        let findings = found(&[
            ("proc/self/limits", LIMITS_FILE),
            ("proc/self/cgroup", "0::/service/a\n"),
            ("sys/fs/cgroup/service/a/memory.max", "1073741824\n"),
            ("sys/fs/cgroup/service/a/memory.current", "1048576\n"),
            ("sys/fs/cgroup/service/a/cpu.max", "50000 100000\n"),
        ]);
        assert_says(&findings, "open files", State::Warning, "256");
        assert_says(&findings, "locked memory", State::Ok, "8.0 MiB");
        assert_says(&findings, "memory of the control group", State::Ok, "1.0 MiB of 1.0 GiB used");
        let processors = findings.iter().find(|finding| finding.name.starts_with("processors")).unwrap();
        assert_eq!(processors.value, "the time of 0.5 processors");
    }

    #[test]
    fn a_container_shows_its_group_as_the_root() {
        let findings = found(&[
            ("proc/self/cgroup", "0::/../../elsewhere\n"),
            ("sys/fs/cgroup/memory.max", "1000\n"),
            ("sys/fs/cgroup/memory.current", "950\n"),
            ("sys/fs/cgroup/cpu.max", "max 100000\n"),
        ]);
        assert_says(&findings, "memory of the control group", State::Warning, "950 bytes of 1000 bytes used");
        assert_says(&findings, "processors of the control group", State::Ok, "unlimited");
    }

    #[test]
    fn sensors_are_told_whether_they_can_be_read() {
        let findings = found(&[
            ("sys/class/thermal/thermal_zone0/temp", "41000\n"),
            ("sys/class/thermal/thermal_zone1/temp", "55500\n"),
            ("sys/class/thermal/cooling_device0/temp", "99000\n"),
            ("sys/class/powercap/intel-rapl:0/name", "package-0\n"),
        ]);
        assert_says(&findings, "thermal zones", State::Ok, "2, the warmest at 56 °C");
        assert_says(&findings, "energy counters (RAPL)", State::Warning, "1, not readable");
    }

    #[test]
    fn a_system_without_such_files_has_lines_that_say_so() {
        let findings = found(&[]);
        assert_says(&findings, "process", State::Ok, "not told by this system");
        assert_says(&findings, "thermal zones", State::Warning, "none");
        assert_says(&findings, "energy counters (RAPL)", State::Ok, "none");
        let odd = found(&[
            ("proc/self/limits", "Max open files\nMax locked memory x y"),
            ("sys/fs/cgroup/cpu.max", ""),
        ]);
        assert!(odd.iter().all(|finding| finding.name != "open files"));
    }
}
