//! Functions: declarations, instances, bodies.
//!
//! A [`FnDecl`] is a declaration in a scope, perhaps a template. A [`FnInst`] is a function with all
//! template arguments: its signature is known from the start, its body is checked when somebody needs
//! it (a constant evaluation, a deduced result type, or in the end, because the kernel reaches it).

use super::checker::{
    AutoReturn, Checker, Deferred, FnDeclId, LocalDecl, Returns, ScopeId, TArg, Trace, address,
};
use super::outside::Fit;
use super::spelling;
use super::table::function_key;
use crate::ast::{self, FunctionBody, FunctionName, ItemKind, OperatorName, TemplateParams, TypeKind};
use crate::hir::{self, FuncId, QualTy, RecordId, Ty, TyKind};
use crate::token::{MathMode, Name};
use anymetal_diag::Span;
use anymetal_ir::Space;
use std::rc::Rc;

/// A declared function.
#[derive(Debug)]
pub(super) struct FnDecl<'a> {
    pub(super) ast: &'a ast::Function,
    pub(super) template: Option<&'a TemplateParams>,
    pub(super) scope: ScopeId,
    pub(super) owner: Option<RecordId>,
    pub(super) math_mode: Option<MathMode>,
    /// The parameter types of a template as patterns, once asked for.
    pub(super) patterns: Option<Rc<[super::pattern::Pat<'a>]>>,
}

/// Where a function's code comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    Decl(FnDeclId),
    /// The synthesised default constructor.
    DefaultConstructor(RecordId),
}

/// How far a body is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BodyState {
    Unchecked,
    Checking,
    Checked,
}

/// A function with its template arguments.
#[derive(Debug)]
pub(super) struct FnInst<'a> {
    pub(super) name: String,
    pub(super) origin: Origin,
    pub(super) args: Rc<[TArg]>,
    pub(super) scope: ScopeId,
    /// Without `this`; references as references.
    pub(super) params: Rc<[QualTy]>,
    /// `None` while it is still to be deduced.
    pub(super) ret: Option<QualTy>,
    /// What `this` points to.
    pub(super) this: Option<QualTy>,
    pub(super) state: BodyState,
    pub(super) hir: Option<Rc<hir::Function>>,
    pub(super) trace: Option<Rc<Trace>>,
    pub(super) span: Span,
    pub(super) requested: Span,
    /// The body of a full specialisation or of a definition outside of the class.
    pub(super) definition: Option<Definition<'a>>,
}

/// Where a body stands, when not at the declaration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition<'a> {
    pub(super) ast: &'a ast::Function,
    pub(super) scope: ScopeId,
}

impl<'a> Checker<'a> {
    /// The declaration's identity in this check.
    pub(super) fn fn_decl(
        &mut self,
        ast: &'a ast::Function,
        template: Option<&'a TemplateParams>,
        scope: ScopeId,
        owner: Option<RecordId>,
        math_mode: Option<MathMode>,
    ) -> FnDeclId {
        let key = (address(ast), scope);
        if let Some(&id) = self.fn_decl_ids.get(&key) {
            return id;
        }
        let id = FnDeclId(self.fn_decls.len() as u32);
        self.fn_decls.push(FnDecl { ast, template, scope, owner, math_mode, patterns: None });
        self.fn_decl_ids.insert(key, id);
        id
    }

    pub(super) fn decl(&self, id: FnDeclId) -> &FnDecl<'a> {
        &self.fn_decls[id.0 as usize]
    }

    pub(super) fn inst(&self, id: FuncId) -> &FnInst<'a> {
        &self.fn_insts[id.0 as usize]
    }

    /// The name for messages.
    pub(super) fn decl_name(&self, id: FnDeclId) -> String {
        let decl = self.decl(id);
        let name = spelling::function(&decl.ast.name);
        match decl.owner {
            Some(owner) => format!("{}::{name}", self.types.record(owner).name),
            None => name,
        }
    }

    /// Whether calls need an object.
    pub(super) fn needs_object(&self, id: FnDeclId) -> bool {
        let decl = self.decl(id);
        decl.owner.is_some() && !decl.ast.specifiers.is_static
    }

    /// The function with these template arguments; its signature is checked here (and fails, reported,
    /// when it makes no sense).
    pub(super) fn instantiate_function(
        &mut self,
        id: FnDeclId,
        args: Rc<[TArg]>,
        span: Span,
    ) -> Option<FuncId> {
        let key = (id, args.clone());
        if let Some(&known) = self.fn_inst_ids.get(&key) {
            return Some(known);
        }
        let decl = self.decl(id);
        let (ast, template, outer) = (decl.ast, decl.template, decl.scope);
        let scope = match template {
            Some(template) => self.template_scope(&template.params, &args, outer),
            None => outer,
        };
        let (params, ret) = match template {
            Some(_) => self.instantiating(
                |s| s.instantiation_text(id, &args),
                span,
                |s| s.in_scope(scope, |s| s.signature(ast)),
            )??,
            None => {
                let trace = self.trace.take();
                let pack = self.pack_index.take();
                let signature = self.deeper(span, |s| s.in_scope(scope, |s| s.signature(ast)));
                self.pack_index = pack;
                self.trace = trace;
                signature??
            }
        };
        let mut name = self.decl_name(id);
        if !args.is_empty() {
            name = format!("{name}<{}>", self.show_args(&args));
        }
        let func = FuncId(self.fn_insts.len() as u32);
        let text = self.instantiation_text(id, &args);
        let trace = match template {
            Some(_) => self.trace_with(text, span),
            None => None,
        };
        self.fn_insts.push(FnInst {
            name,
            origin: Origin::Decl(id),
            args,
            scope,
            params,
            ret,
            this: self.this_of(id),
            state: BodyState::Unchecked,
            hir: None,
            trace,
            span: ast.span,
            requested: span,
            definition: None,
        });
        self.fn_inst_ids.insert(key, func);
        Some(func)
    }

    fn instantiation_text(&self, id: FnDeclId, args: &[TArg]) -> String {
        let name = self.decl_name(id);
        format!("in instantiation of function template `{name}<{}>` requested here", self.show_args(args))
    }

    fn this_of(&self, id: FnDeclId) -> Option<QualTy> {
        let decl = self.decl(id);
        let owner = decl.owner.filter(|_| !decl.ast.specifiers.is_static)?;
        let method = decl.ast.method;
        Some(QualTy {
            ty: self.record_inst(owner).ty,
            is_const: method.is_const,
            is_volatile: method.is_volatile,
            space: method.space.map_or(Space::Thread, super::checker::space_of),
        })
    }

    /// Parameter types and result type, in the current scope. The result is `None` for `auto`.
    pub(super) fn signature(&mut self, ast: &'a ast::Function) -> Option<(Rc<[QualTy]>, Option<QualTy>)> {
        let mut params = Vec::with_capacity(ast.params.len());
        let mut ok = true;
        for param in &ast.params {
            match &param.ty.kind {
                TypeKind::Pack(inner) => {
                    let length = self.pack_length_of_type(inner);
                    if length.is_none() {
                        let message =
                            "`...` makes a pack of parameters, but the type names no template's pack";
                        self.error("not-a-pack", param.span, message);
                        ok = false;
                    }
                    for n in 0..length.unwrap_or(0) {
                        params.push(self.with_pack_index(n, |s| s.resolve_param_type(inner)));
                    }
                }
                _ => params.push(self.resolve_param_type(&param.ty)),
            }
        }
        for (n, param) in params.iter().enumerate() {
            ok &= !param.ty.is_error();
            if param.ty == Ty::VOID {
                let span = ast.params.get(n).map_or(ast.span, |param| param.span);
                self.error("void-parameter", span, "a parameter cannot have type `void`");
                ok = false;
            }
        }
        if ast.is_variadic {
            self.error("variadic-function", ast.span, "functions with `...` are not supported in Metal");
            ok = false;
        }
        let ret = match (&ast.name, &ast.ret) {
            (FunctionName::Operator(OperatorName::Conversion(ty)), _) => Some(self.resolve_type(ty)),
            (_, Some(ty)) if mentions_auto(ty) => None,
            (_, Some(ty)) => Some(self.resolve_type(ty)),
            (_, None) => Some(QualTy::plain(Ty::VOID)),
        };
        if ret.is_some_and(|ret| ret.ty.is_error()) {
            return None;
        }
        let ret = ret.map(|ret| self.initialised_type(ret));
        ok.then(|| (params.into(), ret))
    }

    /// The result type; checks the body first when it is to be deduced.
    pub(super) fn return_type(&mut self, id: FuncId, span: Span) -> QualTy {
        if let Some(ret) = self.inst(id).ret {
            return ret;
        }
        self.report_deferred(Deferred::Body(id));
        if self.inst(id).state == BodyState::Checking {
            let message = format!("the result type of `{}` is not known yet here", self.inst(id).name);
            self.error("auto-recursion", span, message);
            return QualTy::plain(Ty::ERROR);
        }
        self.ensure_body(id);
        self.inst(id).ret.unwrap_or(QualTy::plain(Ty::ERROR))
    }

    /// Checks a function's body, if that has not happened.
    pub(super) fn ensure_body(&mut self, id: FuncId) {
        if self.inst(id).state != BodyState::Unchecked || self.gave_up {
            self.report_deferred(Deferred::Body(id));
            return;
        }
        self.fn_insts[id.0 as usize].state = BodyState::Checking;
        let returns = self.inst(id).ret.map_or(Returns::Auto(None), Returns::Type);
        let trace = self.inst(id).trace.clone();
        let outer_trace = std::mem::replace(&mut self.trace, trace);
        let outer_pack = self.pack_index.take();
        let outer_auto = self.auto_ty.take();
        let scope = self.inst(id).scope;
        let span = self.inst(id).span;
        self.once(Deferred::Body(id), |s| {
            s.in_function(returns, |s| s.in_scope(scope, |s| s.deeper(span, |s| s.check_body(id))));
        });
        self.auto_ty = outer_auto;
        self.pack_index = outer_pack;
        self.trace = outer_trace;
        self.fn_insts[id.0 as usize].state = BodyState::Checked;
    }

    fn check_body(&mut self, id: FuncId) {
        let decl_id = match self.inst(id).origin {
            Origin::Decl(decl) => decl,
            Origin::DefaultConstructor(record) => {
                let function = self.default_constructor_body(id, record);
                self.fn_insts[id.0 as usize].hir = Some(Rc::new(function));
                return;
            }
        };
        let Some(definition) = self.find_definition(id, decl_id) else {
            let name = self.inst(id).name.clone();
            let requested = self.inst(id).requested;
            self.error("undefined-function", requested, format!("`{name}` is used but never defined"));
            return;
        };
        self.fn_insts[id.0 as usize].definition = Some(definition);
        self.function.auto_return = definition.ast.ret.as_ref().map(|ret| match &ret.kind {
            TypeKind::Reference { referent, .. } => {
                AutoReturn::Reference { is_const: referent.quals.is_const }
            }
            _ => AutoReturn::Plain,
        });
        let function = self.in_scope(definition.scope, |s| s.in_block(|s| s.function_of(id, definition.ast)));
        let math_mode = self.decl(decl_id).math_mode;
        self.fn_insts[id.0 as usize].hir = Some(Rc::new(hir::Function { math_mode, ..function }));
    }

    fn function_of(&mut self, id: FuncId, ast: &'a ast::Function) -> hir::Function {
        let mut params = Vec::new();
        if let Some(this) = self.inst(id).this {
            let pointer = self.types.pointer(this);
            let local = self.new_local(self.names.this, pointer, ast.span);
            self.function.this = Some((local, this));
            params.push(local);
        }
        self.declare_params(id, ast, &mut params);
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
        self.fn_insts[id.0 as usize].ret = Some(ret);
        hir::Function {
            name: self.inst(id).name.clone(),
            params,
            ret: self.value_repr(ret),
            locals: std::mem::take(&mut self.function.locals),
            body: hir::Block { stmts },
            math_mode: None,
            span: ast.span,
        }
    }

    /// The type that carries a value of this declared type: references are pointers.
    pub(super) fn value_repr(&mut self, ty: QualTy) -> Ty {
        match self.types.referent(ty.ty) {
            Some(to) => self.types.pointer(to),
            None => ty.ty,
        }
    }

    fn declare_params(&mut self, id: FuncId, ast: &'a ast::Function, out: &mut Vec<hir::LocalId>) {
        let types = self.inst(id).params.clone();
        let mut types = types.iter();
        for param in &ast.params {
            let name = param.name.unwrap_or(Name::EMPTY);
            if let TypeKind::Pack(inner) = &param.ty.kind {
                let count = self.pack_length_of_type(inner).unwrap_or(0);
                let mut elements = Vec::new();
                for &ty in types.by_ref().take(count) {
                    elements.push(self.param_local(name, ty, param.span, out));
                }
                self.declare_local(name, LocalDecl::Pack(elements.into()), param.span);
                continue;
            }
            let Some(&ty) = types.next() else { break };
            let variable = self.param_local(name, ty, param.span, out);
            self.declare_local(name, variable, param.span);
        }
    }

    fn param_local(&mut self, name: Name, ty: QualTy, span: Span, out: &mut Vec<hir::LocalId>) -> LocalDecl {
        let repr = self.value_repr(ty);
        let local = self.new_local(name, repr, span);
        out.push(local);
        LocalDecl::Variable { local, ty, function: self.function.serial }
    }

    /// Finds the body that serves an instance.
    pub(super) fn find_definition(&mut self, id: FuncId, decl_id: FnDeclId) -> Option<Definition<'a>> {
        if let Some(special) = self.function_specialisation(id, decl_id) {
            return Some(special);
        }
        let decl = self.decl(decl_id);
        if let Some(owner) = decl.owner {
            // A body in the class gives way to a specialisation only.
            let least = if matches!(decl.ast.body, FunctionBody::None) { Fit::Any } else { Fit::Exact };
            if let Some(outside) = self.outside_definition(id, decl_id, owner, least) {
                return Some(outside);
            }
        }
        let decl = self.decl(decl_id);
        let own = Definition { ast: decl.ast, scope: self.inst(id).scope };
        match &decl.ast.body {
            FunctionBody::Block(_) | FunctionBody::Default => Some(own),
            FunctionBody::Delete => None,
            FunctionBody::None if decl.owner.is_some() => None,
            FunctionBody::None => self.later_definition(id, decl_id),
        }
    }

    /// A forward declaration's definition: the same name and parameter types in the same namespace.
    fn later_definition(&mut self, id: FuncId, decl_id: FnDeclId) -> Option<Definition<'a>> {
        let decl = self.decl(decl_id);
        let key = function_key(&decl.ast.name)?;
        let ns = self.enclosing_namespace(decl.scope);
        let params = self.inst(id).params.clone();
        let args = self.inst(id).args.clone();
        let is_template = decl.template.is_some();
        let Some(super::lookup::Found::Functions(all)) = self.lookup_in_namespace(ns, key) else {
            return None;
        };
        for &other in all.iter() {
            let candidate = self.decl(other);
            let fits = other != decl_id
                && candidate.template.is_some() == is_template
                && matches!(candidate.ast.body, FunctionBody::Block(_));
            if !fits {
                continue;
            }
            if let Ok(Some(same)) = self.quietly(|s| s.instantiate_function(other, args.clone(), Span::NONE))
                && self.inst(same).params == params
            {
                return Some(Definition { ast: self.decl(other).ast, scope: self.inst(same).scope });
            }
        }
        None
    }

    /// `template <> f<int>(…) { … }`, if these arguments have one.
    pub(super) fn function_specialisation(
        &mut self,
        id: FuncId,
        decl_id: FnDeclId,
    ) -> Option<Definition<'a>> {
        let decl = self.decl(decl_id);
        decl.template?;
        let key = function_key(&decl.ast.name)?;
        let ns = self.enclosing_namespace(decl.scope);
        let primary_key = (decl.owner, self.inst(id).args.clone());
        let mut items = Vec::new();
        if primary_key.0.is_none() {
            self.table.own_decls(ns, key, &mut |decl| {
                if let super::table::Decl::Item(item) = decl {
                    items.push(item);
                }
            });
        }
        for item in items {
            let entry = self.entry(item);
            let (ItemKind::Function(ast), Some(template)) = (&entry.item.kind, &entry.item.template) else {
                continue;
            };
            if !template.params.is_empty() || matches!(ast.body, FunctionBody::None) {
                continue;
            }
            let scope = self.scope_of_item(item);
            if self.specialises(ast, scope, id, decl_id) {
                return Some(Definition { ast, scope });
            }
        }
        None
    }

    fn specialises(&mut self, ast: &'a ast::Function, scope: ScopeId, id: FuncId, decl_id: FnDeclId) -> bool {
        let params = self.inst(id).params.clone();
        let Ok(Some((own, ret))) = self.quietly(|s| s.in_scope(scope, |s| s.signature(ast))) else {
            return false;
        };
        if own != params {
            return false;
        }
        match &ast.specialisation {
            Some(written) => {
                let args = self.inst(id).args.clone();
                let bound = self.quietly(|s| {
                    s.in_scope(scope, |s| {
                        let explicit = s.explicit_args(written);
                        s.args_with_deduction(decl_id, explicit, &own)
                    })
                });
                bound.ok().flatten().is_some_and(|bound| bound == args)
            }
            None => ret.is_none() || self.inst(id).ret.is_none() || ret == self.inst(id).ret,
        }
    }

    /// The template arguments that explicit ones and the parameter types together give.
    pub(super) fn args_with_deduction(
        &mut self,
        decl_id: FnDeclId,
        explicit: Vec<super::template_args::ExplicitArg<'a>>,
        types: &[QualTy],
    ) -> Option<Rc<[TArg]>> {
        let decl = self.decl(decl_id);
        let (template, scope, span) = (decl.template?, decl.scope, decl.ast.span);
        let mut deduced = self.explicit_prefix(decl_id, explicit, span)?;
        let patterns = self.patterns_of(decl_id);
        for (pattern, &ty) in patterns.iter().zip(types) {
            self.deduce(pattern, ty, &mut deduced);
        }
        self.finish_deduction(&template.params, deduced, scope, span)
    }

    /// The parameter patterns of a function template.
    pub(super) fn patterns_of(&mut self, id: FnDeclId) -> Rc<[super::pattern::Pat<'a>]> {
        if let Some(patterns) = &self.decl(id).patterns {
            return patterns.clone();
        }
        let decl = self.decl(id);
        let (ast, scope) = (decl.ast, decl.scope);
        let params: &'a [ast::TemplateParam] = decl.template.map_or(&[], |template| &template.params);
        let pack = self.pack_index.take();
        let patterns: Rc<[_]> = self.in_scope(scope, |s| {
            ast.params.iter().map(|param| decayed(s.pattern(&param.ty, params))).collect()
        });
        self.pack_index = pack;
        self.fn_decls[id.0 as usize].patterns = Some(patterns.clone());
        patterns
    }
}

/// An array parameter is a pointer.
fn decayed(pat: super::pattern::Pat<'_>) -> super::pattern::Pat<'_> {
    match pat {
        super::pattern::Pat::Array(elem, _) => super::pattern::Pat::Pointer(elem),
        other => other,
    }
}

/// Whether a result type is to be deduced.
pub(super) fn mentions_auto(ty: &ast::Type) -> bool {
    match &ty.kind {
        TypeKind::Auto => true,
        TypeKind::Pointer(inner) | TypeKind::Reference { referent: inner, .. } => mentions_auto(inner),
        _ => false,
    }
}

/// Whether a type is a function type, or a pointer or reference to one.
pub(super) fn function_type(types: &hir::Types, ty: Ty) -> Option<(QualTy, Rc<[QualTy]>)> {
    match types.kind(ty) {
        TyKind::Pointer(to) | TyKind::Reference { to, .. } => match types.kind(to.ty) {
            TyKind::Function { ret, params } => Some((*ret, params.iter().copied().collect())),
            _ => None,
        },
        TyKind::Function { ret, params } => Some((*ret, params.iter().copied().collect())),
        _ => None,
    }
}
