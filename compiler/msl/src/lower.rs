//! Lowering: the typed program to the IR.
//!
//! Everything has been decided by then; this stage only writes it out. Scalars, vectors and pointers
//! become IR values; records, arrays and matrices live in memory and are written straight to where
//! they are wanted ("into" functions). A HIR function becomes one IR function; aggregate parameters
//! are pointers to copies that the caller makes, an aggregate result is written through a first
//! pointer parameter. The kernel itself is a small IR function that queries the thread's built-in values and
//! calls the lowered body.
//!
//! The functions that lower statements, values and places take the private `FunctionLowerer`, which is the
//! function under construction.
//!
//! Invariant: the module that [`lower`] returns passes [`anymetal_ir`]'s verifier.
//! Start with [`lower`], then `function.rs`, `value.rs`, `place.rs`.

mod aggregate;
mod bit_field;
mod builtin;
mod convert;
mod encoding;
mod function;
mod kernel;
mod logging;
mod origin;
mod place;
mod purity;
mod recursion;
mod resources;
mod stage_in;
mod stmt;
mod textures;
mod value;
mod wide_vector;

pub(crate) use stage_in::stage_input;

use crate::functions::UnlinkedModule;
use crate::hir;
use crate::token::MathMode;
use anymetal_diagnostics::{SourceMap, Span};
use anymetal_ir as ir;
use encoding::Encoding;
use logging::Messages;
use recursion::{Cycles, Instance};
use rustc_hash::FxHashMap;
use textures::Textures;

/// What lowering depends on besides the program.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The mode of float arithmetic where no pragma says otherwise.
    pub math_mode: MathMode,
    /// Whether the module is for sanitizers. Its results are the same, but it takes no liberty that
    /// would hide an error or look like one: barriers and fences keep the memory flags, orders and
    /// scopes that the source gives them; only the side of a choice that is taken is evaluated; indices
    /// outside of vectors show (as [`ir::Op::ExtractDynamic`] of them); positions of writes are those
    /// of the place, and have origins ([`ir::Origin`]).
    pub for_sanitizer: bool,
    /// Whether messages are written to a log; if not, they are evaluated and go nowhere.
    pub logging: bool,
}

/// Writes a program out as an IR module with one kernel.
pub fn lower(program: &hir::Program, options: Options, map: &SourceMap) -> UnlinkedModule {
    let mut lowerer = Lowerer::new(program, options, map);
    lowerer.data();
    lowerer.kernel();
    lowerer.finish(None)
}

/// Writes a program out as an IR module without a kernel: its code is that of a function for other modules.
pub fn lower_function(program: &hir::Program, options: Options, map: &SourceMap) -> UnlinkedModule {
    let mut lowerer = Lowerer::new(program, options, map);
    lowerer.data();
    let function = lowerer.function_id(Instance::outermost(program.kernel.function));
    lowerer.pending_functions();
    lowerer.finish(Some(function))
}

impl<'p> Lowerer<'p> {
    fn new(program: &'p hir::Program, options: Options, map: &'p SourceMap) -> Self {
        Lowerer {
            program,
            map,
            module: ir::Module::new(),
            vector_constants: Vec::new(),
            functions: FxHashMap::default(),
            pending: Vec::new(),
            cycles: Cycles::new(program),
            files: FxHashMap::default(),
            last_file: 0,
            default_mode: fp_mode(options.math_mode),
            for_sanitizer: options.for_sanitizer,
            resource_conditions: Vec::new(),
            messages: Messages::new(program, options.logging),
            encoding: Encoding::new(program),
            textures: Textures::new(program),
            stage_in: None,
            linked: Vec::new(),
        }
    }

    fn finish(self, function: Option<ir::FuncId>) -> UnlinkedModule {
        assert!(self.pending.is_empty(), "a function was declared, but its code was not written");
        let root = self.program.kernel.function;
        let needs_kernel = self.messages.logs(root) || self.encoding.encodes(root);
        UnlinkedModule { module: self.module, function, linked: self.linked, needs_kernel }
    }
}

fn fp_mode(mode: MathMode) -> ir::FpMode {
    match mode {
        MathMode::Safe => ir::FpMode::Safe,
        MathMode::Relaxed => ir::FpMode::Relaxed,
        MathMode::Fast => ir::FpMode::Fast,
    }
}

/// The module under construction.
struct Lowerer<'p> {
    program: &'p hir::Program,
    map: &'p SourceMap,
    module: ir::Module,
    /// Where the second component of each function constant would be.
    vector_constants: Vec<u32>,
    functions: FxHashMap<Instance, ir::FuncId>,
    /// Functions that have an id but no code yet.
    pending: Vec<(Instance, ir::FuncId)>,
    cycles: Cycles,
    /// Numbers of files in the module, by the names shown to users.
    files: FxHashMap<String, u32>,
    /// The file of the last position.
    last_file: u32,
    default_mode: ir::FpMode,
    for_sanitizer: bool,
    /// The functions that say whether textures and samplers are declared, of those parameters that have one.
    resource_conditions: Vec<ir::FuncId>,
    messages: Messages,
    encoding: Encoding,
    /// The functions of other libraries, and which handle each stands for.
    linked: Vec<(ir::FuncId, usize)>,
    textures: Textures,
    /// The constants that describe stage-in data and its region, in kernels that have such.
    stage_in: Option<stage_in::Constants>,
}

impl Lowerer<'_> {
    fn types(&self) -> &hir::Types {
        &self.program.types
    }

    /// The IR type of values of this type; `None` for aggregates and `void`.
    fn value_type(&self, ty: hir::Ty) -> Option<ir::Type> {
        match *self.types().kind(ty) {
            hir::TyKind::Scalar(scalar) => Some(ir::Type::Scalar(scalar.into())),
            hir::TyKind::Enum(id) => Some(ir::Type::Scalar(self.types().enumeration(id).underlying.into())),
            hir::TyKind::Vector { elem, len: 1, .. } => Some(ir::Type::Scalar(elem.into())),
            hir::TyKind::Vector { elem, len, .. } if len <= hir::MAX_METAL_VECTOR_LEN => {
                Some(ir::Type::Vector(elem.into(), len))
            }
            // A function's number.
            hir::TyKind::Pointer(_) | hir::TyKind::Reference { .. }
                if self.types().pointed_function(ty).is_some() =>
            {
                Some(ir::Type::I64)
            }
            hir::TyKind::Pointer(pointee) => Some(ir::Type::Ptr(pointee.space)),
            hir::TyKind::Reference { to, .. } => Some(ir::Type::Ptr(to.space)),
            hir::TyKind::Nullptr => Some(ir::Type::Ptr(ir::Space::Thread)),
            _ => None,
        }
    }

    fn is_void(&self, ty: hir::Ty) -> bool {
        matches!(self.types().kind(ty), hir::TyKind::Void)
    }

    fn is_aggregate(&self, ty: hir::Ty) -> bool {
        self.value_type(ty).is_none() && !self.is_void(ty)
    }

    /// Globals, threadgroup variables and function constants keep their ids.
    fn data(&mut self) {
        for (n, global) in self.program.globals.iter().enumerate() {
            let align = self.types().layout(global.ty).align;
            let name = format!("{}.{n}", global.name);
            self.module.globals.push(ir::Global { name, bytes: global.bytes.clone(), align });
        }
        for variable in &self.program.threadgroup_vars {
            let layout = self.types().layout(variable.ty);
            let name = variable.name.as_str().to_owned();
            self.module.threadgroup_vars.push(ir::ThreadgroupVar {
                name,
                size: layout.size,
                align: layout.align,
            });
        }
        self.function_constants();
    }

    /// The first components, numbered as in the program, then the others of vectors.
    fn function_constants(&mut self) {
        let mut others = Vec::new();
        for constant in &self.program.function_constants {
            let types = self.types();
            let scalar = types.element(constant.ty).expect("a function constant is a scalar or a vector");
            let lanes = types.as_vector(constant.ty).map_or(1, |(_, len)| len);
            let component = |lane| ir::FunctionConstant {
                name: constant.name.as_str().to_owned(),
                index: constant.index,
                ty: scalar.into(),
                signed: scalar.is_signed(),
                lane,
                lanes,
            };
            self.module.function_constants.push(component(0));
            self.vector_constants.push(self.program.function_constants.len() as u32 + others.len() as u32);
            others.extend((1..lanes).map(component));
        }
        assert_eq!(
            self.module.function_constants.len(),
            self.vector_constants.len(),
            "first components keep the numbers that they have in the program",
        );
        self.module.function_constants.extend(others);
    }

    /// The constant of each component.
    fn constant_lanes(&self, id: hir::FunctionConstantId) -> Vec<ir::FunctionConstantId> {
        let lanes = u32::from(self.module.function_constants[id.0 as usize].lanes);
        let rest = self.vector_constants[id.0 as usize];
        std::iter::once(id.0).chain(rest..rest + lanes - 1).map(ir::FunctionConstantId).collect()
    }

    /// The IR function for a HIR function, declared on first use.
    fn function_id(&mut self, instance: Instance) -> ir::FuncId {
        if let Some(&known) = self.functions.get(&instance) {
            return known;
        }
        let id = instance.function;
        let function = self.program.function(id);
        let mut params = Vec::new();
        if self.is_aggregate(function.ret) {
            params.push(ir::Type::Ptr(ir::Space::Thread));
        }
        for &param in &function.params {
            let ty = function.locals[param.0 as usize].ty;
            // The caller's copy of an aggregate.
            params.push(self.value_type(ty).unwrap_or(ir::Type::Ptr(ir::Space::Thread)));
        }
        if self.messages.logs(id) {
            params.extend(logging::PARAMETERS);
        }
        if self.encoding.encodes(id) {
            params.push(encoding::PARAMETER);
        }
        if self.textures.uses(id) {
            params.push(textures::PARAMETER);
        }
        let ret = self.value_type(function.ret);
        let new = ir::FuncId(self.module.functions.len() as u32);
        let name = match instance.depth {
            0 => format!("{}.{}", function.name, id.0),
            depth => format!("{}.{}.{depth}", function.name, id.0),
        };
        self.module.functions.push(ir::Function::new(name, &params, ret));
        self.functions.insert(instance, new);
        match function.linked {
            Some(handle) => self.linked.push((new, handle)),
            None => self.pending.push((instance, new)),
        }
        new
    }

    fn add_function(&mut self, function: ir::Function) -> ir::FuncId {
        self.module.functions.push(function);
        ir::FuncId(self.module.functions.len() as u32 - 1)
    }

    /// Where a user would look for this text: the outermost macro's use.
    fn loc(&mut self, span: Span) -> ir::Loc {
        self.spelled(self.map.outermost(span))
    }

    /// Where the text itself is: in a macro's definition, if it comes from there.
    fn spelled(&mut self, span: Span) -> ir::Loc {
        let Some((file, at)) = self.map.location(span) else {
            // The compiler's own code has no text.
            return ir::Loc::default();
        };
        // Nearly always the file of the last position, whose name need not be hashed.
        let is_last = self.module.files.get(self.last_file as usize).is_some_and(|last| last == file);
        if !is_last {
            self.last_file = match self.files.get(file) {
                Some(&index) => index,
                None => {
                    self.module.files.push(file.to_owned());
                    let index = self.module.files.len() as u32 - 1;
                    self.files.insert(file.to_owned(), index);
                    index
                }
            };
        }
        let index = self.last_file;
        ir::Loc { file: index, line: at.line, column: at.column, origin: 0 }
    }
}
