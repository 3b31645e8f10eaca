//! Parses files and lowers some of the kernels of each, for measuring what the front end costs.
//!
//! `cost PASSES KERNELS FOLDER FILE…`: all files are parsed `PASSES` times, with up to `KERNELS` kernels of
//! each, evenly spaced. Includes are searched for next to the file and in the folder. The cost is that of the
//! process (`valgrind --tool=callgrind`); the difference of two numbers of passes excludes the parse of the
//! Metal library.

use anymetal_msl::pp::{IncludeLoader, IncludedFile, NotLoaded};
use anymetal_msl::{CompileOptions, Library};
use std::io::{Error, Write};
use std::path::{Path, PathBuf};

/// Finds files next to the including one and in a folder.
struct Folders(PathBuf);

impl IncludeLoader for Folders {
    fn load(&mut self, name: &str, _angled: bool, from: &str) -> Result<IncludedFile, NotLoaded> {
        let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
        for path in [beside, self.0.join(name)] {
            if let Ok(text) = std::fs::read_to_string(&path) {
                return Ok(IncludedFile { name: path.to_string_lossy().into_owned(), text });
            }
        }
        Err(NotLoaded::Missing)
    }
}

/// The numbers of kernels lowered, and of files and kernels with errors.
fn lower(file: &str, most: usize, folders: &mut Folders) -> std::io::Result<(usize, usize)> {
    let source = std::fs::read(file)?;
    let (library, _) = Library::parse(file, &source, &CompileOptions::default(), folders);
    let Some(library) = library else { return Ok((0, 1)) };
    let kernels = library.kernels();
    let chosen: Vec<_> = kernels.iter().step_by(kernels.len().div_ceil(most).max(1)).collect();
    let failed = chosen.iter().filter(|kernel| library.module(&kernel.name).is_err()).count();
    Ok((chosen.len(), failed))
}

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [passes, most, folder, files @ ..] = args.as_slice() else {
        return Err(Error::other("cost PASSES KERNELS FOLDER FILE…"));
    };
    let number = |text: &str| text.parse::<usize>().map_err(Error::other);
    let (passes, most) = (number(passes)?, number(most)?.max(1));
    let mut folders = Folders(PathBuf::from(folder));
    let (mut kernels, mut errors) = (0, 0);
    for file in (0..passes).flat_map(|_| files) {
        let (lowered, failed) = lower(file, most, &mut folders)?;
        kernels += lowered;
        errors += failed;
    }
    writeln!(std::io::stdout(), "{} files, {kernels} kernels, {errors} errors", files.len())
}
