//! Variables: program-scope constants, function constants, static members, locals, threadgroup memory.

use super::checker::{Checker, Deferred, FnState, LocalDecl, Returns, ScopeId, TArg, address};
use super::init::DefaultInit;
use super::lookup::VarDecl;
use super::outside::Fit;
use super::template_args::ExplicitArg;
use crate::ast::{self, ExprKind as Ast, Initialiser, ItemKind, TemplateParams, TypeKind};
use crate::hir::{self, Expr, ExprKind, FunctionConstantId, GlobalId, QualTy, Stmt, StmtKind, Ty};
use crate::token::Name;
use anymetal_diag::{Diagnostic, Span};
use anymetal_ir::Space;
use std::rc::Rc;

/// A variable with static storage of this check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct GlobalVarId(pub(super) u32);

/// What a variable with static storage is.
#[derive(Clone, Debug)]
pub(super) enum GlobalValue {
    /// Being worked out.
    Pending,
    /// A constant datum.
    Constant(GlobalId),
    /// A function constant.
    FunctionConstant(FunctionConstantId),
    /// Derived from function constants: the expression stands in at each use.
    Derived(Rc<Expr>),
    /// In error, reported.
    Failed,
}

/// A variable with static storage.
#[derive(Debug)]
pub(super) struct GlobalVar<'a> {
    pub(super) decl: VarDecl<'a>,
    pub(super) ty: QualTy,
    pub(super) value: GlobalValue,
}

impl<'a> Checker<'a> {
    /// The variable a name stands for; for a template, with its arguments.
    pub(super) fn variable_global(
        &mut self,
        decl: VarDecl<'a>,
        explicit: Option<Vec<ExplicitArg<'a>>>,
        span: Span,
    ) -> Option<GlobalVarId> {
        let args: Rc<[TArg]> = match (decl.template, explicit) {
            (Some(template), Some(explicit)) => {
                self.bind_args(&template.params, &[], explicit, decl.scope, span)?
            }
            (Some(_), None) => {
                let name = decl.variable.declarator.name;
                self.error(
                    "template-arguments",
                    span,
                    format!("variable template `{name}` needs template arguments"),
                );
                return None;
            }
            (None, Some(_)) => {
                let name = decl.variable.declarator.name;
                self.error("not-a-template", span, format!("`{name}` is not a template"));
                return None;
            }
            (None, None) => Rc::from([]),
        };
        let key = (address(decl.variable), decl.scope, args.clone());
        if let Some(&id) = self.global_ids.get(&key) {
            self.report_deferred(Deferred::Global(id));
            return Some(id);
        }
        let id = GlobalVarId(self.globals.len() as u32);
        self.globals.push(GlobalVar { decl, ty: QualTy::plain(Ty::ERROR), value: GlobalValue::Pending });
        self.global_ids.insert(key, id);
        self.once(Deferred::Global(id), |s| s.define_global(id, decl, &args, span));
        Some(id)
    }

    fn define_global(&mut self, id: GlobalVarId, decl: VarDecl<'a>, args: &Rc<[TArg]>, span: Span) {
        let (variable, scope) = self.select_variable(&decl, args);
        let serial = self.next_serial;
        self.next_serial += 1;
        let state = FnState::new(serial, Returns::Type(QualTy::plain(Ty::VOID)));
        let outer = std::mem::replace(&mut self.function, state);
        let unevaluated = std::mem::take(&mut self.unevaluated);
        let name = variable.declarator.name;
        let work = |s: &mut Self| s.in_scope(scope, |s| s.global_value_of(variable, &decl));
        let defined = if args.is_empty() {
            let trace = self.trace.take();
            let defined = self.deeper(span, work);
            self.trace = trace;
            defined
        } else {
            let text = |s: &Self| {
                format!(
                    "in instantiation of variable template `{name}<{}>` requested here",
                    s.show_args(args)
                )
            };
            self.instantiating(text, span, work)
        };
        self.unevaluated = unevaluated;
        self.function = outer;
        let (ty, value) = defined.flatten().unwrap_or((QualTy::plain(Ty::ERROR), GlobalValue::Failed));
        let global = &mut self.globals[id.0 as usize];
        global.ty = ty;
        global.value = value;
    }

    /// The definition that serves the template arguments, and the scope to check it in.
    fn select_variable(&mut self, decl: &VarDecl<'a>, args: &Rc<[TArg]>) -> (&'a ast::Variable, ScopeId) {
        let Some(template) = decl.template else { return (decl.variable, decl.scope) };
        let mut best: Option<(&'a ast::Variable, ScopeId, bool)> = None;
        for item in self.table.specialisations(decl.variable.declarator.name) {
            let entry = self.entry(item);
            let (ItemKind::Variable(variable), Some(params)) = (&entry.item.kind, &entry.item.template)
            else {
                continue;
            };
            let Some(written) = &variable.declarator.specialisation else { continue };
            let scope = self.scope_of_item(item);
            if let Some(inner) = self.match_variable(template, params, written, scope, args, variable.span) {
                let is_full = params.params.is_empty();
                if best.is_none_or(|(.., full)| is_full && !full) {
                    best = Some((variable, inner, is_full));
                }
            }
        }
        match best {
            Some((variable, scope, _)) => (variable, scope),
            None => (decl.variable, self.template_scope(&template.params, args, decl.scope)),
        }
    }

    fn match_variable(
        &mut self,
        primary: &'a TemplateParams,
        params: &'a TemplateParams,
        written: &'a [ast::TemplateArg],
        scope: ScopeId,
        args: &Rc<[TArg]>,
        span: Span,
    ) -> Option<ScopeId> {
        let bound = self.deduced_from_written(params, written, scope, args, span)?;
        let inner = self.template_scope(&params.params, &bound, scope);
        let again = self.quietly(|s| {
            s.in_scope(inner, |s| {
                let explicit = s.explicit_args(written);
                s.bind_args(&primary.params, &[], explicit, scope, span)
            })
        });
        (again.ok().flatten()? == *args).then_some(inner)
    }

    fn global_value_of(
        &mut self,
        variable: &'a ast::Variable,
        decl: &VarDecl<'a>,
    ) -> Option<(QualTy, GlobalValue)> {
        let attribute =
            variable.attributes.iter().find(|attribute| attribute.name == self.names.function_constant);
        if let Some(attribute) = attribute {
            return self.function_constant(variable, attribute);
        }
        let least = if variable.init.is_some() { Fit::Exact } else { Fit::Any };
        if let Some((outside, scope)) = self.static_definition(decl, least) {
            return self.in_scope(scope, |s| s.value_of_definition(outside));
        }
        self.value_of_definition(variable)
    }

    fn value_of_definition(&mut self, variable: &'a ast::Variable) -> Option<(QualTy, GlobalValue)> {
        let span = variable.span;
        let Some(init) = &variable.init else {
            // A constant object of a class with a default constructor is fine without an initialiser.
            let ty = self.resolve_type(&variable.ty);
            if self.types.as_record(ty.ty).is_some() {
                let value = self.value_init(ty.ty, span);
                return self.finish_global(ty, value, variable);
            }
            let attribute = variable.attributes.iter().find(|a| super::kernel::is_thread_attribute(a));
            if let Some(attribute) = attribute {
                let message =
                    format!("`{}` of a variable outside of functions is not supported", attribute.name);
                let hint = "make it a parameter of the kernel";
                let span = attribute.span;
                self.report(Diagnostic::error("unsupported-feature", span, message).with_hint(hint));
            } else if !ty.ty.is_error() {
                let name = variable.declarator.name;
                self.error("uninitialised-constant", span, format!("constant `{name}` has no initialiser"));
            }
            return None;
        };
        let (ty, value) = self.initialised(variable, init)?;
        self.finish_global(ty, value, variable)
    }

    fn finish_global(
        &mut self,
        ty: QualTy,
        value: Expr,
        variable: &'a ast::Variable,
    ) -> Option<(QualTy, GlobalValue)> {
        if value.ty.ty.is_error() {
            return None;
        }
        let span = variable.span;
        match self.evaluate(&value) {
            Ok(constant) => {
                let bytes = super::evaluate::value_to_bytes(&self.types, ty.ty, &constant);
                let id = GlobalId(self.hir_globals.len() as u32);
                let name = variable.declarator.name.to_string();
                self.hir_globals.push(hir::Global { name, ty: ty.ty, bytes, span });
                Some((ty, GlobalValue::Constant(id)))
            }
            Err(problem) => {
                if super::evaluate::mentions_function_constant(&value) && self.function.locals.is_empty() {
                    return Some((ty, GlobalValue::Derived(Rc::new(value))));
                }
                let name = variable.declarator.name;
                let diagnostic = anymetal_diag::Diagnostic::error(
                    "not-constant",
                    span,
                    format!("the initialiser of `{name}` is not a constant expression"),
                );
                self.report(diagnostic.with_note(problem.span, problem.message));
                None
            }
        }
    }

    /// `const int S::x = 1;` for a static member, with at least that fit; and the scope to check it in.
    fn static_definition(&mut self, decl: &VarDecl<'a>, least: Fit) -> Option<(&'a ast::Variable, ScopeId)> {
        let super::checker::ScopeKind::Record(record) = self.scopes[decl.scope.0 as usize].kind else {
            return None;
        };
        let class = self.record_inst(record).name?;
        let mut best: Option<(Fit, &'a ast::Variable, ScopeId)> = None;
        for item in self.table.out_of_line(class) {
            let ItemKind::Variable(variable) = &self.entry(item).item.kind else { continue };
            let declarator = &variable.declarator;
            if declarator.name != decl.variable.declarator.name || variable.init.is_none() {
                continue;
            }
            if let Some((fit, scope)) = self.scope_outside(item, declarator.scope.as_ref(), record)
                && fit >= least
                && best.is_none_or(|(known, ..)| known < fit)
            {
                best = Some((fit, variable, scope));
            }
        }
        best.map(|(_, variable, scope)| (variable, scope))
    }

    fn function_constant(
        &mut self,
        variable: &'a ast::Variable,
        attribute: &'a ast::Attribute,
    ) -> Option<(QualTy, GlobalValue)> {
        let ty = self.resolve_type(&variable.ty);
        let Some(index) = attribute.args.first() else {
            self.error("attribute-argument", attribute.span, "`function_constant` takes an index");
            return None;
        };
        let index_span = index.span;
        let value = self.expr(index);
        let index = self.constant_integer(value)?;
        let Ok(index) = u16::try_from(index) else {
            self.error(
                "function-constant-index",
                index_span,
                "a function constant's index is between 0 and 65535",
            );
            return None;
        };
        if ty.ty.is_error() {
            return None;
        }
        if self.types.element(ty.ty).is_none() || self.types.as_matrix(ty.ty).is_some() {
            let shown = self.show(ty);
            self.error(
                "function-constant-type",
                variable.span,
                format!("a function constant cannot be a `{shown}`"),
            );
            return None;
        }
        let name = variable.declarator.name;
        let index = u32::from(index);
        let known = self
            .function_constants
            .iter()
            .position(|fc| fc.index == index && fc.ty == ty.ty && fc.name == name);
        let id = match known {
            Some(n) => n,
            None => {
                self.function_constants.push(hir::FunctionConstant {
                    name,
                    index,
                    ty: ty.ty,
                    span: variable.span,
                });
                self.function_constants.len() - 1
            }
        };
        Some((ty, GlobalValue::FunctionConstant(FunctionConstantId(id as u32))))
    }

    /// A use of a variable with static storage.
    pub(super) fn global_value(&mut self, id: GlobalVarId, span: Span) -> Expr {
        let global = &self.globals[id.0 as usize];
        let ty = global.ty;
        match &global.value {
            GlobalValue::Constant(constant) => {
                let qual = QualTy { is_const: true, space: Space::Constant, ..ty };
                Expr::place(ExprKind::Global(*constant), qual, span)
            }
            GlobalValue::FunctionConstant(constant) => {
                Expr::value(ExprKind::FunctionConstant(*constant), ty.ty, span)
            }
            GlobalValue::Derived(expr) => Expr { span, ..Expr::clone(expr) },
            GlobalValue::Failed => self.poison(span),
            GlobalValue::Pending => {
                let name = global.decl.variable.declarator.name;
                self.error("recursive-constant", span, format!("the value of `{name}` depends on itself"));
                self.poison(span)
            }
        }
    }

    /// A constant table that has no name.
    pub(super) fn constant_table(&mut self, ty: Ty, bytes: Vec<u8>, span: Span) -> Expr {
        let key = (ty, bytes);
        let id = match self.tables.get(&key) {
            Some(&id) => id,
            None => {
                let id = GlobalId(self.hir_globals.len() as u32);
                let (ty, bytes) = key.clone();
                self.hir_globals.push(hir::Global { name: String::new(), ty, bytes, span });
                self.tables.insert(key, id);
                id
            }
        };
        let qual = QualTy { is_const: true, ..QualTy::in_space(ty, Space::Constant) };
        Expr::place(ExprKind::Global(id), qual, span)
    }

    // --- types and values of initialised variables

    /// The type and initial value of a variable, `auto` and `[]` completed.
    fn initialised(&mut self, variable: &'a ast::Variable, init: &'a Initialiser) -> Option<(QualTy, Expr)> {
        if super::function::mentions_auto(&variable.ty) {
            return self.deduced_variable(variable, init);
        }
        let mut ty = self.resolve_type(&variable.ty);
        if ty.ty.is_error() {
            return None;
        }
        if let Some((elem, 0)) = self.types.as_array(ty.ty)
            && let Some(count) = list_length(init)
        {
            ty = ty.with_ty(self.types.array(elem, count));
        }
        if !self.complete_type(ty.ty, variable.span) {
            return None;
        }
        let value = self.initial_value(ty, init, variable.span);
        Some((ty, value))
    }

    fn deduced_variable(
        &mut self,
        variable: &'a ast::Variable,
        init: &'a Initialiser,
    ) -> Option<(QualTy, Expr)> {
        let span = variable.span;
        let value = match init {
            Initialiser::Assign(expr) => Some(expr),
            Initialiser::Paren(args) => {
                if let [only] = args.as_slice() {
                    Some(only)
                } else {
                    None
                }
            }
            Initialiser::Brace(clauses) => {
                if let [only] = clauses.as_slice() {
                    Some(&only.value)
                } else {
                    None
                }
            }
        };
        let Some(value) = value.filter(|value| !matches!(value.kind, Ast::InitList(_))) else {
            self.error("auto-not-allowed", span, "`auto` needs an initialiser with one value");
            return None;
        };
        let value = self.expr(value);
        let ty = self.auto_type(&variable.ty, &value, span)?;
        let to = self.initialised_type(ty);
        let value = self.convert(value, to, "in this initialiser");
        Some((ty, value))
    }

    /// The type that `auto` (perhaps with `&`, `*`, `const`) has for a value.
    pub(super) fn auto_type(&mut self, ty: &'a ast::Type, value: &Expr, span: Span) -> Option<QualTy> {
        if value.ty.ty.is_error() {
            return None;
        }
        if value.ty.ty == Ty::VOID {
            self.error("void-variable", span, "a variable cannot have type `void`");
            return None;
        }
        let pattern = self.pattern(ty, &[]);
        let mut deduced = vec![None];
        let fits = self.deduce_call_arg(&pattern, value.ty, value.is_place, &mut deduced);
        let Some(Some(TArg::Type(auto))) = deduced.into_iter().next().filter(|_| fits) else {
            let shown = self.show(value.ty);
            self.error("auto-not-allowed", span, format!("`auto` cannot be deduced from `{shown}`"));
            return None;
        };
        let outer = self.auto_ty.replace(auto);
        let resolved = self.resolve_type(ty);
        self.auto_ty = outer;
        (!resolved.ty.is_error()).then_some(resolved)
    }

    // --- local variables

    /// A variable declared in a block.
    pub(super) fn local_variable(&mut self, variable: &'a ast::Variable, stmts: &mut Vec<Stmt>) {
        let name = variable.declarator.name;
        let span = variable.span;
        if let TypeKind::Record(_) | TypeKind::Enum(_) = &variable.ty.kind {
            self.declare_block_tag(&variable.ty);
        }
        let space = variable.ty.quals.space;
        let is_constant = space == Some(ast::AddressSpace::Constant)
            || array_space(&variable.ty) == Some(ast::AddressSpace::Constant);
        let attribute =
            variable.attributes.iter().any(|attribute| attribute.name == self.names.function_constant);
        if is_constant || variable.is_static || attribute {
            let scope = self.scope;
            let decl = VarDecl { variable, template: None, scope };
            if let Some(global) = self.variable_global(decl, None, span) {
                self.declare_local(name, LocalDecl::Global(global), span);
            }
            return;
        }
        match &variable.init {
            Some(init) => {
                let Some((ty, value)) = self.initialised(variable, init) else {
                    self.declare_poisoned(name, span);
                    return;
                };
                if ty.space == Space::Threadgroup {
                    self.error("threadgroup-initialiser", span, "threadgroup memory cannot be initialised");
                    self.declare_poisoned(name, span);
                    return;
                }
                self.declare_variable(variable, ty, Some(value), stmts);
            }
            None => {
                if super::function::mentions_auto(&variable.ty) {
                    self.error("auto-not-allowed", span, "`auto` needs an initialiser");
                    self.declare_poisoned(name, span);
                    return;
                }
                let ty = self.resolve_type(&variable.ty);
                if ty.ty.is_error() || !self.complete_type(ty.ty, span) {
                    self.declare_poisoned(name, span);
                    return;
                }
                self.uninitialised(variable, ty, stmts);
            }
        }
    }

    /// Declares a name whose type is in error, so that its uses are not reported too.
    fn declare_poisoned(&mut self, name: Name, span: Span) {
        let local = self.new_local(name, Ty::ERROR, span);
        let ty = QualTy::plain(Ty::ERROR);
        self.declare_local(name, LocalDecl::Variable { local, ty, function: self.function.serial }, span);
    }

    fn uninitialised(&mut self, variable: &'a ast::Variable, ty: QualTy, stmts: &mut Vec<Stmt>) {
        let name = variable.declarator.name;
        let span = variable.span;
        if ty.space == Space::Threadgroup {
            let id = hir::ThreadgroupVarId(self.threadgroup_vars.len() as u32);
            self.threadgroup_vars.push(hir::ThreadgroupVar { name, ty: ty.ty, span });
            self.declare_local(name, LocalDecl::Threadgroup(id, ty), span);
            return;
        }
        let problem = if self.types.referent(ty.ty).is_some() {
            Some("a reference needs an initialiser".to_owned())
        } else if ty.ty == Ty::VOID {
            Some("a variable cannot have type `void`".to_owned())
        } else if ty.space == Space::Device {
            Some("a local variable cannot be in device memory".to_owned())
        } else if matches!(self.types.as_array(ty.ty), Some((_, 0))) && list_needed(&variable.ty) {
            Some("the length of this array is not known".to_owned())
        } else {
            None
        };
        if let Some(problem) = problem {
            self.error("bad-variable", span, problem);
            self.declare_poisoned(name, span);
            return;
        }
        let value = match self.default_init(ty.ty, span) {
            DefaultInit::Trivial => None,
            DefaultInit::Constructor(func) => Some(self.default_constructed(ty.ty, func, span)),
            DefaultInit::Impossible => {
                let shown = self.show(ty);
                self.error("no-default-constructor", span, format!("`{shown}` has no default constructor"));
                None
            }
        };
        self.declare_variable(variable, ty, value, stmts);
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
        let repr = self.value_repr(ty);
        let local = self.new_local(name, repr, span);
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
                self.local_constants.insert((self.function.serial, local), constant);
            }
            Err(problem) => {
                if variable.is_constexpr && !super::evaluate::mentions_function_constant(value) {
                    let name = variable.declarator.name;
                    let diagnostic = anymetal_diag::Diagnostic::error(
                        "not-constant",
                        variable.span,
                        format!("the initialiser of constexpr `{name}` is not a constant expression"),
                    );
                    self.report(diagnostic.with_note(problem.span, problem.message));
                }
            }
        }
    }

    /// Declares the record or enumeration written inside a type, and its enumerators.
    pub(super) fn declare_block_tag(&mut self, ty: &'a ast::Type) {
        let scope = self.scope;
        match super::table::tag_of(ty) {
            Some(super::table::Tag::Record(record)) => {
                if let Some(name) = record.name {
                    let ty = self.plain_record(record, scope);
                    self.declare_local(name, LocalDecl::Type(QualTy::plain(ty)), record.span);
                }
            }
            Some(super::table::Tag::Enum(enumeration)) => self.declare_block_enum(enumeration),
            None => {}
        }
    }

    pub(super) fn declare_block_enum(&mut self, enumeration: &'a ast::Enum) {
        let scope = self.scope;
        let ty = self.enum_ty(enumeration, scope);
        if let Some(name) = enumeration.name {
            self.declare_local(name, LocalDecl::Type(QualTy::plain(ty)), enumeration.span);
        }
        if enumeration.is_scoped {
            return;
        }
        for (n, enumerator) in enumeration.enumerators.iter().flatten().enumerate() {
            if let super::lookup::Found::Enumerator(ty, value) = self.enumerator(enumeration, scope, n as u32)
            {
                self.declare_local(enumerator.name, LocalDecl::Enumerator(ty, value), enumerator.span);
            }
        }
    }
}

/// The number of elements a list or string gives an array.
fn list_length(init: &Initialiser) -> Option<u64> {
    match init {
        Initialiser::Brace(clauses) => Some(clauses.len() as u64),
        Initialiser::Assign(expr) => match &expr.kind {
            Ast::InitList(clauses) => Some(clauses.len() as u64),
            _ => None,
        },
        Initialiser::Paren(_) => None,
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
    super::walk::each_expr(value, &mut |expr| {
        found |= matches!(expr.kind, ExprKind::Call(..) | ExprKind::Construct(..));
    });
    found
}
