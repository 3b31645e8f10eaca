//! Where a libLLVM may be, in the order tried.
//!
//! 1. `ANYMETAL_LLVM`: a file or a folder. When it is set nothing else is tried, because silently
//!    using another library than the requested one would be worse than an error. `none` or `off`
//!    switch LLVM off.
//! 2. Next to the executable, and in the `lib` folder beside its own.
//! 3. Rust toolchains: every one on Linux carries a complete libLLVM. They are found in rustup's
//!    folder without running anything; only if that yields nothing `rustc --print sysroot` is run.
//! 4. The system's, newest first, from [`NEWEST_NAMED`] down to [`MINIMUM_MAJOR`].
//! 5. Homebrew's, on macOS.
//!
//! This module only lists; `library.rs` opens. [`Surroundings`] holds everything read from outside,
//! so the order can be tested with made-up folders.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest LLVM whose reader understands the text that the code generators write.
pub const MINIMUM_MAJOR: u32 = 18;
/// The newest LLVM that the tests pass with. Newer versions are accepted, but get no command-line options,
/// because LLVM ends the process at an option that it does not know.
pub const NEWEST_TESTED: u32 = 23;
/// The newest version looked for by number; newer ones are found through unnumbered names.
pub const NEWEST_NAMED: u32 = 24;

/// What the search reads from outside.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// `ANYMETAL_LLVM`.
    pub explicit: Option<OsString>,
    /// The folder of the running executable.
    pub executable_folder: Option<PathBuf>,
    /// `RUSTUP_HOME`, or `.rustup` in the home folder.
    pub rustup_home: Option<PathBuf>,
    /// `RUSTUP_TOOLCHAIN`.
    pub rustup_toolchain: Option<String>,
    /// `RUSTC`, or just `rustc`.
    pub rustc: OsString,
    /// The root that system paths are looked up under; `/` outside tests.
    pub system_root: PathBuf,
}

impl Surroundings {
    /// The real ones.
    pub fn of_process() -> Self {
        let path = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Self {
            explicit: anymetal_environment::value("ANYMETAL_LLVM"),
            executable_folder: std::env::current_exe().ok().and_then(|exe| exe.parent().map(Path::to_owned)),
            rustup_home: path("RUSTUP_HOME").or_else(|| path("HOME").map(|home| home.join(".rustup"))),
            rustup_toolchain: std::env::var("RUSTUP_TOOLCHAIN").ok().filter(|name| !name.is_empty()),
            rustc: std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()),
            system_root: PathBuf::from("/"),
        }
    }

    /// The value of `ANYMETAL_LLVM` if it switches LLVM off.
    pub fn disabled(&self) -> Option<String> {
        let value = self.explicit.as_ref()?.to_str()?;
        (value.eq_ignore_ascii_case("none") || value.eq_ignore_ascii_case("off")).then(|| value.to_owned())
    }

    /// Rust toolchains in rustup's folder: the selected one, `stable`, numbered ones from the newest,
    /// then the rest.
    fn toolchain_folders(&self) -> Vec<PathBuf> {
        let Some(home) = &self.rustup_home else {
            // This machine has no rustup.
            return Vec::new();
        };
        let toolchains = home.join("toolchains");
        let mut names: Vec<String> = std::fs::read_dir(&toolchains)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        let rank = |name: &String| {
            let wanted = |want: &String| name == want || starts_word(name, want);
            let selected = self.rustup_toolchain.as_ref().is_some_and(wanted);
            let version =
                if name.starts_with(|c: char| c.is_ascii_digit()) { numbers(name) } else { Vec::new() };
            (!selected, !starts_word(name, "stable"), std::cmp::Reverse(version), name.clone())
        };
        names.sort_by_cached_key(rank);
        let mut folders: Vec<PathBuf> = names.iter().map(|name| toolchains.join(name).join("lib")).collect();
        // RUSTUP_TOOLCHAIN may also be the path of a toolchain.
        if let Some(path) =
            self.rustup_toolchain.as_ref().map(PathBuf::from).filter(|path| path.is_absolute())
        {
            folders.insert(0, path.join("lib"));
        }
        folders
    }

    /// Runs `rustc --print sysroot`.
    fn sysroot_folder(&self) -> Result<PathBuf, String> {
        let output = Command::new(&self.rustc)
            .args(["--print", "sysroot"])
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(output.status.to_string());
        }
        let text = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
        Ok(PathBuf::from(text.trim()).join("lib"))
    }

    fn system_folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for major in (MINIMUM_MAJOR..=NEWEST_NAMED).rev() {
            for pattern in ["usr/lib/llvm-N/lib", "usr/lib64/llvmN/lib64", "usr/lib64/llvmN/lib"] {
                folders.push(self.system_root.join(pattern.replace('N', &major.to_string())));
            }
            for pattern in ["usr/lib/llvmN/lib", "usr/lib/llvm/N/lib64", "usr/local/llvmN/lib"] {
                folders.push(self.system_root.join(pattern.replace('N', &major.to_string())));
            }
        }
        let multiarch = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        for folder in [&multiarch, "usr/lib64", "usr/lib", "usr/local/lib"] {
            folders.push(self.system_root.join(folder));
        }
        folders
    }

    fn homebrew_folders(&self) -> Vec<PathBuf> {
        let mut folders = Vec::new();
        for prefix in ["opt/homebrew/opt", "usr/local/opt", "home/linuxbrew/.linuxbrew/opt"] {
            let prefix = self.system_root.join(prefix);
            folders.push(prefix.join("llvm/lib"));
            let numbered = (MINIMUM_MAJOR..=NEWEST_NAMED).rev();
            folders.extend(numbered.map(|major| prefix.join(format!("llvm@{major}/lib"))));
        }
        folders
    }
}

/// One place to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchPath {
    /// A library file.
    File(PathBuf),
    /// A folder that was named explicitly and contains no libLLVM, or does not exist.
    Nothing(PathBuf),
    /// `rustc` could not be run.
    Rustc(PathBuf, String),
}

/// The search, one stage after the other; a later stage is only listed when the earlier ones gave no
/// usable library, so `rustc` is seldom run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// `ANYMETAL_LLVM`.
    Explicit,
    /// Beside the executable.
    Executable,
    /// Toolchains in rustup's folder.
    Rustup,
    /// `rustc --print sysroot`.
    Sysroot,
    /// The distribution's.
    System,
    /// Homebrew's.
    Homebrew,
}

impl Stage {
    /// The stages to go through.
    pub fn all(surroundings: &Surroundings) -> &'static [Self] {
        if surroundings.explicit.is_some() {
            &[Self::Explicit]
        } else {
            &[Self::Executable, Self::Rustup, Self::Sysroot, Self::System, Self::Homebrew]
        }
    }

    /// The places of this stage, best first.
    pub fn places(self, surroundings: &Surroundings) -> Vec<SearchPath> {
        match self {
            Self::Explicit => surroundings.explicit.iter().flat_map(explicit).collect(),
            Self::Executable => {
                let folder = surroundings.executable_folder.clone();
                let beside = folder.iter().map(|folder| folder.join("../lib"));
                in_folders(folder.iter().cloned().chain(beside))
            }
            Self::Rustup => in_folders(surroundings.toolchain_folders()),
            Self::Sysroot => match surroundings.sysroot_folder() {
                Ok(folder) => or_nothing(folder),
                Err(message) => vec![SearchPath::Rustc(surroundings.rustc.clone().into(), message)],
            },
            Self::System => in_folders(surroundings.system_folders()),
            Self::Homebrew => in_folders(surroundings.homebrew_folders()),
        }
    }
}

fn explicit(path: &OsString) -> Vec<SearchPath> {
    let path = PathBuf::from(path);
    if !path.is_dir() {
        return vec![SearchPath::File(path)];
    }
    match libraries_in(&path).is_empty() {
        true => or_nothing(path.join("lib")),
        false => or_nothing(path),
    }
}

fn or_nothing(folder: PathBuf) -> Vec<SearchPath> {
    let found = in_folders([folder.clone()]);
    if found.is_empty() { vec![SearchPath::Nothing(folder)] } else { found }
}

fn in_folders(folders: impl IntoIterator<Item = PathBuf>) -> Vec<SearchPath> {
    folders.into_iter().flat_map(|folder| libraries_in(&folder)).map(SearchPath::File).collect()
}

/// The libLLVM files of a folder, the newest first by the number in the name. Rust toolchains carry a
/// linker script under one of the names; the real library (`libLLVM.so.…`) sorts before it.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| is_library_name(name))
        .collect();
    names.sort_by_cached_key(|name| {
        (std::cmp::Reverse(major_in(name)), !name.starts_with("libLLVM."), name.clone())
    });
    names.iter().map(|name| folder.join(name)).collect()
}

fn is_library_name(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("libLLVM") else {
        // Some other file.
        return false;
    };
    let named = rest.starts_with('.')
        || (rest.starts_with('-') && rest[1..].starts_with(|c: char| c.is_ascii_digit()));
    named && (rest.contains(".so") || rest.ends_with(".dylib"))
}

/// The major version that a library's name states, as in `libLLVM.so.22.1` or `libLLVM-19.so.1`.
pub(crate) fn major_in(name: &str) -> Option<u32> {
    numbers(name.strip_prefix("libLLVM")?).first().copied()
}

/// Whether `text` is `word`, or `word` followed by a dash.
fn starts_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The leading numbers of a name, as in `1.95.0-x86_64…` → 1, 95, 0. Anything that is not a digit at
/// the start is skipped; the first thing after a digit that is neither a digit nor a dot ends it.
fn numbers(text: &str) -> Vec<u32> {
    let Some(start) = text.find(|c: char| c.is_ascii_digit()) else {
        // A name without a version, such as a toolchain that was linked by hand.
        return Vec::new();
    };
    let tail = &text[start..];
    let end = tail.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(tail.len());
    tail[..end].split('.').map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(root: &Path, path: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a path with a parent")).expect("folder");
        std::fs::write(path, b"").expect("file");
    }

    fn listed(stage: Stage, surroundings: &Surroundings, root: &Path) -> Vec<String> {
        let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
        stage
            .places(surroundings)
            .iter()
            .map(|place| match place {
                SearchPath::File(path) => name(path),
                SearchPath::Nothing(path) => format!("nothing {}", name(path)),
                SearchPath::Rustc(path, _) => format!("rustc {}", name(path)),
            })
            .collect()
    }

    #[test]
    fn toolchains_are_ordered_and_the_real_library_comes_first() {
        let root = tempfile::tempdir().expect("temporary folder");
        let root = root.path();
        touch(root, "toolchains/nightly-x86_64/lib/libLLVM.so.23.0-rust");
        touch(root, "toolchains/1.90.0-x86_64/lib/libLLVM.so.20.1-rust");
        touch(root, "toolchains/1.95.0-x86_64/lib/libLLVM.so.22.1-rust");
        touch(root, "toolchains/stable-x86_64/lib/libLLVM-22-rust-1.95.0-stable.so");
        touch(root, "toolchains/stable-x86_64/lib/libLLVM.so.22.1-rust-1.95.0-stable");
        touch(root, "toolchains/1.99.1-x86_64/lib/libLLVM-23-rust-1.99.1-stable.so");
        touch(root, "toolchains/1.99.1-x86_64/lib/libLLVM.so.23.1-rust-1.99.1-stable");
        let mut surroundings = Surroundings { rustup_home: Some(root.to_owned()), ..Default::default() };
        let expected = [
            "toolchains/stable-x86_64/lib/libLLVM.so.22.1-rust-1.95.0-stable",
            "toolchains/stable-x86_64/lib/libLLVM-22-rust-1.95.0-stable.so",
            "toolchains/1.99.1-x86_64/lib/libLLVM.so.23.1-rust-1.99.1-stable",
            "toolchains/1.99.1-x86_64/lib/libLLVM-23-rust-1.99.1-stable.so",
            "toolchains/1.95.0-x86_64/lib/libLLVM.so.22.1-rust",
            "toolchains/1.90.0-x86_64/lib/libLLVM.so.20.1-rust",
            "toolchains/nightly-x86_64/lib/libLLVM.so.23.0-rust",
        ];
        assert_eq!(listed(Stage::Rustup, &surroundings, root), expected);
        surroundings.rustup_toolchain = Some("1.90.0".to_owned());
        assert_eq!(listed(Stage::Rustup, &surroundings, root)[0], expected[5]);
    }

    #[test]
    fn system_libraries_come_newest_first() {
        let root = tempfile::tempdir().expect("temporary folder");
        let root = root.path();
        touch(root, "usr/lib/llvm-18/lib/libLLVM.so.18.1");
        touch(root, "usr/lib/llvm-20/lib/libLLVM.so.20.1");
        touch(root, "usr/lib/llvm-20/lib/libLLVMSupport.so");
        touch(root, "usr/lib/llvm-20/lib/libLLVM-C.so");
        touch(root, "usr/lib64/libLLVM-19.so.1");
        touch(root, "usr/lib64/libLLVM-21.so.1");
        let surroundings = Surroundings { system_root: root.to_owned(), ..Default::default() };
        let expected = [
            "usr/lib/llvm-20/lib/libLLVM.so.20.1",
            "usr/lib/llvm-18/lib/libLLVM.so.18.1",
            "usr/lib64/libLLVM-21.so.1",
            "usr/lib64/libLLVM-19.so.1",
        ];
        assert_eq!(listed(Stage::System, &surroundings, root), expected);
    }

    #[test]
    fn an_explicit_path_is_the_only_candidate() {
        let root = tempfile::tempdir().expect("temporary folder");
        let root = root.path();
        touch(root, "prefix/lib/libLLVM.so.19.1");
        let with = |path: PathBuf| Surroundings { explicit: Some(path.into()), ..Default::default() };
        let folder = with(root.join("prefix"));
        assert_eq!(Stage::all(&folder), [Stage::Explicit]);
        assert_eq!(listed(Stage::Explicit, &folder, root), ["prefix/lib/libLLVM.so.19.1"]);
        assert_eq!(listed(Stage::Explicit, &with(root.join("gone.so")), root), ["gone.so"]);
        touch(root, "empty/file");
        assert_eq!(listed(Stage::Explicit, &with(root.join("empty")), root), ["nothing empty/lib"]);
    }

    #[test]
    fn llvm_can_be_switched_off() {
        let with = |value: &str| Surroundings { explicit: Some(value.into()), ..Default::default() };
        assert_eq!(with("none").disabled().as_deref(), Some("none"));
        assert_eq!(with("OFF").disabled().as_deref(), Some("OFF"));
        assert_eq!(with("/opt/llvm").disabled(), None);
        assert_eq!(Surroundings::default().disabled(), None);
    }

    #[test]
    fn a_missing_rustc_is_reported() {
        let surroundings = Surroundings { rustc: "/no/such/rustc".into(), ..Default::default() };
        assert_eq!(listed(Stage::Sysroot, &surroundings, Path::new("/none")), ["rustc /no/such/rustc"]);
    }

    #[test]
    fn versions_are_read_from_names() {
        assert_eq!(major_in("libLLVM.so.22.1-rust-1.95.0-stable"), Some(22));
        assert_eq!(major_in("libLLVM-19.so.1"), Some(19));
        assert_eq!(major_in("libLLVM.so.23.1-rust-1.99.1-stable"), Some(23));
        assert_eq!(major_in("libLLVM-23-rust-1.99.1-stable.so"), Some(23));
        assert_eq!(major_in("libLLVM.dylib"), None);
        assert!(!is_library_name("libLLVM-C.dylib"));
        assert!(!is_library_name("libLLVMCore.so"));
    }
}
