//! The kernels that are compiled.

use anymetal_conformance::candle::source;
use anymetal_conformance::case::Constant;
use anymetal_conformance::demo;
use anymetal_conformance::exec_file::{self, files_below};
use anymetal_conformance::execute::{Math, Source};
use anymetal_conformance::suite::Level;
use anymetal_driver::{
    CacheConfig, Compiler, CompilerOptions, Definition, Library, MathMode, Source as CompilerSource,
    SourceOptions,
};
use anymetal_harness::corpus::{self, CORPORA};

/// One kernel.
#[derive(Debug)]
pub(crate) struct Subject {
    /// What its file is counted with.
    pub(crate) corpus: &'static str,
    pub(crate) file: String,
    pub(crate) kernel: String,
    pub(crate) library: Library,
    /// What its launches give; other function constants get values that switch code on.
    pub(crate) constants: Vec<(u32, Constant)>,
    /// The threadgroup size of its launches, if there are any.
    pub(crate) group: Option<[u32; 3]>,
}

impl Subject {
    pub(crate) fn matches(&self, text: &str) -> bool {
        [self.corpus, &self.file, &self.kernel].iter().any(|name| name.contains(text))
    }
}

/// All kernels; of the corpora every `every`-th.
pub(crate) fn all(every: usize) -> Result<Vec<Subject>, String> {
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    let mut subjects = Vec::new();
    for file in demo::FILES {
        subjects.extend(kernels(&compiler, "demo", &demo::source(file))?);
    }
    subjects.extend(exec(&compiler)?);
    for corpus in CORPORA {
        let mut of_corpus = Vec::new();
        for file in corpus::files(corpus.package).map_err(|error| error.to_string())? {
            let defines = if file.package == "metal" { Vec::new() } else { vec!["GGML_METAL_HAS_BF16"] };
            let source = Source { defines, ..source(file.package, &file.name) };
            of_corpus.extend(kernels(&compiler, corpus.package, &source)?);
        }
        subjects.extend(of_corpus.into_iter().step_by(every));
    }
    Ok(subjects)
}

/// The kernels of a source, with nothing known of their launches.
fn kernels(compiler: &Compiler, corpus: &'static str, source: &Source) -> Result<Vec<Subject>, String> {
    let library = open(compiler, source)?;
    let subject = |kernel: &String| Subject {
        corpus,
        file: source.name.clone(),
        kernel: kernel.clone(),
        library: library.clone(),
        constants: Vec::new(),
        group: None,
    };
    Ok(library.kernel_names().iter().map(subject).collect())
}

/// The launches of `tests/exec`.
fn exec(compiler: &Compiler) -> Result<Vec<Subject>, String> {
    let folder = exec_file::folder();
    let mut subjects = Vec::new();
    for path in files_below(&folder).map_err(|error| error.to_string())? {
        let name = path.strip_prefix(&folder).unwrap_or(&path).to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        let file = exec_file::parse(&name, &text, Level::Sample)?;
        let source =
            Source { name, text, math: file.math, whole_buffers: file.whole_buffers, ..Source::default() };
        let library = open(compiler, &source)?;
        for case in file.cases {
            subjects.push(Subject {
                corpus: "tests/exec",
                file: source.name.clone(),
                kernel: case.launch.kernel,
                library: library.clone(),
                constants: case.launch.constants,
                group: Some(case.launch.group),
            });
        }
    }
    Ok(subjects)
}

fn open(compiler: &Compiler, source: &Source) -> Result<Library, String> {
    let options = SourceOptions {
        definitions: source.defines.iter().map(|name| Definition::Define((*name).to_owned())).collect(),
        include_folders: source.include_dirs.clone(),
        math_mode: match source.math {
            Math::Safe => MathMode::Safe,
            Math::Fast => MathMode::Fast,
        },
        ..SourceOptions::default()
    };
    let text = CompilerSource::from_text(source.name.clone(), source.text.clone(), options);
    compiler.library(text).map_err(|error| format!("{}: {error}", source.name))
}
