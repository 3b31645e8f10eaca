//! Calls in a child process, whose end is reported with the call that caused it.
//!
//! Before each call the child writes its number and its text into a file, so that a signal loses nothing.
//! Panics that are no failures of the API are noted in the same way, and end the child's case.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The variable with the path of the child's file.
const PLACE: &str = "ANYMETAL_MISUSE_PLACE";
/// How many bytes of a call's text are kept.
const TEXT_BYTES: usize = 1024;
/// More memory than this is a fault.
const MAX_MEMORY_BYTES: u64 = 6 << 30;

/// The child's side.
#[derive(Debug)]
pub struct Child(&'static File);

/// The panics that are faults, of all threads.
static FAULTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The child's file.
static FILE: OnceLock<File> = OnceLock::new();

/// Whether a panic is a failure of the API: it names a method or a function first.
pub fn is_failure_of_api(text: &str) -> bool {
    let names_method = text.starts_with("-[") || text.starts_with("+[");
    let function = text.split(':').next().unwrap_or_default();
    let names_function = [
        "CF",
        "MTLCodeGenService",
        "MTLIO",
        "dispatch_",
        "objc_",
        "_Block_",
        "method_",
        "class_",
        "anymetal does not implement",
    ]
    .iter()
    .any(|prefix| function.starts_with(prefix));
    (names_method || names_function) && !text.contains("bug of anymetal")
}

impl Child {
    /// The child's side, in a process that [`run`] started.
    ///
    /// # Panics
    ///
    /// If the file cannot be opened.
    pub fn from_environment() -> Option<Child> {
        #[allow(clippy::disallowed_methods, reason = "a variable between two processes of this crate")]
        let path = std::env::var_os(PLACE)?;
        let file = File::options().write(true).open(path).expect("the parent made the file");
        let file = FILE.get_or_init(|| file);
        limit_memory();
        std::panic::set_hook(Box::new(|info| {
            let text = info.payload_as_str().unwrap_or("a panic without text");
            if !is_failure_of_api(text) {
                let place = info.location().map(ToString::to_string).unwrap_or_default();
                // At once: the process may abort.
                let words = format!("{place}: {text}").replace('\0', " ");
                let bytes = &words.as_bytes()[..words.len().min(TEXT_BYTES / 2)];
                // Without the file only the text is lost.
                let _ = file.write_all_at(bytes, (TEXT_BYTES / 2) as u64);
                FAULTS.lock().unwrap_or_else(PoisonError::into_inner).push(format!("{place}: {text}"));
            }
        }));
        Some(Child(file))
    }

    /// Makes a call; panics of the API are taken.
    ///
    /// # Panics
    ///
    /// If the call's panic is a fault.
    pub fn call<R>(&self, number: u64, text: &str, call: impl FnOnce() -> R) -> Option<R> {
        self.note(number, text);
        let result = catch_unwind(AssertUnwindSafe(call)).ok();
        let faults = std::mem::take(&mut *FAULTS.lock().unwrap_or_else(PoisonError::into_inner));
        if !faults.is_empty() {
            std::process::exit(FAULT);
        }
        result
    }

    fn note(&self, number: u64, text: &str) {
        let mut line = format!("{number}\n{text}").into_bytes();
        line.resize(TEXT_BYTES / 2, 0);
        self.0.write_all_at(&line, 0).expect("the file is written");
    }
}

/// The code with which a child ends after a panic that is a fault.
const FAULT: i32 = 101;

fn limit_memory() {
    let limit = libc::rlimit { rlim_cur: MAX_ADDRESSES, rlim_max: MAX_ADDRESSES };
    // SAFETY: the structure lives during the call.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(set, 0, "the address space can be limited");
}

/// Addresses that a child may reserve. Compiled kernels and threads reserve more than they use.
const MAX_ADDRESSES: u64 = 24 << 30;

/// How a child ended.
#[derive(Debug)]
pub struct Ended {
    /// The number of its last call.
    pub number: u64,
    /// The fault with its call; `None` if there was none.
    pub fault: Option<String>,
    /// The most memory that it had, in bytes.
    pub peak_bytes: u64,
}

/// Runs a child until it ends, or until it makes no progress for that long.
///
/// # Panics
///
/// If it cannot be started.
pub fn run(command: &mut Command, patience: Duration) -> Ended {
    let place = Place::new();
    // A queue without a free command buffer would wait for ever.
    command.env("ANYMETAL_STREAMS_WAIT", "0 s");
    let mut child = command.env(PLACE, &place.0).spawn().expect("the program starts again");
    let (mut last, mut since, mut peak_bytes) = (String::new(), Instant::now(), 0);
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child is this process's") {
            break Some(status);
        }
        peak_bytes = peak_bytes.max(memory_of(child.id()));
        let now = place.read();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        if since.elapsed() > patience {
            child.kill().expect("the child is this process's");
            child.wait().expect("the child is this process's");
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let last = place.read();
    let (number, text) = last.split_once('\n').unwrap_or(("0", &last));
    let fault = match status {
        Some(status) if status.success() && peak_bytes > MAX_MEMORY_BYTES => {
            Some(format!("{} MiB of memory", peak_bytes >> 20))
        }
        Some(status) if status.success() => None,
        Some(status) => Some(format!("{}: {text}", words(status))),
        None => Some(format!("no end: {text}")),
    };
    Ended { number: number.parse().unwrap_or(0), fault, peak_bytes }
}

fn words(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, Some(FAULT)) => "panic".to_owned(),
        (None, code) => format!("exit code {code:?}"),
    }
}

fn memory_of(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let pages: u64 = status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096
}

/// A file of the parent's, which is removed with it.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("anymetal-misuse-{}-{number}", std::process::id());
        let path = Path::new(&std::env::temp_dir()).join(name);
        let mut file = File::create(&path).expect("the folder of temporary files is written");
        file.write_all(&[0; TEXT_BYTES]).expect("the file is written");
        Place(path)
    }

    fn read(&self) -> String {
        let bytes = std::fs::read(&self.0).unwrap_or_default();
        let (call, fault) = bytes.split_at(bytes.len() / 2);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
        format!("{} {}", text(call), text(fault)).trim_end().to_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is left in the folder of temporary files does no harm.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_the_api_name_a_method_or_function() {
        assert!(is_failure_of_api("-[MTLBuffer didModifyRange:]: failed assertion: ..."));
        assert!(is_failure_of_api("dispatch_async: the block must not be NULL"));
        assert!(!is_failure_of_api("index out of bounds: the len is 3 but the index is 4"));
        assert!(!is_failure_of_api("-[MTLDevice x]: failed assertion: this is a bug of anymetal"));
    }
}
