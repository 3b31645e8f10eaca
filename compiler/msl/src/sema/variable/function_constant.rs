//! Function constants: variables that get their values when a pipeline is made.

use super::GlobalValue;
use crate::ast;
use crate::hir::{self, QualTy};
use crate::sema::checker::Checker;

impl<'a> Checker<'a> {
    /// `[[function_constant(index)]]` of a variable.
    pub(super) fn function_constant_attribute(
        &self,
        variable: &'a ast::Variable,
    ) -> Option<&'a ast::Attribute> {
        variable.attributes.iter().find(|attribute| attribute.name == self.names.function_constant)
    }

    pub(super) fn function_constant(
        &mut self,
        variable: &'a ast::Variable,
        attribute: &'a ast::Attribute,
    ) -> Option<(QualTy, GlobalValue)> {
        let ty = self.resolve_type(&variable.ty);
        let index = self.function_constant_index(attribute)?;
        if ty.ty.is_error() {
            return None;
        }
        if self.types.element(ty.ty).is_none() || self.types.as_matrix(ty.ty).is_some() {
            let shown = self.types.display(ty.ty);
            let message = format!("a function constant is a scalar or a vector, not a `{shown}`");
            self.error("function-constant-type", variable.span, message);
            return None;
        }
        let (name, span) = (variable.declarator.name, variable.span);
        let constant = hir::FunctionConstant { name, index, ty: ty.ty, span };
        Some((ty, GlobalValue::FunctionConstant(self.data.function_constant(constant))))
    }

    fn function_constant_index(&mut self, attribute: &'a ast::Attribute) -> Option<u32> {
        let Some(index) = attribute.args.first() else {
            self.error("attribute-argument", attribute.span, "`function_constant` takes an index");
            return None;
        };
        let span = index.span;
        let value = self.expr(index);
        let index = self.constant_integer(value)?;
        let index = u16::try_from(index).ok().map(u32::from);
        if index.is_none() {
            let message = "a function constant's index is between 0 and 65535";
            self.error("function-constant-index", span, message);
        }
        index
    }
}
