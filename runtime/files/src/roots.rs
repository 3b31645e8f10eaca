//! Files below a set of folders, named by text that is not trusted.
//!
//! Owns [`Roots`]. Invariants: only files below a root are read, whatever `..`, absolute paths and symbolic
//! links a name goes through; nothing outside of the roots is looked up, so the answer for a name that leads
//! out of them does not depend on whether such a file exists. Folders and links below the roots are the
//! user's: a process that exchanges them during a look-up is not guarded against.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::error::FileError;
use crate::{FileKind, open_without_links, read_rest};

/// Links that one name may go through, as in the kernel.
const MAX_LINKS: usize = 40;

/// Folders below which files may be read.
#[derive(Debug, Clone, Default)]
pub struct Roots {
    roots: Vec<Root>,
}

#[derive(Debug, Clone)]
struct Root {
    /// Absolute, without `.` and `..`, as the user wrote it.
    given: PathBuf,
    /// Without symbolic links.
    real: PathBuf,
}

/// A file below a root.
#[derive(Debug)]
pub struct Found {
    /// Its contents.
    pub bytes: Vec<u8>,
    /// The folder that its name was found in, without symbolic links: where its own relative names start.
    pub folder: PathBuf,
}

/// Why no file was read.
#[derive(Debug)]
pub enum NotFound {
    /// There is no such file below a root.
    Absent,
    /// The name leads out of the roots.
    Outside,
    /// There is one, but it cannot be read or is not a regular file within the bound.
    Refused(FileError),
}

impl Roots {
    /// The folders that exist.
    pub fn new<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Self {
        let root = |folder: &Path| {
            let given = without_dots(&std::path::absolute(folder).ok()?);
            Some(Root { given, real: fs::canonicalize(folder).ok()? })
        };
        Roots { roots: folders.into_iter().filter_map(root).collect() }
    }

    /// Reads the file that a name means in a folder.
    ///
    /// # Errors
    /// See [`NotFound`].
    pub fn read(&self, folder: &Path, name: &Path, most: u64) -> Result<Found, NotFound> {
        let (real, folder) = self.resolve(folder, name)?;
        let bytes = open_without_links(&real).and_then(|file| read_rest(&real, &file, most));
        match bytes {
            Ok(bytes) => Ok(Found { bytes, folder }),
            Err(error) if error.is_absent() => Err(NotFound::Absent),
            Err(error) => Err(NotFound::Refused(error)),
        }
    }

    /// The real path of a file, and of the folder that its name was found in.
    fn resolve(&self, folder: &Path, name: &Path) -> Result<(PathBuf, PathBuf), NotFound> {
        let mut position = PathBuf::new();
        let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        // Steps still to go, the next one last. The first one, at the bottom, is the name's last component.
        let mut steps = steps_of(name);
        steps.extend(steps_of(&absolute).into_iter().filter(|_| !name.is_absolute()));
        let (mut found_in, mut links) = (None, 0);
        while let Some(step) = steps.pop() {
            if steps.is_empty() && found_in.is_none() {
                found_in = Some(position.clone());
            }
            match step {
                PathStep::Start(start) => position.push(start),
                PathStep::Up => drop(position.pop()),
                PathStep::Down(name) => {
                    let next = position.join(name);
                    if !self.contains(&position) {
                        // Outside of the roots by text only: nothing there is looked up.
                        position = self.entered(next);
                    } else if let Some(target) = link_target(&next)? {
                        links += 1;
                        if links > MAX_LINKS {
                            let (path, kind) = (next, FileKind::Link);
                            return Err(NotFound::Refused(FileError::NotRegular { path, kind }));
                        }
                        steps.extend(steps_of(&target));
                    } else {
                        position = next;
                    }
                }
            }
        }
        if !self.contains(&position) {
            return Err(NotFound::Outside);
        }
        let found_in = found_in.unwrap_or_else(|| position.clone());
        Ok((position, found_in))
    }

    fn contains(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(&root.real))
    }

    /// A root's real path, if this is the path that the user wrote for it.
    fn entered(&self, path: PathBuf) -> PathBuf {
        let root = self.roots.iter().find(|root| root.given == path);
        root.map_or(path, |root| root.real.clone())
    }
}

enum PathStep {
    /// The root of the file system.
    Start(OsString),
    Up,
    Down(OsString),
}

/// The components of a path, the last one first.
fn steps_of(path: &Path) -> Vec<PathStep> {
    let step = |component: Component<'_>| match component {
        Component::Prefix(_) | Component::RootDir => Some(PathStep::Start(component.as_os_str().to_owned())),
        Component::CurDir => None,
        Component::ParentDir => Some(PathStep::Up),
        Component::Normal(name) => Some(PathStep::Down(name.to_owned())),
    };
    let mut steps: Vec<PathStep> = path.components().filter_map(step).collect();
    steps.reverse();
    steps
}

/// Where a symbolic link below a root leads; `None`: it is not a link.
fn link_target(path: &Path) -> Result<Option<PathBuf>, NotFound> {
    let refused = |error| match FileError::system(path)(error) {
        error if error.is_absent() => NotFound::Absent,
        error => NotFound::Refused(error),
    };
    let metadata = fs::symlink_metadata(path).map_err(refused)?;
    if metadata.is_symlink() { fs::read_link(path).map(Some).map_err(refused) } else { Ok(None) }
}

/// Removes `..` by text.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `root/inner/a.h`, `root/b.h`, `other/c.h`, `secret`, and the roots `root` and `other`.
    fn tree() -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("root/inner")).unwrap();
        fs::create_dir_all(at("other")).unwrap();
        for name in ["root/inner/a.h", "root/b.h", "other/c.h", "secret"] {
            fs::write(at(name), name).unwrap();
        }
        let roots = Roots::new([at("root").as_path(), &at("other"), &at("missing")]);
        (folder, roots)
    }

    fn outcome(roots: &Roots, folder: &Path, name: &str) -> String {
        match roots.read(folder, Path::new(name), 100) {
            Ok(found) => String::from_utf8(found.bytes).unwrap(),
            Err(NotFound::Absent) => "absent".to_owned(),
            Err(NotFound::Outside) => "outside".to_owned(),
            Err(NotFound::Refused(error)) => error.reason(),
        }
    }

    #[test]
    fn names_stay_below_the_roots() {
        let (folder, roots) = tree();
        let inner = folder.path().join("root/inner");
        let absolute = |name: &str| folder.path().join(name).display().to_string();
        let cases = [
            ("a.h".to_owned(), "root/inner/a.h"),
            ("../b.h".to_owned(), "root/b.h"),
            (".././inner/../b.h".to_owned(), "root/b.h"),
            ("../../other/c.h".to_owned(), "other/c.h"),
            ("../../nowhere/../other/c.h".to_owned(), "other/c.h"),
            (absolute("root/b.h"), "root/b.h"),
            ("none.h".to_owned(), "absent"),
            ("../../other/none.h".to_owned(), "absent"),
            ("a.h/b.h".to_owned(), "absent"),
            ("../../secret".to_owned(), "outside"),
            ("../../no-secret".to_owned(), "outside"),
            (absolute("secret"), "outside"),
            (absolute("root/../secret"), "outside"),
            ("../../root-not/x".to_owned(), "outside"),
            ("/".to_owned(), "outside"),
            ("../../../../../../../../../../etc/passwd".to_owned(), "outside"),
            ("..".to_owned(), "it is a folder, not a regular file"),
        ];
        for (name, expected) in cases {
            assert_eq!(outcome(&roots, &inner, &name), expected, "{name}");
        }
        assert!(matches!(
            roots.read(&inner, Path::new("a\0.h"), 100),
            Err(NotFound::Refused(FileError::System { .. }))
        ));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_below_the_roots_only() {
        use std::os::unix::fs::symlink;
        let (folder, roots) = tree();
        let root = folder.path().join("root");
        let link = |target: &str, name: &str| symlink(target, root.join(name)).unwrap();
        link("inner/a.h", "inside.h");
        link("../other/c.h", "other-root.h");
        link("../secret", "secret.h");
        link("../no-secret", "no-secret.h");
        link("/", "everything");
        link("loop.h", "loop.h");
        symlink(&root, folder.path().join("named")).unwrap();
        let cases = [
            ("inside.h", "root/inner/a.h"),
            ("other-root.h", "other/c.h"),
            ("secret.h", "outside"),
            ("no-secret.h", "outside"),
            ("everything/etc/passwd", "outside"),
            ("everything/no/such", "outside"),
            ("loop.h", "it is a symbolic link, not a regular file"),
        ];
        for (name, expected) in cases {
            assert_eq!(outcome(&roots, &root, name), expected, "{name}");
        }
        // A root that is itself a link, named by the link's path and by an absolute name.
        let named = folder.path().join("named");
        let by_link = Roots::new([named.as_path()]);
        assert_eq!(outcome(&by_link, &named, "b.h"), "root/b.h");
        assert_eq!(outcome(&by_link, &named, &named.join("b.h").display().to_string()), "root/b.h");
        assert_eq!(outcome(&by_link, &named, "../secret"), "outside");
    }
}
