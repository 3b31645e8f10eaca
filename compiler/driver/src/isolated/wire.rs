//! The messages between a compiler and its workers.
//!
//! A message is JSON, and bytes that it refers to by [`Bytes`]. Invariant: what comes from a worker is
//! checked where it is turned into values of this process; nothing in it makes that panic.

use anymetal_diagnostics::WarningOptions;
use anymetal_hal::artifact::{FunctionConstantInfo, KernelInfo};
use anymetal_hal::metal_source::MetalOptions;
use anymetal_isolate::{Frame, IsolationError};
use anymetal_msl::hir::{ArgumentLayout, ArgumentMember, ArgumentMemberKind};
use anymetal_msl::pp::{Definition, NotLoaded};
use anymetal_msl::token::MathMode;
use anymetal_opt::PassOptions;
use anymetal_types::family::{Family, FamilyRefusal};
use serde::{Deserialize, Serialize};

use super::module::Positions;
use super::wire_error::WireDiagnostics;
use crate::constants::{ConstantKey, ConstantValue};
use crate::error::CompileError;
use crate::graphics::GraphicsFunction;
use crate::library::{Emit, KernelRemark, MarkedFile, PrintAfter, Specialisation, Target};
use crate::source::{Source, SourceOptions};

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Host to worker: a [`Request`].
    Request = 1,
    /// Worker to host: an [`Answer`].
    Answer = 2,
    /// Worker to host: an [`Include`].
    Include = 3,
    /// Host to worker: an [`Included`].
    Included = 4,
}

impl Kind {
    /// The frame of a message.
    pub(super) fn frame(self, message: &impl Serialize, blob: Vec<u8>) -> Result<Frame, IsolationError> {
        let header = serde_json::to_vec(message);
        let header =
            header.map_err(|error| IsolationError::malformed(format!("it cannot be written: {error}")))?;
        Ok(Frame { kind: self as u8, header, blob })
    }

    /// The message of a frame, which must be of this kind.
    pub(super) fn read<'f, T: Deserialize<'f>>(self, frame: &'f Frame) -> Result<T, IsolationError> {
        if frame.kind != self as u8 {
            return Err(IsolationError::malformed(format!("a message of kind {}", frame.kind)));
        }
        serde_json::from_slice(&frame.header).map_err(|error| IsolationError::malformed(error.to_string()))
    }
}

/// A part of the bytes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bytes {
    from: usize,
    len: usize,
}

impl Bytes {
    /// Appends bytes to those of a message.
    pub(super) fn append(blob: &mut Vec<u8>, bytes: &[u8]) -> Self {
        let from = blob.len();
        blob.extend_from_slice(bytes);
        Self { from, len: bytes.len() }
    }

    /// These bytes.
    pub(super) fn of(self, blob: &[u8]) -> Result<&[u8], IsolationError> {
        let end = self.from.checked_add(self.len);
        let bytes = end.and_then(|end| blob.get(self.from..end));
        bytes.ok_or_else(|| IsolationError::malformed("it refers to bytes that it does not have"))
    }
}

/// A request.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// The libraries that it is about; one comes after those whose functions it links.
    pub(super) libraries: Vec<WireLibrary>,
    pub(super) ask: Ask,
}

/// A library, by its source.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireLibrary {
    /// The same for the same parse of the same source; a worker that has parsed it does not again.
    pub(super) token: u64,
    /// The source's key.
    pub(super) key: String,
    pub(super) source: WireSource,
    /// The folders that are searched for files.
    pub(super) searched: Vec<String>,
    pub(super) linked: Vec<WireLinked>,
}

/// A source without its folders: the host finds included files.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireSource {
    name: String,
    text: Bytes,
    /// `-D` is true, `-U` is false.
    definitions: Vec<(bool, String)>,
    /// 0, 1, 2: safe, relaxed, fast.
    math: u8,
    language_version: u32,
    logging: bool,
    /// What follows `-W`, and whether there is `-w`.
    warnings: (Vec<String>, bool, usize),
}

impl WireSource {
    pub(super) fn of(source: &Source, blob: &mut Vec<u8>) -> Self {
        let options = &source.options;
        let definition = |definition: &Definition| match definition {
            Definition::Define(text) => (true, text.clone()),
            Definition::Undefine(name) => (false, name.clone()),
        };
        Self {
            name: source.name.clone(),
            text: Bytes::append(blob, &source.bytes),
            definitions: options.definitions.iter().map(definition).collect(),
            math: match options.math_mode {
                MathMode::Safe => 0,
                MathMode::Relaxed => 1,
                MathMode::Fast => 2,
            },
            language_version: options.language_version,
            logging: options.logging,
            warnings: (options.warnings.flags.clone(), options.warnings.silent, options.warnings.error_limit),
        }
    }

    pub(super) fn source(&self, blob: &[u8]) -> Result<Source, IsolationError> {
        let definition = |(define, text): &(bool, String)| match define {
            true => Definition::Define(text.clone()),
            false => Definition::Undefine(text.clone()),
        };
        let options = SourceOptions {
            definitions: self.definitions.iter().map(definition).collect(),
            include_folders: Vec::new(),
            math_mode: match self.math {
                0 => MathMode::Safe,
                1 => MathMode::Relaxed,
                2 => MathMode::Fast,
                other => return Err(IsolationError::malformed(format!("math mode {other}"))),
            },
            language_version: self.language_version,
            logging: self.logging,
            warnings: WarningOptions {
                flags: self.warnings.0.clone(),
                silent: self.warnings.1,
                error_limit: self.warnings.2,
            },
        };
        Ok(Source::from_text(self.name.clone(), self.text.of(blob)?, options))
    }
}

/// A linked function.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireLinked {
    /// The number of its library in the request.
    pub(super) library: usize,
    pub(super) name: String,
    pub(super) alias: Option<String>,
    pub(super) constants: Vec<(ConstantKey, ConstantValue)>,
    pub(super) is_private: bool,
}

/// What a request is for, of the last library or of the fused ones.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// [`Answer::Manifest`].
    Parse,
    /// [`Answer::Text`].
    Warnings { kernel: String },
    /// [`Answer::Kernel`].
    Reflect { kernel: String },
    /// [`Answer::Layout`].
    Layout { kernel: String, index: u32, path: Vec<u32> },
    /// [`Answer::Text`].
    FunctionType { name: String },
    /// [`Answer::Artifact`].
    Artifact { kernel: String, specialisation: Specialisation, target: Target, wanted: Wanted },
    /// [`Answer::Module`].
    Module { kernel: String, specialisation: Specialisation, stage: ModuleStage },
    /// [`Answer::Text`].
    Emit { kernel: String, specialisation: Specialisation, emit: Emit },
    /// [`Answer::Text`].
    PrintAfter { kernel: String, specialisation: Specialisation, target: Target, passes: PrintAfter },
    /// [`Answer::Remarks`].
    Remarks { kernel: String, specialisation: Specialisation },
    /// [`Answer::Family`].
    Family { kernel: String, specialisation: Specialisation, family: Family },
    /// [`Answer::Sources`].
    Sources,
    /// [`Answer::Checked`].
    Check,
    /// [`Answer::Diagnostics`], of a source that is not parsed as a library.
    CheckSource,
    /// [`Answer::MetalSource`].
    MetalSource { kernel: String, specialisation: Specialisation },
    /// Of what is asked.
    Fusion { parts: Vec<WirePart>, group_size: Option<[u32; 3]>, threads: Option<[u32; 3]>, of: OfFusion },
}

/// Whether code is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Wanted {
    Code,
    Description,
}

/// The stage of a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ModuleStage {
    /// Prepared; large kernels have calls.
    Prepared,
    /// Prepared without calls.
    Inlined,
    /// For the sanitizer.
    Sanitizer,
}

/// What is asked of fused kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum OfFusion {
    /// [`Answer::Refusal`].
    Verdict,
    /// [`Answer::Module`].
    Module,
    /// [`Answer::Artifact`].
    Artifact { target: Target, wanted: Wanted },
}

/// A kernel to be fused.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WirePart {
    /// The number of its library in the request.
    pub(super) library: usize,
    pub(super) kernel: KernelInfo,
    pub(super) specialisation: Specialisation,
    pub(super) places: Vec<(u32, u32)>,
    pub(super) bytes: Vec<(u32, Bytes)>,
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Failed(CompileError),
    Manifest {
        kernels: Vec<String>,
        visible_functions: Vec<String>,
        graphics_functions: Vec<GraphicsFunction>,
        warnings: String,
    },
    Text(String),
    Remarks(Vec<KernelRemark>),
    Kernel(Box<KernelInfo>),
    Layout(Option<WireLayout>),
    /// Encoded in the bytes.
    Artifact,
    /// Its text in the bytes.
    Module {
        constants: Vec<FunctionConstantInfo>,
        depends_on_group_size: bool,
        /// The passes that are left for the target.
        passes: PassOptions,
        positions: Option<Positions>,
    },
    Family(Option<FamilyRefusal>),
    Sources(Vec<MarkedFile>),
    Checked,
    Diagnostics(WireDiagnostics),
    /// The text in the bytes.
    MetalSource(MetalOptions),
    Refusal(Option<String>),
}

/// A look-up of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Include {
    /// The number of the library in the request.
    pub(super) library: usize,
    pub(super) name: String,
    pub(super) angled: bool,
    pub(super) from: String,
}

/// The result of a look-up.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Included {
    /// The text is in the bytes.
    File {
        name: String,
    },
    Missing,
    OutsideRoots {
        path: String,
    },
    Unreadable {
        path: String,
        reason: String,
    },
}

impl Included {
    pub(super) fn not_loaded(error: NotLoaded) -> Self {
        match error {
            NotLoaded::Missing => Self::Missing,
            NotLoaded::OutsideRoots { path } => Self::OutsideRoots { path },
            NotLoaded::Unreadable { path, reason } => Self::Unreadable { path, reason },
        }
    }
}

/// An [`ArgumentLayout`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireLayout {
    size: u64,
    align: u32,
    /// Number, offset, size and kind of each.
    members: Vec<(u32, u64, u64, WireMember)>,
}

/// An [`ArgumentMemberKind`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum WireMember {
    Pointer,
    Constant,
    Texture,
    Sampler,
    IndirectCommandBuffer,
    ComputePipeline,
}

impl From<&ArgumentLayout> for WireLayout {
    fn from(layout: &ArgumentLayout) -> Self {
        let member = |member: &ArgumentMember| {
            let kind = match member.kind {
                ArgumentMemberKind::Pointer => WireMember::Pointer,
                ArgumentMemberKind::Constant => WireMember::Constant,
                ArgumentMemberKind::Texture => WireMember::Texture,
                ArgumentMemberKind::Sampler => WireMember::Sampler,
                ArgumentMemberKind::IndirectCommandBuffer => WireMember::IndirectCommandBuffer,
                ArgumentMemberKind::ComputePipeline => WireMember::ComputePipeline,
            };
            (member.id, member.offset, member.size, kind)
        };
        Self { size: layout.size, align: layout.align, members: layout.members.iter().map(member).collect() }
    }
}

impl From<WireLayout> for ArgumentLayout {
    fn from(layout: WireLayout) -> Self {
        let member = |(id, offset, size, kind)| {
            let kind = match kind {
                WireMember::Pointer => ArgumentMemberKind::Pointer,
                WireMember::Constant => ArgumentMemberKind::Constant,
                WireMember::Texture => ArgumentMemberKind::Texture,
                WireMember::Sampler => ArgumentMemberKind::Sampler,
                WireMember::IndirectCommandBuffer => ArgumentMemberKind::IndirectCommandBuffer,
                WireMember::ComputePipeline => ArgumentMemberKind::ComputePipeline,
            };
            ArgumentMember::new(id, offset, size, kind)
        };
        Self::new(layout.size, layout.align, layout.members.into_iter().map(member).collect())
    }
}
