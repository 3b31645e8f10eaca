//! The changed crates: copies of the registry's sources with few edits.
//!
//! Of the crates with Metal's API, `objc2-metal` and `metal` (metal-rs):
//!
//! 1. `Cargo.toml`: a dependency on `anymetal-metal-abi`, off Apple's machines.
//! 2. `src/lib.rs`: the crate is named, so that it is linked.
//! 3. The attributes that link with a framework hold on Apple's machines only.
//!
//! Of every other crate of a framework that the program depends on, such as
//! `objc2-metal-performance-shaders` and `core-graphics-types`, the third.
//!
//! Of `objc2` itself, the answer of `available!` ([`crate::availability`]).
//!
//! Invariant: a copy is changed whole: a crate without a place to edit is an error.

use std::path::{Path, PathBuf};
use std::{fs, io};

use cargo_metadata::{CargoOpt, Metadata, MetadataCommand, Package};

use crate::{availability, library};

/// The crates with Metal's API.
const METAL: [&str; 2] = ["objc2-metal", "metal"];
/// Crates of frameworks begin so.
const PREFIX: &str = "objc2-";
/// Older crates of frameworks.
const OLDER: [&str; 5] =
    ["cocoa", "cocoa-foundation", "core-foundation", "core-graphics", "core-graphics-types"];
const EXTERN_CRATE: &str =
    "\n#[cfg(not(target_vendor = \"apple\"))]\nextern crate anymetal_metal_abi as _;\n";

/// The changed copies.
#[derive(Debug)]
pub(crate) struct Shim {
    pub(crate) crates: Vec<ChangedCrate>,
}

/// A changed copy of a crate.
#[derive(Debug)]
pub(crate) struct ChangedCrate {
    pub(crate) name: String,
    /// Where it is.
    pub(crate) folder: PathBuf,
}

/// What programs link with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Implementation<'a> {
    /// The crate `anymetal-metal-abi`, which is built with them.
    Crate,
    /// `libMetal.so`, in the folder where it was installed.
    Library(&'a Path),
}

/// Makes the copies for the package in the current folder.
pub(crate) fn make(implementation: Implementation<'_>) -> Result<Shim, String> {
    make_with(MetadataCommand::new(), implementation)
}

/// Makes the copies for a package.
pub(crate) fn make_for(manifest: &Path) -> Result<Shim, String> {
    let mut command = MetadataCommand::new();
    command.manifest_path(manifest);
    make_with(command, Implementation::Crate)
}

/// The dependencies are resolved without the change: the copies are made of what the registry has.
/// All features count, because the dependency is often an optional one.
fn make_with(mut command: MetadataCommand, implementation: Implementation<'_>) -> Result<Shim, String> {
    let metadata = command
        .features(CargoOpt::AllFeatures)
        .exec()
        .map_err(|error| format!("the package cannot be read: {error}"))?;
    check_versions(&metadata)?;
    let copies = metadata.target_directory.as_std_path().join("anymetal");
    let dependency = dependency(&match implementation {
        Implementation::Crate => abi_folder()?,
        Implementation::Library(prefix) => library::write_crate(prefix, &copies)?,
    });
    let packages = metadata.packages.iter().filter(|package| is_changed(package));
    let crates = packages.map(|package| changed(&copies, package, &dependency));
    Ok(Shim { crates: crates.collect::<Result<_, _>>()? })
}

/// Whether it is Metal's crate, one of another framework that cannot be built off Apple's machines, or
/// `objc2`.
fn is_changed(package: &Package) -> bool {
    let name = package.name.as_str();
    if availability::is_checked_by(name, package.manifest_path.with_file_name("").as_std_path()) {
        return true;
    }
    let is_of_framework = METAL.contains(&name) || OLDER.contains(&name) || name.starts_with(PREFIX);
    let folder = package.manifest_path.with_file_name("src");
    is_of_framework && has_framework_link(folder.as_std_path())
}

/// Whether a source in the folder has an attribute that is to be edited.
fn has_framework_link(folder: &Path) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| match path.is_dir() {
        true => has_framework_link(&path),
        false => is_source(&path) && fs::read_to_string(&path).is_ok_and(|text| on_apple_only(&text).1 > 0),
    })
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Copies a crate of a framework with its edits.
fn changed(copies: &Path, package: &Package, dependency: &str) -> Result<ChangedCrate, String> {
    let source = package.manifest_path.parent().ok_or("the manifest has no folder")?.as_std_path();
    let name = package.name.to_string();
    let folder = copies.join(format!("{name}-{}", package.version));
    let is_metal = METAL.contains(&name.as_str());
    let is_runtime = name == "objc2";
    let mut edits = 0;
    let mut edit = |path: &Path, text: String| {
        if !is_source(path) {
            let is_manifest = path == Path::new("Cargo.toml");
            return if is_metal && is_manifest { text + dependency } else { text };
        }
        if is_runtime {
            let edited = availability::on_macos(path, &text);
            edits += usize::from(edited.is_some());
            return edited.unwrap_or(text);
        }
        let (text, edited) = on_apple_only(&text);
        edits += edited;
        if is_metal && path == Path::new("src/lib.rs") { text + EXTERN_CRATE } else { text }
    };
    copy(source, &folder, Path::new(""), &mut edit)
        .map_err(|error| format!("{} cannot be copied: {error}", source.display()))?;
    if edits == 0 {
        return Err(format!(
            "{name} {}: there is nothing to edit: this version is not known",
            package.version
        ));
    }
    Ok(ChangedCrate { name, folder })
}

/// A source whose attributes that link with a framework hold on Apple's machines only, and how many were
/// edited. Those with a condition on the system are left as they are.
fn on_apple_only(text: &str) -> (String, usize) {
    const KIND: &str = "kind = \"framework\")";
    let (mut edited, mut rest, mut count) = (String::with_capacity(text.len()), text, 0);
    while let Some(end) = rest.find(KIND).map(|at| at + KIND.len()) {
        let link = rest[..end].rfind("link(").unwrap_or(end);
        let attribute = rest[..link].rfind("#[").unwrap_or(link);
        let condition = &rest[attribute..link];
        edited.push_str(&rest[..attribute]);
        let link = &rest[link..end];
        match condition.strip_prefix("#[cfg_attr(").map(|condition| condition.trim().trim_end_matches(',')) {
            None if condition == "#[" => {
                edited.push_str(&format!("#[cfg_attr(target_vendor = \"apple\", {link})"));
                count += 1;
            }
            Some(condition) if !condition.contains("target_") => {
                edited.push_str(&format!("#[cfg_attr(all({condition}, target_vendor = \"apple\"), {link}"));
                count += 1;
            }
            _ => edited.push_str(&rest[attribute..end]),
        }
        rest = &rest[end..];
    }
    (edited + rest, count)
}

/// Cargo takes the place of one version of a crate.
fn check_versions(metadata: &Metadata) -> Result<(), String> {
    let versions = |name: &str| {
        let packages = metadata.packages.iter().filter(|package| package.name.as_str() == name);
        packages.map(|package| package.version.to_string()).collect::<Vec<_>>()
    };
    if METAL.iter().all(|name| versions(name).is_empty()) {
        return Err(format!("the package here does not depend on {}", METAL.join(" or ")));
    }
    match METAL.map(|name| (name, versions(name))).iter().find(|(_, versions)| versions.len() > 1) {
        Some((name, versions)) => {
            Err(format!("the package here depends on {name} {}; one can be changed", versions.join(" and ")))
        }
        None => Ok(()),
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

/// Copies a folder with all that is in it, each text as an edit makes it; `within` is the folder's path in
/// the crate. Files that are the same stay untouched, so that nothing is built again without need.
fn copy(
    from: &Path,
    to: &Path,
    within: &Path,
    edit: &mut impl FnMut(&Path, String) -> String,
) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (target, path) = (to.join(entry.file_name()), within.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target, &path, edit)?;
        } else if entry.file_name() != "Cargo.lock" {
            match String::from_utf8(fs::read(entry.path())?) {
                Ok(text) => write_if_changed(&target, edit(&path, text).as_bytes())?,
                Err(bytes) => write_if_changed(&target, bytes.as_bytes())?,
            }
        }
    }
    Ok(())
}

pub(crate) fn write_if_changed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    fs::write(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_that_link_a_framework_hold_on_apples_machines_only() {
        let edited = |text: &str| on_apple_only(text).0;
        assert_eq!(
            edited("mod a;\n#[link(name = \"Metal\", kind = \"framework\")]\nextern \"C\" {}\n"),
            "mod a;\n#[cfg_attr(target_vendor = \"apple\", link(name = \"Metal\", kind = \"framework\"))]\nextern \"C\" {}\n"
        );
        assert_eq!(
            edited("#[cfg_attr(\n  feature = \"link\",\n  link(name = \"A\", kind = \"framework\")\n)]"),
            "#[cfg_attr(all(feature = \"link\", target_vendor = \"apple\"), link(name = \"A\", kind = \"framework\")\n)]"
        );
        for guarded in [
            "#[cfg_attr(target_vendor = \"apple\", link(name = \"A\", kind = \"framework\"))]",
            "#[cfg_attr(all(any(target_os = \"macos\"), feature = \"link\"), link(name = \"A\", kind = \"framework\"))]",
            "#[link(name = \"dispatch\", kind = \"dylib\")]",
        ] {
            assert_eq!(on_apple_only(guarded), (guarded.to_owned(), 0));
        }
    }

    #[test]
    fn a_copy_has_the_edits_and_leaves_unchanged_files_alone() {
        let folder = std::env::temp_dir().join(format!("anymetal-shim-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        fs::create_dir_all(from.join("src")).unwrap();
        fs::write(from.join("src/lib.rs"), "//! A crate.\n").unwrap();
        fs::write(from.join("src/data.bin"), [0xff, 0xfe]).unwrap();
        for _ in 0..2 {
            let edit = |path: &Path, text: String| match path == Path::new("src/lib.rs") {
                true => text + "// changed\n",
                false => text,
            };
            copy(&from, &to, Path::new(""), &mut { edit }).unwrap();
        }
        assert_eq!(fs::read_to_string(to.join("src/lib.rs")).unwrap(), "//! A crate.\n// changed\n");
        assert_eq!(fs::read(to.join("src/data.bin")).unwrap(), [0xff, 0xfe]);
        fs::remove_dir_all(folder).unwrap();
    }
}
