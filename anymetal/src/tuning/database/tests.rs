//! Databases that are read again, shared, damaged.

use proptest::prelude::*;

use super::*;

fn key(kernel: &str, threads: u32) -> Key {
    Key {
        kernel: kernel.to_owned(),
        fingerprint: "f".to_owned(),
        device: "a processor".to_owned(),
        shape: ShapeClass::of([threads, 1, 1], 1),
    }
}

fn entry(size: u32) -> Entry {
    Entry {
        size: [size, 1, 1],
        time: Duration::from_micros(3),
        default_size: [256, 1, 1],
        default_time: Duration::from_micros(4),
    }
}

fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/tuning.json");
    (folder, path)
}

#[test]
fn the_next_process_knows_what_this_one_found() {
    let (_folder, path) = file();
    let (database, aside) = Database::open(&path).unwrap();
    assert_eq!((aside, database.get(&key("k", 1000))), (None, None));
    database.insert(key("k", 1000), entry(64)).unwrap();
    database.insert(key("k", 9), entry(32)).unwrap();
    database.insert(key("k", 1000), entry(128)).unwrap();
    let (next, _) = Database::open(&path).unwrap();
    assert_eq!(next.get(&key("k", 1024)), Some(entry(128)), "the same class of grids");
    let sizes = next.sizes("k", "f", "a processor");
    assert_eq!(sizes.len(), 2);
    assert_eq!(next.sizes("k", "other source", "a processor"), []);
    assert!(next.knows("k") && !next.knows("other"));
    assert_eq!(next.clear(), Ok(2));
    assert_eq!(Database::open(&path).unwrap().0.entries(), []);
}

#[test]
fn processes_keep_each_others_entries() {
    let (_folder, path) = file();
    let (one, two) = (Database::open(&path).unwrap().0, Database::open(&path).unwrap().0);
    one.insert(key("a", 1), entry(32)).unwrap();
    two.insert(key("b", 1), entry(64)).unwrap();
    let (third, _) = Database::open(&path).unwrap();
    assert_eq!(third.entries().len(), 2);
}

#[test]
fn files_that_cannot_be_used_are_set_aside_and_told_of() {
    let (_folder, path) = file();
    fs::create_dir_all(folder_of(&path)).unwrap();
    for (number, text, says) in [
        (1, "{", "no tuning database"),
        (2, "{\"version\": 9, \"entries\": 3}", "of version 9, and this program uses 1"),
        (3, "", "no tuning database"),
    ] {
        fs::write(&path, text).unwrap();
        let (database, aside) = Database::open(&path).unwrap();
        let aside = aside.unwrap();
        assert!(aside.reason.contains(says), "{}", aside.reason);
        assert!(aside.path.to_string_lossy().ends_with(&format!("tuning.json.old-{number}")));
        assert_eq!(fs::read_to_string(&aside.path).unwrap(), text, "it is kept as it was");
        database.insert(key("k", 1), entry(32)).unwrap();
        assert_eq!(Database::open(&path).unwrap().0.entries().len(), 1);
    }
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_the_entry_stays_in_memory() {
    let (_folder, path) = file();
    fs::write(folder_of(&path), "a file where the folder should be").unwrap();
    let (database, aside) = Database::open(&path).unwrap();
    assert_eq!(aside, None);
    let error = database.insert(key("k", 1), entry(32)).unwrap_err();
    assert!(error.to_string().contains("cannot be written"), "{error}");
    assert_eq!(database.get(&key("k", 1)), Some(entry(32)));
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_write_is_refused_and_a_pipe_is_set_aside() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = file();
    Database::open(&path).unwrap().0.insert(key("k", 1), entry(32)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let error = Database::open(&path).unwrap_err();
    assert!(error.reason.contains("mode 0666") && error.reason.contains("chmod go-w"), "{error}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(Database::open(&path).unwrap().0.entries().len(), 1);
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let aside = Database::open(&path).unwrap().1.unwrap();
    assert_eq!(aside.reason, "it is a named pipe, not a regular file");
}

#[test]
fn the_oldest_entries_go_first() {
    let mut entries = BTreeMap::new();
    for number in 0..=MAX_ENTRIES {
        add(&mut entries, key(&number.to_string(), 1), entry(32));
    }
    assert_eq!(entries.len(), MAX_ENTRIES);
    assert!(!entries.contains_key(&key("0", 1)) && entries.contains_key(&key("1", 1)));
}

proptest! {
    #[test]
    fn any_bytes_open_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (_folder, path) = file();
        fs::create_dir_all(folder_of(&path)).unwrap();
        fs::write(&path, &bytes).unwrap();
        prop_assert!(Database::open(&path).unwrap().1.is_some());
    }
}
