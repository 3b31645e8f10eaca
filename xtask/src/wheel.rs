//! `cargo xtask wheel`: builds the Python package, and tests it as it is installed.
//!
//! maturin comes from PyPI into a virtual environment under `target/`; the tests run in another
//! one, made anew, with the wheel and nothing of the source tree on its path.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What continuous integration runs.
pub(crate) const CHECK: [&str; 4] = ["--dev", "--test", "--with", "mlx[cpu]"];

pub(crate) const USAGE: &str = "\
usage: cargo xtask wheel [--dev] [--test] [--with PACKAGE]...

  --dev           build with the development profile, which is quicker
  --test          install the wheel into a new virtual environment and run interfaces/python/tests there
  --with PACKAGE  install that package there, too: tests over PyTorch need `torch`, over MLX `mlx[cpu]`
";

/// The packages that each test run needs.
const TEST_PACKAGES: [&str; 2] = ["numpy>=1.24", "pytest>=7"];
const MATURIN: &str = "maturin>=1.9,<2";

/// What the command line says.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted<'a> {
    dev: bool,
    test: bool,
    with: Vec<&'a str>,
}

fn parse<'a>(arguments: &[&'a str]) -> Option<Wanted<'a>> {
    let mut wanted = Wanted::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match *argument {
            "--dev" => wanted.dev = true,
            "--test" => wanted.test = true,
            "--with" => wanted.with.push(rest.next()?),
            _ => return None,
        }
    }
    Some(wanted)
}

/// Does it; false if a command failed or the arguments are wrong.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> io::Result<bool> {
    let Some(wanted) = parse(arguments) else {
        print!("{USAGE}");
        return Ok(false);
    };
    let folder = root.join("target/python");
    let wheels = folder.join("wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    let tools = folder.join("tools");
    if !tools.join("bin/maturin").exists() && !environment(&tools, &[MATURIN])? {
        return Ok(false);
    }
    let profile = if wanted.dev { ["--profile", "dev"] } else { ["--profile", "release"] };
    let manifest = root.join("interfaces/python/Cargo.toml");
    let mut build = Command::new(tools.join("bin/maturin"));
    build.current_dir(root).arg("build").args(profile).arg("--locked");
    build.arg("--manifest-path").arg(&manifest).arg("--out").arg(&wheels);
    if !succeeds(&mut build)? {
        return Ok(false);
    }
    let wheel = only_file(&wheels)?;
    println!("wheel: {}", wheel.display());
    if !wanted.test { Ok(true) } else { test(root, &folder.join("test"), &wheel, &wanted.with) }
}

fn test(root: &Path, folder: &Path, wheel: &Path, with: &[&str]) -> io::Result<bool> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    let packages = [wheel.as_os_str()].into_iter().chain(TEST_PACKAGES.map(OsStr::new));
    let packages: Vec<&OsStr> = packages.chain(with.iter().map(OsStr::new)).collect();
    if !environment(folder, &packages)? {
        return Ok(false);
    }
    let mut pytest = Command::new(folder.join("bin/python"));
    pytest.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).current_dir(root.join("interfaces/python"));
    succeeds(&mut pytest)
}

/// A new virtual environment with packages.
pub(crate) fn environment<S: AsRef<OsStr>>(folder: &Path, packages: &[S]) -> io::Result<bool> {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    if !succeeds(Command::new(python).args(["-m", "venv"]).arg(folder))? {
        return Ok(false);
    }
    let mut install = Command::new(folder.join("bin/python"));
    succeeds(install.args(["-m", "pip", "install", "--quiet"]).args(packages))
}

pub(crate) fn succeeds(command: &mut Command) -> io::Result<bool> {
    let status = command.status().map_err(|error| {
        let program = command.get_program().to_string_lossy().into_owned();
        io::Error::new(error.kind(), format!("{program} cannot be run: {error}"))
    })?;
    Ok(status.success())
}

fn only_file(folder: &Path) -> io::Result<PathBuf> {
    let files = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    match &files[..] {
        [file] => Ok(file.clone()),
        other => {
            Err(io::Error::other(format!("{} has {} files instead of one", folder.display(), other.len())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_flags_and_packages() {
        let expected = Wanted { dev: true, test: true, with: vec!["mlx[cpu]"] };
        assert_eq!(parse(&CHECK), Some(expected));
        assert_eq!(parse(&["--with"]), None);
        assert_eq!(parse(&["--prod"]), None);
    }
}
