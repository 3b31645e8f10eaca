//! The entities of a check: what ids, template arguments and names stand for.
//!
//! The objects of a check refer to these types, which contain no rules.

use super::names::KnownNames;
use super::scopes::ScopeId;
use super::table::NsId;
use crate::ast::{self, TemplateParams};
use crate::hir::{self, ConstValue, FuncId, LocalId, QualTy, RecordId, ThreadgroupVarId, Ty};
use crate::token::Name;
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// A declared function of this check (template or not).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct FnDeclId(pub(super) u32);

/// A template that is a template argument in this check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct TemplateId(pub(super) u32);

/// A variable with static storage of this check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct GlobalVarId(pub(super) u32);

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

impl TArg {
    /// Whether it stands for an argument that is not known.
    pub(super) fn is_unknown(&self) -> bool {
        match self {
            Self::Type(ty) => ty.ty.is_error(),
            Self::Value(ty, _) => ty.is_error(),
            Self::Pack(elements) => elements.iter().any(Self::is_unknown),
            Self::Function(_) | Self::Template(_) => false,
        }
    }
}

/// What a name in a block stands for.
#[derive(Clone, Debug)]
pub(super) enum LocalDecl {
    /// A variable. `ty` is as declared: it may be a reference, whose local is then a pointer.
    Variable { local: LocalId, ty: QualTy, function: u32 },
    /// A captured variable inside a lambda: the field of the closure that `this` points to.
    /// `declared` is the type that the variable is declared with.
    Capture { field: u32, record: RecordId, ty: QualTy, declared: QualTy },
    /// A variable in threadgroup memory.
    Threadgroup(ThreadgroupVarId, QualTy),
    /// A constant with static storage.
    Global(GlobalVarId),
    /// A type.
    Type(QualTy),
    /// An enumerator.
    Enumerator(Ty, ConstValue),
    /// A pack of parameters.
    Pack(Rc<[LocalDecl]>),
    /// A structured binding: the element it names.
    Binding { element: Rc<hir::Expr>, function: u32 },
}

/// The meaning of `auto` and of pack names in the code being checked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Placeholders {
    /// The meaning of `auto` in the type being resolved.
    pub(super) auto_ty: Option<QualTy>,
    /// The type that was last deduced for the `auto` of a variable.
    pub(super) deduced_auto: Option<QualTy>,
    /// The element of packs that is meant, while an expansion is repeated.
    pub(super) pack_index: Option<usize>,
}

impl Placeholders {
    /// The element of a pack that the expansion at hand means.
    pub(super) fn local(self, decl: LocalDecl) -> LocalDecl {
        match (&decl, self.pack_index) {
            (LocalDecl::Pack(elements), Some(n)) => elements.get(n).cloned().unwrap_or(decl),
            _ => decl,
        }
    }

    /// As [`Placeholders::local`], for a template argument.
    pub(super) fn arg(self, arg: TArg) -> TArg {
        match (&arg, self.pack_index) {
            (TArg::Pack(elements), Some(n)) => elements.get(n).cloned().unwrap_or(arg),
            _ => arg,
        }
    }
}

/// A class template.
#[derive(Clone, Debug)]
pub(super) struct ClassTemplate<'a> {
    pub(super) primary: &'a ast::Record,
    pub(super) params: &'a TemplateParams,
    /// Parameter lists of other declarations, which may have the default arguments.
    pub(super) others: Rc<[&'a TemplateParams]>,
    pub(super) scope: ScopeId,
}

/// An alias template.
#[derive(Clone, Copy, Debug)]
pub(super) struct AliasTemplate<'a> {
    pub(super) alias: &'a ast::TypeAlias,
    pub(super) params: &'a TemplateParams,
    pub(super) scope: ScopeId,
}

/// A variable or variable template with static storage.
#[derive(Clone, Copy, Debug)]
pub(super) struct VarDecl<'a> {
    pub(super) variable: &'a ast::Variable,
    pub(super) template: Option<&'a TemplateParams>,
    pub(super) scope: ScopeId,
}

/// Templates the language itself has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum BuiltinTemplate {
    /// `vec<T, N>`
    Vec,
    /// `packed_vec<T, N>`
    PackedVec,
    /// `matrix<T, C, R>`
    Matrix,
    /// `__make_integer_seq<S, T, N>`: `S<T, 0, …, N - 1>`
    MakeIntegerSeq,
    /// `__type_pack_element<N, T...>`: the N-th of the types
    TypePackElement,
}

impl BuiltinTemplate {
    pub(super) fn named(name: Name, names: &KnownNames) -> Option<Self> {
        if name == names.vec {
            Some(Self::Vec)
        } else if name == names.packed_vec {
            Some(Self::PackedVec)
        } else if name == names.matrix {
            Some(Self::Matrix)
        } else if name == names.make_integer_seq {
            Some(Self::MakeIntegerSeq)
        } else if name == names.type_pack_element {
            Some(Self::TypePackElement)
        } else {
            None
        }
    }
}

/// What a name means.
#[derive(Clone, Debug)]
pub(super) enum Found<'a> {
    Local(LocalDecl),
    TArg(TArg),
    Type(QualTy),
    /// The name of a class inside of itself.
    Injected(RecordId),
    BuiltinTemplate(BuiltinTemplate),
    ClassTemplate(ClassTemplate<'a>),
    AliasTemplate(AliasTemplate<'a>),
    Functions(Rc<[FnDeclId]>),
    Variable(VarDecl<'a>),
    Enumerator(Ty, ConstValue),
    /// A data member: the class it was found in and the way through anonymous members.
    Field(RecordId, Rc<[u32]>),
    Namespace(NsId),
    /// Several things; reported where the name is used.
    Ambiguous(Rc<Ambiguity<'a>>),
    /// Already reported.
    Error,
}

/// A name that means several things.
#[derive(Clone, Debug)]
pub(super) struct Ambiguity<'a> {
    pub(super) id: &'static str,
    pub(super) message: String,
    pub(super) candidates: Vec<Span>,
    /// The declaration of each candidate, where some may be declared after a use.
    pub(super) found: Vec<Found<'a>>,
    /// The functions, if all candidates are functions.
    pub(super) functions: Rc<[FnDeclId]>,
}
