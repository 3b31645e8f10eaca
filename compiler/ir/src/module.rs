//! A module: functions, data, kernels and their arguments.

use anymetal_abi::logging::LogSite;

use crate::{FuncId, Function, FunctionConstantId, Scalar, Space};

/// A constant datum (`constant` tables at program scope).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Global {
    /// A name, unique in the module.
    pub name: String,
    /// The contents.
    pub bytes: Vec<u8>,
    /// Alignment in bytes.
    pub align: u32,
}

/// A variable in threadgroup memory. Its contents are undefined when a threadgroup starts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadgroupVar {
    /// A name for diagnostics.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u32,
}

/// A function constant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionConstant {
    /// Its name in the source.
    pub name: String,
    /// The index of `[[function_constant(index)]]`.
    pub index: u32,
    /// Its scalar type, or that of its components.
    pub ty: Scalar,
    /// Whether integers are signed (for reflection and conversions).
    pub signed: bool,
    /// Each component of a vector is a constant: which one this is. 0 for a scalar.
    pub lane: u8,
    /// How many components there are: 1 for a scalar.
    pub lanes: u8,
}

impl FunctionConstant {
    /// Whether it stands for a constant of the program in lists: of a vector's components the first does.
    pub fn is_listed(&self) -> bool {
        !self.is_hidden() && self.lane == 0
    }

    /// Whether it is one of the compiler's own, which no source declares: its index is beyond those of
    /// programs, and without a value it is 0.
    pub fn is_hidden(&self) -> bool {
        self.index > u32::from(u16::MAX)
    }
}

/// The element that a kernel argument points to, for reflection and argument checks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ElementType {
    /// A scalar; `signed` distinguishes `int` from `uint`.
    Scalar {
        /// The scalar.
        scalar: Scalar,
        /// Signed integer.
        signed: bool,
    },
    /// A vector.
    Vector {
        /// The element.
        scalar: Scalar,
        /// Signed integer.
        signed: bool,
        /// Number of elements.
        count: u8,
    },
    /// A struct, array or matrix.
    Aggregate,
}

/// How a kernel uses an argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Access {
    /// Only reads.
    Read,
    /// Only writes.
    Write,
    /// Both, or unknown.
    ReadWrite,
}

/// The kind of binding of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArgKind {
    /// A buffer at `[[buffer(index)]]`.
    Buffer,
    /// Threadgroup memory of a length given at dispatch, at `[[threadgroup(index)]]`.
    ThreadgroupMemory,
}

/// A kernel argument: the function's parameter of the same position, a pointer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelArg {
    /// Its name in the source.
    pub name: String,
    /// The kind of binding.
    pub kind: ArgKind,
    /// Metal's index. With `index_by` the index that 0 would stand for, until specialisation.
    pub index: u32,
    /// The index that function constants specify, as in `[[buffer(c)]]`: a function without parameters that
    /// returns `i32`. `None` after specialisation.
    pub index_by: Option<FuncId>,
    /// The pointer's space.
    pub space: Space,
    /// The element's type as MSL spells it.
    pub type_name: String,
    /// The element.
    pub element: ElementType,
    /// `sizeof(element)`.
    pub element_size: u64,
    /// `alignof(element)`.
    pub element_align: u32,
    /// Declared as a reference (`constant T&`): at least one element must be bound.
    pub reference: bool,
    /// How it is used.
    pub access: Access,
    /// The condition of `[[function_constant(c)]]`: a function without parameters that returns
    /// `bool`. When false the argument is not declared; its parameter is the null pointer.
    pub enabled_by: Option<FuncId>,
    /// Whether the argument is declared. True until specialisation finds `enabled_by` false; from
    /// then on nothing is bound at its index and its parameter is not used.
    pub enabled: bool,
}

impl KernelArg {
    /// The functions that specialisation evaluates for the argument.
    pub fn evaluated(&self) -> impl Iterator<Item = FuncId> {
        self.index_by.into_iter().chain(self.enabled_by)
    }

    /// The same, to be renumbered.
    pub fn evaluated_mut(&mut self) -> impl Iterator<Item = &mut FuncId> {
        self.index_by.iter_mut().chain(&mut self.enabled_by)
    }
}

/// An entry point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// The name the host uses.
    pub name: String,
    /// Its code. The parameters are the arguments, in order; it returns nothing.
    pub function: FuncId,
    /// One per parameter.
    pub args: Vec<KernelArg>,
    /// `[[max_total_threads_per_threadgroup(n)]]`.
    pub max_threads: Option<u32>,
    /// `[[required_threads_per_threadgroup(x, y, z)]]`: the only size it may be launched with.
    pub required_threads: Option<[u32; 3]>,
    /// MSL names of the thread attributes it declares, for reflection.
    pub thread_attributes: Vec<String>,
    /// The messages that it may write to its log, by their number in records.
    pub logs: Vec<LogSite>,
    /// The stage-in data that it takes. Its code fetches them; the host learns their types here.
    pub stage_inputs: Vec<StageInput>,
}

/// A member of the structure that a kernel declares with `[[stage_in]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageInput {
    /// Its name in the source.
    pub name: String,
    /// The index of `[[attribute(index)]]`.
    pub attribute: u32,
    /// Its type, a scalar or a vector.
    pub element: ElementType,
}

/// A compilation unit: usually one kernel and its dependences.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Module {
    /// Source file names, for [`crate::Loc`].
    pub files: Vec<String>,
    /// Function constants.
    pub function_constants: Vec<FunctionConstant>,
    /// Constant data.
    pub globals: Vec<Global>,
    /// Threadgroup variables.
    pub threadgroup_vars: Vec<ThreadgroupVar>,
    /// 0: each variable and argument in threadgroup memory is an allocation of its own. Else their
    /// accesses are bounded together: from the start of each on to the end of the threadgroup's
    /// memory, which has that many bytes at least. What is read beyond a variable is arbitrary. And an access
    /// outside of a thread's own variable is dropped without a fault, a load gives zero
    /// ([`Module::reports_thread_accesses`]).
    pub threadgroup_reserve: u64,
    /// What is bound to a buffer argument at an offset reaches back to the buffer's first byte: an access
    /// before the offset is in bounds within the buffer. The pointer is still the one to the offset.
    pub whole_buffers: bool,
    /// Functions.
    pub functions: Vec<Function>,
    /// Entry points.
    pub kernels: Vec<Kernel>,
}

impl Module {
    /// Whether an access outside of a variable in thread memory is a fault. With the bounds of Metal's GPUs
    /// it is not: there it stays within the thread's own memory, and nobody else sees it.
    pub fn reports_thread_accesses(&self) -> bool {
        self.threadgroup_reserve == 0
    }

    /// An empty module.
    pub fn new() -> Self {
        Self::default()
    }

    /// The function.
    pub fn function(&self, id: FuncId) -> &Function {
        &self.functions[id.index()]
    }

    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The function constant.
    pub fn function_constant(&self, id: FunctionConstantId) -> &FunctionConstant {
        &self.function_constants[id.index()]
    }
}
