//! The thin layer between this crate and the compiler.
//!
//! Owns [`CompiledLibrary`], the only place that calls `anymetal_driver`. Invariant: everything else in the
//! crate sees artifacts, names, reflection and rendered diagnostics.

use std::path::Path;
use std::sync::Arc;

use anymetal_driver::analyze::{KernelAnalysis, Options, SizeChoice, SizeRequest};
use anymetal_driver::{
    ArgumentLayout, CompileError, Compiler, Definition, Doubles, FunctionNumber, Fusion, FusionPart,
    GraphicsFunction, LinkedFunction, MathMode as CompilerMathMode, Source, SourceOptions, Specialisation,
    Target, Translated, TranslationOptions,
};
use anymetal_hal::artifact::{Artifact, KernelInfo};
use anymetal_hal::error::DeviceError;
use anymetal_hal::stage_input::{StageInputDescriptor, check_described};
use anymetal_types::family::Family;
use anymetal_types::scalar_value::Scalar;

use crate::constants::FunctionConstants;
use crate::error::Error;
use crate::executor::Executor;
use crate::functions::LinkedFunctions;
use crate::library::{CheckMode, CompileOptions, MathMode};
use crate::notice::{self, NoticeKind, pass_on_compiler_notes};
use crate::pipeline::Grids;
use crate::sanitized::SanitizedLibrary;

/// The threadgroup memory that accesses are bounded by with [`CheckMode::Pages`]: about that of a core of
/// Apple's GPUs, of which a threadgroup may have half.
const THREADGROUP_MEMORY_BYTES: u64 = 64 << 10;

/// What needs the source of a library, in messages.
const VISIBLE_FUNCTIONS: &str = "visible functions";
const ANALYSES: &str = "analyses of kernels";

/// A source whose kernels are compiled on demand, or ready code.
#[derive(Debug, Clone)]
pub(crate) enum CompiledLibrary {
    Source { library: anymetal_driver::Library, code: Specialisation, target: Target, family: Option<Family> },
    Sanitized(Arc<SanitizedLibrary>),
    Artifact { artifact: Arc<Artifact>, require_machine_code: bool },
}

/// A source as MSL, if it is in OpenCL C or CUDA C++.
fn translated(source: Source, options: &CompileOptions) -> Result<Source, Error> {
    let doubles = if options.doubles_as_floats { Doubles::Float } else { Doubles::Refuse };
    let translation = TranslationOptions { doubles, kernels: options.instantiations.clone() };
    let Translated { source, warnings } = source.translated(&translation)?;
    for warning in &warnings.list {
        let place = warnings.map.location(warning.span);
        let place = place.map(|(file, at)| format!("{file}:{}:{}: ", at.line, at.column)).unwrap_or_default();
        notice::emit(NoticeKind::Translation, format!("{place}{}", warning.message));
    }
    Ok(source)
}

/// What is known of a kernel before there is code for it.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) kernel: KernelInfo,
    pub(crate) executor: Executor,
    /// The hash of source, options, constants and target.
    pub(crate) fingerprint: String,
}

impl CompiledLibrary {
    pub(crate) fn from_source(text: &str, options: &CompileOptions, device: Target) -> Result<Self, Error> {
        Self::new(Source::from_text(&options.file_name, text, source_options(options)), options, device)
    }

    pub(crate) fn from_file(path: &Path, options: &CompileOptions, device: Target) -> Result<Self, Error> {
        let bytes = anymetal_files::read(path, anymetal_files::MAX_SOURCE_BYTES)
            .map_err(|error| Error::UnreadableFile { path: path.to_owned(), reason: error.reason() })?;
        Self::new(Source::from_file(path, bytes, source_options(options)), options, device)
    }

    pub(crate) fn from_artifact(artifact: Arc<Artifact>, require_machine_code: bool) -> Self {
        CompiledLibrary::Artifact { artifact, require_machine_code }
    }

    fn new(source: Source, options: &CompileOptions, device: Target) -> Result<Self, Error> {
        let source = translated(source, options)?;
        let library = Compiler::global().library_for(source, Some(target(options, device)));
        pass_on_compiler_notes();
        Ok(Self::from_parsed(library?, options, device))
    }

    /// The kernels of a source that is parsed.
    pub(crate) fn from_parsed(
        library: anymetal_driver::Library,
        options: &CompileOptions,
        device: Target,
    ) -> Self {
        if options.check_mode == CheckMode::Sanitize {
            return CompiledLibrary::Sanitized(Arc::new(SanitizedLibrary::new(library, options)));
        }
        let code = code_options(options);
        CompiledLibrary::Source { library, code, target: target(options, device), family: options.family }
    }

    pub(crate) fn kernel_names(&self) -> Vec<String> {
        match self {
            CompiledLibrary::Source { library, .. } => library.kernel_names().to_vec(),
            CompiledLibrary::Sanitized(sanitized) => sanitized.library().kernel_names().to_vec(),
            CompiledLibrary::Artifact { artifact, .. } => {
                artifact.kernel_names().map(str::to_owned).collect()
            }
        }
    }

    /// The compiler's library, of one that has its source, which `what` needs.
    fn of_source(&self, what: &str) -> Result<&anymetal_driver::Library, Error> {
        match self {
            CompiledLibrary::Source { library, .. } => Ok(library),
            CompiledLibrary::Sanitized(sanitized) => Ok(sanitized.library()),
            CompiledLibrary::Artifact { .. } => Err(Error::Device(DeviceError::Unsupported {
                device: "the library".to_owned(),
                what: format!("{what} without their source"),
                alternative: "make the library from its source".to_owned(),
            })),
        }
    }

    pub(crate) fn analyze(
        &self,
        kernel: &str,
        constants: &FunctionConstants,
        options: &Options,
    ) -> Result<KernelAnalysis, Error> {
        let library = self.of_source(ANALYSES)?;
        Ok(library.analyze(kernel, &specialisation(constants, &Specialisation::default()), options)?)
    }

    pub(crate) fn choose_size(
        &self,
        kernel: &str,
        constants: &FunctionConstants,
        request: &SizeRequest<'_>,
    ) -> Result<SizeChoice, Error> {
        let library = self.of_source(ANALYSES)?;
        Ok(library.choose_size(kernel, &specialisation(constants, &Specialisation::default()), request)?)
    }

    /// The visible functions with a definition, in source order.
    pub(crate) fn visible_functions(&self) -> Result<Vec<String>, Error> {
        Ok(self.of_source(VISIBLE_FUNCTIONS)?.visible_functions().to_vec())
    }

    /// The graphics functions with a definition, in source order.
    pub(crate) fn graphics_functions(&self) -> Result<Vec<GraphicsFunction>, Error> {
        Ok(self.of_source("graphics functions")?.graphics_functions().to_vec())
    }

    /// Checks the whole source; ready code has been checked.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self {
            CompiledLibrary::Source { .. } | CompiledLibrary::Sanitized(_) => {
                Ok(self.of_source(VISIBLE_FUNCTIONS)?.check()?)
            }
            CompiledLibrary::Artifact { .. } => Ok(()),
        }
    }

    /// The type of a visible function, in MSL.
    pub(crate) fn function_type(&self, name: &str) -> Result<String, Error> {
        Ok(self.of_source(VISIBLE_FUNCTIONS)?.function_type(name)?)
    }

    /// The functions that tables of its pipelines may have.
    pub(crate) fn functions(&self) -> Result<Vec<FunctionNumber>, Error> {
        Ok(self.of_source(VISIBLE_FUNCTIONS)?.function_numbers())
    }

    /// The same with functions of other libraries.
    pub(crate) fn linked_with(self, kernel: &str, functions: &LinkedFunctions) -> Result<Self, Error> {
        if functions.is_empty() {
            return Ok(self);
        }
        let mut list = Vec::new();
        for linked in functions.iter() {
            list.push(LinkedFunction {
                library: linked.compiled.of_source(VISIBLE_FUNCTIONS)?.clone(),
                name: linked.name.clone(),
                alias: linked.alias.clone(),
                constants: linked.constants.values().to_vec(),
                is_private: linked.is_private,
            });
        }
        if let CompiledLibrary::Source { target: Target::Metal, .. } = &self {
            return Err(Error::Device(DeviceError::Unsupported {
                device: "an Apple GPU".to_owned(),
                what: format!("linked functions of kernel `{kernel}`"),
                alternative: "include the functions' source".to_owned(),
            }));
        }
        let library = self.of_source(VISIBLE_FUNCTIONS)?.linked_with(list)?;
        Ok(match self {
            CompiledLibrary::Source { code, target, family, .. } => {
                CompiledLibrary::Source { library, code, target, family }
            }
            CompiledLibrary::Sanitized(sanitized) => {
                CompiledLibrary::Sanitized(Arc::new(sanitized.with_library(library)))
            }
            other @ CompiledLibrary::Artifact { .. } => other,
        })
    }

    /// The constants of a pipeline with those that say where its stage-in data are.
    ///
    /// # Errors
    /// A description that does not fit the kernel, or none of a kernel with such data. On Apple GPUs no
    /// description is passed on.
    pub(crate) fn with_stage_input(
        &self,
        kernel: &str,
        constants: FunctionConstants,
        descriptor: Option<&StageInputDescriptor>,
    ) -> Result<FunctionConstants, Error> {
        let Some(descriptor) = descriptor else { return Ok(constants) };
        if let CompiledLibrary::Source { target: Target::Metal, .. } = self {
            return Err(Error::Device(DeviceError::Unsupported {
                device: "an Apple GPU".to_owned(),
                what: format!("stage-in data of kernel `{kernel}`"),
                alternative: "read the buffers in the kernel".to_owned(),
            }));
        }
        let values = descriptor.constants(&self.reflect(kernel)?)?;
        let add = |constants: FunctionConstants, (index, value): (u32, u64)| {
            constants.with(index, Scalar::Integer(value.into()))
        };
        Ok(values.into_iter().fold(constants, add))
    }

    pub(crate) fn warnings(&self) -> &str {
        match self {
            CompiledLibrary::Source { library, .. } => library.warnings(),
            CompiledLibrary::Sanitized(sanitized) => sanitized.library().warnings(),
            CompiledLibrary::Artifact { .. } => "",
        }
    }

    pub(crate) fn reflect(&self, kernel: &str) -> Result<KernelInfo, Error> {
        match self {
            CompiledLibrary::Source { library, .. } => Ok(library.reflect(kernel)?),
            CompiledLibrary::Sanitized(sanitized) => Ok(sanitized.library().reflect(kernel)?),
            CompiledLibrary::Artifact { artifact, .. } => info_of(artifact, kernel),
        }
    }

    pub(crate) fn argument_layout(
        &self,
        kernel: &str,
        index: u32,
        path: &[u32],
    ) -> Result<Option<ArgumentLayout>, Error> {
        match self {
            CompiledLibrary::Source { library, .. } => Ok(library.argument_layout(kernel, index, path)?),
            CompiledLibrary::Sanitized(sanitized) => {
                Ok(sanitized.library().argument_layout(kernel, index, path)?)
            }
            CompiledLibrary::Artifact { .. } => Err(Error::Device(DeviceError::Unsupported {
                device: "the library".to_owned(),
                what: "the layout of argument buffers without their source".to_owned(),
                alternative: "make the library from its source".to_owned(),
            })),
        }
    }

    /// What the kernel's code for any threadgroup size tells of it, with all errors of its source, and what
    /// it runs as; most of the work of compiling is not done yet.
    pub(crate) fn describe(&self, kernel: &str, constants: &FunctionConstants) -> Result<Description, Error> {
        if let CompiledLibrary::Source { library, code, family: Some(family), .. } = self {
            library.check_family(kernel, &specialisation(constants, code), *family)?;
        }
        let (artifact, executor) = match self {
            CompiledLibrary::Sanitized(sanitized) => {
                (sanitized.artifact(kernel, constants)?, Executor::sanitizer())
            }
            CompiledLibrary::Source { library, code, target, .. } => {
                let artifact = library.description(kernel, &specialisation(constants, code), *target);
                let artifact = made(kernel, artifact)?;
                let executor = Executor::of_code(&artifact);
                (artifact, executor)
            }
            CompiledLibrary::Artifact { artifact, .. } => (Arc::clone(artifact), Executor::of_code(artifact)),
        };
        let (kernel_info, fingerprint) = (info_of(&artifact, kernel)?, artifact.fingerprint.clone());
        match (self, &executor) {
            (
                CompiledLibrary::Artifact { require_machine_code: true, .. },
                Executor::Interpreter { reason },
            ) => {
                let (kernel, reason) = (kernel.to_owned(), reason.to_string());
                Err(Error::NoMachineCode { kernel, reason })
            }
            _ => {
                check_described(&kernel_info)?;
                Ok(Description { kernel: kernel_info, executor, fingerprint })
            }
        }
    }

    /// Whether code for one threadgroup size can be made.
    pub(crate) fn can_specialise(&self) -> bool {
        match self {
            CompiledLibrary::Source { target, .. } => *target != Target::Metal,
            CompiledLibrary::Sanitized(_) | CompiledLibrary::Artifact { .. } => false,
        }
    }

    /// The kernel's code, for any threadgroup size or for one, perhaps for grids without an edge only.
    pub(crate) fn artifact(
        &self,
        kernel: &str,
        constants: &FunctionConstants,
        group_size: Option<[u32; 3]>,
        grids: Grids,
    ) -> Result<Arc<Artifact>, Error> {
        match self {
            CompiledLibrary::Sanitized(sanitized) => sanitized.artifact(kernel, constants),
            CompiledLibrary::Source { library, code, target, .. } => {
                let specialisation = Specialisation {
                    group_size,
                    whole_threadgroups_only: grids.whole_only,
                    keeps_threadgroups: grids.narrow,
                    ..specialisation(constants, code)
                };
                made(kernel, library.artifact(kernel, &specialisation, *target))
            }
            CompiledLibrary::Artifact { artifact, .. } => match constants.iter().next() {
                None => Ok(Arc::clone(artifact)),
                Some((constant, _)) => Err(Error::FunctionConstant {
                    constant: constant.to_string(),
                    problem: format!("kernel `{kernel}` was compiled before, its constants are fixed"),
                }),
            },
        }
    }
}

/// The target of code for a device.
fn target(options: &CompileOptions, device: Target) -> Target {
    match (options.check_mode, options.require_machine_code, device) {
        (CheckMode::Sanitize, ..) => Target::Interpreter,
        (_, true, Target::Cpu) => Target::CpuLlvm,
        (.., device) => device,
    }
}

/// What the compiler made, its notes passed on.
pub(crate) fn made(
    kernel: &str,
    artifact: Result<Arc<Artifact>, CompileError>,
) -> Result<Arc<Artifact>, Error> {
    pass_on_compiler_notes();
    artifact.map_err(|error| match error {
        CompileError::NoLlvm(error) => {
            let reason = Compiler::why_interpreted().unwrap_or_else(|| error.to_string());
            Error::NoMachineCode { kernel: kernel.to_owned(), reason }
        }
        other => other.into(),
    })
}

fn info_of(artifact: &Artifact, kernel: &str) -> Result<KernelInfo, Error> {
    Ok(artifact.existing_kernel(kernel)?.clone())
}

/// A kernel launch to be fused with others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FusionInput<'a> {
    pub(crate) compiled: &'a CompiledLibrary,
    pub(crate) constants: &'a FunctionConstants,
    pub(crate) kernel: &'a KernelInfo,
    /// By Metal's index: the same number for the same bytes.
    pub(crate) places: &'a [(u32, u32)],
    /// By Metal's index: bytes that stay as they are.
    pub(crate) bytes: &'a [(u32, &'a [u8])],
    pub(crate) threads: [u32; 3],
    pub(crate) group_size: [u32; 3],
}

/// Why launches cannot be fused, if they cannot.
pub(crate) fn fusion_refusal(inputs: &[FusionInput<'_>]) -> Option<String> {
    let refusal = with_fusion(inputs, |fusion| fusion.refusal().map_err(|error| error.to_string()));
    refusal.unwrap_or_else(Some)
}

/// Code that stands for several launches and the name of its kernel. For each of its arguments: the index,
/// the launch, the index there.
pub(crate) fn fused(
    inputs: &[FusionInput<'_>],
) -> Result<(Arc<Artifact>, String, Vec<(u32, usize, u32)>), String> {
    let target = inputs.iter().find_map(|input| match input.compiled {
        CompiledLibrary::Source { target, .. } => Some(*target),
        _ => None,
    });
    let target = target.unwrap_or(Target::Cpu);
    with_fusion(inputs, |fusion| {
        let artifact = fusion.artifact(target).map_err(|error| error.to_string())?;
        let arguments = fusion.arguments().into_iter();
        let arguments = arguments.map(|argument| (argument.index, argument.part, argument.of_part));
        Ok((artifact, fusion.name(), arguments.collect()))
    })
}

fn with_fusion<T>(
    inputs: &[FusionInput<'_>],
    with: impl FnOnce(&Fusion<'_>) -> Result<T, String>,
) -> Result<T, String> {
    let apart = || "they are not compiled alike".to_owned();
    let of_source = inputs.iter().map(|input| match input.compiled {
        CompiledLibrary::Source { target: Target::Metal, .. } => None,
        // What is proved of the bytes that launches share counts from where they are bound.
        CompiledLibrary::Source { code: Specialisation { whole_buffers: true, .. }, .. } => None,
        CompiledLibrary::Source { library, code, .. } => {
            Some((library, specialisation(input.constants, code), input))
        }
        CompiledLibrary::Sanitized(_) | CompiledLibrary::Artifact { .. } => None,
    });
    let of_source: Vec<_> = of_source.collect::<Option<_>>().ok_or_else(apart)?;
    let parts = of_source.iter().map(|(library, specialisation, input)| FusionPart {
        library,
        kernel: input.kernel,
        specialisation,
        places: input.places,
        bytes: input.bytes,
    });
    let shape = inputs.first().map(|input| (input.group_size, input.threads));
    let (group_size, threads) = shape.unzip();
    with(&Fusion::new(parts.collect(), group_size, threads).ok_or_else(apart)?)
}

/// What the options say about a kernel's code.
pub(crate) fn code_options(options: &CompileOptions) -> Specialisation {
    let is_bounded_by_pages = options.check_mode == CheckMode::Pages;
    Specialisation {
        checks: options.check_mode != CheckMode::Off,
        threadgroup_reserve: if is_bounded_by_pages { THREADGROUP_MEMORY_BYTES } else { 0 },
        whole_buffers: options.whole_buffers,
        passes: options.passes.clone(),
        ..Specialisation::default()
    }
}

/// The code with values for function constants.
pub(crate) fn specialisation(constants: &FunctionConstants, code: &Specialisation) -> Specialisation {
    Specialisation { constants: constants.values().to_vec(), ..code.clone() }
}

fn source_options(options: &CompileOptions) -> SourceOptions {
    let define = |(name, value): &(String, Option<String>)| {
        Definition::Define(match value {
            Some(value) => format!("{name}={value}"),
            None => name.clone(),
        })
    };
    SourceOptions {
        definitions: options.defines.iter().map(define).collect(),
        include_folders: options.include_folders.clone(),
        math_mode: match options.math_mode {
            MathMode::Safe => CompilerMathMode::Safe,
            MathMode::Relaxed => CompilerMathMode::Relaxed,
            MathMode::Fast => CompilerMathMode::Fast,
        },
        language_version: options.language_version,
        logging: options.logging,
        ..SourceOptions::default()
    }
}
