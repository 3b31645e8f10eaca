//! The state of one check: everything that instantiation produces, and the scopes it looks names up in.
//!
//! One [`Checker`] serves one entry point (or one "check everything"), and is thrown away after. It
//! borrows the symbol tables and syntax trees, which are immutable and shared, so that several checks
//! may run at once. What changes the state for a while (`nested`, `scope`) takes a closure and restores it.

mod nested;
mod scope;

use super::collect::ProgramData;
use super::diagnostics::Diagnostics;
use super::dispatch::Linking;
use super::fn_context::{FnContext, LocalConstants};
use super::function::Functions;
use super::limits::Limits;
use super::record::RecordInst;
use super::table::{Entry, ItemId, Layer, NsId};
use super::variable::GlobalVar;
use crate::ast::{self, NodeId};
use crate::hir::{self, ConstValue, FuncId, LocalId, QualTy, RecordId, ThreadgroupVarId, Ty, Types};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A scope of this check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ScopeId(pub(super) u32);

/// A declared function of this check (template or not).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct FnDeclId(pub(super) u32);

/// A template that is a template argument in this check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct TemplateId(pub(super) u32);

/// A template argument.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum TArg {
    /// A type, with its qualifiers and space.
    Type(QualTy),
    /// A constant of a type.
    Value(Ty, ConstValue),
    /// A function, itself instantiated.
    Function(FuncId),
    /// A template.
    Template(TemplateId),
    /// The arguments of a parameter pack.
    Pack(Rc<[TArg]>),
}

/// What a name in a block stands for.
#[derive(Clone, Debug)]
pub(super) enum LocalDecl {
    /// A variable. `ty` is as declared: it may be a reference, whose local is then a pointer.
    Variable { local: LocalId, ty: QualTy, function: u32 },
    /// A captured variable inside a lambda: the field of the closure that `this` points to.
    Capture { field: u32, record: RecordId, ty: QualTy },
    /// A variable in threadgroup memory.
    Threadgroup(ThreadgroupVarId, QualTy),
    /// A constant with static storage.
    Global(super::variable::GlobalVarId),
    /// A type.
    Type(QualTy),
    /// An enumerator.
    Enumerator(Ty, ConstValue),
    /// A pack of parameters.
    Pack(Rc<[LocalDecl]>),
    /// A structured binding: the element it names.
    Binding { element: Rc<hir::Expr>, function: u32 },
}

/// What a scope holds.
#[derive(Debug)]
pub(super) enum ScopeKind {
    Namespace(NsId),
    /// The arguments of one template's parameters.
    Template(Rc<[(Name, TArg)]>),
    Record(RecordId),
    Block(FxHashMap<Name, LocalDecl>),
}

/// A scope and the one around it.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) parent: Option<ScopeId>,
    pub(super) kind: ScopeKind,
}

/// What stands for what while a type or an expression is repeated or completed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Substitution {
    /// The meaning of `auto` in the type being resolved.
    pub(super) auto_ty: Option<QualTy>,
    /// The element of packs that is meant, while an expansion is repeated.
    pub(super) pack_index: Option<usize>,
}

/// See the module's documentation.
pub(super) struct Checker<'a> {
    pub(super) table: &'a Layer,
    pub(super) types: Types,
    pub(super) diagnostics: Diagnostics,
    pub(super) limits: Limits,
    pub(super) scopes: Vec<Scope>,
    pub(super) scope: ScopeId,
    pub(super) ns_scopes: FxHashMap<NsId, ScopeId>,
    pub(super) ns_lookups: FxHashMap<(super::lookup::Reach, Name), Option<super::lookup::Found<'a>>>,
    pub(super) views: super::lookup::Views,
    pub(super) records: Vec<RecordInst<'a>>,
    pub(super) record_ids: FxHashMap<(NodeId, ScopeId, Rc<[TArg]>), RecordId>,
    pub(super) enum_tys: FxHashMap<(NodeId, ScopeId), Ty>,
    pub(super) enum_insts: Vec<super::enumeration::EnumInst<'a>>,
    pub(super) class_specialisations:
        FxHashMap<(NodeId, ScopeId), Rc<[super::specialise::ClassSpecialisation<'a>]>>,
    pub(super) globals: Vec<GlobalVar<'a>>,
    pub(super) global_ids: FxHashMap<(NodeId, ScopeId, Rc<[TArg]>), super::variable::GlobalVarId>,
    pub(super) functions: Functions<'a>,
    pub(super) data: ProgramData,
    pub(super) linking: Linking<'a>,
    /// The function whose body is being checked.
    pub(super) function: FnContext,
    pub(super) local_constants: LocalConstants,
    pub(super) substitution: Substitution,
    /// `using namespace` and `using a::b` inside of blocks.
    pub(super) block_directives: Vec<(ScopeId, NsId)>,
    pub(super) block_usings: Vec<(ScopeId, Name, super::lookup::Found<'a>)>,
    pub(super) arena: &'a super::arena::Arena,
    /// Lists with packs, by their first clause and the lengths of the packs.
    pub(super) expanded_lists: FxHashMap<(NodeId, Rc<[usize]>), &'a [ast::InitClause]>,
    pub(super) lambda_functions: FxHashMap<NodeId, (&'a ast::Function, Option<&'a ast::TemplateParams>)>,
    /// The parameters of a class template and a constructor template of it together, by the constructor.
    pub(super) guide_templates: FxHashMap<NodeId, &'a [ast::TemplateParam]>,
    /// The using-declarations of classes that are being resolved.
    pub(super) using_stack: Vec<NodeId>,
    /// How many using-declarations were found to lead to themselves.
    pub(super) using_cycles: u64,
    /// Functions that using-declarations of complete classes stand for, by class and declaration.
    pub(super) used_functions: FxHashMap<(RecordId, NodeId), Rc<[FnDeclId]>>,
    /// The templates that are template arguments.
    pub(super) templates: Vec<super::lookup::Found<'a>>,
    pub(super) template_ids: FxHashMap<super::template_template::TemplateKey, TemplateId>,
    pub(super) alias_stack: Vec<(NodeId, ScopeId)>,
    /// What aliases that are no templates stand for, by declaration and scope: each is resolved once.
    pub(super) alias_types: FxHashMap<(NodeId, ScopeId), QualTy>,
    pub(super) names: super::names::KnownNames,
}

impl<'a> Checker<'a> {
    pub(super) fn new(table: &'a Layer, arena: &'a super::arena::Arena, links: super::Links<'a>) -> Self {
        let mut checker = Self {
            table,
            types: Types::new(),
            diagnostics: Diagnostics::default(),
            limits: Limits::default(),
            scopes: Vec::new(),
            scope: ScopeId(0),
            ns_scopes: FxHashMap::default(),
            ns_lookups: FxHashMap::default(),
            views: super::lookup::Views::default(),
            records: Vec::new(),
            record_ids: FxHashMap::default(),
            enum_tys: FxHashMap::default(),
            enum_insts: Vec::new(),
            class_specialisations: FxHashMap::default(),
            globals: Vec::new(),
            global_ids: FxHashMap::default(),
            functions: Functions::default(),
            data: ProgramData::default(),
            linking: Linking::new(links),
            function: FnContext::outside(0),
            local_constants: LocalConstants::default(),
            substitution: Substitution::default(),
            block_directives: Vec::new(),
            block_usings: Vec::new(),
            arena,
            expanded_lists: FxHashMap::default(),
            lambda_functions: FxHashMap::default(),
            guide_templates: FxHashMap::default(),
            using_stack: Vec::new(),
            using_cycles: 0,
            used_functions: FxHashMap::default(),
            templates: Vec::new(),
            template_ids: FxHashMap::default(),
            alias_stack: Vec::new(),
            alias_types: FxHashMap::default(),
            names: super::names::KnownNames::new(),
        };
        checker.scope = checker.namespace_scope(NsId::GLOBAL);
        checker
    }

    pub(super) fn entry(&self, id: ItemId) -> &'a Entry {
        self.table.entry(id)
    }

    /// Reports an error with the instantiation trace.
    pub(super) fn error(&mut self, id: &'static str, span: Span, message: impl Into<String>) {
        self.diagnostics.error(id, span, message);
    }

    /// Reports a diagnostic; the instantiation trace is added.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.report(diagnostic);
    }

    /// A type for messages.
    pub(super) fn show(&self, ty: QualTy) -> String {
        self.types.display_qual(ty)
    }
}

/// The space an address-space word names.
pub(super) fn space_of(space: ast::AddressSpace) -> anymetal_ir::Space {
    match space {
        ast::AddressSpace::Device => anymetal_ir::Space::Device,
        ast::AddressSpace::Constant => anymetal_ir::Space::Constant,
        ast::AddressSpace::Threadgroup => anymetal_ir::Space::Threadgroup,
        ast::AddressSpace::Thread => anymetal_ir::Space::Thread,
    }
}
