//! The cache on disk: one checksummed file per entry, written under another name and renamed.
//!
//! Owns [`DiskCache`]. Invariant: a read gives exactly the bytes of some completed write under that key, or
//! nothing; nothing here is ever an error for the caller. The first problem with the folder becomes a note
//! and ends the writing, because a folder that cannot be written today will not be writable a moment later.
//! Entries are executed, so folders and files that another user can change are not used
//! ([`anymetal_files::trusted`]).

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use anymetal_files::{FileError, trusted};

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
/// The cache's folder, the layout's, the kind's and that of the key's first digits.
const FOLDERS_OF_ENTRY: usize = 4;
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
    /// The folder without symbolic links, once it exists and was checked; `None` if it is not used.
    checked: OnceLock<Option<PathBuf>>,
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
            checked: OnceLock::new(),
            writable: AtomicBool::new(true),
            unswept_bytes: AtomicU64::new(max_bytes),
            sweeping: Mutex::new(()),
        }
    }

    /// The entry's bytes, if they are there and undamaged. A damaged entry is removed.
    pub(crate) fn read(&self, kind: Kind, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(self.existing_folder()?, kind, key);
        match self.read_checked(&path) {
            Ok(bytes) => {
                let contents = contents(bytes);
                if contents.is_none() {
                    remove(&path);
                }
                contents
            }
            Err(error) => {
                if !error.is_absent() {
                    self.note(error.to_string());
                }
                None
            }
        }
    }

    /// Keeps an entry, if the folder lets it.
    pub(crate) fn write(&self, kind: Kind, key: &Key, bytes: &[u8]) {
        if bytes.len() as u64 > MAX_ENTRY_BYTES - HEADER_BYTES as u64
            || !self.writable.load(Ordering::Relaxed)
        {
            return;
        }
        let found = self.checked.get_or_init(|| match trusted::create_folder(&self.folder) {
            Ok(folder) => Some(folder),
            Err(error) => {
                self.note(error.to_string());
                None
            }
        });
        let Some(folder) = found else {
            // Nothing is cached; the note has the reason.
            return;
        };
        match self.write_whole(&self.path(folder, kind, key), bytes) {
            Ok(()) => self.sweep_if_due(folder, bytes.len() as u64),
            Err(error) => {
                self.writable.store(false, Ordering::Relaxed);
                self.note(error.to_string());
            }
        }
    }

    /// Forgets an entry that turned out to be of no use.
    pub(crate) fn remove(&self, kind: Kind, key: &Key) {
        if let Some(folder) = self.existing_folder() {
            remove(&self.path(folder, kind, key));
        }
    }

    /// The folder to use; `None` if there is none yet, which the first write changes, or others can change
    /// it.
    fn existing_folder(&self) -> Option<&Path> {
        if let Some(checked) = self.checked.get() {
            return checked.as_deref();
        }
        let found = match trusted::folder(&self.folder) {
            Ok(folder) => Some(folder),
            Err(error) if error.is_absent() => return None,
            Err(error) => {
                self.note(error.to_string());
                None
            }
        };
        self.checked.get_or_init(|| found).as_deref()
    }

    fn note(&self, reason: String) {
        self.notes.add(Note::CacheUnusable { folder: self.folder.clone(), reason });
    }

    fn path(&self, folder: &Path, kind: Kind, key: &Key) -> PathBuf {
        let name = key.to_string();
        folder.join(LAYOUT).join(kind.folder()).join(&name[..2]).join(&name[2..])
    }

    /// The bytes of a file that no other user can change, nor the folders between it and the checked one.
    fn read_checked(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        check_folders(path)?;
        let file = trusted::open(path)?;
        let bytes = trusted::read_opened(path, &file, MAX_ENTRY_BYTES)?;
        renew(&file);
        Ok(bytes)
    }

    fn write_whole(&self, path: &Path, bytes: &[u8]) -> Result<(), FileError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let folder = path.parent().unwrap_or(&self.folder);
        trusted::create_folder(folder)?;
        check_folders(path)?;
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = folder.join(format!("tmp-{}-{number}", std::process::id()));
        let mut file = trusted::create_new(&temporary)?;
        let mut write = || {
            file.write_all(MAGIC)?;
            file.write_all(Key::of_bytes(bytes).as_bytes())?;
            file.write_all(bytes)?;
            fs::rename(&temporary, path)
        };
        let written = write();
        if written.is_err() {
            // What the failed write left; if even that fails, a later sweep finds it.
            let _ = fs::remove_file(&temporary);
        }
        written.map_err(|source| FileError::System { path: path.to_owned(), source })
    }

    /// Looks at the folder's size now and then, and removes the longest unused entries.
    fn sweep_if_due(&self, folder: &Path, written: u64) {
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
        list_files(&folder.join(LAYOUT), 0, &mut files);
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

/// What a file holds, if it is undamaged.
fn contents(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let intact = bytes.len() >= HEADER_BYTES
        && &bytes[..8] == MAGIC
        && bytes[8..HEADER_BYTES] == *Key::of_bytes(&bytes[HEADER_BYTES..]).as_bytes();
    intact.then(|| {
        bytes.drain(..HEADER_BYTES);
        bytes
    })
}

/// Checks the folders of an entry that are below the cache's folder, which is checked once per process, and
/// that folder again, because its permissions may have changed.
fn check_folders(entry: &Path) -> Result<(), FileError> {
    let mut folders: Vec<&Path> = entry.ancestors().skip(1).take(FOLDERS_OF_ENTRY).collect();
    // From the top: while a folder is safe, what is in it cannot be exchanged.
    folders.reverse();
    folders.into_iter().try_for_each(trusted::folder_alone)
}

fn remove(path: &Path) {
    // It may be gone already, or the folder may be read-only; a reader checks again anyway.
    let _ = fs::remove_file(path);
}

/// Marks an entry as used, for the eviction by age.
fn renew(file: &File) {
    let now = SystemTime::now();
    let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
    if modified.and_then(|modified| now.duration_since(modified).ok()).is_some_and(|age| age > RENEW_AFTER) {
        // Where the system refuses, entries keep their age.
        let _ = file.set_modified(now);
    }
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
        let path = cache.path(folder.path(), Kind::Object, &key);
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
            let path = cache.path(folder.path(), Kind::Object, key);
            // Eviction may take even the newest while all ages are equal; here they never are.
            let file = File::options().append(true).open(path).unwrap();
            file.set_modified(start + Duration::from_secs(age)).unwrap();
        }
        let left: Vec<bool> =
            keys.iter().map(|key| cache.path(folder.path(), Kind::Object, key).exists()).collect();
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

    #[cfg(unix)]
    mod unix {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

        use super::*;

        fn set_mode(path: &Path, mode: u32) {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }

        /// A folder with one entry, and what a compiler that starts now reads of it, with the note.
        fn read_after(change: impl FnOnce(&Path, &Path)) -> (Option<Vec<u8>>, Vec<Note>) {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("cache");
            let key = Key::of_bytes(b"k");
            let (before, _) = cache(&root, 1 << 20);
            before.write(Kind::Object, &key, b"content");
            change(&root, &before.path(&root, Kind::Object, &key));
            let (cache, notes) = cache(&root, 1 << 20);
            let read = cache.read(Kind::Object, &key);
            assert_eq!(cache.read(Kind::Object, &key), read);
            (read, notes.take())
        }

        fn reason(notes: &[Note]) -> &str {
            match notes {
                [Note::CacheUnusable { reason, .. }] => reason,
                other => panic!("{other:?}"),
            }
        }

        #[test]
        fn folders_and_entries_are_made_for_their_owner_only() {
            let (read, notes) = read_after(|root, entry| {
                let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
                assert_eq!([mode(root), mode(entry.parent().unwrap()), mode(entry)], [0o700, 0o700, 0o600]);
            });
            assert_eq!((read.as_deref(), notes.len()), (Some(&b"content"[..]), 0));
        }

        #[test]
        fn what_others_can_write_is_not_used_and_gives_one_note_with_the_repair() {
            type Change = fn(&Path, &Path);
            let cases: [(&str, Change); 7] = [
                ("mode 0777", |root, _| set_mode(root, 0o777)),
                ("mode 0770", |root, _| set_mode(root, 0o770)),
                ("mode 1777", |root, _| set_mode(root, 0o1777)),
                ("mode 0777", |root, _| set_mode(root.parent().unwrap(), 0o777)),
                ("mode 0777", |_, entry| set_mode(entry.parent().unwrap(), 0o777)),
                ("mode 0666", |_, entry| set_mode(entry, 0o666)),
                ("mode 0620", |_, entry| set_mode(entry, 0o620)),
            ];
            for (expected, change) in cases {
                let (read, notes) = read_after(change);
                let reason = reason(&notes);
                assert_eq!(read, None, "{reason}");
                let owner = rustix::process::geteuid().as_raw();
                assert!(reason.contains(expected) && reason.contains(&format!("owner {owner}")), "{reason}");
                assert!(reason.contains("chmod go-w"), "{reason}");
            }
        }

        #[test]
        fn links_and_pipes_are_not_entries() {
            let (read, notes) = read_after(|root, entry| {
                let elsewhere = root.join("elsewhere");
                fs::rename(entry, &elsewhere).unwrap();
                symlink(elsewhere, entry).unwrap();
            });
            assert!(read.is_none() && reason(&notes).contains("a symbolic link"));
            let (read, notes) = read_after(|_, entry| {
                fs::remove_file(entry).unwrap();
                assert!(std::process::Command::new("mkfifo").arg(entry).status().unwrap().success());
            });
            assert!(read.is_none() && reason(&notes).contains("a named pipe"));
        }

        #[test]
        fn nothing_is_written_to_a_folder_that_others_can_write() {
            let folder = tempfile::tempdir().unwrap();
            set_mode(folder.path(), 0o777);
            for name in [".", "new"] {
                let (cache, notes) = cache(&folder.path().join(name), 1 << 20);
                cache.write(Kind::Object, &Key::of_bytes(b"k"), b"content");
                assert!(reason(&notes.take()).contains("mode 0777"));
                assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
            }
        }
    }
}
