//! Runs the command-line tool on a workload.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::Options;
use super::workload::Workload;

/// The command-line tool.
pub(super) struct Program {
    path: PathBuf,
    /// Launches of a run.
    repeat: usize,
    /// Threads of the CPU device.
    threads: usize,
    /// Where results are saved.
    output: PathBuf,
}

/// A run of several launches.
pub(super) struct Launched {
    /// The shortest launch.
    pub(super) time_ns: f64,
    /// The elements of the results.
    pub(super) output: Vec<u8>,
}

impl Program {
    /// The tool for one of several jobs.
    pub(super) fn new(options: &Options, job: usize) -> Self {
        Self {
            path: options.program.clone(),
            repeat: options.repeat,
            threads: options.threads(),
            output: std::env::temp_dir().join(format!("ledger-{}-{job}.npy", std::process::id())),
        }
    }

    /// LLVM's text of the kernel as it is launched.
    pub(super) fn code(&self, workload: &Workload, without: Option<&str>) -> Result<String, String> {
        self.call(self.compilation(workload, without).args(["--emit", "llvm"]))
    }

    /// How long a compile takes, in nanoseconds.
    pub(super) fn compile(&self, workload: &Workload, without: Option<&str>) -> Result<f64, String> {
        let object = self.json(self.compilation(workload, without).arg("--json"))?;
        number(&object["kernels"][0]["time_ns"])
    }

    /// Launches the kernel several times.
    pub(super) fn launch(&self, workload: &Workload, without: Option<&str>) -> Result<Launched, String> {
        let mut command = self.command("run", workload, without);
        command.args(["--threads", &workload.threads, "--json", "--repeat", &self.repeat.to_string()]);
        for arg in &workload.args {
            command.args(["--arg", arg]);
        }
        for length in &workload.threadgroup_memory {
            command.args(["--threadgroup-memory", length]);
        }
        command.arg("--save").arg(format!("{}={}", workload.output, self.output.display()));
        let object = self.json(&mut command)?;
        let bytes =
            std::fs::read(&self.output).map_err(|error| format!("{}: {error}", self.output.display()))?;
        Ok(Launched { time_ns: number(&object["time_ns"]["min"])?, output: elements(&bytes)?.to_owned() })
    }

    /// The first line of `--version`.
    pub(super) fn version(&self) -> Result<String, String> {
        let text = self.call(Command::new(&self.path).arg("--version"))?;
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }

    fn compilation(&self, workload: &Workload, without: Option<&str>) -> Command {
        self.command("compile", workload, without)
    }

    fn command(&self, name: &str, workload: &Workload, without: Option<&str>) -> Command {
        let mut command = Command::new(&self.path);
        command.env("ANYMETAL_CACHE", "off").env("ANYMETAL_CPU_THREADS", self.threads.to_string());
        command.arg(name).arg(workload.file());
        command.args(["--kernel", &workload.kernel, "--group", &workload.group, "--device", "cpu"]);
        command.args(&workload.options);
        if let Some(switch) = without {
            command.args(["--disable-pass", switch]);
        }
        command
    }

    fn json(&self, command: &mut Command) -> Result<Value, String> {
        let text = self.call(command)?;
        serde_json::from_str(&text).map_err(|error| format!("{command:?}: {error}"))
    }

    fn call(&self, command: &mut Command) -> Result<String, String> {
        let output = command.output().map_err(|error| format!("{}: {error}", self.path.display()))?;
        if !output.status.success() {
            return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        String::from_utf8(output.stdout).map_err(|error| format!("{command:?}: {error}"))
    }
}

/// The elements of a NumPy file: the header begins with eight bytes of magic and version, and its length.
fn elements(file: &[u8]) -> Result<&[u8], String> {
    let length = file.get(8..10).map(|length| usize::from(u16::from_le_bytes([length[0], length[1]])));
    let is_known = file.starts_with(b"\x93NUMPY\x01");
    let elements = length.filter(|_| is_known).and_then(|length| file.get(10 + length..));
    elements.ok_or_else(|| "the results are not a NumPy file of version 1".to_owned())
}

fn number(value: &Value) -> Result<f64, String> {
    value.as_f64().ok_or_else(|| format!("`{value}` is not a number"))
}
