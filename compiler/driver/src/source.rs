//! Sources: text with everything that decides what it means.

use std::path::{Path, PathBuf};

use anymetal_diagnostics::WarningOptions;
use anymetal_msl::pp::Definition;
use anymetal_msl::token::MathMode;

use crate::key::{Key, KeyBuilder};

/// A source file and how to read it.
#[derive(Debug, Clone)]
pub struct Source {
    /// The name in diagnostics, usually the path as the user wrote it.
    pub name: String,
    /// The text. Bytes that are no UTF-8 are diagnosed, not refused.
    pub bytes: Vec<u8>,
    /// The folder where the search for `#include "x"` starts; `None`: only the include folders.
    pub folder: Option<PathBuf>,
    /// How to read it.
    pub options: SourceOptions,
}

/// How to read a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceOptions {
    /// `-D` and `-U`, in order.
    pub definitions: Vec<Definition>,
    /// `-I`, in order.
    pub include_folders: Vec<PathBuf>,
    /// What the compiler may do to float arithmetic.
    pub math_mode: MathMode,
    /// The value of `__METAL_VERSION__`: 320 for Metal 3.2.
    pub language_version: u32,
    /// Whether messages of kernels are written to their log (`-fmetal-enable-logging`).
    pub logging: bool,
    /// Which warnings are reported.
    pub warnings: WarningOptions,
}

impl Default for SourceOptions {
    fn default() -> Self {
        SourceOptions {
            definitions: Vec::new(),
            include_folders: Vec::new(),
            math_mode: MathMode::Fast,
            language_version: 320,
            logging: false,
            warnings: WarningOptions::default(),
        }
    }
}

impl SourceOptions {
    /// What the front end takes of them; it asks a loader for included files.
    pub(crate) fn of_front_end(&self) -> anymetal_msl::CompileOptions {
        anymetal_msl::CompileOptions {
            definitions: self.definitions.clone(),
            math_mode: self.math_mode,
            metal_version: self.language_version,
            logging: self.logging,
            warnings: self.warnings.clone(),
        }
    }
}

impl Source {
    /// Text in memory, which includes nothing but the library and files of the include folders.
    pub fn from_text(name: impl Into<String>, text: impl Into<Vec<u8>>, options: SourceOptions) -> Self {
        Source { name: name.into(), bytes: text.into(), folder: None, options }
    }

    /// The text of a file, whose folder is searched first.
    pub fn from_file(path: &Path, bytes: Vec<u8>, options: SourceOptions) -> Self {
        let folder = path
            .parent()
            .map(|parent| if parent.as_os_str().is_empty() { PathBuf::from(".") } else { parent.to_owned() });
        Source { name: path.display().to_string(), bytes, folder, options }
    }

    /// The same source, all of whose errors are reported.
    #[must_use]
    pub fn with_all_errors(mut self) -> Self {
        self.options.warnings.error_limit = 0;
        self
    }

    /// Stands for the text, its name and its options, but not for the files that it includes.
    pub(crate) fn key(&self) -> Key {
        let options = &self.options;
        let mut key = KeyBuilder::new("source").field(&self.name).field(&self.bytes);
        key = key.field(self.folder.as_deref().map(absolute).unwrap_or_default());
        key = key.number(options.definitions.len() as u64);
        for definition in &options.definitions {
            let (kind, text) = match definition {
                Definition::Define(text) => ("D", text),
                Definition::Undefine(name) => ("U", name),
            };
            key = key.field(kind).field(text);
        }
        key = key.number(options.include_folders.len() as u64);
        for folder in &options.include_folders {
            key = key.field(absolute(folder));
        }
        let math = match options.math_mode {
            MathMode::Safe => 0,
            MathMode::Relaxed => 1,
            MathMode::Fast => 2,
        };
        key = key.number(math).number(options.language_version.into()).number(options.logging.into());
        key = key.number(options.warnings.silent.into()).number(options.warnings.error_limit as u64);
        key = key.number(options.warnings.flags.len() as u64);
        options.warnings.flags.iter().fold(key, |key, flag| key.field(flag)).finish()
    }
}

/// A relative folder means another one in another working directory.
fn absolute(folder: &Path) -> Vec<u8> {
    let path = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    path.into_os_string().into_encoded_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_changes_the_key() {
        let base = || Source::from_text("a.metal", "kernel", SourceOptions::default());
        let mut variants = [(); 10].map(|()| base());
        variants[1].name = "b.metal".into();
        variants[2].bytes.push(b' ');
        variants[3].folder = Some("/x".into());
        variants[4].options.definitions.push(Definition::Define("A".into()));
        variants[5].options.include_folders.push("/x".into());
        variants[6].options.math_mode = MathMode::Safe;
        variants[7].options.logging = true;
        variants[8].options.warnings.silent = true;
        variants[9].options.warnings.flags.push("all".to_owned());
        let mut keys: Vec<Key> = variants.iter().map(Source::key).collect();
        assert_eq!(keys[0], base().key());
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), variants.len());
    }
}
