//! What was found, kept in a file.
//!
//! The file is JSON with a version. It is read when the database is opened, and read again and replaced as a
//! whole, under a lock, when an entry is added, so that processes lose nothing of each other's.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anymetal_files::{FileError, trusted};
use serde::{Deserialize, Serialize};

use super::shape::ShapeClass;

/// The version that is written, and the only one that is read.
const VERSION: u64 = 1;
/// Larger files are not read.
const MAX_BYTES: u64 = 16 << 20;
/// The most entries; the oldest go first.
const MAX_ENTRIES: usize = 10_000;

/// What a size was found for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Key {
    /// The kernel's name.
    pub kernel: String,
    /// The hash of its source, options, constants and target.
    pub fingerprint: String,
    /// The device's hardware.
    pub device: String,
    /// The class of the grid.
    pub shape: ShapeClass,
}

impl Key {
    /// The kernel called `kernel`, with that fingerprint, on that hardware, for grids of that class.
    pub fn new(
        kernel: impl Into<String>,
        fingerprint: impl Into<String>,
        device: impl Into<String>,
        shape: ShapeClass,
    ) -> Self {
        Key { kernel: kernel.into(), fingerprint: fingerprint.into(), device: device.into(), shape }
    }
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// The threadgroup size.
    pub size: [u32; 3],
    /// The median time of a launch with it.
    pub time: Duration,
    /// The size without tuning.
    pub default_size: [u32; 3],
    /// Its median time.
    pub default_time: Duration,
}

impl Entry {
    /// Launches of the threadgroup size `size` take `time`, those of the size without tuning `default_time`.
    pub fn new(size: [u32; 3], time: Duration, default_size: [u32; 3], default_time: Duration) -> Self {
        Entry { size, time, default_size, default_time }
    }
}

/// A file that was renamed because it could not be used.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct SetAside {
    /// Its name now.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// Why the file could not be read or written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the tuning database {} cannot be {action}: {reason}", path.display())]
#[non_exhaustive]
pub struct DatabaseError {
    /// The file.
    pub path: PathBuf,
    /// `read`, `written` or `set aside`.
    pub action: &'static str,
    /// What the system says.
    pub reason: String,
}

#[derive(Serialize, Deserialize)]
struct Document {
    version: u64,
    entries: Vec<Record>,
}

/// An entry in the file; later ones were added later.
#[derive(Clone, Serialize, Deserialize)]
struct Record {
    #[serde(flatten)]
    key: Key,
    #[serde(flatten)]
    entry: Entry,
}

/// Sizes by kernel, device and class of grid; in memory, and in a file if it has one.
#[derive(Debug, Default)]
pub struct Database {
    path: Option<PathBuf>,
    entries: Mutex<BTreeMap<Key, (u64, Entry)>>,
}

impl Database {
    /// A database that ends with the process.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// The database of a file, which need not exist. A file of another version or with errors is renamed to
    /// `NAME.old-N`, and the database starts empty.
    ///
    /// # Errors
    /// A file that cannot be read or renamed.
    pub fn open(path: &Path) -> Result<(Self, Option<SetAside>), DatabaseError> {
        let (records, aside) = match read(path)? {
            Ok(records) => (records, None),
            Err(reason) => (Vec::new(), Some(SetAside { path: set_aside(path)?, reason })),
        };
        let entries = Mutex::new(numbered(records));
        Ok((Self { path: Some(path.to_owned()), entries }, aside))
    }

    /// The file.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// What was found for that.
    pub fn get(&self, key: &Key) -> Option<Entry> {
        self.lock().get(key).map(|(_, entry)| entry.clone())
    }

    /// Whether there is anything for kernels of that name.
    pub fn knows(&self, kernel: &str) -> bool {
        of_kernel(&self.lock(), kernel).next().is_some()
    }

    /// The sizes that were found for a kernel on a device, by class of grid.
    pub fn sizes(&self, kernel: &str, fingerprint: &str, device: &str) -> Vec<(ShapeClass, [u32; 3])> {
        let entries = self.lock();
        let of = of_kernel(&entries, kernel)
            .filter(|(key, _)| key.fingerprint == fingerprint && key.device == device);
        of.map(|(key, entry)| (key.shape, entry.size)).collect()
    }

    /// All entries in the order of their keys.
    pub fn entries(&self) -> Vec<(Key, Entry)> {
        self.lock().iter().map(|(key, (_, entry))| (key.clone(), entry.clone())).collect()
    }

    /// Adds or replaces an entry, in memory and in the file.
    ///
    /// # Errors
    /// A file that cannot be written; the entry is in memory then.
    pub fn insert(&self, key: Key, entry: Entry) -> Result<(), DatabaseError> {
        let mut entries = self.lock();
        let Some(path) = &self.path else {
            add(&mut entries, key, entry);
            return Ok(());
        };
        let unwritable = |error: io::Error| DatabaseError {
            path: path.clone(),
            action: "written",
            reason: error.to_string(),
        };
        let locked = lock_of(path).map_err(unwritable);
        // What other processes added since; a file that went bad meanwhile is replaced.
        let others = locked.is_ok().then(|| read(path).ok()?.ok()).flatten().unwrap_or_default();
        for Record { key, entry } in others {
            add(&mut entries, key, entry);
        }
        add(&mut entries, key, entry);
        let _locked = locked?;
        write(path, &entries).map_err(unwritable)
    }

    /// Forgets everything, in memory and in the file; says how many entries there were.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub fn clear(&self) -> Result<usize, DatabaseError> {
        let mut entries = self.lock();
        let count = entries.len();
        entries.clear();
        match self.path.as_ref().map(fs::remove_file) {
            Some(Err(error)) if !is_absent(&error) => Err(DatabaseError {
                path: self.path.clone().unwrap_or_default(),
                action: "removed",
                reason: error.to_string(),
            }),
            _ => Ok(count),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Key, (u64, Entry)>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entries of kernels of that name, which stand together.
fn of_kernel<'e>(
    entries: &'e BTreeMap<Key, (u64, Entry)>,
    kernel: &'e str,
) -> impl Iterator<Item = (&'e Key, &'e Entry)> {
    let (fingerprint, device) = (String::new(), String::new());
    let first = Key { kernel: kernel.to_owned(), fingerprint, device, shape: ShapeClass::of([1; 3], 1) };
    let from = entries.range(first..);
    from.take_while(move |(key, _)| key.kernel == kernel).map(|(key, (_, entry))| (key, entry))
}

fn numbered(records: Vec<Record>) -> BTreeMap<Key, (u64, Entry)> {
    (0..).zip(records).map(|(number, Record { key, entry })| (key, (number, entry))).collect()
}

fn add(entries: &mut BTreeMap<Key, (u64, Entry)>, key: Key, entry: Entry) {
    let next = entries.values().map(|(number, _)| number + 1).max().unwrap_or(0);
    entries.insert(key, (next, entry));
    while entries.len() > MAX_ENTRIES {
        let oldest = entries.iter().min_by_key(|(_, (number, _))| *number).map(|(key, _)| key.clone());
        oldest.and_then(|key| entries.remove(&key));
    }
}

/// The file's entries; an error within if it cannot be used. No file has none. A file that another user can
/// change is refused and stays where it is.
fn read(path: &Path) -> Result<Result<Vec<Record>, String>, DatabaseError> {
    match trusted::read(path, MAX_BYTES) {
        Ok(bytes) => Ok(parse(&bytes)),
        Err(error) if error.is_absent() => Ok(Ok(Vec::new())),
        Err(error @ (FileError::TooLarge { .. } | FileError::NotRegular { .. })) => Ok(Err(error.reason())),
        Err(error) => Err(DatabaseError { path: path.to_owned(), action: "read", reason: error.reason() }),
    }
}

/// Whether there is no such file; a file in the place of its folder is told of when something is written.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn parse(bytes: &[u8]) -> Result<Vec<Record>, String> {
    #[derive(Deserialize)]
    struct AnyVersion {
        version: u64,
    }
    let malformed = |error: serde_json::Error| format!("it is no tuning database: {error}");
    let AnyVersion { version } = serde_json::from_slice(bytes).map_err(malformed)?;
    if version != VERSION {
        return Err(format!("it is of version {version}, and this program uses {VERSION}"));
    }
    let document: Document = serde_json::from_slice(bytes).map_err(malformed)?;
    match document.entries.iter().find(|record| record.entry.size.contains(&0)) {
        Some(record) => Err(format!("the size of kernel `{}` has no threads", record.key.kernel)),
        None => Ok(document.entries),
    }
}

fn write(path: &Path, entries: &BTreeMap<Key, (u64, Entry)>) -> io::Result<()> {
    let mut in_order: Vec<(&Key, &(u64, Entry))> = entries.iter().collect();
    in_order.sort_by_key(|(_, (number, _))| *number);
    let record = |(key, (_, entry)): (&Key, &(u64, Entry))| Record { key: key.clone(), entry: entry.clone() };
    let document = Document { version: VERSION, entries: in_order.into_iter().map(record).collect() };
    let mut file = tempfile::NamedTempFile::new_in(folder_of(path))?;
    file.write_all(&serde_json::to_vec_pretty(&document)?)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Holds off other processes until it is dropped.
fn lock_of(path: &Path) -> io::Result<File> {
    trusted::create_folder(folder_of(path))?;
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let file = trusted::append(Path::new(&name))?;
    file.lock()?;
    Ok(file)
}

/// Renames the file to the first free name.
fn set_aside(path: &Path) -> Result<PathBuf, DatabaseError> {
    let name = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".old-{number}"));
        PathBuf::from(name)
    };
    let free = (1..1000).map(name).find(|aside| fs::symlink_metadata(aside).is_err());
    let aside = free.unwrap_or_else(|| name(1000));
    match fs::rename(path, &aside) {
        Ok(()) => Ok(aside),
        Err(error) => {
            Err(DatabaseError { path: path.to_owned(), action: "set aside", reason: error.to_string() })
        }
    }
}

#[cfg(test)]
mod tests;
