//! Qualification conversions: pointers to pointers whose types differ in `const` and `volatile` only.

use super::Values;
use crate::hir::QualTy;

impl Values<'_> {
    /// Types that differ in qualifiers only, with those of both. Above a level at which they differ all
    /// levels are const, so that no pointer to less can be stored there (C++14 [conv.qual]).
    pub(in crate::sema) fn with_both_qualifiers(&mut self, a: QualTy, b: QualTy) -> Option<QualTy> {
        if a.space != b.space {
            return None;
        }
        let ty = if a.ty == b.ty {
            a.ty
        } else {
            let (a, b) = (self.types.pointee(a.ty)?, self.types.pointee(b.ty)?);
            let pointee = self.with_both_qualifiers(a, b)?;
            self.types.pointer(pointee)
        };
        let is_const = a.is_const || b.is_const || a.ty != b.ty;
        Some(QualTy { ty, is_const, is_volatile: a.is_volatile || b.is_volatile, space: a.space })
    }
}
