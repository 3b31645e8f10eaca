//! A program: what one kernel reaches.

use super::{Block, Expr, FuncId, LocalId, QualTy, ScalarTy, Ty, Types};
use crate::token::{FpPragmas, Name};
use anymetal_abi::logging::LogSite;
use anymetal_diagnostics::Span;
use anymetal_ir::{Access, Query, Space};

/// A function constant of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FunctionConstantId(pub u32);

/// A threadgroup variable of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ThreadgroupVarId(pub u32);

/// A variable of a function: parameter, declared variable or temporary. Always in thread space.
#[derive(Clone, Debug)]
pub struct Local {
    /// For people; empty for temporaries.
    pub name: Name,
    /// Its type; a variable of reference type is a pointer here.
    pub ty: Ty,
    /// Where it was declared.
    pub span: Span,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// For people; not unique (`f<float, 4>`).
    pub name: String,
    /// The parameters, which are locals. They own their (by-value) contents.
    pub params: Vec<LocalId>,
    /// The result; `void`, or a pointer for a reference.
    pub ret: Ty,
    /// All variables.
    pub locals: Vec<Local>,
    /// The code. Control may reach the end of a function that returns a value only by the program's
    /// mistake; the value is then undefined.
    pub body: Block,
    /// The pragmas in force at its definition.
    pub fp: FpPragmas,
    /// Where its name stands.
    pub span: Span,
    /// Of a function of another library, which has no code here: which of [`crate::FunctionHandles`] it is.
    pub linked: Option<usize>,
}

/// A constant datum.
#[derive(Clone, Debug)]
pub struct Global {
    /// For people.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// The contents, `sizeof(ty)` bytes.
    pub bytes: Vec<u8>,
    /// Where it was declared.
    pub span: Span,
}

/// A threadgroup variable.
#[derive(Clone, Debug)]
pub struct ThreadgroupVar {
    /// For people.
    pub name: Name,
    /// Its type.
    pub ty: Ty,
    /// Where it was declared.
    pub span: Span,
}

/// A function constant.
#[derive(Clone, Debug)]
pub struct FunctionConstant {
    /// Its name.
    pub name: Name,
    /// `[[function_constant(index)]]`
    pub index: u32,
    /// Its type.
    pub ty: Ty,
    /// Where it was declared.
    pub span: Span,
}

/// What a parameter that is no memory is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResourceKind {
    /// A texture, and how the kernel may use its texels.
    Texture(Access),
    /// A sampler.
    Sampler,
    /// A table of visible functions, at an index of buffers.
    FunctionTable,
    /// A tensor, whose elements are at an index of buffers.
    Tensor(TensorParam),
}

/// A tensor that the host binds. As a record of the Metal library it is a pointer to the elements, the
/// extents and the strides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TensorParam {
    /// An element with its qualifiers and space (device or constant).
    pub element: QualTy,
    /// How many dimensions.
    pub rank: u32,
    /// The type of extents and strides in the record.
    pub index: ScalarTy,
    /// Where the extents begin in the record.
    pub extents_at: u64,
    /// Where the strides begin.
    pub strides_at: u64,
}

/// Where the host binds an argument.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// Metal's index, given or assigned; the distance from [`Self::index_by`] if there is one.
    pub index: u32,
    /// The index that function constants specify (MSL 5.8.1.4): an `int` value of them only.
    pub index_by: Option<Expr>,
    /// The condition of `[[function_constant(c)]]`: a `bool` value of function constants only.
    pub enabled: Option<Expr>,
}

/// What a kernel's parameter is.
#[derive(Clone, Debug)]
pub enum KernelParamKind {
    /// A pointer or reference to a buffer at `[[buffer(index)]]`.
    Buffer {
        /// Its place among buffers.
        binding: Binding,
        /// The element with its qualifiers and space (device or constant).
        element: QualTy,
        /// Declared as a reference.
        is_reference: bool,
    },
    /// A pointer or reference to threadgroup memory at `[[threadgroup(index)]]`.
    ThreadgroupMemory {
        /// Its place among threadgroup memory.
        binding: Binding,
        /// The element.
        element: QualTy,
        /// Declared as a reference.
        is_reference: bool,
    },
    /// A texture at `[[texture(index)]]`, a sampler at `[[sampler(index)]]`, a table of visible functions or
    /// a tensor at `[[buffer(index)]]`, or an array of them that takes as many indices.
    Resource {
        /// Which.
        kind: ResourceKind,
        /// The place of the first.
        binding: Binding,
        /// How many; 1 for one that is no array.
        count: u32,
        /// The type of one.
        element: Ty,
    },
    /// A structure of resources, or an array of pointers, passed by value (MSL 2.12.2): each member, at any
    /// depth, is an argument. The entry fills it in.
    Structure {
        /// The members, of the first three kinds, and where each is, in bytes from the start.
        members: Vec<(u64, KernelParam)>,
    },
    /// A structure of stage-in data (`[[stage_in]]`, MSL specification 5.2.4), which the entry fills in.
    StageIn {
        /// Its members.
        members: Vec<StageInMember>,
    },
    /// A fact about the thread; the parameter is a scalar or a vector of 2 or 3 integers of type
    /// `elem`. Component `n` is the query with component `n` (for queries without components there is
    /// only one).
    Thread {
        /// The query for component 0.
        query: Query,
        /// The integer type of the parameter (or of its elements).
        elem: ScalarTy,
        /// 1 for a scalar.
        len: u8,
        /// The attribute's spelling.
        attribute: &'static str,
    },
}

/// The attribute that no query answers: lowering computes it from the threads per threadgroup at dispatch.
pub const DISPATCH_QUADGROUPS: &str = "dispatch_quadgroups_per_threadgroup";

/// Another one: where the region begins that stage-in data is read for; 0 where launches have none.
pub const GRID_ORIGIN: &str = "grid_origin";

/// Another one: the size of that region, the grid's where launches have none.
pub const GRID_SIZE: &str = "grid_size";

/// A member of a structure of stage-in data: a scalar or a vector.
#[derive(Clone, Debug)]
pub struct StageInMember {
    /// Its name.
    pub name: Name,
    /// The index of `[[attribute(index)]]`.
    pub attribute: u32,
    /// The type, or that of the components.
    pub elem: ScalarTy,
    /// 1 for a scalar.
    pub len: u8,
    /// Bytes from the start of the structure.
    pub offset: u64,
    /// The function of the Metal library that fetches four components of it.
    pub fetch: FuncId,
}

/// A kernel's parameter.
#[derive(Clone, Debug)]
pub struct KernelParam {
    /// Its name.
    pub name: Name,
    /// The function's parameter of the same position has this type.
    pub ty: Ty,
    /// What it is.
    pub kind: KernelParamKind,
    /// Where it stands.
    pub span: Span,
}

/// An entry point.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The name the host uses.
    pub name: String,
    /// The code; its parameters are [`Kernel::params`], in order.
    pub function: FuncId,
    /// The parameters.
    pub params: Vec<KernelParam>,
    /// `[[max_total_threads_per_threadgroup(n)]]`
    pub max_threads: Option<u32>,
    /// `[[required_threads_per_threadgroup(x, y, z)]]`
    pub required_threads: Option<[u32; 3]>,
}

/// What one kernel reaches.
#[derive(Clone, Debug)]
pub struct Program {
    /// All types.
    pub types: Types,
    /// By [`FuncId`]. Calls never form a cycle unless recursion was written.
    pub functions: Vec<Function>,
    /// By [`super::GlobalId`].
    pub globals: Vec<Global>,
    /// By [`ThreadgroupVarId`].
    pub threadgroup_vars: Vec<ThreadgroupVar>,
    /// By [`FunctionConstantId`].
    pub function_constants: Vec<FunctionConstant>,
    /// The messages, by the number that is their builtin's first argument.
    pub log_sites: Vec<LogSite>,
    /// The entry point.
    pub kernel: Kernel,
}

impl Program {
    /// The function.
    pub fn function(&self, id: FuncId) -> &Function {
        &self.functions[id.0 as usize]
    }
}

impl KernelParamKind {
    /// The space of the memory it points to, for buffers and threadgroup memory.
    pub fn space(&self) -> Option<Space> {
        match self {
            Self::Buffer { element, .. } | Self::ThreadgroupMemory { element, .. } => Some(element.space),
            Self::Resource { .. } | Self::Structure { .. } | Self::StageIn { .. } | Self::Thread { .. } => {
                None
            }
        }
    }

    /// Where the host binds it, for what is one argument.
    pub fn binding(&self) -> Option<&Binding> {
        match self {
            Self::Buffer { binding, .. }
            | Self::ThreadgroupMemory { binding, .. }
            | Self::Resource { binding, .. } => Some(binding),
            Self::Structure { .. } | Self::StageIn { .. } | Self::Thread { .. } => None,
        }
    }

    /// Calls `f` for each place where the host binds something, in the order of declaration.
    pub fn each_binding_mut(&mut self, f: &mut dyn FnMut(&mut Binding)) {
        match self {
            Self::Buffer { binding, .. }
            | Self::ThreadgroupMemory { binding, .. }
            | Self::Resource { binding, .. } => f(binding),
            Self::Structure { members } => {
                members.iter_mut().for_each(|(_, member)| member.kind.each_binding_mut(f));
            }
            Self::StageIn { .. } | Self::Thread { .. } => {}
        }
    }
}

impl KernelParam {
    /// The parameter, or the members of the structure that it is.
    pub fn arguments(&self) -> Box<dyn Iterator<Item = &KernelParam> + '_> {
        match &self.kind {
            KernelParamKind::Structure { members } => {
                Box::new(members.iter().flat_map(|(_, member)| member.arguments()))
            }
            _ => Box::new(std::iter::once(self)),
        }
    }
}

impl Kernel {
    /// The parameters, with the members of structures of resources in their place.
    pub fn arguments(&self) -> impl Iterator<Item = &KernelParam> {
        self.params.iter().flat_map(KernelParam::arguments)
    }
}
