//! Runs the program under test and reads what it says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// What the program did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Its peak memory, as sampled.
    pub(crate) peak_bytes: u64,
    pub(crate) time: Duration,
}

impl Ran {
    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "\nstdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Checks that stderr says all of that.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Ran {
        for part in parts {
            assert!(self.stderr.contains(part), "no `{part}` in: {}", self.stderr);
        }
        self
    }

    /// stdout as the one JSON value that it is.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in: {}", self.stdout))
    }
}

/// A folder for a test's files, and the program in it.
pub(crate) struct Bench {
    folder: TempDir,
    /// Where the program runs, within the folder.
    current: PathBuf,
    environment: Vec<(String, String)>,
}

impl Bench {
    pub(crate) fn new() -> Bench {
        let environment = vec![("ANYMETAL_CACHE".to_owned(), "off".to_owned())];
        let folder = tempfile::tempdir().expect("a temporary folder");
        Bench { folder, current: PathBuf::new(), environment }
    }

    /// Runs the program in a folder of the test's from here on.
    pub(crate) fn enter(&mut self, folder: &str) {
        self.current = folder.into();
    }

    /// Sets a variable for the runs that follow.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.into()));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).expect("the test's folder is writable");
    }

    /// Runs the program in the folder, at most a minute.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_limited(arguments, Duration::from_secs(60))
    }

    /// Runs the program in the folder; one that takes longer is killed and has no exit code.
    pub(crate) fn run_limited(&self, arguments: &[&str], limit: Duration) -> Ran {
        let (out, err) = (self.path("stdout.txt"), self.path("stderr.txt"));
        let file = |path: &Path| Stdio::from(fs::File::create(path).expect("the test's folder is writable"));
        let start = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_anymetal"))
            .args(arguments)
            .current_dir(self.folder.path().join(&self.current))
            .envs(self.environment.iter().map(|(name, value)| (name.as_str(), value.as_str())))
            .stdin(Stdio::null())
            .stdout(file(&out))
            .stderr(file(&err))
            .spawn()
            .expect("the program starts");
        let mut peak_bytes = 0;
        let code = loop {
            peak_bytes = peak_bytes.max(peak_of(child.id()));
            if let Some(status) = child.try_wait().expect("the child is ours") {
                break status.code();
            }
            if start.elapsed() > limit {
                child.kill().expect("the child is ours");
                child.wait().expect("the child is ours");
                break None;
            }
            std::thread::yield_now();
            std::thread::park_timeout(Duration::from_millis(5));
        };
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
        Ran { code, stdout: read(&out), stderr: read(&err), peak_bytes, time: start.elapsed() }
    }
}

/// Peak resident memory of a process so far; 0 where it is not available.
fn peak_of(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// A file of the repository's `tests/cli`.
pub(crate) fn source(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli").join(name);
    path.to_str().expect("the repository's path is text").to_owned()
}

/// A `.npy` file as NumPy writes it.
pub(crate) fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

/// The bytes of numbers.
pub(crate) fn f32s(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// The header's text and the data of a saved file.
pub(crate) fn split_npy(bytes: &[u8]) -> (String, &[u8]) {
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    (String::from_utf8_lossy(&bytes[10..10 + length]).into_owned(), &bytes[10 + length..])
}

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() { found.extend(files(&entry.path())) } else { found.push(entry.path()) }
    }
    found
}
