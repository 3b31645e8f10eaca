//! Function constants: variables that get their values when a pipeline is made.

use super::GlobalValue;
use crate::ast;
use crate::hir::{self, QualTy};
use crate::sema::checker::Checker;
use crate::sema::names::KnownNames;
use crate::sema::{evaluate, expr, resolve_type};

/// `[[function_constant(index)]]` of a variable.
pub(super) fn attribute<'a>(names: &KnownNames, variable: &'a ast::Variable) -> Option<&'a ast::Attribute> {
    variable.attributes.iter().find(|attribute| attribute.name == names.function_constant)
}

pub(super) fn function_constant<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    attribute: &'a ast::Attribute,
) -> Option<(QualTy, GlobalValue)> {
    let ty = resolve_type::resolve(cx, &variable.ty);
    let index = function_constant_index(cx, attribute)?;
    if ty.ty.is_error() {
        return None;
    }
    if cx.types.element(ty.ty).is_none() || cx.types.as_matrix(ty.ty).is_some() {
        let shown = cx.types.display(ty.ty);
        let message = format!("a function constant is a scalar or a vector, not a `{shown}`");
        cx.error("function-constant-type", variable.span, message);
        return None;
    }
    let (name, span) = (variable.declarator.name, variable.span);
    if variable.init.is_some() {
        let message = "a function constant has no initialiser: pipelines give it its value";
        cx.error("function-constant-type", span, message);
        return None;
    }
    let constant = hir::FunctionConstant { name, index, ty: ty.ty, span };
    Some((ty, GlobalValue::FunctionConstant(cx.data.function_constant(constant))))
}

fn function_constant_index<'a>(cx: &mut Checker<'a>, attribute: &'a ast::Attribute) -> Option<u32> {
    let Some(index) = attribute.args.first() else {
        cx.error("attribute-argument", attribute.span, "`function_constant` takes an index");
        return None;
    };
    let span = index.span;
    let value = expr::check(cx, index);
    let index = evaluate::constant_integer(cx, value)?;
    let index = u16::try_from(index).ok().map(u32::from);
    if index.is_none() {
        let message = "a function constant's index is between 0 and 65535";
        cx.error("function-constant-index", span, message);
    }
    index
}
