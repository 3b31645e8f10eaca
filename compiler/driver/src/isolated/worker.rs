//! The worker process.
//!
//! Owns [`serve`]. One thread reads messages and ends the process when the host ends, one compiles. The
//! requests are answered by the library of the request, in this process, as if the host had called it.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};

use anymetal_hal::artifact::Artifact;
use anymetal_hal::encoding;
use anymetal_isolate::{Channel, Frame, IsolationError, sandbox};
use anymetal_msl::pp::{IncludeLoader, IncludedFile, NotLoaded};
use anymetal_msl::{LARGE_STACK_BYTES, on_large_stack};

use super::module;
use super::wire::{
    Answer, Ask, Include, Included, Kind, ModuleStage, OfFusion, Request, Wanted, WireLayout, WireLibrary,
    WirePart,
};
use super::wire_error::WireDiagnostics;
use crate::artifacts;
use crate::bug;
use crate::compiler::{Compiler, CompilerOptions};
use crate::config::CacheConfig;
use crate::error::CompileError;
use crate::fusion::{Fusion, FusionPart};
use crate::key::{COMPILER_IDENTITY, KeyBuilder};
use crate::library::{Library, LinkedFunction, Specialisation, Target};
use crate::prepared::Prepared;
use crate::source::{Source, SourceOptions};

/// Parsed sources that a worker keeps.
const LIBRARIES_KEPT: usize = 16;

/// Serves the process that started this one and passed a socket as its standard input. Returns only with an
/// error: the process ends when its host does.
///
/// `memory_bytes` is what all compiles together may allocate besides one stack.
///
/// # Errors
/// The standard input is not such a socket, or the host has ended.
///
/// # Panics
/// The system refuses a limit or a filter, or a thread started before this call still runs.
pub fn serve(memory_bytes: u64) -> io::Result<()> {
    let channel = Channel::open()?;
    prepare();
    let memory_bytes = memory_bytes.saturating_add(LARGE_STACK_BYTES as u64);
    sandbox::wait_for_threads();
    let missing = sandbox::close(&channel, memory_bytes, sandbox::Code::Denied);
    let channel = Arc::new(channel);
    let (to_compiles, requests) = mpsc::channel();
    let (to_includes, included) = mpsc::channel();
    let compiles = Arc::clone(&channel);
    let compile = move || {
        // A panic outside of a request is a bug that no answer can report: the host sees the end.
        let included = Mutex::new(included);
        let ended = on_large_stack(|| Compiles::new(&compiles, &included).serve(requests));
        drop(ended);
        compiles.end()
    };
    std::thread::Builder::new().name("anymetal-worker".to_owned()).spawn(compile)?;
    channel.greet(COMPILER_IDENTITY, &missing)?;
    loop {
        let Ok(frame) = channel.receive() else { channel.end() };
        let to = if frame.kind == Kind::Included as u8 { &to_includes } else { &to_compiles };
        if to.send(frame).is_err() {
            channel.end();
        }
    }
}

/// Does what the first compile would do with files: loads libLLVM, while the Metal library is parsed.
fn prepare() {
    let source = Source::from_text("nothing.metal", "", SourceOptions::default());
    let compiler = Compiler::new(&CompilerOptions::with_cache(CacheConfig::memory_only()));
    // Errors of either are found again by the first request.
    let _ = artifacts::with_llvm(|| compiler.library(source));
}

/// The compiling thread.
struct Compiles<'a> {
    channel: &'a Channel,
    included: &'a Mutex<Receiver<Frame>>,
    compiler: Compiler,
    /// By token; the last used is last.
    libraries: VecDeque<(u64, Library)>,
}

impl<'a> Compiles<'a> {
    fn new(channel: &'a Channel, included: &'a Mutex<Receiver<Frame>>) -> Self {
        // The host has the caches; here is kept what the next request about the same kernel needs.
        let cache = CacheConfig { artifacts_in_memory: 1, ..CacheConfig::memory_only() };
        let compiler = Compiler::new(&CompilerOptions::with_cache(cache));
        Self { channel, included, compiler, libraries: VecDeque::new() }
    }

    fn serve(&mut self, requests: Receiver<Frame>) {
        for frame in requests {
            let mut blob = Vec::new();
            let answer = bug::catch("worker", || self.answer(&frame, &mut blob));
            let answer = answer.unwrap_or_else(Answer::Failed);
            let sent = Kind::Answer.frame(&answer, blob).map(|frame| self.channel.send(&frame));
            if !matches!(sent, Ok(Ok(()))) {
                // The answer is too large, or the host has ended.
                return;
            }
        }
    }

    fn answer(&mut self, frame: &Frame, blob: &mut Vec<u8>) -> Result<Answer, CompileError> {
        let Request { libraries: wanted, ask } = Kind::Request.read(frame)?;
        if let (Ask::CheckSource, [source]) = (&ask, &wanted[..]) {
            return self.check_source(source, &frame.blob);
        }
        let mut libraries: Vec<Library> = Vec::new();
        for (number, library) in wanted.iter().enumerate() {
            let library = self.library(number, library, &libraries, &frame.blob)?;
            libraries.push(library);
        }
        match ask {
            Ask::Fusion { parts, group_size, threads, of } => {
                fusion(&libraries, &parts, &frame.blob, (group_size, threads), of, blob)
            }
            ask => {
                let library = libraries.last();
                let library =
                    library.ok_or_else(|| IsolationError::malformed("a request about no library"))?;
                of_library(library, ask, blob)
            }
        }
    }

    /// The library of a request, parsed now or before.
    fn library(
        &mut self,
        number: usize,
        wanted: &WireLibrary,
        before: &[Library],
        blob: &[u8],
    ) -> Result<Library, CompileError> {
        let known = self.libraries.iter().position(|(token, _)| *token == wanted.token);
        let library = match known.and_then(|at| self.libraries.remove(at)) {
            Some((_, library)) => library,
            None => self.parse(number, wanted, blob)?,
        };
        self.libraries.push_back((wanted.token, library.clone()));
        if self.libraries.len() > LIBRARIES_KEPT {
            self.libraries.pop_front();
        }
        if wanted.linked.is_empty() {
            return Ok(library);
        }
        let mut functions = Vec::new();
        for linked in &wanted.linked {
            let of = before.get(linked.library);
            functions.push(LinkedFunction {
                library: of.ok_or_else(|| IsolationError::malformed("a library that is not there"))?.clone(),
                name: linked.name.clone(),
                alias: linked.alias.clone(),
                constants: linked.constants.clone(),
                is_private: linked.is_private,
            });
        }
        library.linked_with(functions)
    }

    fn check_source(&self, wanted: &WireLibrary, blob: &[u8]) -> Result<Answer, CompileError> {
        let source = wanted.source.source(blob)?;
        let (options, mut includes) = (source.options.of_front_end(), self.includes(0, wanted));
        let found = anymetal_msl::check_source(&source.name, &source.bytes, &options, &mut includes);
        Ok(Answer::Diagnostics(WireDiagnostics::of(&found)))
    }

    fn includes(&self, number: usize, wanted: &WireLibrary) -> HostIncludes<'a> {
        HostIncludes {
            channel: self.channel,
            included: self.included,
            library: number,
            searched: wanted.searched.clone(),
            seen: KeyBuilder::new("isolated").field(&wanted.key),
        }
    }

    fn parse(&self, number: usize, wanted: &WireLibrary, blob: &[u8]) -> Result<Library, CompileError> {
        let source = wanted.source.source(blob)?;
        let mut includes = self.includes(number, wanted);
        self.compiler.library_with(source, &mut includes, |includes| {
            // Two parses have one key if they saw the same files.
            std::mem::replace(&mut includes.seen, KeyBuilder::new("")).finish()
        })
    }
}

/// Included files, which the host opens.
struct HostIncludes<'a> {
    channel: &'a Channel,
    included: &'a Mutex<Receiver<Frame>>,
    library: usize,
    searched: Vec<String>,
    /// All questions and answers.
    seen: KeyBuilder,
}

impl HostIncludes<'_> {
    fn ask(&self, include: &Include) -> Result<(Included, Vec<u8>), IsolationError> {
        let frame = Kind::Include.frame(include, Vec::new())?;
        let gone = |_| IsolationError::malformed("the host has ended");
        self.channel.send(&frame).map_err(gone)?;
        let included = self.included.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = included.recv().map_err(|_| IsolationError::malformed("the host has ended"))?;
        Ok((Kind::Included.read(&answer)?, answer.blob))
    }
}

impl IncludeLoader for HostIncludes<'_> {
    fn load(&mut self, name: &str, angled: bool, from: &str) -> Result<IncludedFile, NotLoaded> {
        let include = Include { library: self.library, name: name.to_owned(), angled, from: from.to_owned() };
        let (included, text) =
            self.ask(&include).unwrap_or_else(|error| panic!("no answer about `{name}`: {error}"));
        let seen = std::mem::replace(&mut self.seen, KeyBuilder::new(""));
        let seen = seen.field(name).number(angled.into()).field(from).field(&text);
        let (seen, loaded) = match included {
            Included::File { name } => {
                let text = String::from_utf8_lossy(&text).into_owned();
                (seen.field("file").field(&name), Ok(IncludedFile { name, text }))
            }
            Included::Missing => (seen.field("missing"), Err(NotLoaded::Missing)),
            Included::OutsideRoots { path } => (seen.field("outside"), Err(NotLoaded::OutsideRoots { path })),
            Included::Unreadable { path, reason } => {
                (seen.field("unreadable"), Err(NotLoaded::Unreadable { path, reason }))
            }
        };
        self.seen = seen;
        loaded
    }

    fn searched(&self) -> Vec<String> {
        self.searched.clone()
    }
}

fn of_library(library: &Library, ask: Ask, blob: &mut Vec<u8>) -> Result<Answer, CompileError> {
    Ok(match ask {
        Ask::Parse => Answer::Manifest {
            kernels: library.kernel_names().to_vec(),
            visible_functions: library.visible_functions().to_vec(),
            graphics_functions: library.graphics_functions().to_vec(),
            warnings: library.warnings().to_owned(),
        },
        Ask::Warnings { kernel } => Answer::Text(library.kernel_warnings(&kernel)?),
        Ask::Reflect { kernel } => Answer::Kernel(Box::new(library.reflect(&kernel)?)),
        Ask::Layout { kernel, index, path } => {
            let layout = library.argument_layout(&kernel, index, &path)?;
            Answer::Layout(layout.as_ref().map(WireLayout::from))
        }
        Ask::FunctionType { name } => Answer::Text(library.function_key(&name)?),
        Ask::Artifact { kernel, specialisation, target, wanted } => {
            let target = with_code(target)?;
            let artifact = match wanted {
                Wanted::Code => library.artifact(&kernel, &specialisation, target)?,
                Wanted::Description => library.description(&kernel, &specialisation, target)?,
            };
            encoded(&artifact, blob)?
        }
        Ask::Module { kernel, specialisation, stage } => {
            module_of(library, &kernel, &specialisation, stage, blob)?
        }
        Ask::Emit { kernel, specialisation, emit } => {
            Answer::Text(library.emit(&kernel, &specialisation, emit)?)
        }
        Ask::PrintAfter { kernel, specialisation, target, passes } => {
            Answer::Text(library.print_after(&kernel, &specialisation, target, &passes)?)
        }
        Ask::Remarks { kernel, specialisation } => {
            Answer::Remarks(library.remarks(&kernel, &specialisation)?)
        }
        Ask::Family { kernel, specialisation, family } => {
            match library.check_family(&kernel, &specialisation, family) {
                Ok(()) => Answer::Family(None),
                Err(CompileError::Family(refusal)) => Answer::Family(Some(*refusal)),
                Err(other) => return Err(other),
            }
        }
        Ask::Sources => Answer::Sources(library.own_sources()?),
        Ask::Check => {
            library.check()?;
            Answer::Checked
        }
        Ask::MetalSource { kernel, specialisation } => {
            let source = library.metal_source(&kernel, &specialisation)?;
            blob.extend_from_slice(source.text.as_bytes());
            Answer::MetalSource(source.options)
        }
        Ask::Fusion { .. } => return Err(IsolationError::malformed("a fusion of one library").into()),
        Ask::CheckSource => return Err(IsolationError::malformed("a check of several sources").into()),
    })
}

/// Targets whose artifacts have bytes. Without libLLVM the host interprets, not the worker.
fn with_code(target: Target) -> Result<Target, CompileError> {
    match target {
        Target::Cpu | Target::CpuLlvm => Ok(Target::CpuLlvm),
        Target::Nvidia { .. } | Target::Metal => Ok(target),
        Target::Interpreter => {
            Err(IsolationError::malformed("the interpreter's artifact has no bytes").into())
        }
    }
}

fn encoded(artifact: &Artifact, blob: &mut Vec<u8>) -> Result<Answer, CompileError> {
    *blob = encoding::encode(artifact)
        .map_err(|error| CompileError::internal("cache", format!("an artifact without bytes: {error}")))?;
    Ok(Answer::Artifact)
}

fn module_of(
    library: &Library,
    kernel: &str,
    specialisation: &Specialisation,
    stage: ModuleStage,
    blob: &mut Vec<u8>,
) -> Result<Answer, CompileError> {
    let prepared = match stage {
        ModuleStage::Prepared => library.prepared(kernel, specialisation)?,
        ModuleStage::Inlined => library.prepared_inlined(kernel, specialisation)?,
        ModuleStage::Sanitizer => {
            let module = library.module_for_sanitizer(kernel, specialisation)?;
            Arc::new(Prepared::of_module(module, specialisation.passes.clone()))
        }
    };
    Ok(module_answer(&prepared, blob))
}

fn module_answer(prepared: &Prepared, blob: &mut Vec<u8>) -> Answer {
    let (text, positions) = module::write(&prepared.module);
    *blob = text.into_bytes();
    Answer::Module {
        constants: prepared.constants.clone(),
        depends_on_group_size: prepared.depends_on_group_size,
        passes: prepared.passes.clone(),
        positions,
    }
}

fn fusion(
    libraries: &[Library],
    parts: &[WirePart],
    bytes: &[u8],
    (group_size, threads): (Option<[u32; 3]>, Option<[u32; 3]>),
    of: OfFusion,
    blob: &mut Vec<u8>,
) -> Result<Answer, CompileError> {
    let mut bound: Vec<Vec<(u32, &[u8])>> = Vec::new();
    for part in parts {
        let of_part = part.bytes.iter().map(|(index, given)| Ok((*index, given.of(bytes)?)));
        bound.push(of_part.collect::<Result<_, IsolationError>>()?);
    }
    let mut fused = Vec::new();
    for (part, bytes) in parts.iter().zip(&bound) {
        let library = libraries.get(part.library);
        fused.push(FusionPart {
            library: library.ok_or_else(|| IsolationError::malformed("a library that is not there"))?,
            kernel: &part.kernel,
            specialisation: &part.specialisation,
            places: &part.places,
            bytes,
        });
    }
    let fusion = Fusion::new(fused, group_size, threads);
    let fusion = fusion.ok_or_else(|| IsolationError::malformed("kernels that are not fused"))?;
    Ok(match of {
        OfFusion::Verdict => Answer::Refusal(fusion.module(threads)?.err()),
        OfFusion::Module => module_answer(&*artifacts::Subject::prepared(&fusion)?, blob),
        OfFusion::Artifact { target, wanted } => {
            let target = with_code(target)?;
            let artifact = match wanted {
                Wanted::Code => artifacts::artifact(&fusion, target)?,
                Wanted::Description => artifacts::described(&fusion, target)?,
            };
            encoded(&artifact, blob)?
        }
    })
}
