//! Variables of a block.
//!
//! Invariant: a declaration in error still declares its name, so that its uses are not reported too.

use crate::ast::{self, TypeKind};
use crate::hir::{self, Expr, ExprKind, QualTy, Stmt, StmtKind, Ty};
use crate::sema::checker::{Checker, LocalDecl};
use crate::sema::init::DefaultInit;
use crate::sema::lookup::VarDecl;
use crate::sema::values::has_bit_fields;
use crate::sema::{evaluate, function, walk};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;

impl<'a> Checker<'a> {
    /// A variable declared in a block.
    pub(in crate::sema) fn local_variable(&mut self, variable: &'a ast::Variable, stmts: &mut Vec<Stmt>) {
        let name = variable.declarator.name;
        let span = variable.span;
        if let TypeKind::Record(_) | TypeKind::Enum(_) = &variable.ty.kind {
            self.declare_block_tag(&variable.ty);
        }
        if self.has_static_storage(variable) {
            let decl = VarDecl { variable, template: None, scope: self.scopes.current() };
            if let Some(global) = self.variable_global(decl, None, span) {
                self.declare_local(name, LocalDecl::Global(global), span);
            }
            return;
        }
        let known = match &variable.init {
            Some(init) => self.initialised(variable, init).map(|(ty, value)| (ty, Some(value))),
            None => self.uninitialised_type(variable).map(|ty| (ty, None)),
        };
        match known {
            Some((ty, value)) if ty.space == Space::Threadgroup => {
                self.declare_threadgroup(variable, ty, value.is_some());
            }
            Some((ty, Some(value))) => self.declare_variable(variable, ty, Some(value), stmts),
            Some((ty, None)) => self.uninitialised(variable, ty, stmts),
            None => self.declare_poisoned(name, span),
        }
    }

    fn has_static_storage(&self, variable: &'a ast::Variable) -> bool {
        let constant = Some(ast::AddressSpace::Constant);
        variable.is_static
            || variable.ty.quals.space == constant
            || array_space(&variable.ty) == constant
            || self.function_constant_attribute(variable).is_some()
    }

    /// Declares a name whose type is in error, so that its uses are not reported too.
    fn declare_poisoned(&mut self, name: Name, span: Span) {
        let local = self.function.new_local(name, Ty::ERROR, span);
        let ty = QualTy::plain(Ty::ERROR);
        self.declare_local(name, LocalDecl::Variable { local, ty, function: self.function.serial }, span);
    }

    fn declare_threadgroup(&mut self, variable: &ast::Variable, ty: QualTy, is_initialised: bool) {
        let (name, span) = (variable.declarator.name, variable.span);
        if is_initialised {
            // The specification gives initialisers of threadgroup memory no meaning, yet published kernels
            // have them and store to every element before they read. Such a variable is undefined at first,
            // as one without an initialiser is.
            let message =
                "the initialiser of threadgroup memory is ignored: its contents are undefined at first";
            self.report(Diagnostic::warning("threadgroup-initialiser", span, message));
        }
        let id = self.data.add_threadgroup(hir::ThreadgroupVar { name, ty: ty.ty, span });
        self.declare_local(name, LocalDecl::Threadgroup(id, ty), span);
    }

    fn uninitialised_type(&mut self, variable: &'a ast::Variable) -> Option<QualTy> {
        if function::mentions_auto(&variable.ty) {
            self.error("auto-not-allowed", variable.span, "`auto` needs an initialiser");
            return None;
        }
        if let Some(template) = self.deduced_class(&variable.ty) {
            let ty = self.deduce_class_type(&template, &[], variable.span)?;
            return Some(self.qualify(QualTy::plain(ty), variable.ty.quals, variable.span));
        }
        let ty = self.resolve_type(&variable.ty);
        (!ty.ty.is_error() && self.complete_type(ty.ty, variable.span)).then_some(ty)
    }

    fn uninitialised(&mut self, variable: &'a ast::Variable, ty: QualTy, stmts: &mut Vec<Stmt>) {
        let (name, span) = (variable.declarator.name, variable.span);
        let problem = if self.types.referent(ty.ty).is_some() {
            "a reference needs an initialiser"
        } else if ty.ty == Ty::VOID {
            "a variable cannot have type `void`"
        } else if ty.space == Space::Device {
            "a local variable cannot be in device memory"
        } else if matches!(self.types.as_array(ty.ty), Some((_, 0))) && list_needed(&variable.ty) {
            "the length of this array is not known"
        } else {
            let value = self.default_value(ty, span);
            self.declare_variable(variable, ty, value, stmts);
            return;
        };
        self.error("bad-variable", span, problem);
        self.declare_poisoned(name, span);
    }

    /// What `T x;` stores, if anything.
    fn default_value(&mut self, ty: QualTy, span: Span) -> Option<Expr> {
        let init = self.default_init(ty.ty, span);
        match init {
            DefaultInit::Trivial => {
                has_bit_fields(&self.types, ty.ty).then(|| self.values().zero(ty.ty, span))
            }
            DefaultInit::Constructor(func) => Some(self.default_constructed(ty.ty, func, span)),
            DefaultInit::Impossible | DefaultInit::Deleted(_) => {
                self.report_no_default(ty.ty, init, span);
                None
            }
        }
    }

    fn declare_variable(
        &mut self,
        variable: &'a ast::Variable,
        ty: QualTy,
        value: Option<Expr>,
        stmts: &mut Vec<Stmt>,
    ) {
        let name = variable.declarator.name;
        let span = variable.span;
        if value.as_ref().is_some_and(|value| value.ty.ty.is_error()) {
            self.declare_poisoned(name, span);
            return;
        }
        if ty.space == Space::Device {
            self.error("bad-variable", span, "a local variable cannot be in device memory");
            self.declare_poisoned(name, span);
            return;
        }
        let ty = if variable.is_constexpr { ty.as_const() } else { ty };
        let repr = self.values().value_repr(ty);
        let local = self.function.new_local(name, repr, span);
        if let Some(value) = &value {
            self.remember_constant(variable, ty, local, value);
        }
        self.declare_local(name, LocalDecl::Variable { local, ty, function: self.function.serial }, span);
        stmts.push(Stmt { kind: StmtKind::Declare { local, init: value }, span });
    }

    /// Keeps the value of a constant variable for constant expressions and folding.
    fn remember_constant(
        &mut self,
        variable: &'a ast::Variable,
        ty: QualTy,
        local: hir::LocalId,
        value: &Expr,
    ) {
        if !ty.is_const || ty.is_volatile || self.types.referent(ty.ty).is_some() {
            return;
        }
        let is_number = self.types.element(ty.ty).is_some() && self.types.as_matrix(ty.ty).is_none();
        let worth_trying = variable.is_constexpr || (is_number && !calls_something(value));
        if !worth_trying {
            return;
        }
        match self.evaluate(value) {
            Ok(constant) => {
                self.local_constants.insert(self.function.serial, local, constant);
            }
            Err(problem) => {
                if variable.is_constexpr && !evaluate::mentions_function_constant(value) {
                    let name = variable.declarator.name;
                    let message =
                        format!("the initialiser of constexpr `{name}` is not a constant expression");
                    self.report_not_constant(variable.span, message, problem);
                }
            }
        }
    }
}

/// The address space written on an array's elements.
fn array_space(ty: &ast::Type) -> Option<ast::AddressSpace> {
    match &ty.kind {
        TypeKind::Array(elem, _) => elem.quals.space.or_else(|| array_space(elem)),
        _ => None,
    }
}

fn list_needed(ty: &ast::Type) -> bool {
    matches!(ty.kind, TypeKind::Array(_, None))
}

fn calls_something(value: &Expr) -> bool {
    let mut found = false;
    walk::each_expr(value, &mut |expr| {
        found |= matches!(expr.kind, ExprKind::Call(..) | ExprKind::Construct(..));
    });
    found
}
