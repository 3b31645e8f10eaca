//! The changed crates: copies of the registry's sources with few edits.
//!
//! Of `objc2-metal`:
//!
//! 1. `Cargo.toml`: a dependency on `anymetal-metal-abi`, off Apple's machines.
//! 2. `src/lib.rs`: the crate is named, so that it is linked.
//! 3. `src/generated/mod.rs`: Metal's framework is linked on Apple's machines only.
//!
//! Of every other crate of a framework that the program depends on, such as
//! `objc2-metal-performance-shaders`, the third.
//!
//! Invariant: an edit that does not find its place is an error, never a copy that is half changed.

use std::path::{Path, PathBuf};
use std::{fs, io};

use cargo_metadata::{CargoOpt, Metadata, MetadataCommand, Package};

const CRATE: &str = "objc2-metal";
/// Crates of frameworks are named so.
const PREFIX: &str = "objc2-";
/// The file that links with a framework.
const LINKING: &str = "src/generated/mod.rs";
const EXTERN_CRATE: &str =
    "\n#[cfg(not(target_vendor = \"apple\"))]\nextern crate anymetal_metal_abi as _;\n";

/// The changed copies.
#[derive(Debug)]
pub(crate) struct Shim {
    /// That of `objc2-metal` is the first.
    pub(crate) crates: Vec<ChangedCrate>,
}

/// A changed copy of a crate.
#[derive(Debug)]
pub(crate) struct ChangedCrate {
    pub(crate) name: String,
    /// Where it is.
    pub(crate) folder: PathBuf,
}

/// Makes the copies for the package in the current folder.
pub(crate) fn make() -> Result<Shim, String> {
    make_with(MetadataCommand::new())
}

/// Makes the copies for a package.
pub(crate) fn make_for(manifest: &Path) -> Result<Shim, String> {
    let mut command = MetadataCommand::new();
    command.manifest_path(manifest);
    make_with(command)
}

/// The dependencies are resolved without the change: the copies are made of what the registry has.
/// All features count, because the dependency is often an optional one.
fn make_with(mut command: MetadataCommand) -> Result<Shim, String> {
    let metadata = command
        .features(CargoOpt::AllFeatures)
        .exec()
        .map_err(|error| format!("the package cannot be read: {error}"))?;
    let metal = changed(&metadata, original(&metadata)?)?;
    edit(&metal.folder.join("src/lib.rs"), |text| Ok(text + EXTERN_CRATE))?;
    let dependency = dependency(&abi_folder()?);
    edit(&metal.folder.join("Cargo.toml"), |text| Ok(text + &dependency))?;
    let mut crates = vec![metal];
    for package in metadata.packages.iter().filter(|package| links_a_framework(package)) {
        let other = changed(&metadata, package)?;
        for file in ["src/lib.rs", "Cargo.toml"] {
            edit(&other.folder.join(file), Ok)?;
        }
        crates.push(other);
    }
    Ok(Shim { crates })
}

/// Whether it is a crate of a framework, other than Metal's, that cannot be built off Apple's machines.
fn links_a_framework(package: &Package) -> bool {
    let name = package.name.as_str();
    let linking = package.manifest_path.with_file_name(LINKING);
    name.starts_with(PREFIX)
        && name != CRATE
        && fs::read_to_string(linking).is_ok_and(|text| framework_link(&text).is_some())
}

/// Copies a crate of a framework and has it link with the framework on Apple's machines only.
fn changed(metadata: &Metadata, package: &Package) -> Result<ChangedCrate, String> {
    let source = package.manifest_path.parent().ok_or("the manifest has no folder")?.as_std_path();
    let name = package.name.to_string();
    let folder =
        metadata.target_directory.as_std_path().join("anymetal").join(format!("{name}-{}", package.version));
    copy(source, &folder).map_err(|error| format!("{} cannot be copied: {error}", source.display()))?;
    edit(&folder.join(LINKING), |text| {
        let link = framework_link(&text).ok_or("no framework is linked: this version is not known")?;
        let inner = link.trim_start_matches("#[").trim_end_matches(']');
        replaced_once(&text, link, &format!("#[cfg_attr(target_vendor = \"apple\", {inner})]"))
    })?;
    Ok(ChangedCrate { name, folder })
}

/// The line that links with a framework on every machine.
fn framework_link(text: &str) -> Option<&str> {
    text.lines().find(|line| line.starts_with("#[link(name = ") && line.ends_with("kind = \"framework\")]"))
}

fn original(metadata: &Metadata) -> Result<&Package, String> {
    let mut found = metadata.packages.iter().filter(|package| package.name.as_str() == CRATE);
    match (found.next(), found.next()) {
        (Some(package), None) => Ok(package),
        (None, _) => Err(format!("the package here does not depend on {CRATE}")),
        (Some(one), Some(other)) => Err(format!(
            "the package here depends on {CRATE} {} and {}; one can be changed",
            one.version, other.version
        )),
    }
}

/// The folder of `anymetal-metal-abi`.
fn abi_folder() -> Result<PathBuf, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let interfaces = match anymetal_environment::value("ANYMETAL_SOURCE") {
        Some(source) => PathBuf::from(source).join("interfaces"),
        None => here.parent().unwrap_or(here).to_owned(),
    };
    let folder = interfaces.join("metal-abi");
    if folder.join("Cargo.toml").is_file() {
        return Ok(folder);
    }
    Err(format!(
        "{} is not there; set ANYMETAL_SOURCE to the folder with anymetal's sources",
        folder.display()
    ))
}

fn dependency(folder: &Path) -> String {
    let path = folder.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "\n[target.'cfg(not(target_vendor = \"apple\"))'.dependencies.anymetal-metal-abi]\npath = \"{path}\"\n"
    )
}

/// Copies a folder with all that is in it; files that are the same stay untouched, so that nothing
/// is built again without need.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if entry.file_name() != "Cargo.lock" && !EDITED.iter().any(|edited| target.ends_with(edited)) {
            write_if_changed(&target, &fs::read(entry.path())?)?;
        } else if entry.file_name() != "Cargo.lock" {
            fs::copy(entry.path(), original_of(&target))?;
        }
    }
    Ok(())
}

/// The files with edits, by the ends of their paths.
const EDITED: [&str; 3] = ["src/generated/mod.rs", "src/lib.rs", "Cargo.toml"];

/// Where the registry's text of an edited file is kept.
fn original_of(path: &Path) -> PathBuf {
    path.with_extension("original")
}

fn edit(path: &Path, change: impl FnOnce(String) -> Result<String, String>) -> Result<(), String> {
    let text = fs::read_to_string(original_of(path))
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let changed = change(text).map_err(|error| format!("{}: {error}", path.display()))?;
    write_if_changed(path, changed.as_bytes())
        .map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

fn write_if_changed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    fs::write(path, bytes)
}

fn replaced_once(text: &str, old: &str, new: &str) -> Result<String, String> {
    match text.matches(old).count() {
        1 => Ok(text.replace(old, new)),
        count => Err(format!("`{old}` is there {count} times, not once: this version is not known")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_without_its_one_place_is_an_error() {
        assert_eq!(replaced_once("a b c", "b", "d").unwrap(), "a d c");
        assert!(replaced_once("a c", "b", "d").is_err() && replaced_once("b b", "b", "d").is_err());
    }

    #[test]
    fn the_line_that_links_a_framework_on_every_machine_is_found() {
        let line = "#[link(name = \"Metal\", kind = \"framework\")]";
        assert_eq!(framework_link(&format!("mod a;\n{line}\nextern \"C\" {{}}\n")), Some(line));
        assert_eq!(framework_link("#[cfg_attr(target_vendor = \"apple\", link(name = \"A\"))]\n"), None);
    }

    #[test]
    fn a_copy_leaves_unchanged_files_alone_and_edits_start_from_the_original() {
        let folder = std::env::temp_dir().join(format!("anymetal-shim-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(from.join("src")).unwrap();
        fs::write(from.join("src/lib.rs"), "//! A crate.\n").unwrap();
        fs::write(from.join("src/other.rs"), "//! Another file.\n").unwrap();
        for _ in 0..2 {
            copy(&from, &to).unwrap();
            edit(&to.join("src/lib.rs"), |text| Ok(text + "// changed\n")).unwrap();
        }
        assert_eq!(fs::read_to_string(to.join("src/lib.rs")).unwrap(), "//! A crate.\n// changed\n");
        assert_eq!(fs::read_to_string(to.join("src/other.rs")).unwrap(), "//! Another file.\n");
        fs::remove_dir_all(folder).unwrap();
    }
}
