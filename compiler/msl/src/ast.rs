//! The syntax tree: what was written, before names and types mean anything.
//!
//! Invariant: the tree is unambiguous as to types and expressions (the parser tracks which names
//! are types and templates), but nothing is resolved: `f(x)` may turn out to be a call or a
//! conversion, and templates are kept as written. Every node has a span. The tree is immutable
//! after parsing and shared (`Arc`) between the library and all programs that use it.
//! Start with [`Item`], [`Type`], [`Expr`], [`Stmt`].

mod decl;
mod expr;
mod lazy;
mod node;
mod stmt;
mod ty;

pub use decl::{
    Access, Alignment, Attribute, Base, Bindings, Declarator, Enum, Enumerator, ExplicitInstantiation, Field,
    Function, FunctionBody, FunctionName, FunctionSpecifiers, GraphicsStage, Initialiser, Item, ItemKind,
    MemInit, MethodQualifiers, Namespace, Noexcept, Param, Record, RecordKind, RefQualifier, TemplateParam,
    TemplateParamKind, TemplateParams, TypeAlias, UsingDeclaration, Variable,
};
pub use expr::{
    AssignOp, BinaryOp, CastKind, Designator, Expr, ExprKind, Fold, FoldOp, InitCapture, InitClause, Lambda,
    MathFlag, OperatorName, Path, PathSegment, PostfixOp, TagWord, TemplateArg, UnaryOp,
};
pub use lazy::{BlockText, LazyBlock};
pub use node::{NodeId, NodeIds, Part};
pub use stmt::{Block, ForInit, LoopHint, Stmt, StmtKind, SwitchLabel, Unroll};
pub use ty::{AddressSpace, BuiltinType, Qualifiers, Type, TypeKind};
