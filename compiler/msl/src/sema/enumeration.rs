//! Enumerations: the values of their enumerators and their underlying types.

use super::checker::Checker;
use super::convert::promote;
use super::entities::{Found, LocalDecl};
use super::evaluate::{holds, integer_of};
use super::scopes::{ScopeId, ScopeKind};
use super::{convert, evaluate, expr, narrowing, resolve_type};
use crate::ast::{self, NodeId};
use crate::hir::{ConstValue, EnumId, EnumInfo, ScalarTy, Ty, TyKind, Types};
use crate::token::Name;
use rustc_hash::FxHashMap;

/// An enumeration of this check.
#[derive(Debug)]
pub(super) struct EnumInst<'a> {
    pub(super) ast: &'a ast::Enum,
    /// Where it is declared.
    pub(super) scope: ScopeId,
    /// Filled in order; an enumerator may use the ones before it, which have the type of their initialisers
    /// until the enumeration is complete.
    pub(super) values: Vec<(i128, Ty)>,
    pub(super) is_complete: bool,
}

/// The enumerations of one check.
#[derive(Debug, Default)]
pub(super) struct Enums<'a> {
    types: FxHashMap<(NodeId, ScopeId), Ty>,
    /// By [`EnumId`].
    insts: Vec<EnumInst<'a>>,
}

impl<'a> Enums<'a> {
    pub(super) fn get(&self, id: EnumId) -> &EnumInst<'a> {
        &self.insts[id.0 as usize]
    }

    fn get_mut(&mut self, id: EnumId) -> &mut EnumInst<'a> {
        &mut self.insts[id.0 as usize]
    }

    /// The value of an enumerator without an initialiser, in the type of the one before it or, if that does
    /// not hold the value, in a larger one.
    fn next_enumerator(&self, types: &Types, id: EnumId) -> (i128, Ty) {
        let Some(&(last, ty)) = self.get(id).values.last() else { return (0, Ty::INT) };
        let next = last.saturating_add(1);
        let fits = types.scalar_repr(ty).is_some_and(|scalar| holds(scalar, next));
        (next, if fits { ty } else { Ty::scalar(representation([next]).1) })
    }

    fn enumerator_of(&self, types: &Types, ty: Ty, n: usize) -> Option<Found<'a>> {
        let id = types.as_enum(ty)?;
        let inst = self.get(id);
        let (value, own) = *inst.values.get(n)?;
        let shown = if inst.is_complete { ty } else { own };
        let repr = types.scalar_repr(shown)?;
        let bits = value as u64 & anymetal_ir::eval::mask(repr.into());
        Some(Found::Enumerator(shown, ConstValue::Scalar(bits)))
    }

    /// The first enumerator with that value of an enumeration.
    pub(super) fn enumerator_name(&self, types: &Types, ty: Ty, value: &ConstValue) -> Option<Name> {
        let id = types.as_enum(ty)?;
        let value = integer_of(types, ty, value)?;
        let inst = self.get(id);
        let n = inst.values.iter().position(|&(known, _)| known == value)?;
        inst.ast.enumerators.iter().flatten().nth(n).map(|enumerator| enumerator.name)
    }

    /// The enumerator of that name, for `E::name`.
    pub(super) fn enumerator_by_name(&self, types: &Types, ty: Ty, name: Name) -> Option<Found<'a>> {
        let id = types.as_enum(ty)?;
        let ast = self.get(id).ast;
        let n = ast.enumerators.iter().flatten().position(|enumerator| enumerator.name == name)?;
        self.enumerator_of(types, ty, n)
    }
}

/// The type of an enumeration.
pub(super) fn type_of<'a>(cx: &mut Checker<'a>, ast: &'a ast::Enum, scope: ScopeId) -> Ty {
    let key = (ast.id, scope);
    if let Some(&ty) = cx.enums.types.get(&key) {
        return ty;
    }
    let id = EnumId(cx.types.enums.len() as u32);
    let name = ast.name.map_or_else(|| "(unnamed enum)".to_owned(), |name| name.to_string());
    let fixed = ast.underlying.as_ref().map(|ty| {
        let resolved = cx.in_scope(scope, |cx| resolve_type::resolve(cx, ty));
        match cx.types.as_scalar(resolved.ty) {
            Some(scalar) if scalar.is_integral() => scalar,
            _ => {
                if !resolved.ty.is_error() {
                    cx.error(
                        "enum-type",
                        ty.span,
                        "the underlying type of an enumeration must be an integer type",
                    );
                }
                ScalarTy::I32
            }
        }
    });
    let fixed = fixed.or(ast.is_scoped.then_some(ScalarTy::I32));
    let underlying = fixed.unwrap_or(ScalarTy::I32);
    let promoted = promote(underlying);
    let is_fixed = fixed.is_some();
    cx.types.enums.push(EnumInfo { name, underlying, is_fixed, promoted, is_scoped: ast.is_scoped });
    let ty = cx.types.intern(TyKind::Enum(id));
    cx.enums.types.insert(key, ty);
    cx.enums.insts.push(EnumInst { ast, scope, values: Vec::new(), is_complete: false });
    evaluate_enumerators(cx, id, scope);
    if !is_fixed {
        let info = &mut cx.types.enums[id.0 as usize];
        let values = cx.enums.get(id).values.iter().map(|&(value, _)| value);
        (info.underlying, info.promoted) = representation(values);
    }
    cx.enums.get_mut(id).is_complete = true;
    ty
}

fn evaluate_enumerators(cx: &mut Checker<'_>, id: EnumId, scope: ScopeId) {
    let ast = cx.enums.get(id).ast;
    // Each is a name of those after it, wherever the enumeration is declared.
    let scope = cx.scopes.add(scope, ScopeKind::Block(FxHashMap::default()));
    for enumerator in ast.enumerators.iter().flatten() {
        let written = enumerator.value.as_ref().and_then(|expr| {
            cx.in_scope(scope, |cx| {
                let value = expr::check(cx, expr);
                let value = convert::builtin_operand(cx, value);
                let ty = value.ty.ty;
                if ty.is_error() {
                    return None;
                }
                let info = cx.types.enumeration(id);
                if info.is_fixed {
                    let fixed = Ty::scalar(info.underlying);
                    narrowing::refuse_narrowing(cx, &value, fixed, "the enumerator's value");
                }
                evaluate::constant_integer(cx, value).map(|n| (n, ty))
            })
        });
        let (value, ty) = written.unwrap_or_else(|| cx.enums.next_enumerator(&cx.types, id));
        let info = cx.types.enumeration(id);
        let ty = if info.is_fixed { Ty::scalar(info.underlying) } else { ty };
        cx.enums.get_mut(id).values.push((value, ty));
        let scalar = cx.types.scalar_repr(ty).expect("an enumerator's type is an integer's");
        let bits = value as u64 & anymetal_ir::eval::mask(scalar.into());
        let known = LocalDecl::Enumerator(ty, ConstValue::Scalar(bits));
        cx.in_scope(scope, |cx| cx.declare_local(enumerator.name, known, enumerator.span));
    }
}

/// The n-th enumerator. While the enumeration is being evaluated, those before the current one are
/// plain integers.
pub(super) fn enumerator<'a>(cx: &mut Checker<'a>, ast: &'a ast::Enum, scope: ScopeId, n: u32) -> Found<'a> {
    let ty = type_of(cx, ast, scope);
    cx.enums.enumerator_of(&cx.types, ty, n as usize).unwrap_or(Found::Error)
}

/// The underlying type that Clang chooses for an unscoped enumeration of these values, and the type that it
/// is promoted to: the first of `int`, `uint`, `long` and `ulong` that has all values (C++14 [conv.prom]).
/// Without negative values the former is the unsigned type of that size.
fn representation(values: impl IntoIterator<Item = i128>) -> (ScalarTy, ScalarTy) {
    let (low, high) = values.into_iter().fold((0, 0), |(low, high), n| (n.min(low), n.max(high)));
    let candidates = [ScalarTy::I32, ScalarTy::U32, ScalarTy::I64, ScalarTy::U64];
    let promoted = candidates.into_iter().find(|&scalar| holds(scalar, low) && holds(scalar, high));
    // No type has both a negative value and one beyond `long`.
    let promoted = promoted.unwrap_or(ScalarTy::I64);
    let underlying = match promoted {
        ScalarTy::I32 if low == 0 => ScalarTy::U32,
        ScalarTy::I64 if low == 0 => ScalarTy::U64,
        other => other,
    };
    (underlying, promoted)
}
