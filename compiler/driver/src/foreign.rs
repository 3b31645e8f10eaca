//! Sources in OpenCL C and CUDA C++, which are compiled as the MSL that they are translated to.

use std::path::Path;
use std::sync::Arc;

use anymetal_diagnostics::SourceMap;
use anymetal_msl::Diagnostics;
use anymetal_msl::pp::Definition;
use anymetal_translate::{Doubles, ForeignSource, Options, macro_of};

use crate::bug::catch;
use crate::error::CompileError;
use crate::source::Source;

/// How to translate a source in another language.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TranslationOptions {
    /// What becomes of `double`, which Metal does not have.
    pub doubles: Doubles,
    /// Kernels with template arguments that are to be there, besides those that a CUDA source launches.
    pub kernels: Vec<String>,
}

/// A source in MSL, perhaps made of one in another language.
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

    /// The source in MSL: translated if its name is that of another language ([`Source::is_foreign`]), or
    /// else as it is.
    ///
    /// # Errors
    /// [`CompileError::Source`]: what Metal lacks.
    pub fn translated(self, translation: &TranslationOptions) -> Result<Translated, CompileError> {
        let path = Path::new(&self.name);
        if !Source::is_foreign(path) {
            let warnings = Diagnostics { map: SourceMap::new(), list: Vec::new() };
            return Ok(Translated { source: self, warnings });
        }
        let (TranslationOptions { doubles, kernels }, options) = (translation, &self.options);
        let macros = options.definitions.iter().filter_map(defined).collect();
        let how = Options { doubles: *doubles, line_directive: true, macros };
        let folder = self.folder.as_deref();
        let foreign = ForeignSource { path, folder, includes: &options.include_folders, kernels };
        let translated = catch("translation", || Ok(foreign.translated(&self.bytes, &how)))?;
        let has_errors = translated.has_errors();
        let warnings = Diagnostics { map: translated.map, list: translated.diagnostics };
        if has_errors {
            return Err(CompileError::Source(Arc::new(warnings)));
        }
        let (name, bytes) = (format!("{}.metal", self.name), translated.text.into_bytes());
        Ok(Translated { source: Source { name, bytes, ..self }, warnings })
    }
}

fn defined(definition: &Definition) -> Option<(String, String)> {
    match definition {
        Definition::Define(text) => Some(macro_of(text)),
        // The compiler of the MSL undefines it.
        Definition::Undefine(_) => None,
    }
}
