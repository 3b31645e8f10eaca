//! The cache on disk: one checksummed file per entry, written under another name and renamed.
//!
//! Owns [`DiskCache`]. Invariant: a read gives exactly the bytes of some completed write under that key, or
//! nothing; nothing here is ever an error for the caller. The first problem with the folder becomes a note
//! and ends the writing, because a folder that cannot be written today will not be writable a moment later.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::key::Key;
use crate::note::{Note, Notes};

/// Changed with the layout of folders and files.
const LAYOUT: &str = "v1";
/// The first bytes of each file.
const MAGIC: &[u8; 8] = b"amcache1";
/// Magic and the hash of what follows.
const HEADER_BYTES: usize = 8 + 32;
/// Larger entries are neither written nor read.
const MAX_ENTRY_BYTES: u64 = 256 << 20;
/// A hit renews an entry's age, but not more often than this.
const RENEW_AFTER: Duration = Duration::from_secs(3600);
/// Temporary files older than this were left by a process that ended.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);

/// What an entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An encoded artifact.
    Object,
    /// A source's manifest.
    Manifest,
    /// What a device's driver compiled.
    DeviceCode,
}

impl Kind {
    fn folder(self) -> &'static str {
        match self {
            Kind::Object => "objects",
            Kind::Manifest => "sources",
            Kind::DeviceCode => "devices",
        }
    }
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct DiskCache {
    folder: PathBuf,
    max_bytes: u64,
    notes: Arc<Notes>,
    writable: AtomicBool,
    /// Bytes written since the folder's size was last looked at; at first as if there were many.
    unswept_bytes: AtomicU64,
    sweeping: Mutex<()>,
}

impl DiskCache {
    pub(crate) fn new(folder: &Path, max_bytes: u64, notes: Arc<Notes>) -> Self {
        DiskCache {
            folder: folder.to_owned(),
            max_bytes,
            notes,
            writable: AtomicBool::new(true),
            unswept_bytes: AtomicU64::new(max_bytes),
            sweeping: Mutex::new(()),
        }
    }

    /// The entry's bytes, if they are there and undamaged. A damaged entry is removed.
    pub(crate) fn read(&self, kind: Kind, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(kind, key);
        let file = File::open(&path).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > MAX_ENTRY_BYTES {
            return None;
        }
        let mut bytes = Vec::with_capacity(metadata.len() as usize);
        (&file).take(MAX_ENTRY_BYTES).read_to_end(&mut bytes).ok()?;
        let intact = bytes.len() >= HEADER_BYTES
            && &bytes[..8] == MAGIC
            && bytes[8..HEADER_BYTES] == *Key::of_bytes(&bytes[HEADER_BYTES..]).as_bytes();
        if !intact {
            self.remove(kind, key);
            return None;
        }
        renew(&path, &metadata);
        bytes.drain(..HEADER_BYTES);
        Some(bytes)
    }

    /// Keeps an entry, if the folder lets it.
    pub(crate) fn write(&self, kind: Kind, key: &Key, bytes: &[u8]) {
        if bytes.len() as u64 > MAX_ENTRY_BYTES - HEADER_BYTES as u64
            || !self.writable.load(Ordering::Relaxed)
        {
            return;
        }
        let path = self.path(kind, key);
        match self.write_whole(&path, bytes) {
            Ok(()) => self.sweep_if_due(bytes.len() as u64),
            Err(error) => {
                self.writable.store(false, Ordering::Relaxed);
                let (folder, reason) = (self.folder.clone(), error.to_string());
                self.notes.add(Note::CacheUnusable { folder, reason });
            }
        }
    }

    /// Forgets an entry that turned out to be of no use.
    pub(crate) fn remove(&self, kind: Kind, key: &Key) {
        // It may be gone already, or the folder may be read-only; a reader checks again anyway.
        let _ = fs::remove_file(self.path(kind, key));
    }

    fn path(&self, kind: Kind, key: &Key) -> PathBuf {
        let name = key.to_string();
        self.folder.join(LAYOUT).join(kind.folder()).join(&name[..2]).join(&name[2..])
    }

    fn write_whole(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let folder = path.parent().unwrap_or(&self.folder);
        create_private_folders(folder)?;
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("tmp-{}-{number}", std::process::id()));
        let write = || {
            let mut file = File::options().write(true).create_new(true).open(&temporary)?;
            file.write_all(MAGIC)?;
            file.write_all(Key::of_bytes(bytes).as_bytes())?;
            file.write_all(bytes)?;
            drop(file);
            fs::rename(&temporary, path)
        };
        let written = write();
        if written.is_err() {
            // What the failed write left; if even that fails, a later sweep finds it.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Looks at the folder's size now and then, and removes the longest unused entries.
    fn sweep_if_due(&self, written: u64) {
        let unswept = self.unswept_bytes.fetch_add(written, Ordering::Relaxed).saturating_add(written);
        if unswept <= self.max_bytes / 16 {
            return;
        }
        let Ok(_sweeping) = self.sweeping.try_lock().map_err(|error| match error {
            std::sync::TryLockError::Poisoned(poisoned) => drop(PoisonError::into_inner(poisoned)),
            std::sync::TryLockError::WouldBlock => {}
        }) else {
            // Another thread sweeps.
            return;
        };
        self.unswept_bytes.store(0, Ordering::Relaxed);
        let now = SystemTime::now();
        let mut files = Vec::new();
        list_files(&self.folder.join(LAYOUT), 0, &mut files);
        let mut total: u64 = files.iter().map(|file| file.bytes).sum();
        files.sort_by_key(|file| file.modified);
        // Somewhat below the limit, so that not every further write sweeps.
        let goal = if total > self.max_bytes { self.max_bytes / 10 * 9 } else { u64::MAX };
        for file in files {
            let age = now.duration_since(file.modified).unwrap_or_default();
            let abandoned = file.temporary && age > ABANDONED_AFTER;
            if (abandoned || total > goal) && fs::remove_file(&file.path).is_ok() {
                total = total.saturating_sub(file.bytes);
            }
        }
    }
}

struct CachedFile {
    path: PathBuf,
    bytes: u64,
    modified: SystemTime,
    temporary: bool,
}

/// The layout is three folders deep; deeper ones are not ours.
fn list_files(folder: &Path, depth: usize, files: &mut Vec<CachedFile>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() && depth < 2 {
            list_files(&entry.path(), depth + 1, files);
        } else if metadata.is_file() {
            let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            let temporary = entry.file_name().as_encoded_bytes().starts_with(b"tmp-");
            files.push(CachedFile { path: entry.path(), bytes: metadata.len(), modified, temporary });
        }
    }
}

/// Marks an entry as used, for the eviction by age.
fn renew(path: &Path, metadata: &fs::Metadata) {
    let now = SystemTime::now();
    let age = metadata.modified().ok().and_then(|modified| now.duration_since(modified).ok());
    if age.is_some_and(|age| age > RENEW_AFTER) {
        // In a read-only folder entries just keep their age.
        let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(now));
    }
}

/// Cached code is executed: no other user may write it.
#[cfg(unix)]
fn create_private_folders(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Other systems' user folders are private already.
#[cfg(not(unix))]
fn create_private_folders(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(folder: &Path, max_bytes: u64) -> (DiskCache, Arc<Notes>) {
        let notes = Arc::new(Notes::default());
        (DiskCache::new(folder, max_bytes, Arc::clone(&notes)), notes)
    }

    #[test]
    fn entries_survive_and_damage_is_noticed_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, notes) = cache(folder.path(), 1 << 20);
        let key = Key::of_bytes(b"k");
        assert_eq!(cache.read(Kind::Object, &key), None);
        cache.write(Kind::Object, &key, b"content");
        assert_eq!(cache.read(Kind::Object, &key).unwrap(), b"content");
        assert_eq!(cache.read(Kind::Manifest, &key), None);
        let path = cache.path(Kind::Object, &key);
        let whole = fs::read(&path).unwrap();
        for cut in [0, 7, HEADER_BYTES, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(cache.read(Kind::Object, &key), None, "cut at {cut}");
            assert!(!path.exists());
        }
        cache.write(Kind::Object, &key, b"content");
        let mut damaged = fs::read(&path).unwrap();
        *damaged.last_mut().unwrap() ^= 1;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(cache.read(Kind::Object, &key), None);
        assert_eq!(notes.take(), []);
    }

    #[test]
    fn an_unwritable_folder_only_gives_a_note() {
        let folder = tempfile::tempdir().unwrap();
        let blocked = folder.path().join("file");
        fs::write(&blocked, "not a folder").unwrap();
        let (cache, notes) = cache(&blocked, 1 << 20);
        for n in 0..3u8 {
            cache.write(Kind::Object, &Key::of_bytes(&[n]), b"content");
            assert_eq!(cache.read(Kind::Object, &Key::of_bytes(&[n])), None);
        }
        assert!(matches!(&notes.take()[..], [Note::CacheUnusable { folder, .. }] if *folder == blocked));
    }

    #[test]
    fn the_oldest_entries_are_evicted_above_the_size_limit() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, _) = cache(folder.path(), 10_000);
        let keys: Vec<Key> = (0..20u8).map(|n| Key::of_bytes(&[n])).collect();
        let start = SystemTime::now() - Duration::from_secs(1000);
        for (key, age) in keys.iter().zip(0..) {
            cache.write(Kind::Object, key, &[0; 1000]);
            let path = cache.path(Kind::Object, key);
            // Eviction may take even the newest while all ages are equal; here they never are.
            let file = File::options().append(true).open(path).unwrap();
            file.set_modified(start + Duration::from_secs(age)).unwrap();
        }
        let left: Vec<bool> = keys.iter().map(|key| cache.path(Kind::Object, key).exists()).collect();
        assert!(!left[0] && left[19], "{left:?}");
        assert!(left.iter().filter(|left| **left).count() <= 10);
        assert!(left.is_sorted(), "the oldest go first: {left:?}");
    }

    #[test]
    fn concurrent_writers_and_readers_see_whole_entries() {
        let folder = tempfile::tempdir().unwrap();
        let (cache, _) = cache(folder.path(), 1 << 20);
        let key = Key::of_bytes(b"k");
        std::thread::scope(|scope| {
            for n in 0..2u8 {
                let cache = &cache;
                scope.spawn(move || (0..50).for_each(|_| cache.write(Kind::Object, &key, &vec![n; 5000])));
            }
            for _ in 0..50 {
                if let Some(bytes) = cache.read(Kind::Object, &key) {
                    assert!(bytes.len() == 5000 && bytes.iter().all(|byte| *byte == bytes[0]));
                }
            }
        });
    }
}
