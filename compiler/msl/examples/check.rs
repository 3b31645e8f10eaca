//! Checks many files in one process, for `testing/clang` and `testing/shaders`.
//!
//! Each line of standard input is a request: a path, the number of bytes to take of the file (empty: all),
//! and definitions, separated by tabs. Each is answered by one line of JSON, `{"name": …, "diagnostics":
//! […]}`, or `{"crash": …}` after a panic.

use anymetal_msl::pp::{Definition, IncludeLoader, IncludedFile, NotLoaded};
use anymetal_msl::{CompileOptions, check_source};
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Finds files next to the including one.
struct Neighbours;

impl IncludeLoader for Neighbours {
    fn load(&mut self, name: &str, _angled: bool, from: &str) -> Result<IncludedFile, NotLoaded> {
        let path = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
        match std::fs::read(&path) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                Ok(IncludedFile { name: path.to_string_lossy().into_owned(), text })
            }
            Err(_) => Err(NotLoaded::Missing),
        }
    }
}

fn answer(request: &str) -> String {
    let mut fields = request.split('\t');
    let path = fields.next().unwrap_or_default();
    let cut: Option<usize> = fields.next().and_then(|cut| cut.parse().ok());
    let definitions = fields.map(|text| Definition::Define(text.to_owned())).collect();
    let options = CompileOptions { definitions, ..CompileOptions::default() };
    let Ok(mut source) = std::fs::read(path) else { return r#"{"crash": "no such file"}"#.to_owned() };
    source.truncate(cut.unwrap_or(usize::MAX));
    let check = || check_source(path, &source, &options, &mut Neighbours).render_json();
    match catch_unwind(AssertUnwindSafe(check)) {
        // Line breaks within strings are escaped.
        Ok(json) => format!(r#"{{"name": "{path}", "diagnostics": {}}}"#, json.replace('\n', " ")),
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            format!(r#"{{"crash": {:?}}}"#, message.unwrap_or_default().replace(['"', '\\', '\n'], " "))
        }
    }
}

fn main() -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    for request in std::io::stdin().lock().lines() {
        writeln!(output, "{}", answer(&request?))?;
        output.flush()?;
    }
    Ok(())
}
