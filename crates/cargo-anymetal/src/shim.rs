//! The changed `objc2-metal`: a copy of the registry's source with three edits.
//!
//! 1. `Cargo.toml`: a dependency on `anymetal-metal-abi`, off Apple's machines.
//! 2. `src/lib.rs`: the crate is named, so that it is linked.
//! 3. `src/generated/mod.rs`: Metal's framework is linked on Apple's machines only.
//!
//! Invariant: an edit that does not find its place is an error, never a copy that is half changed.

use std::path::{Path, PathBuf};
use std::{fs, io};

use cargo_metadata::{CargoOpt, Metadata, MetadataCommand, Package};

const CRATE: &str = "objc2-metal";
const LINK: &str = "#[link(name = \"Metal\", kind = \"framework\")]";
const LINK_ON_APPLE: &str =
    "#[cfg_attr(target_vendor = \"apple\", link(name = \"Metal\", kind = \"framework\"))]";
const EXTERN_CRATE: &str =
    "\n#[cfg(not(target_vendor = \"apple\"))]\nextern crate anymetal_metal_abi as _;\n";

/// A changed copy.
#[derive(Debug)]
pub(crate) struct Shim {
    /// Where it is.
    pub(crate) folder: PathBuf,
}

/// Makes the copy for the package in the current folder.
pub(crate) fn make() -> Result<Shim, String> {
    make_with(MetadataCommand::new())
}

/// Makes the copy for a package.
pub(crate) fn make_for(manifest: &Path) -> Result<Shim, String> {
    let mut command = MetadataCommand::new();
    command.manifest_path(manifest);
    make_with(command)
}

/// The dependencies are resolved without the change: the copy is made of what the registry has. All
/// features count, because the dependency is often an optional one.
fn make_with(mut command: MetadataCommand) -> Result<Shim, String> {
    let metadata = command
        .features(CargoOpt::AllFeatures)
        .exec()
        .map_err(|error| format!("the package cannot be read: {error}"))?;
    let package = original(&metadata)?;
    let source = package.manifest_path.parent().ok_or("the manifest has no folder")?.as_std_path();
    let folder =
        metadata.target_directory.as_std_path().join("anymetal").join(format!("{CRATE}-{}", package.version));
    copy(source, &folder).map_err(|error| format!("{} cannot be copied: {error}", source.display()))?;
    edit(&folder.join("src/generated/mod.rs"), |text| replaced_once(&text, LINK, LINK_ON_APPLE))?;
    edit(&folder.join("src/lib.rs"), |text| Ok(text + EXTERN_CRATE))?;
    let dependency = dependency(&abi_folder()?);
    edit(&folder.join("Cargo.toml"), |text| Ok(text + &dependency))?;
    Ok(Shim { folder })
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
    let crates = match std::env::var_os("ANYMETAL_SOURCE") {
        Some(source) => PathBuf::from(source).join("crates"),
        None => here.parent().unwrap_or(here).to_owned(),
    };
    let folder = crates.join("metal-abi");
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
