//! Parameters, members of structures and variables that carry attributes, seen as one kind of thing.

use super::attributes::{self, BuiltIn, Role};
use crate::ast::{self, ExprKind as Ast, GraphicsStage};
use crate::hir::{FieldInfo, QualTy};
use crate::sema::checker::Checker;
use crate::token::Name;
use anymetal_diagnostics::Span;

/// A parameter, a member, or a variable at program scope.
#[derive(Clone, Copy)]
pub(in crate::sema) struct Attributed<'a> {
    pub(in crate::sema) name: Name,
    pub(in crate::sema) ty: QualTy,
    pub(in crate::sema) attributes: &'a [ast::Attribute],
    pub(in crate::sema) span: Span,
    /// A member that is a reference or a bit-field.
    pub(in crate::sema) is_indirect: bool,
}

impl<'a> Attributed<'a> {
    pub(in crate::sema) fn of_param(param: &'a ast::Param, ty: QualTy) -> Self {
        let name = param.name.unwrap_or(Name::EMPTY);
        Self { name, ty, attributes: &param.attributes, span: param.span, is_indirect: false }
    }

    pub(in crate::sema) fn of_member(field: &FieldInfo, declared: &'a ast::Field) -> Self {
        let is_indirect = field.is_reference || field.bits.is_some();
        let (name, ty) = (field.name, field.ty);
        Self { name, ty, attributes: &declared.attributes, span: declared.span, is_indirect }
    }

    pub(in crate::sema) fn of_variable(variable: &'a ast::Variable, ty: QualTy) -> Self {
        let (name, span) = (variable.declarator.name, variable.span);
        Self { name, ty, attributes: &variable.attributes, span, is_indirect: false }
    }

    pub(in crate::sema) fn attribute(&self, name: &str) -> Option<&'a ast::Attribute> {
        self.attributes.iter().find(|attribute| attribute.name.as_str() == name)
    }

    /// The built-in value of this stage and role that an attribute names.
    pub(super) fn built_in(
        &self,
        stage: GraphicsStage,
        role: Role,
    ) -> Option<(&'a ast::Attribute, &'static BuiltIn)> {
        self.attributes.iter().find_map(|attribute| {
            attributes::built_in(attribute.name.as_str(), stage, role).map(|row| (attribute, row))
        })
    }
}

/// The word that is an argument of an attribute: `any` in `[[depth(any)]]`.
pub(super) fn word(arg: &ast::Expr) -> Option<Name> {
    match &arg.kind {
        Ast::Path(path) if path.segments.len() == 1 => Some(path.segments[0].name),
        _ => None,
    }
}

/// Reports a built-in value of a type that it does not have.
pub(super) fn check_type(cx: &mut Checker<'_>, value: &Attributed<'_>, row: &BuiltIn) {
    if cx.is_dependent(value.ty.ty) || row.takes.admits(&cx.types, value.ty) {
        return;
    }
    let shown = cx.show(value.ty);
    let message = format!("`{}` is {}, not `{shown}`", row.name, row.takes.text());
    cx.error("stage-attribute-type", value.span, message);
}
