//! Sources in OpenCL C and CUDA C++, which are compiled as the MSL that they are translated to.

use std::path::Path;
use std::sync::Arc;

use anymetal_msl::Diagnostics;
use anymetal_msl::pp::Definition;
use anymetal_translate::{Doubles, ForeignSource, Options};

use crate::bug::catch;
use crate::error::CompileError;
use crate::source::{Source, SourceOptions};

/// How to translate a source in another language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranslationOptions {
    /// What becomes of `double`, which Metal does not have.
    pub doubles: Doubles,
    /// Kernels with template arguments that are to be there, besides those that a CUDA source launches.
    pub kernels: Vec<String>,
}

/// A source in MSL, made of one in another language.
#[derive(Debug)]
pub struct Translated {
    /// The MSL, whose diagnostics are about lines of the original.
    pub source: Source,
    /// What the translation warns of.
    pub warnings: Diagnostics,
}

impl Source {
    /// Whether a file is in another language than MSL, by its extension: `.cl` and `.cu`.
    pub fn is_foreign(path: &Path) -> bool {
        ForeignSource::is_foreign(path)
    }

    /// The text of a file for which [`Source::is_foreign`], translated.
    ///
    /// # Errors
    /// [`CompileError::Source`]: what Metal lacks.
    pub fn from_foreign(
        path: &Path,
        bytes: &[u8],
        options: SourceOptions,
        translation: &TranslationOptions,
    ) -> Result<Translated, CompileError> {
        let TranslationOptions { doubles, kernels } = translation;
        let macros = options.definitions.iter().filter_map(macro_of).collect();
        let how = Options { doubles: *doubles, line_directive: true, macros };
        let foreign = ForeignSource { path, includes: &options.include_folders, kernels };
        let translated = catch("translation", || Ok(foreign.translated(bytes, &how)))?;
        let has_errors = translated.has_errors();
        let diagnostics = Diagnostics { map: translated.map, list: translated.diagnostics };
        if has_errors {
            return Err(CompileError::Source(Arc::new(diagnostics)));
        }
        let mut name = path.to_owned();
        name.as_mut_os_string().push(".metal");
        let source = Source::from_file(&name, translated.text.into_bytes(), options);
        Ok(Translated { source, warnings: diagnostics })
    }
}

/// `NAME=VALUE`, or `NAME`, which is 1; nothing of `-U`.
fn macro_of(definition: &Definition) -> Option<(String, String)> {
    match definition {
        Definition::Define(text) => {
            let (name, value) = text.split_once('=').unwrap_or((text, "1"));
            Some((name.to_owned(), value.to_owned()))
        }
        // The compiler of the MSL undefines it.
        Definition::Undefine(_) => None,
    }
}
