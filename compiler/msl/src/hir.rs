//! The typed, monomorphic program that semantic analysis hands to lowering.
//!
//! Everything implicit in the source is explicit here: every conversion is a node, every use of a
//! variable's value is a [`ExprKind::Load`], every template is instantiated, every overload chosen,
//! references are pointers, methods are functions whose first parameter is `this`.
//!
//! # Values and places
//! An [`Expr`] is either a *place* (lvalue: it designates memory, [`Expr::is_place`]) or a *value*
//! (rvalue). Only [`ExprKind::Load`] turns a place into a value; only [`ExprKind::AddressOf`] turns a
//! place into a pointer; only [`ExprKind::Materialize`] turns a value into a place. Operands are
//! values unless the node's documentation says "place". Values may be of record, array or matrix
//! type; they are then copied by memory.
//!
//! A place's type [`Expr::ty`] carries `const`, `volatile` and the address space; a value's has none
//! of them (its space reads `Thread`).
//!
//! # Evaluation order
//! Operands and arguments are evaluated left to right, each exactly once, with three exceptions:
//! `&&`, `||` and `?:` skip what they must skip; [`ExprKind::Assign`] and [`ExprKind::Update`] evaluate
//! the right-hand side before the place (as C++17 does).
//!
//! # Poison
//! A program is only handed out when no error was reported, so nothing here is erroneous.
//!
//! Start with [`Program`], then [`ExprKind`] and [`StmtKind`].

mod argument_buffer;
mod constant;
mod display;
mod expr;
mod layout;
mod program;
mod stmt;
mod ty;

pub use anymetal_types::scalar::ScalarType as ScalarTy;
pub use argument_buffer::{
    ArgumentLayout, ArgumentMember, ArgumentMemberKind, TEXTURE_MEMBER, argument_layout,
};
pub use constant::ConstValue;
pub use expr::{
    BinaryOp, CastKind, CompareOp, Expr, ExprKind, FuncId, GlobalId, LocalId, LogicalOp, ResourceId, UnaryOp,
};
pub use layout::{FieldAlign, Layout, MAX_OBJECT_BYTES};
pub use program::{
    Binding, DISPATCH_QUADGROUPS, Function, FunctionConstant, FunctionConstantId, GRID_ORIGIN, GRID_SIZE,
    Global, Kernel, KernelParam, KernelParamKind, Local, Program, ResourceKind, StageInMember, TensorParam,
    ThreadgroupVar, ThreadgroupVarId,
};
pub use stmt::{Block, LoopHint, Stmt, StmtKind, SwitchCase};
pub use ty::{
    BitField, BitPiece, EnumId, EnumInfo, FieldInfo, FunctionForm, MAX_METAL_VECTOR_LEN, MAX_VECTOR_LEN,
    Padding, QualTy, RecordId, RecordInfo, Ty, TyKind, Types,
};
