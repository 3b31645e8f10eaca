//! The artifact: what a compiler hands to a device.
//!
//! Owns the plain data that describes compiled kernels (reflection, fault sites, needs) next to their code.
//! Invariant: an [`Artifact`] is complete by itself. A device can run it, validate a launch against it and
//! explain a fault in the user's words without a compiler in the process. Start at [`Artifact`].
//! The byte encoding for the disk cache is in [`crate::encoding`].

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use anymetal_abi::AccessKind;
pub use anymetal_abi::MAX_THREADS_PER_THREADGROUP;
use anymetal_abi::logging::LogSite;
pub use anymetal_types::scalar::ScalarType;

use crate::error::DeviceError;
use crate::launch::DispatchInterpreter;
use crate::metal_source::MetalSource;
use anymetal_types::setters;
use anymetal_types::texture::BindingRole;

/// Lanes of a SIMD-group on every device of ours, as on Apple GPUs.
pub const SIMD_WIDTH: u32 = 32;

/// One compilation result: code plus everything a device and a caller must know about it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Artifact {
    /// What the code was compiled for.
    pub target: ArtifactTarget,
    /// The code.
    pub code: ArtifactCode,
    /// The kernels in it, in source order.
    pub kernels: Vec<KernelInfo>,
    /// Every checked memory access; generated code names a fault by its index here.
    pub fault_sites: Vec<FaultSite>,
    /// The name under which caches keep this artifact: a hash of source, options, constants, compiler and
    /// target. Two artifacts with the same fingerprint behave alike.
    pub fingerprint: String,
}

impl Artifact {
    /// Code with its kernels, without checked accesses and without a fingerprint.
    pub fn new(target: ArtifactTarget, code: ArtifactCode, kernels: Vec<KernelInfo>) -> Self {
        Artifact { target, code, kernels, fault_sites: Vec::new(), fingerprint: String::new() }
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&KernelInfo> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// As [`Artifact::kernel`].
    ///
    /// # Errors
    /// [`DeviceError::UnknownKernel`], with the names that there are.
    pub fn existing_kernel(&self, name: &str) -> Result<&KernelInfo, DeviceError> {
        self.kernel(name).ok_or_else(|| DeviceError::UnknownKernel {
            name: name.to_owned(),
            existing: self.kernel_names().map(str::to_owned).collect(),
        })
    }

    /// The names of all kernels, in source order.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|kernel| kernel.name.as_str())
    }
}

setters!(Artifact {
    target: ArtifactTarget,
    code: ArtifactCode,
    kernels: Vec<KernelInfo>,
    fault_sites: Vec<FaultSite>,
} into { fingerprint: String });

/// What an artifact's code was compiled for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ArtifactTarget {
    /// Machine code for a CPU.
    Cpu {
        /// LLVM's target triple, such as `x86_64-unknown-linux-gnu`.
        triple: String,
        /// LLVM's CPU name, such as `znver5`.
        cpu: String,
        /// LLVM's feature string, such as `+avx2,+fma`; may be empty.
        features: String,
    },
    /// NVIDIA GPUs of an architecture and all later ones; their driver compiles the code for the card.
    Nvidia {
        /// The architecture: 80 for `sm_80`.
        sm: u32,
    },
    /// Apple GPUs: their device compiles the source itself.
    Metal,
    /// The interpreter, on any machine.
    Interpreter,
}

/// The code of an artifact.
#[derive(Clone)]
pub enum ArtifactCode {
    /// A relocatable ELF object. Each kernel's [`KernelInfo::symbol`] is a [`crate::launch::CpuEntry`].
    Object(Arc<[u8]>),
    /// PTX text. Each kernel's [`KernelInfo::symbol`] is an entry with the parameters of
    /// [`crate::launch::nvidia`].
    Ptx(Arc<str>),
    /// MSL text for the device's own compiler. Each kernel's [`KernelInfo::name`] is an entry point of it.
    Source(Arc<MetalSource>),
    /// No machine code: the compiler lends its interpreter.
    Interpreter(Arc<dyn DispatchInterpreter>),
}

impl fmt::Debug for ArtifactCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArtifactCode::Object(bytes) => write!(formatter, "Object({} bytes)", bytes.len()),
            ArtifactCode::Ptx(text) => write!(formatter, "Ptx({} bytes)", text.len()),
            ArtifactCode::Source(source) => write!(formatter, "Source({} bytes)", source.text.len()),
            ArtifactCode::Interpreter(_) => formatter.write_str("Interpreter"),
        }
    }
}

impl ArtifactCode {
    /// Bytes of the code or text; 0 for the interpreter, whose program is the compiler's.
    pub fn bytes(&self) -> u64 {
        let bytes = match self {
            ArtifactCode::Object(bytes) => bytes.len(),
            ArtifactCode::Ptx(text) => text.len(),
            ArtifactCode::Source(source) => source.text.len(),
            ArtifactCode::Interpreter(_) => 0,
        };
        bytes as u64
    }

    /// What kind of code it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            ArtifactCode::Object(_) => "an object of machine code for a CPU",
            ArtifactCode::Ptx(_) => "PTX for NVIDIA GPUs",
            ArtifactCode::Source(_) => "MSL source for a device that compiles it",
            ArtifactCode::Interpreter(_) => "a program for the interpreter",
        }
    }

    /// Bytes of the code; 0 for the interpreter, which has none.
    pub fn len(&self) -> usize {
        match self {
            ArtifactCode::Object(bytes) => bytes.len(),
            ArtifactCode::Ptx(text) => text.len(),
            ArtifactCode::Source(source) => source.text.len(),
            ArtifactCode::Interpreter(_) => 0,
        }
    }

    /// Whether there are no bytes, as in a description.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How a kernel is compiled, from the most to the least work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Effort {
    /// All versions of the code, optimised by LLVM.
    #[default]
    Full,
    /// One version for all threadgroups, without copies of code, optimised by LLVM.
    Baseline,
    /// The baseline's code, not optimised by LLVM.
    Unoptimised,
    /// Not at all: the interpreter runs the kernel.
    Interpreted,
}

impl Effort {
    /// Its name in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Effort::Full => "full",
            Effort::Baseline => "baseline",
            Effort::Unoptimised => "unoptimised",
            Effort::Interpreted => "interpreted",
        }
    }
}

/// A kernel that is past a compile budget and was compiled with less than the full effort.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReducedEffort {
    /// The step that was taken.
    pub effort: Effort,
    /// The source line that contributes the most code, as the end of a sentence; empty if it is not known.
    pub largest_line: String,
}

impl ReducedEffort {
    /// That step, and the source line as the end of a sentence.
    pub fn new(effort: Effort, largest_line: impl Into<String>) -> Self {
        ReducedEffort { effort, largest_line: largest_line.into() }
    }
}

impl fmt::Display for ReducedEffort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match self.effort {
            Effort::Full => "is compiled with all optimisations",
            Effort::Baseline => "is compiled as one version for all threadgroups, which is slower",
            Effort::Unoptimised => "is compiled without optimisations, which is several times slower",
            Effort::Interpreted => "runs in the interpreter, which is much slower",
        };
        write!(formatter, "its code is past a compile budget, so it {step}{}", self.largest_line)
    }
}

/// One kernel of an artifact: its reflection and its needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct KernelInfo {
    /// The name a program asks for: the function's name or its `[[host_name]]`.
    pub name: String,
    /// The symbol of its entry in the object; unused by the interpreter.
    pub symbol: String,
    /// Its arguments in source order, disabled ones included. Built-in inputs such as
    /// `[[thread_position_in_grid]]` are not arguments; they are in `thread_attributes`.
    pub arguments: Vec<ArgumentInfo>,
    /// The function constants it depends on.
    pub function_constants: Vec<FunctionConstantInfo>,
    /// Attributes of its thread-position inputs, such as `thread_position_in_grid`, in source order.
    pub thread_attributes: Vec<String>,
    /// Bytes of threadgroup memory that its static declarations need.
    pub threadgroup_static_bytes: u64,
    /// If not 0: the code may access that many bytes of a threadgroup's memory, and all that a launch
    /// has of it, through each of its variables and arguments there.
    pub threadgroup_reserve: u64,
    /// Scratch bytes that a worker needs whatever the group size.
    pub scratch_bytes: u64,
    /// Scratch bytes that a worker needs for each SIMD-group of a threadgroup, on top of `scratch_bytes`.
    pub scratch_bytes_per_simdgroup: u64,
    /// The most threads a threadgroup may have.
    pub max_threads_per_threadgroup: u32,
    /// The one group size that the kernel demands, if its source says so.
    pub required_threads_per_threadgroup: Option<[u32; 3]>,
    /// The one group size that this code was specialised for; other sizes need other code.
    pub specialised_group: Option<[u32; 3]>,
    /// This code runs whole threadgroups of that size only: grids with an edge need other code.
    pub whole_threadgroups_only: bool,
    /// The threadgroup size that the code is made for in truth: the kernel cannot tell, and the device runs
    /// its grids in threadgroups of that size whatever a launch's own. Faults are told in the launch's terms.
    #[serde(default)]
    pub executed_group: Option<[u32; 3]>,
    /// The axis, 0 to 2, along which neighbouring threads access neighbouring memory: threadgroups that a
    /// launch leaves to us have their rows along it.
    #[serde(default)]
    pub leading_axis: u8,
    /// It cannot tell how its grid is divided into threadgroups: any size gives the same result.
    #[serde(default)]
    pub threadgroup_agnostic: bool,
    /// It has barriers of the grid: it needs a cooperative launch.
    #[serde(default)]
    pub grid_barriers: bool,
    /// Its SIMD-groups may wait for each other, so its code runs them one by one, each on a stack of its own.
    #[serde(default)]
    pub independent_simdgroups: bool,
    /// It may follow pointers that memory holds: launches need a table of the resident buffers.
    #[serde(default)]
    pub loads_pointers: bool,
    /// Lanes per SIMD-group.
    pub simd_width: u32,
    /// The buffer arguments that nothing reads and that the whole grid stores all of, given enough threads.
    #[serde(default)]
    pub overwritten: Vec<Overwritten>,
    /// The messages that it may write to its log, by their number in records
    /// ([`anymetal_abi::logging`]).
    #[serde(default)]
    pub logs: Vec<LogSite>,
    /// The stage-in data that it takes, in source order. Their buffers are among the arguments once a
    /// pipeline's descriptor names them ([`crate::stage_input`]).
    #[serde(default)]
    pub stage_inputs: Vec<StageInputInfo>,
    /// Set if the kernel is past a compile budget, so that this code is slower than others'.
    #[serde(default)]
    pub reduced_effort: Option<ReducedEffort>,
}

setters!(KernelInfo {
    arguments: Vec<ArgumentInfo>,
    function_constants: Vec<FunctionConstantInfo>,
    thread_attributes: Vec<String>,
    threadgroup_static_bytes: u64,
    threadgroup_reserve: u64,
    scratch_bytes: u64,
    scratch_bytes_per_simdgroup: u64,
    max_threads_per_threadgroup: u32,
    required_threads_per_threadgroup: Option<[u32; 3]>,
    specialised_group: Option<[u32; 3]>,
    whole_threadgroups_only: bool,
    executed_group: Option<[u32; 3]>,
    leading_axis: u8,
    threadgroup_agnostic: bool,
    grid_barriers: bool,
    independent_simdgroups: bool,
    loads_pointers: bool,
    simd_width: u32,
    overwritten: Vec<Overwritten>,
    logs: Vec<LogSite>,
    stage_inputs: Vec<StageInputInfo>,
    reduced_effort: Option<ReducedEffort>,
} into { name: String, symbol: String });

/// A member of the structure that a kernel declares with `[[stage_in]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageInputInfo {
    /// The index of `[[attribute(index)]]`.
    pub attribute: u32,
    /// Its name in the source.
    pub name: String,
    /// Its type, a scalar or a vector.
    pub element: ElementType,
}

impl StageInputInfo {
    /// The member at `[[attribute(attribute)]]`, of that name and type.
    pub fn new(attribute: u32, name: impl Into<String>, element: ElementType) -> Self {
        StageInputInfo { attribute, name: name.into(), element }
    }

    /// Its type in MSL, such as `float4`.
    pub fn type_name(&self) -> String {
        match &self.element {
            ElementType::Scalar(scalar) => scalar.msl_name().to_owned(),
            ElementType::Vector(scalar, count) => format!("{}{count}", scalar.msl_name()),
            ElementType::Struct(name) => name.clone(),
            ElementType::Other => String::new(),
        }
    }
}

/// A buffer argument of which every thread of a grid stores its element, whatever happens, one element after
/// the other in the order of the threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Overwritten {
    /// Its Metal index.
    pub argument: u32,
    /// The bytes that a thread stores.
    pub bytes_per_thread: u64,
    /// The dimensions of the grid whose threads count: 1: along x; 2: along x and y, row by row.
    pub dimensions: u8,
}

impl Overwritten {
    /// The argument of that Metal index; every thread stores `bytes_per_thread` bytes.
    pub fn new(argument: u32, bytes_per_thread: u64, dimensions: u8) -> Self {
        Overwritten { argument, bytes_per_thread, dimensions }
    }

    /// The bytes from the start of its binding that a grid of that many threads stores. 0 where positions may
    /// not fit the kernel's arithmetic.
    pub fn bytes(&self, threads: [u64; 3]) -> u64 {
        let counted = threads.iter().take(self.dimensions.into());
        let count = counted.fold(1u64, |count, extent| count.saturating_mul(*extent));
        if count > i32::MAX as u64 { 0 } else { count.saturating_mul(self.bytes_per_thread) }
    }
}

impl ArgumentInfo {
    /// An enabled argument in the device address space (in the threadgroup address space if that is what it
    /// binds), whose element is one byte of no known type, and which the kernel may read and write.
    pub fn new(kind: ArgumentKind, index: u32, name: impl Into<String>) -> Self {
        let address_space = match kind {
            ArgumentKind::ThreadgroupMemory => AddressSpace::Threadgroup,
            ArgumentKind::Buffer | ArgumentKind::Texture | ArgumentKind::Sampler => AddressSpace::Device,
        };
        ArgumentInfo {
            index,
            name: name.into(),
            kind,
            address_space,
            type_name: String::new(),
            element: ElementType::Other,
            element_size: 1,
            element_align: 1,
            min_bytes: 0,
            is_reference: false,
            access: Access::ReadWrite,
            enabled: true,
            slot: 0,
            value_words: 0,
        }
    }

    /// Whether it is a table of visible functions.
    pub fn is_function_table(&self) -> bool {
        self.kind == ArgumentKind::Buffer && self.type_name.starts_with("visible_function_table<")
    }

    /// Whether it is a buffer that stage-in data are in, or may be ([`crate::stage_input`]); its name is none
    /// of a program's.
    pub fn is_stage_in(&self) -> bool {
        self.kind == ArgumentKind::Buffer && self.name.starts_with("(stage-in ")
    }

    /// What a buffer argument is bound for: memory of the program, or a part of a texture or sampler.
    pub fn role(&self) -> BindingRole {
        match self.kind {
            ArgumentKind::Buffer => BindingRole::of(self.index),
            ArgumentKind::ThreadgroupMemory | ArgumentKind::Texture | ArgumentKind::Sampler => {
                BindingRole::Buffer
            }
        }
    }
}

impl KernelInfo {
    /// The effort that its code was compiled with.
    pub fn effort(&self) -> Effort {
        self.reduced_effort.as_ref().map_or(Effort::Full, |reduced| reduced.effort)
    }

    /// A kernel without arguments, with the usual limits; a compiler fills in the rest.
    pub fn new(name: impl Into<String>, symbol: impl Into<String>) -> Self {
        KernelInfo {
            name: name.into(),
            symbol: symbol.into(),
            arguments: Vec::new(),
            function_constants: Vec::new(),
            thread_attributes: Vec::new(),
            threadgroup_static_bytes: 0,
            threadgroup_reserve: 0,
            scratch_bytes: 0,
            scratch_bytes_per_simdgroup: 0,
            max_threads_per_threadgroup: MAX_THREADS_PER_THREADGROUP,
            required_threads_per_threadgroup: None,
            specialised_group: None,
            whole_threadgroups_only: false,
            executed_group: None,
            leading_axis: 0,
            threadgroup_agnostic: false,
            grid_barriers: false,
            independent_simdgroups: false,
            loads_pointers: false,
            simd_width: SIMD_WIDTH,
            overwritten: Vec::new(),
            logs: Vec::new(),
            stage_inputs: Vec::new(),
            reduced_effort: None,
        }
    }

    /// Whether it writes messages, so that its dispatches need a log.
    pub fn has_messages(&self) -> bool {
        BindingRole::Log.index().is_some_and(|index| self.argument(ArgumentKind::Buffer, index).is_some())
    }

    /// Whether it encodes commands into indirect command buffers.
    pub fn encodes_commands(&self) -> bool {
        // The arguments for it come last.
        self.arguments.last().is_some_and(|argument| argument.role() == BindingRole::ResourceTable)
    }

    /// The length of the launch's buffer table: one more than the highest slot of an enabled buffer.
    pub fn buffer_slots(&self) -> u32 {
        self.slots_of(ArgumentKind::Buffer)
    }

    /// The length of the launch's table of dynamic threadgroup memory.
    pub fn threadgroup_slots(&self) -> u32 {
        self.slots_of(ArgumentKind::ThreadgroupMemory)
    }

    /// The scratch bytes that one worker needs to run threadgroups of that many threads.
    pub fn scratch_bytes_for(&self, threads_per_threadgroup: u32) -> u64 {
        let simdgroups = u64::from(threads_per_threadgroup.div_ceil(self.simd_width.max(1)));
        self.scratch_bytes.saturating_add(self.scratch_bytes_per_simdgroup.saturating_mul(simdgroups))
    }

    /// The enabled argument of that kind and Metal index.
    pub fn argument(&self, kind: ArgumentKind, index: u32) -> Option<&ArgumentInfo> {
        self.arguments
            .iter()
            .find(|argument| argument.enabled && argument.kind == kind && argument.index == index)
    }

    fn slots_of(&self, kind: ArgumentKind) -> u32 {
        let enabled = self.arguments.iter().filter(|argument| argument.enabled && argument.kind == kind);
        enabled.map(|argument| argument.slot.saturating_add(1)).max().unwrap_or(0)
    }
}

/// One argument of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ArgumentInfo {
    /// The Metal index: `[[buffer(index)]]`, `[[threadgroup(index)]]`, given or implied.
    pub index: u32,
    /// The parameter's name in the source.
    pub name: String,
    /// What is bound to it.
    pub kind: ArgumentKind,
    /// The address space of what it points to.
    pub address_space: AddressSpace,
    /// The MSL spelling of the element (of the pointee, without qualifiers), such as `float4`.
    pub type_name: String,
    /// The element's type as far as scalars can be converted to it.
    pub element: ElementType,
    /// `sizeof` the element.
    pub element_size: u64,
    /// `alignof` the element.
    pub element_align: u64,
    /// The bytes that must at least be bound: `sizeof(T)` for a reference, 0 for a pointer.
    pub min_bytes: u64,
    /// Whether it is a reference (`constant T&`), which a scalar may be bound to.
    pub is_reference: bool,
    /// What the kernel does with it.
    pub access: Access,
    /// False if a function constant disabled it: then nothing is bound and it has no slot.
    pub enabled: bool,
    /// Its position in the launch table or among the parameters: `CpuLaunch::buffers` for a buffer,
    /// `CpuLaunch::threadgroup_slots` for threadgroup memory, as [`crate::launch::argument_slots`] numbers
    /// them; 0 if it is disabled.
    pub slot: u32,
    /// The 32-bit words of it that a launch may give by value instead of memory; 0: none. As
    /// [`crate::launch::nvidia`] says; other devices have none.
    pub value_words: u32,
}

setters!(ArgumentInfo {
    index: u32,
    kind: ArgumentKind,
    address_space: AddressSpace,
    element: ElementType,
    element_size: u64,
    element_align: u64,
    min_bytes: u64,
    is_reference: bool,
    access: Access,
    enabled: bool,
    slot: u32,
    value_words: u32,
} into { name: String, type_name: String });

/// What kind of thing an argument binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ArgumentKind {
    /// A buffer, or inline bytes.
    Buffer,
    /// Threadgroup memory whose length the launch gives.
    ThreadgroupMemory,
    /// A texture as an argument of its own; refused by every device, since a texture argument is two buffers
    /// ([`ArgumentInfo::role`]).
    Texture,
    /// A sampler as an argument of its own; refused by every device, since a sampler argument is a buffer.
    Sampler,
}

/// Metal's address spaces as far as arguments have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AddressSpace {
    /// `device`
    Device,
    /// `constant`
    Constant,
    /// `threadgroup`
    Threadgroup,
}

/// How a kernel uses an argument. The same as the IR's `Access`, which this crate cannot name; the compiler's
/// reflection has the one conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Access {
    /// It only loads.
    Read,
    /// It only stores.
    Write,
    /// It loads and stores, or the compiler cannot tell.
    ReadWrite,
}

/// The type of an argument's element, as far as a launch needs it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ElementType {
    /// A scalar.
    Scalar(ScalarType),
    /// A vector of 2, 3 or 4 scalars; packed ones too.
    Vector(ScalarType, u8),
    /// A structure of that name.
    Struct(String),
    /// Anything else: matrices, arrays, pointers.
    Other,
}

/// A function constant that a kernel depends on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FunctionConstantInfo {
    /// Its `[[function_constant(index)]]`.
    pub index: u32,
    /// Its name in the source.
    pub name: String,
    /// The MSL spelling of its type.
    pub type_name: String,
    /// Its type.
    pub element: ElementType,
    /// Whether the kernel cannot be made without a value for it.
    pub required: bool,
}

impl FunctionConstantInfo {
    /// An optional constant of that index, name and type.
    pub fn new(index: u32, name: impl Into<String>, element: ElementType) -> Self {
        let (name, type_name) = (name.into(), String::new());
        FunctionConstantInfo { index, name, type_name, element, required: false }
    }
}

setters!(FunctionConstantInfo { required: bool } into { type_name: String });

/// One checked memory access of generated code, in the user's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FaultSite {
    /// The kernel it belongs to.
    pub kernel: String,
    /// The Metal index of the argument accessed, if it is known.
    pub argument: Option<u32>,
    /// The name of that argument, or of the variable; may be empty.
    pub argument_name: String,
    /// The address space accessed.
    pub address_space: AddressSpace,
    /// What the access does.
    pub kind: AccessKind,
    /// The bytes that the access touches.
    pub access_bytes: u32,
    /// The element's size, by which a byte offset becomes an index; 0 if it has no use.
    pub element_bytes: u32,
    /// The source file, as the compiler was given it.
    pub file: String,
    /// The line, from 1; 0 if unknown.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
}

impl FaultSite {
    /// An access of a kernel to unnamed memory in the device address space, at an unknown position.
    pub fn new(kernel: impl Into<String>, kind: AccessKind) -> Self {
        FaultSite {
            kernel: kernel.into(),
            argument: None,
            argument_name: String::new(),
            address_space: AddressSpace::Device,
            kind,
            access_bytes: 0,
            element_bytes: 0,
            file: String::new(),
            line: 0,
            column: 0,
        }
    }
}

setters!(FaultSite {
    argument: Option<u32>,
    address_space: AddressSpace,
    access_bytes: u32,
    element_bytes: u32,
    line: u32,
    column: u32,
} into { argument_name: String, file: String });
