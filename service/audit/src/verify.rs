//! Checking a log: what holds, and the first place where it does not.
//!
//! Owns [`verify`] and its [`Report`]. Invariant: any bytes can be verified; nothing is changed; of a record
//! only its number and digest are kept. Start at [`verify`]; [`Chain`] is what a record must follow.

mod chain;
mod lines;
mod report;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::folder::{self, HeadState};
use chain::Chain;
pub use report::{BreakReason, Broken, CheckedFile, Note, Report};

pub(crate) use chain::{Tail, TornEnd};

/// Checks a folder with all its files and its head, or one file by itself.
pub fn verify(path: &Path) -> Report {
    if !path.is_dir() {
        return verify_file(path);
    }
    // Before the files: a writer that goes on meanwhile makes it older, never newer than them.
    let head = folder::read_head(path);
    let mut chain = Chain::new(head);
    match folder::files(path) {
        Err(error) => chain.fail(path.display().to_string(), 0, BreakReason::Unreadable(error.to_string())),
        Ok(numbers) => {
            for number in numbers {
                let name = folder::file_name(number);
                if !chain.file(&path.join(&name), name) {
                    break;
                }
            }
            chain.end(path);
        }
    }
    chain.into_report()
}

/// One file: its own records, wherever they begin, without a head.
fn verify_file(path: &Path) -> Report {
    let mut chain = Chain::of_one_file();
    let name =
        path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
    chain.file(path, name);
    chain.end_of_file(path);
    chain.into_report()
}

/// The newest record of a folder's log with the place to go on; the last file must hold.
pub(crate) fn tail(folder: &Path) -> Result<Option<Tail>, Broken> {
    let unreadable = |error: std::io::Error| Broken {
        file: folder.display().to_string(),
        line: 0,
        reason: BreakReason::Unreadable(error.to_string()),
    };
    let numbers = folder::files(folder).map_err(unreadable)?;
    let head = folder::read_head(folder);
    let Some(&last) = numbers.last() else {
        return match head {
            HeadState::Missing => Ok(None),
            HeadState::Unreadable | HeadState::Is(_) => {
                let reason = BreakReason::NoFiles;
                Err(Broken { file: folder.display().to_string(), line: 0, reason })
            }
        };
    };
    let mut from = numbers.len();
    loop {
        from -= 1;
        let mut chain = Chain::continued(head);
        for &number in &numbers[from..] {
            let name = folder::file_name(number);
            if !chain.file(&folder.join(&name), name) {
                break;
            }
        }
        // A file without a record says nothing of the chain: the one before does.
        if from == 0 || chain.has_record() {
            return chain.into_tail(folder, last).map(Some);
        }
    }
}
