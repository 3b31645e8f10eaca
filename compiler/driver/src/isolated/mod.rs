//! Compiles in worker processes.
//!
//! Everything that reads a source, front end, passes and libLLVM, happens in a worker; this process has the
//! caches and opens included files. Owns [`Isolation`] and the requests, one function for each; the messages
//! are in `wire.rs`, the worker is `worker.rs`. Invariant: nothing that a worker sends is believed before it
//! is checked. Modules arrive as text and are verified, artifacts in the encoding of the disk cache. Machine
//! code cannot be checked: it runs in this process with this process's rights.

pub(crate) mod interpreter;
mod module;
pub(crate) mod wire;
pub(crate) mod wire_error;
pub(crate) mod worker;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use anymetal_hal::artifact::{Artifact, KernelInfo};
use anymetal_hal::encoding;
use anymetal_hal::metal_source::MetalSource;
use anymetal_isolate::{Frame, Isolate, IsolationError, Pool};
use anymetal_msl::Diagnostics;
use anymetal_msl::hir::ArgumentLayout;
use anymetal_msl::pp::IncludeLoader;
use anymetal_types::family::{Family, FamilyRefusal};

use crate::big_stack;
use crate::cache::manifest::Manifest;
use crate::error::CompileError;
use crate::includes::{FileIncludes, Probe};
use crate::key::{COMPILER_IDENTITY, Key, KeyBuilder};
use crate::library::{
    Emit, KernelRemark, Library, LibraryState, MarkedFile, PrintAfter, Specialisation, Target,
};
use crate::prepared::Prepared;
use crate::source::Source;
use wire::{
    Answer, Ask, Bytes, Include, Included, Kind, OfFusion, Request, WireLibrary, WireLinked, WirePart,
    WireSource,
};
pub(crate) use wire::{ModuleStage, Wanted};

/// Where a compiler's sources are compiled.
pub(crate) enum Isolation {
    /// In this process.
    Off,
    /// In workers.
    Workers(Pool),
    /// Nowhere: the settings cannot be followed.
    Refused(IsolationError),
}

impl Isolation {
    pub(crate) fn new(isolate: &Isolate) -> Self {
        match isolate {
            Isolate::Off => Self::Off,
            Isolate::Compile(settings) | Isolate::Run(settings) => {
                Self::Workers(Pool::new(settings.clone(), COMPILER_IDENTITY))
            }
            Isolate::Refused(error) => Self::Refused(error.clone()),
        }
    }

    /// The workers; `None`: sources are compiled in this process.
    pub(crate) fn pool(&self) -> Result<Option<&Pool>, CompileError> {
        match self {
            Self::Off => Ok(None),
            Self::Workers(pool) => Ok(Some(pool)),
            Self::Refused(error) => Err(error.clone().into()),
        }
    }
}

/// A source that workers parse: each that is asked about it anew, with the same included files.
pub(crate) struct ParsedElsewhere {
    token: u64,
    includes: Mutex<FileIncludes>,
}

impl ParsedElsewhere {
    fn new(source: &Source) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let token = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { token, includes: Mutex::new(FileIncludes::new(source)) }
    }

    fn include(&self, asked: &Include) -> (Included, Vec<u8>) {
        let mut includes = self.includes.lock().unwrap_or_else(PoisonError::into_inner);
        match includes.load(&asked.name, asked.angled, &asked.from) {
            Ok(file) => (Included::File { name: file.name }, file.text.into_bytes()),
            Err(error) => (Included::not_loaded(error), Vec::new()),
        }
    }

    fn searched(&self) -> Vec<String> {
        self.includes.lock().unwrap_or_else(PoisonError::into_inner).searched()
    }

    fn probes(&self) -> Vec<Probe> {
        self.includes.lock().unwrap_or_else(PoisonError::into_inner).probes().to_vec()
    }
}

/// Has a worker parse a source.
pub(crate) fn parse(
    pool: &Pool,
    source: &Source,
    key: &Key,
) -> Result<(ParsedElsewhere, Manifest), CompileError> {
    let parsed = ParsedElsewhere::new(source);
    let mut call = Call { pool, parsed: Vec::new(), libraries: Vec::new(), blob: Vec::new() };
    call.add_source(&parsed, source, key, Vec::new());
    match call.ask(Ask::Parse)?.0 {
        Answer::Manifest { kernels, visible_functions, graphics_functions, warnings } => {
            let probes = parsed.probes();
            let manifest = Manifest {
                probes,
                kernels,
                visible_functions,
                graphics_functions,
                warnings,
                is_checked: false,
            };
            Ok((parsed, manifest))
        }
        _ => Err(unexpected()),
    }
}

/// An answer to another question.
fn unexpected() -> CompileError {
    IsolationError::malformed("an answer to another question").into()
}

/// A request in the making.
struct Call<'a> {
    pool: &'a Pool,
    /// For each library of the request, where its included files are found.
    parsed: Vec<&'a ParsedElsewhere>,
    libraries: Vec<WireLibrary>,
    blob: Vec<u8>,
}

impl<'a> Call<'a> {
    /// Adds a library after those whose functions it links, and returns its number.
    fn add(&mut self, state: &'a LibraryState) -> Result<usize, CompileError> {
        let mut linked = Vec::new();
        for function in state.linked() {
            linked.push(WireLinked {
                library: self.add(function.library.state())?,
                name: function.name.clone(),
                alias: function.alias.clone(),
                constants: function.constants.clone(),
                is_private: function.is_private,
            });
        }
        let (parsed, source, key) = (state.parsed_elsewhere()?, state.source(), state.source_key());
        Ok(self.add_source(parsed, source, key, linked))
    }

    fn add_source(
        &mut self,
        parsed: &'a ParsedElsewhere,
        source: &Source,
        key: &Key,
        linked: Vec<WireLinked>,
    ) -> usize {
        self.libraries.push(WireLibrary {
            token: parsed.token,
            key: key.to_string(),
            source: WireSource::of(source, &mut self.blob),
            searched: parsed.searched(),
            linked,
        });
        self.parsed.push(parsed);
        self.libraries.len() - 1
    }

    /// Sends the request and answers the worker's questions for included files.
    fn ask(self, ask: Ask) -> Result<(Answer, Vec<u8>), CompileError> {
        let Self { pool, parsed, libraries, blob } = self;
        let request = Kind::Request.frame(&Request { libraries, ask }, blob)?;
        let mut reply = |frame: &Frame| {
            if frame.kind == Kind::Answer as u8 {
                return Ok(None);
            }
            let include: Include = Kind::Include.read(frame)?;
            let library = parsed.get(include.library);
            let library = library.ok_or_else(|| IsolationError::malformed("a library that is not there"))?;
            let (included, text) = library.include(&include);
            Kind::Included.frame(&included, text).map(Some)
        };
        let answer = pool.call(&request, &mut reply)?;
        match Kind::Answer.read(&answer)? {
            Answer::Failed(error) => Err(error),
            other => Ok((other, answer.blob)),
        }
    }
}

/// A question about one library.
fn ask(pool: &Pool, library: &Library, ask: Ask) -> Result<(Answer, Vec<u8>), CompileError> {
    let mut call = Call { pool, parsed: Vec::new(), libraries: Vec::new(), blob: Vec::new() };
    call.add(library.state())?;
    call.ask(ask)
}

/// A question whose answer is text.
fn ask_text(pool: &Pool, library: &Library, question: Ask) -> Result<String, CompileError> {
    match ask(pool, library, question)?.0 {
        Answer::Text(text) => Ok(text),
        _ => Err(unexpected()),
    }
}

pub(crate) fn warnings(pool: &Pool, library: &Library, kernel: &str) -> Result<String, CompileError> {
    ask_text(pool, library, Ask::Warnings { kernel: kernel.to_owned() })
}

pub(crate) fn function_type(pool: &Pool, library: &Library, name: &str) -> Result<String, CompileError> {
    ask_text(pool, library, Ask::FunctionType { name: name.to_owned() })
}

pub(crate) fn reflect(pool: &Pool, library: &Library, kernel: &str) -> Result<KernelInfo, CompileError> {
    match ask(pool, library, Ask::Reflect { kernel: kernel.to_owned() })?.0 {
        Answer::Kernel(info) => Ok(*info),
        _ => Err(unexpected()),
    }
}

pub(crate) fn layout(
    pool: &Pool,
    library: &Library,
    kernel: &str,
    index: u32,
    path: &[u32],
) -> Result<Option<ArgumentLayout>, CompileError> {
    let question = Ask::Layout { kernel: kernel.to_owned(), index, path: path.to_vec() };
    match ask(pool, library, question)?.0 {
        Answer::Layout(layout) => Ok(layout.map(ArgumentLayout::from)),
        _ => Err(unexpected()),
    }
}

pub(crate) fn emit(
    pool: &Pool,
    library: &Library,
    kernel: &str,
    specialisation: &Specialisation,
    emit: Emit,
) -> Result<String, CompileError> {
    let (kernel, specialisation) = (kernel.to_owned(), specialisation.clone());
    ask_text(pool, library, Ask::Emit { kernel, specialisation, emit })
}

pub(crate) fn remarks(
    pool: &Pool,
    library: &Library,
    kernel: &str,
    specialisation: &Specialisation,
) -> Result<Vec<KernelRemark>, CompileError> {
    let (kernel, specialisation) = (kernel.to_owned(), specialisation.clone());
    match ask(pool, library, Ask::Remarks { kernel, specialisation })?.0 {
        Answer::Remarks(remarks) => Ok(remarks),
        _ => Err(unexpected()),
    }
}

pub(crate) fn print_after(
    pool: &Pool,
    library: &Library,
    kernel: &str,
    specialisation: &Specialisation,
    target: Target,
    passes: &PrintAfter,
) -> Result<String, CompileError> {
    let (kernel, specialisation, passes) = (kernel.to_owned(), specialisation.clone(), passes.clone());
    ask_text(pool, library, Ask::PrintAfter { kernel, specialisation, target, passes })
}

pub(crate) fn family_refusal(
    pool: &Pool,
    library: &Library,
    kernel: &str,
    specialisation: &Specialisation,
    family: Family,
) -> Result<Option<FamilyRefusal>, CompileError> {
    let (kernel, specialisation) = (kernel.to_owned(), specialisation.clone());
    match ask(pool, library, Ask::Family { kernel, specialisation, family })?.0 {
        Answer::Family(refusal) => Ok(refusal),
        _ => Err(unexpected()),
    }
}

pub(crate) fn check(pool: &Pool, library: &Library) -> Result<(), CompileError> {
    match ask(pool, library, Ask::Check)?.0 {
        Answer::Checked => Ok(()),
        _ => Err(unexpected()),
    }
}

/// All errors and warnings of a source.
pub(crate) fn check_source(pool: &Pool, source: &Source) -> Result<Diagnostics, CompileError> {
    let parsed = ParsedElsewhere::new(source);
    let mut call = Call { pool, parsed: Vec::new(), libraries: Vec::new(), blob: Vec::new() };
    // Nothing is cached by this key.
    let key = KeyBuilder::new("check").finish();
    call.add_source(&parsed, source, &key, Vec::new());
    match call.ask(Ask::CheckSource)?.0 {
        Answer::Diagnostics(diagnostics) => Ok(diagnostics.diagnostics()?),
        _ => Err(unexpected()),
    }
}

pub(crate) fn sources(pool: &Pool, library: &Library) -> Result<Vec<MarkedFile>, CompileError> {
    match ask(pool, library, Ask::Sources)?.0 {
        Answer::Sources(files) => Ok(files),
        _ => Err(unexpected()),
    }
}

pub(crate) fn metal_source(
    pool: &Pool,
    library: &Library,
    kernel: &str,
    specialisation: &Specialisation,
) -> Result<MetalSource, CompileError> {
    let (kernel, specialisation) = (kernel.to_owned(), specialisation.clone());
    match ask(pool, library, Ask::MetalSource { kernel, specialisation })? {
        (Answer::MetalSource(options), text) => Ok(MetalSource { text: text_of(text)?.into(), options }),
        _ => Err(unexpected()),
    }
}

fn text_of(bytes: Vec<u8>) -> Result<String, CompileError> {
    String::from_utf8(bytes).map_err(|_| IsolationError::malformed("its text is not UTF-8").into())
}

pub(crate) fn artifact(
    pool: &Pool,
    library: &Library,
    kernel: &str,
    specialisation: &Specialisation,
    target: Target,
    wanted: Wanted,
) -> Result<Artifact, CompileError> {
    let specialisation = specialisation.clone();
    let question = Ask::Artifact { kernel: kernel.to_owned(), specialisation, target, wanted };
    artifact_of(kernel, ask(pool, library, question)?)
}

/// The artifact of an answer, which must be of that kernel.
fn artifact_of(kernel: &str, answer: (Answer, Vec<u8>)) -> Result<Artifact, CompileError> {
    let (Answer::Artifact, bytes) = answer else { return Err(unexpected()) };
    let artifact = encoding::decode(&bytes).map_err(|error| IsolationError::malformed(error.to_string()))?;
    if artifact.kernel(kernel).is_none() {
        return Err(IsolationError::malformed("an artifact of another kernel").into());
    }
    Ok(artifact)
}

pub(crate) fn prepared(
    pool: &Pool,
    library: &Library,
    kernel: &str,
    specialisation: &Specialisation,
    stage: ModuleStage,
) -> Result<Prepared, CompileError> {
    let (kernel, specialisation) = (kernel.to_owned(), specialisation.clone());
    prepared_of(ask(pool, library, Ask::Module { kernel, specialisation, stage })?)
}

/// The module of an answer, verified.
fn prepared_of(answer: (Answer, Vec<u8>)) -> Result<Prepared, CompileError> {
    let (Answer::Module { constants, depends_on_group_size, passes, positions }, text) = answer else {
        return Err(unexpected());
    };
    let text = text_of(text)?;
    let module = big_stack::run("reader", || Ok(module::read(&text, positions)?))?;
    Ok(Prepared { module, constants, depends_on_group_size, passes })
}

/// Kernels to be fused, as they are asked about.
pub(crate) struct AskedFusion<'a> {
    pub(crate) parts: &'a [crate::fusion::FusionPart<'a>],
    pub(crate) group_size: Option<[u32; 3]>,
    pub(crate) threads: Option<[u32; 3]>,
}

impl AskedFusion<'_> {
    fn ask(&self, pool: &Pool, of: OfFusion) -> Result<(Answer, Vec<u8>), CompileError> {
        let mut call = Call { pool, parsed: Vec::new(), libraries: Vec::new(), blob: Vec::new() };
        let mut parts = Vec::new();
        for part in self.parts {
            let library = call.add(part.library.state())?;
            let mut bytes = Vec::new();
            for (index, given) in part.bytes {
                bytes.push((*index, Bytes::append(&mut call.blob, given)));
            }
            parts.push(WirePart {
                library,
                kernel: part.kernel.clone(),
                specialisation: part.specialisation.clone(),
                places: part.places.to_vec(),
                bytes,
            });
        }
        call.ask(Ask::Fusion { parts, group_size: self.group_size, threads: self.threads, of })
    }

    /// Why they cannot be fused.
    pub(crate) fn verdict(&self, pool: &Pool) -> Result<Option<String>, CompileError> {
        match self.ask(pool, OfFusion::Verdict)?.0 {
            Answer::Refusal(refusal) => Ok(refusal),
            _ => Err(unexpected()),
        }
    }

    pub(crate) fn prepared(&self, pool: &Pool) -> Result<Prepared, CompileError> {
        prepared_of(self.ask(pool, OfFusion::Module)?)
    }

    pub(crate) fn artifact(
        &self,
        pool: &Pool,
        name: &str,
        target: Target,
        wanted: Wanted,
    ) -> Result<Artifact, CompileError> {
        artifact_of(name, self.ask(pool, OfFusion::Artifact { target, wanted })?)
    }
}
