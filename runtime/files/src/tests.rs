//! Kinds of files, bounds, and files that others can change.

use super::*;

#[test]
fn regular_files_are_read_within_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "12345").unwrap();
    assert_eq!(read(&path, 5).unwrap(), b"12345");
    assert!(matches!(read(&path, 4), Err(FileError::TooLarge { most: 4, .. })));
    fs::write(&path, [0xff]).unwrap();
    assert!(matches!(read_text(&path, 4), Err(FileError::NotText { .. })));
    let absent = read(&folder.path().join("none"), 4).unwrap_err();
    assert!(absent.is_absent());
    assert!(matches!(read(folder.path(), 4), Err(FileError::NotRegular { kind: FileKind::Folder, .. })));
}

#[test]
fn a_file_that_grows_while_it_is_read_stays_within_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "12345").unwrap();
    let opened = open(&path).unwrap();
    // What another process appends between opening and reading.
    fs::write(&path, vec![b'x'; 100]).unwrap();
    assert!(matches!(read_rest(&path, &opened, 50), Err(FileError::TooLarge { most: 50, .. })));
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn kind_of(error: FileError) -> FileKind {
        match error {
            FileError::NotRegular { kind, .. } => kind,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn pipes_sockets_and_devices_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, socket) = (folder.path().join("pipe"), folder.path().join("socket"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let _listener = UnixListener::bind(&socket).unwrap();
        let link = folder.path().join("link");
        symlink(&pipe, &link).unwrap();
        let cases = [
            (pipe.as_path(), FileKind::Pipe),
            (&link, FileKind::Pipe),
            (&socket, FileKind::Socket),
            (Path::new("/dev/zero"), FileKind::CharacterDevice),
            (folder.path(), FileKind::Folder),
        ];
        for (path, kind) in cases {
            assert_eq!(kind_of(open(path).unwrap_err()), kind, "{}", path.display());
            assert_eq!(kind_of(append(path).unwrap_err()), kind, "{}", path.display());
        }
        for (path, kind) in [(pipe.as_path(), FileKind::Pipe), (&link, FileKind::Link)] {
            assert_eq!(kind_of(trusted::open(path).unwrap_err()), kind);
            assert_eq!(kind_of(trusted::append(path).unwrap_err()), kind);
        }
    }

    /// The path and the mode that an error names.
    fn distrusted(error: FileError) -> (std::path::PathBuf, u32) {
        match error {
            FileError::Distrusted(found) => (found.path, found.mode),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn files_and_folders_that_others_can_write_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let (outer, inner) = (root.join("outer"), root.join("outer/inner"));
        fs::create_dir_all(&inner).unwrap();
        let path = inner.join("file");
        fs::write(&path, "x").unwrap();
        let modes = |outer_mode, inner_mode, file_mode| {
            set_mode(&outer, outer_mode);
            set_mode(&inner, inner_mode);
            set_mode(&path, file_mode);
            trusted::read(&path, 10).map_err(distrusted)
        };
        assert_eq!(modes(0o755, 0o755, 0o644).unwrap(), b"x");
        assert_eq!(modes(0o1777, 0o700, 0o600).unwrap(), b"x");
        assert_eq!(modes(0o755, 0o755, 0o666).unwrap_err(), (path.clone(), 0o666));
        assert_eq!(modes(0o755, 0o755, 0o620).unwrap_err(), (path.clone(), 0o620));
        assert_eq!(modes(0o755, 0o775, 0o600).unwrap_err(), (inner.clone(), 0o775));
        assert_eq!(modes(0o755, 0o1777, 0o600).unwrap_err(), (inner.clone(), 0o1777));
        assert_eq!(modes(0o777, 0o700, 0o600).unwrap_err(), (outer.clone(), 0o777));
    }

    #[test]
    fn new_folders_and_files_are_private_and_not_made_where_others_could_exchange_them() {
        let folder = tempfile::tempdir().unwrap();
        let made = trusted::create_folder(&folder.path().join("a/b")).unwrap();
        let file = made.join("file");
        trusted::create_new(&file).unwrap();
        trusted::append(&made.join("log")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!([mode(&made), mode(&file), mode(&made.join("log"))], [0o700, 0o600, 0o600]);
        assert!(trusted::create_new(&file).is_err());
        let open_to_all = folder.path().join("open");
        fs::create_dir(&open_to_all).unwrap();
        set_mode(&open_to_all, 0o777);
        let refused = trusted::create_folder(&open_to_all.join("c")).unwrap_err();
        assert_eq!(distrusted(refused).1, 0o777);
        assert!(!open_to_all.join("c").exists());
    }

    #[test]
    fn a_link_to_a_safe_folder_is_resolved() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        assert_eq!(trusted::folder(&link).unwrap(), fs::canonicalize(&real).unwrap());
    }
}
