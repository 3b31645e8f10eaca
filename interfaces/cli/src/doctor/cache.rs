//! The folder of compiled code: where it is, whether it can be used, how large it is.

use std::fs;
use std::io;
use std::path::Path;

use anymetal_driver::CacheConfig;
use anymetal_files::{FileError, trusted};

use super::finding::{Finding, bytes};

const PART: &str = "cache";

/// Looks at the folder that compilations use.
pub(super) fn check() -> Vec<Finding> {
    let config = CacheConfig::from_environment();
    match &config.folder {
        Some(folder) => of_folder(folder, config.max_disk_bytes),
        None => {
            let advice = "unset ANYMETAL_CACHE, or name a folder in it: every process compiles again";
            vec![Finding::warning(PART, "folder", "off", advice)]
        }
    }
}

fn of_folder(folder: &Path, max_bytes: u64) -> Vec<Finding> {
    let shown = folder.display().to_string();
    let Ok(metadata) = fs::metadata(folder) else {
        return vec![match can_be_made(folder) {
            true => Finding::ok(PART, "folder", format!("{shown}, made when first needed")),
            false => {
                Finding::warning(PART, "folder", format!("{shown} is missing and cannot be made"), ELSEWHERE)
            }
        }];
    };
    let permissions = permissions(&metadata);
    let mut findings = vec![match (trusted::folder(folder), write(folder)) {
        (Err(FileError::Distrusted(found)), _) => {
            let advice = format!("{}: code from there is executed, so it is not used", found.repair());
            Finding::problem(PART, "folder", found.fact(), advice)
        }
        (_, Err(error)) => {
            Finding::warning(PART, "folder", format!("{shown} cannot be written: {error}"), ELSEWHERE)
        }
        _ => Finding::ok(PART, "folder", format!("{shown} ({permissions})")),
    }];
    let (files, size) = contents(folder, 0);
    let value = format!("{files} files, {} of at most {}", bytes(size), bytes(max_bytes));
    findings.push(Finding::ok(PART, "size", value));
    findings
}

const ELSEWHERE: &str = "name a folder that can be written in ANYMETAL_CACHE: every process compiles again";

/// Whether the nearest folder that exists can be written.
fn can_be_made(folder: &Path) -> bool {
    let existing = folder.ancestors().skip(1).find(|folder| folder.exists());
    existing.is_some_and(|folder| write(folder).is_ok())
}

/// Makes a file there and removes it.
fn write(folder: &Path) -> io::Result<()> {
    let path = folder.join(format!("doctor-{}", std::process::id()));
    fs::File::options().write(true).create_new(true).open(&path)?;
    fs::remove_file(path)
}

#[cfg(unix)]
fn permissions(metadata: &fs::Metadata) -> String {
    use std::os::unix::fs::PermissionsExt;
    format!("mode {:o}", metadata.permissions().mode() & 0o7777)
}

/// Other systems' user folders are private.
#[cfg(not(unix))]
fn permissions(_metadata: &fs::Metadata) -> String {
    "the user's own".to_owned()
}

/// Files and bytes; the cache is five folders deep at most.
fn contents(folder: &Path, depth: usize) -> (u64, u64) {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() && depth < 5 => {
                let (more_files, more_bytes) = contents(&entry.path(), depth + 1);
                files += more_files;
                bytes += more_bytes;
            }
            Ok(metadata) if metadata.is_file() => {
                files += 1;
                bytes += metadata.len();
            }
            _ => {}
        }
    }
    (files, bytes)
}
