//! Variables of a block.
//!
//! Invariant: a declaration in error still declares its name, so that its uses are not reported too.

use crate::ast::{self, TypeKind};
use crate::hir::{self, Expr, ExprKind, QualTy, Stmt, StmtKind, Ty};
use crate::sema::checker::{Checker, LocalDecl};
use crate::sema::init::{DefaultInit, assigned};
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
            Some(init) if self.has_deduced_type(variable) => {
                self.deduced_local(variable, init).map(|(ty, value)| (ty, Some(value)))
            }
            Some(init) => match self.written_type(variable, init) {
                Some(ty) if ty.space != Space::Threadgroup => {
                    return self.initialised_local(variable, ty, init, stmts);
                }
                ty => ty.map(|ty| (ty, Some(self.initial_value(ty, init, span)))),
            },
            None => self.uninitialised_type(variable).map(|ty| (ty, None)),
        };
        match known {
            Some((ty, value)) if ty.space == Space::Threadgroup => {
                self.declare_threadgroup(variable, ty, value.is_some());
            }
            Some((ty, Some(value))) => self.declare_variable(variable, ty, None, Some(value), stmts),
            Some((ty, None)) => self.uninitialised(variable, ty, stmts),
            None => self.declare_poisoned(name, span),
        }
    }

    fn has_deduced_type(&mut self, variable: &'a ast::Variable) -> bool {
        function::mentions_auto(&variable.ty) || self.deduced_class(&variable.ty).is_some()
    }

    /// A variable of a known type, whose name its initialiser can mention (C++14 [basic.scope.pdecl]).
    fn initialised_local(
        &mut self,
        variable: &'a ast::Variable,
        ty: QualTy,
        init: &'a ast::Initialiser,
        stmts: &mut Vec<Stmt>,
    ) {
        let (name, span) = (variable.declarator.name, variable.span);
        let own = if variable.is_constexpr { ty.as_const() } else { ty };
        let repr = self.values().value_repr(own);
        let local = self.function.new_local(name, repr, span);
        let decl = LocalDecl::Variable { local, ty: own, function: self.function.serial };
        let value = self.with_name(name, decl, |s| s.initial_value(ty, init, span));
        self.declare_variable(variable, ty, Some(local), Some(value), stmts);
    }

    /// A variable whose type its initialiser deduces, which therefore cannot mention it.
    fn deduced_local(
        &mut self,
        variable: &'a ast::Variable,
        init: &'a ast::Initialiser,
    ) -> Option<(QualTy, Expr)> {
        let (name, span) = (variable.declarator.name, variable.span);
        let ty = QualTy::plain(Ty::ERROR);
        let decl = LocalDecl::Variable { local: hir::LocalId(u32::MAX), ty, function: self.function.serial };
        let errors = self.diagnostics.error_count();
        let found = self.with_name(name, decl, |s| s.initialised(variable, init));
        let failed = found.as_ref().is_none_or(|(_, value)| value.ty.ty.is_error());
        if failed && self.diagnostics.error_count() == errors {
            // Only the name itself is in error without a report.
            let message = format!("`{name}` has a deduced type, so that its initialiser cannot mention it");
            self.error("own-initialiser", span, message);
        }
        found
    }

    /// Runs `f` where a name of the current block has another meaning.
    fn with_name<R>(&mut self, name: Name, decl: LocalDecl, f: impl FnOnce(&mut Self) -> R) -> R {
        let before = self.scopes.declare(name, decl);
        let result = f(self);
        self.scopes.restore(name, before);
        result
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
            self.declare_variable(variable, ty, None, value, stmts);
            return;
        };
        self.error("bad-variable", span, problem);
        self.declare_poisoned(name, span);
    }

    /// What `T x;` stores, if anything.
    fn default_value(&mut self, ty: QualTy, span: Span) -> Option<Expr> {
        let init = self.default_init(ty.ty, span);
        if !self.check_default_access(ty.ty, span) {
            return None;
        }
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
        known: Option<hir::LocalId>,
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
        let local = known.unwrap_or_else(|| self.function.new_local(name, repr, span));
        if let Some(value) = &value {
            self.remember_constant(variable, ty, local, value);
        }
        self.declare_local(name, LocalDecl::Variable { local, ty, function: self.function.serial }, span);
        let reads_itself = value.as_ref().filter(|value| mentions(value, local)).cloned();
        let Some(value) = reads_itself else {
            stmts.push(Stmt { kind: StmtKind::Declare { local, init: value }, span });
            return;
        };
        if self.types.referent(ty.ty).is_some() {
            self.error("own-initialiser", span, format!("reference `{name}` is used before it is bound"));
            return;
        }
        // The variable exists, without a value, while its initialiser is evaluated.
        stmts.push(Stmt { kind: StmtKind::Declare { local, init: None }, span });
        let place = Expr::place(ExprKind::Local(local), QualTy::plain(repr), span);
        stmts.push(Stmt { kind: StmtKind::Expr(assigned(place, value, span)), span });
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

fn mentions(value: &Expr, local: hir::LocalId) -> bool {
    let mut found = false;
    walk::each_expr(value, &mut |expr| {
        found |= matches!(expr.kind, ExprKind::Local(known) if known == local)
    });
    found
}

fn calls_something(value: &Expr) -> bool {
    let mut found = false;
    walk::each_expr(value, &mut |expr| {
        found |= matches!(expr.kind, ExprKind::Call(..) | ExprKind::Construct(..));
    });
    found
}
