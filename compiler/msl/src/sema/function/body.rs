//! Bodies: checked once, in a state of their own.
//!
//! Invariant: after [`Checker::ensure_body`] an instance is checked or in error, and its result type is
//! known; only while it is being checked can a deduced one be missing.

use super::{BodyState, Origin};
use crate::ast::{self, FunctionBody, FunctionName, TypeKind};
use crate::hir::{self, FuncId, QualTy, Ty};
use crate::sema::checker::{Checker, FnDeclId, LocalDecl};
use crate::sema::diagnostics::Deferred;
use crate::sema::fn_context::{AutoReturn, Returns};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

impl<'a> Checker<'a> {
    /// The result type; checks the body first when it is to be deduced.
    pub(in crate::sema) fn return_type(&mut self, id: FuncId, span: Span) -> QualTy {
        if let Some(ret) = self.functions.inst(id).ret {
            return ret;
        }
        self.diagnostics.report_deferred(Deferred::Body(id));
        if self.functions.inst(id).state == BodyState::Checking {
            let message =
                format!("the result type of `{}` is not known yet here", self.functions.inst(id).name);
            let hint = "write the result type instead of `auto`";
            self.report(Diagnostic::error("auto-recursion", span, message).with_hint(hint));
            return QualTy::plain(Ty::ERROR);
        }
        self.ensure_body(id);
        self.functions.inst(id).ret.unwrap_or(QualTy::plain(Ty::ERROR))
    }

    /// Checks a function's body, if that has not happened.
    pub(in crate::sema) fn ensure_body(&mut self, id: FuncId) {
        if self.functions.inst(id).state != BodyState::Unchecked || self.diagnostics.gave_up() {
            self.diagnostics.report_deferred(Deferred::Body(id));
            return;
        }
        self.functions.inst_mut(id).state = BodyState::Checking;
        let returns = self.functions.inst(id).ret.map_or(Returns::Auto(None), Returns::Type);
        let trace = self.functions.inst(id).trace.clone();
        let outer_trace = self.diagnostics.replace_trace(trace);
        let placeholders = std::mem::take(&mut self.placeholders);
        let scope = self.functions.inst(id).scope;
        let span = self.functions.inst(id).span;
        self.once(Deferred::Body(id), |s| {
            s.in_function(returns, |s| s.in_scope(scope, |s| s.deeper(span, |s| s.check_body(id))));
        });
        self.placeholders = placeholders;
        self.diagnostics.replace_trace(outer_trace);
        self.functions.inst_mut(id).state = BodyState::Checked;
    }

    fn check_body(&mut self, id: FuncId) {
        let decl_id = match self.functions.inst(id).origin {
            Origin::Decl(decl) => decl,
            Origin::Synthesised(which) => {
                let function = self.synthesised_body(id, which);
                self.functions.inst_mut(id).hir = Some(Rc::new(function));
                return;
            }
            Origin::Dispatch | Origin::Linked => return,
        };
        let Some(definition) = self.find_definition(id, decl_id) else {
            self.undefined_body(id, decl_id);
            return;
        };
        self.functions.inst_mut(id).definition = Some(definition);
        self.function.name = self.functions.inst(id).name.to_string();
        self.function.auto_return = definition.ast.ret.as_ref().map(|ret| match &ret.kind {
            TypeKind::Reference { referent, .. } => {
                AutoReturn::Reference { is_const: referent.quals.is_const }
            }
            TypeKind::DecltypeAuto => AutoReturn::Decltype,
            _ => AutoReturn::Plain,
        });
        let function = self.in_scope(definition.scope, |s| {
            s.in_block(|s| {
                s.functions.set_body_scope(s.scopes.current(), id);
                s.function_of(id, definition.ast)
            })
        });
        self.functions.inst_mut(id).hir = Some(Rc::new(function));
    }

    /// A function without a definition: of another library, or a mistake.
    fn undefined_body(&mut self, id: FuncId, decl: FnDeclId) {
        let requested = self.functions.inst(id).requested;
        if let Some(host_name) = self.visible_name(id, decl)
            && let Some(position) = self.linked_declaration(id, &host_name, requested)
        {
            let code = self.linked_code(position, id);
            self.functions.inst_mut(id).hir = Some(Rc::new(code));
            return;
        }
        let message = format!("`{}` is used but never defined", self.functions.inst(id).name);
        let mut diagnostic = Diagnostic::error("undefined-function", requested, message);
        if self.visible_name(id, decl).is_some() {
            diagnostic = diagnostic.with_hint(
                "it is a visible function: the pipeline may link it from a library that defines it",
            );
        }
        self.report(diagnostic);
    }

    fn function_of(&mut self, id: FuncId, ast: &'a ast::Function) -> hir::Function {
        let mut params = Vec::new();
        if let Some(this) = self.functions.inst(id).this {
            let pointer = self.types.pointer(this);
            let local = self.function.new_local(self.names.this, pointer, ast.span);
            self.function.this = Some((local, this));
            params.push(local);
        }
        self.declare_params(id, ast, &mut params);
        self.function.params = self.function.locals.len() as u32;
        let mut stmts = Vec::new();
        let is_constructor = matches!(ast.name, FunctionName::Constructor(_));
        if is_constructor {
            self.constructor_prologue(ast, &mut stmts);
        }
        if let FunctionBody::Block(block) = &ast.body {
            self.stmts(&block.stmts, &mut stmts);
        }
        let ret = match self.function.returns {
            Returns::Type(ty) => ty,
            Returns::Auto(ty) => ty.unwrap_or(QualTy::plain(Ty::VOID)),
        };
        self.functions.inst_mut(id).ret = Some(ret);
        hir::Function {
            name: self.functions.inst(id).name.clone(),
            params,
            ret: self.values().value_repr(ret),
            locals: std::mem::take(&mut self.function.locals),
            body: hir::Block { stmts },
            fp: ast.fp,
            span: ast.span,
            linked: None,
        }
    }

    fn declare_params(&mut self, id: FuncId, ast: &'a ast::Function, out: &mut Vec<hir::LocalId>) {
        let types = self.functions.inst(id).params.clone();
        let mut types = types.iter();
        // Qualifiers of a parameter itself are those of the definition.
        let is_first = match self.functions.inst(id).origin {
            Origin::Decl(decl) => self.functions.decl(decl).ast.id == ast.id,
            _ => true,
        };
        for param in &ast.params {
            let name = param.name.unwrap_or(Name::EMPTY);
            if let TypeKind::Pack(inner) = &param.ty.kind {
                let count = self.scopes.pack_length_of_type(inner).unwrap_or(0);
                let mut elements = Vec::new();
                for &ty in types.by_ref().take(count) {
                    elements.push(self.param_local(name, ty, param.span, out));
                }
                self.declare_local(name, LocalDecl::Pack(elements.into()), param.span);
                continue;
            }
            let Some(&ty) = types.next() else { break };
            let ty = if is_first { ty } else { QualTy { is_const: param.ty.quals.is_const, ..ty } };
            let variable = self.param_local(name, ty, param.span, out);
            self.declare_local(name, variable, param.span);
        }
    }

    fn param_local(&mut self, name: Name, ty: QualTy, span: Span, out: &mut Vec<hir::LocalId>) -> LocalDecl {
        let repr = self.values().value_repr(ty);
        let local = self.function.new_local(name, repr, span);
        out.push(local);
        LocalDecl::Variable { local, ty, function: self.function.serial }
    }
}
