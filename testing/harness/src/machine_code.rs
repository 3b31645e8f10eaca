//! The last stage: machine code, through the compiler as users get it, with nothing cached on disk.

use crate::corpus::CorpusFile;
use anymetal_driver::hal::artifact::{ArtifactCode, ElementType, ScalarType};
use anymetal_driver::{
    CacheConfig, Compiler, CompilerOptions, ConstantKey, ConstantValue, Library, Source, SourceOptions,
    Specialisation, Target,
};

/// Whether this machine can make machine code.
pub fn available() -> bool {
    Compiler::llvm().is_ok()
}

/// The machine code stage of a file.
#[derive(Debug)]
pub struct Stage {
    library: Result<Library, String>,
}

impl Stage {
    /// Opens a file.
    pub fn new(file: &CorpusFile) -> Self {
        let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
        let options =
            SourceOptions { include_folders: file.include_dirs.clone(), ..SourceOptions::default() };
        let library = std::fs::read(&file.path).map_err(|error| error.to_string()).and_then(|bytes| {
            let source = Source::from_file(&file.path, bytes, options);
            compiler.library(source).map_err(|error| error.to_string())
        });
        Self { library }
    }

    /// Compiles one entry point: the bytes of its object.
    pub fn compile(&self, kernel: &str) -> Result<usize, String> {
        let library = self.library.as_ref().map_err(Clone::clone)?;
        let info = library.reflect(kernel).map_err(|error| error.to_string())?;
        let value = |element: &ElementType| match element {
            ElementType::Scalar(ScalarType::Bool) => ConstantValue::from(true),
            _ => ConstantValue::from(2),
        };
        let constants = info.function_constants.iter();
        let constants = constants.map(|known| (ConstantKey::Index(known.index), value(&known.element)));
        let specialisation = Specialisation { constants: constants.collect(), ..Specialisation::default() };
        let artifact = library.artifact(kernel, &specialisation, Target::CpuLlvm);
        match &artifact.map_err(|error| error.to_string())?.code {
            ArtifactCode::Object(bytes) => Ok(bytes.len()),
            other => Err(format!("instead of machine code there is {}", other.kind())),
        }
    }
}
