//! Enumerations: the values of their enumerators and their underlying types.

use super::checker::{Checker, ScopeId, address};
use super::lookup::Found;
use crate::ast;
use crate::hir::{ConstValue, EnumId, EnumInfo, ScalarTy, Ty, TyKind};
use crate::token::Name;

/// An enumeration of this check.
#[derive(Debug)]
pub(super) struct EnumInst<'a> {
    pub(super) ast: &'a ast::Enum,
    /// Where it is declared.
    pub(super) scope: ScopeId,
    /// Filled in order; an enumerator may use the ones before it.
    pub(super) values: Vec<i128>,
    pub(super) is_complete: bool,
}

impl<'a> Checker<'a> {
    /// The type of an enumeration.
    pub(super) fn enum_ty(&mut self, ast: &'a ast::Enum, scope: ScopeId) -> Ty {
        let key = (address(ast), scope);
        if let Some(&ty) = self.enum_tys.get(&key) {
            return ty;
        }
        let id = EnumId(self.types.enums.len() as u32);
        let name = ast.name.map_or_else(|| "(unnamed enum)".to_owned(), |name| name.to_string());
        let fixed = ast.underlying.as_ref().map(|ty| {
            let resolved = self.in_scope(scope, |s| s.resolve_type(ty));
            match self.types.as_scalar(resolved.ty) {
                Some(scalar) if scalar.is_integral() => scalar,
                _ => {
                    if !resolved.ty.is_error() {
                        self.error(
                            "enum-type",
                            ty.span,
                            "the underlying type of an enumeration must be an integer type",
                        );
                    }
                    ScalarTy::I32
                }
            }
        });
        let underlying = fixed.unwrap_or(ScalarTy::I32);
        self.types.enums.push(EnumInfo { name, underlying, is_scoped: ast.is_scoped });
        let ty = self.types.intern(TyKind::Enum(id));
        self.enum_tys.insert(key, ty);
        self.enum_insts.push(EnumInst { ast, scope, values: Vec::new(), is_complete: false });
        self.evaluate_enumerators(id, scope);
        if fixed.is_none() && !ast.is_scoped {
            self.types.enums[id.0 as usize].underlying = smallest(&self.enum_insts[id.0 as usize].values);
        }
        self.enum_insts[id.0 as usize].is_complete = true;
        ty
    }

    fn evaluate_enumerators(&mut self, id: EnumId, scope: ScopeId) {
        let ast = self.enum_insts[id.0 as usize].ast;
        for enumerator in ast.enumerators.iter().flatten() {
            let previous = self.enum_insts[id.0 as usize].values.last().copied();
            let value = match &enumerator.value {
                Some(expr) => self.in_scope(scope, |s| {
                    let value = s.expr(expr);
                    if value.ty.ty.is_error() { None } else { s.constant_integer(value) }
                }),
                None => None,
            };
            let next = value.unwrap_or_else(|| previous.map_or(0, |value| value.saturating_add(1)));
            self.enum_insts[id.0 as usize].values.push(next);
        }
    }

    /// The n-th enumerator. While the enumeration is being evaluated, those before the current one are
    /// plain integers.
    pub(super) fn enumerator(&mut self, ast: &'a ast::Enum, scope: ScopeId, n: u32) -> Found<'a> {
        let ty = self.enum_ty(ast, scope);
        self.enumerator_of(ty, n as usize).unwrap_or(Found::Error)
    }

    fn enumerator_of(&mut self, ty: Ty, n: usize) -> Option<Found<'a>> {
        let id = self.types.as_enum(ty)?;
        let inst = &self.enum_insts[id.0 as usize];
        let value = *inst.values.get(n)?;
        let (shown, repr) = if inst.is_complete {
            (ty, self.types.enumeration(id).underlying)
        } else {
            let repr = smallest(&[value]);
            (Ty::scalar(repr), repr)
        };
        let bits = value as u64 & anymetal_ir::eval::mask(repr.ir());
        Some(Found::Enumerator(shown, ConstValue::Scalar(bits)))
    }

    /// The first enumerator with that value of an enumeration.
    pub(super) fn enumerator_name(&self, ty: Ty, value: &ConstValue) -> Option<Name> {
        let id = self.types.as_enum(ty)?;
        let value = self.integer_of(ty, value)?;
        let inst = &self.enum_insts[id.0 as usize];
        let n = inst.values.iter().position(|&known| known == value)?;
        inst.ast.enumerators.iter().flatten().nth(n).map(|enumerator| enumerator.name)
    }

    /// The enumerator of that name, for `E::name`.
    pub(super) fn enumerator_by_name(&mut self, ty: Ty, name: Name) -> Option<Found<'a>> {
        let id = self.types.as_enum(ty)?;
        let ast = self.enum_insts[id.0 as usize].ast;
        let n = ast.enumerators.iter().flatten().position(|enumerator| enumerator.name == name)?;
        self.enumerator_of(ty, n)
    }
}

/// The type Clang gives an enumeration with these values.
fn smallest(values: &[i128]) -> ScalarTy {
    let low = values.iter().copied().min().unwrap_or(0);
    let high = values.iter().copied().max().unwrap_or(0);
    if low >= i128::from(i32::MIN) && high <= i128::from(i32::MAX) {
        // An enumeration without negative values is `unsigned int` in Clang; its arithmetic is the same
        // except for comparisons with negative numbers.
        if low >= 0 { ScalarTy::U32 } else { ScalarTy::I32 }
    } else if low >= 0 && high <= i128::from(u32::MAX) {
        ScalarTy::U32
    } else if low >= 0 && high > i128::from(i64::MAX) {
        ScalarTy::U64
    } else {
        ScalarTy::I64
    }
}
