//! Initialisation: lists, aggregates with brace elision, default values, constructors' prologues.

use super::call::Arg;
use super::checker::{Checker, FnState, LocalDecl, Returns};
use super::construct::ConstructArgs;
use super::convert::{Conversion, Rank};
use super::function::{BodyState, FnInst, Origin};
use super::lookup::Found;
use crate::ast::{self, Designator, ExprKind as Ast, InitClause, Initialiser};
use crate::hir::{self, Expr, ExprKind, FuncId, QualTy, RecordId, Stmt, StmtKind, Ty, TyKind};
use crate::token::Name;
use anymetal_diag::Span;
use std::rc::Rc;

/// The largest array whose elements are initialised one by one.
const MAX_ELEMENTS: u64 = 65_536;

/// Reads the clauses of a list one after the other, as brace elision wants them.
#[derive(Debug)]
struct Cursor<'a> {
    clauses: &'a [InitClause],
    at: usize,
    /// The value of the current clause, when it was looked at and not used.
    pending: Option<Expr>,
}

/// A member initialiser and the path to its member.
type FieldInit<'a> = (&'a ast::MemInit, Rc<[u32]>);

/// What default initialisation of a type does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DefaultInit {
    /// Nothing.
    Trivial,
    /// Calls this constructor.
    Constructor(FuncId),
    /// There is no default constructor.
    Impossible,
}

impl<'a> Checker<'a> {
    /// Whether a list can initialise a type; how well does not matter much.
    pub(super) fn list_conversion(&mut self, clauses: &'a [InitClause], to: QualTy) -> Option<Conversion> {
        // Trying a list checks it, and so for each list around it: beyond a few levels it is taken to fit.
        const TRIED: u32 = 6;
        if self.tried_lists >= TRIED {
            return Some(Conversion { rank: Rank::User, detail: 1 });
        }
        self.tried_lists += 1;
        let value = self.quietly(|s| {
            let span = clauses.first().map_or(Span::NONE, |clause| clause.value.span);
            s.list_value(clauses, to, span)
        });
        self.tried_lists -= 1;
        value.ok().filter(|value| !value.ty.ty.is_error()).map(|_| Conversion { rank: Rank::User, detail: 1 })
    }

    /// The value that `{clauses}` gives for a type.
    pub(super) fn list_value(&mut self, clauses: &'a [InitClause], to: QualTy, span: Span) -> Expr {
        if to.ty.is_error() {
            return self.poison(span);
        }
        if let TyKind::Reference { to: referent, rvalue } = *self.types.kind(to.ty) {
            if !referent.is_const && !rvalue {
                self.error("no-conversion", span, "a list cannot be bound to a reference to non-const");
                return self.poison(span);
            }
            let value = self.list_value(clauses, referent.unqualified(), span);
            let place = self.materialize(value);
            let pointer = self.types.pointer(referent);
            return Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span);
        }
        match *self.types.kind(to.ty) {
            TyKind::Record(record) => self.list_record(record, clauses, span),
            TyKind::Array(elem, len) => self.list_array(to.ty, elem, len, clauses, span),
            TyKind::Vector { .. } | TyKind::Matrix { .. } => {
                let Some(args) = self.clause_args(clauses) else { return self.poison(span) };
                self.construct(to, ConstructArgs::Paren(args), span)
            }
            _ => match clauses {
                [] => self.zero(to.ty, span),
                [only] if only.designators.is_empty() => {
                    if let Ast::InitList(inner) = &only.value.kind {
                        return self.list_value(inner, to, span);
                    }
                    let value = self.expr(&only.value);
                    self.convert(value, to.unqualified(), "in this initialiser")
                }
                _ => {
                    let shown = self.show(to);
                    self.error("excess-initialisers", span, format!("`{shown}` is initialised by one value"));
                    self.poison(span)
                }
            },
        }
    }

    fn list_record(&mut self, record: RecordId, clauses: &'a [InitClause], span: Span) -> Expr {
        if !self.complete_record(record, span) {
            return self.poison(span);
        }
        let ty = self.record_inst(record).ty;
        if clauses.is_empty() {
            return self.value_init(ty, span);
        }
        if !self.is_aggregate(record) {
            return self.construct_by_list(record, clauses, span);
        }
        if let [only] = clauses
            && only.designators.is_empty()
            && !matches!(only.value.kind, Ast::InitList(_))
        {
            // `S{other}` copies.
            let value = self.expr(&only.value);
            if value.ty.ty.is_error() {
                return value;
            }
            if value.ty.ty == ty || self.is_derived(value.ty.ty, ty) {
                return self.perform(value, QualTy::plain(ty));
            }
            let mut cursor = Cursor { clauses, at: 0, pending: Some(value) };
            let value = self.aggregate(record, &mut cursor, span);
            self.check_consumed(&cursor);
            return value;
        }
        let mut cursor = Cursor { clauses, at: 0, pending: None };
        let value = self.aggregate(record, &mut cursor, span);
        self.check_consumed(&cursor);
        value
    }

    /// Whether the class has no constructors but defaulted ones.
    pub(super) fn is_aggregate(&self, record: RecordId) -> bool {
        self.record_inst(record).constructors.iter().all(|&id| {
            let ast = self.decl(id).ast;
            matches!(ast.body, ast::FunctionBody::Default) && !ast.specifiers.is_explicit
        })
    }

    fn check_consumed(&mut self, cursor: &Cursor<'a>) {
        if let Some(extra) = cursor.clauses.get(cursor.at) {
            self.error("excess-initialisers", extra.value.span, "there are more initialisers than members");
        }
    }

    /// Initialises the members of a class without constructors from the cursor.
    fn aggregate(&mut self, record: RecordId, cursor: &mut Cursor<'a>, span: Span) -> Expr {
        let ty = self.record_inst(record).ty;
        let count = self.types.record(record).fields.len();
        if self.types.record(record).is_union {
            return self.union_aggregate(record, cursor, span);
        }
        let mut values: Vec<Option<Expr>> = vec![None; count];
        let mut next = 0;
        while next < count {
            let Some(clause) = cursor.clauses.get(cursor.at) else { break };
            if let Some(Designator::Field(name, at)) = clause.designators.first() {
                let Some(path) = self.designated_field(record, *name, *at) else { return self.poison(span) };
                next = path[0] as usize;
                let value = self.designated_value(record, &path, clause, cursor);
                values[next] = Some(value);
                next += 1;
                continue;
            }
            let field = self.types.record(record).fields[next].clone();
            let ty = self.declared_field_type(&field).unqualified();
            values[next] = Some(self.element(ty, cursor));
            next += 1;
        }
        let defaults = self.record_inst(record).field_inits.clone();
        if values.iter().zip(&defaults).any(|(value, default)| value.is_none() && default.is_some()) {
            return self.aggregate_with_defaults(record, values, span);
        }
        let mut fields = Vec::with_capacity(count);
        for (n, value) in values.into_iter().enumerate() {
            let value = match value {
                Some(value) => value,
                None => self.missing_field(record, n as u32, span),
            };
            if value.ty.ty.is_error() {
                return self.poison(span);
            }
            fields.push(value);
        }
        Expr::value(ExprKind::Struct(fields), ty, span)
    }

    /// Default member initialisers may mention earlier members: the object is built in a variable that
    /// they see as `*this`.
    fn aggregate_with_defaults(&mut self, record: RecordId, values: Vec<Option<Expr>>, span: Span) -> Expr {
        let ty = self.record_inst(record).ty;
        let object = QualTy::plain(ty);
        let pointer_ty = self.types.pointer(object);
        let local = self.new_local(Name::EMPTY, ty, span);
        let pointer = self.new_local(self.names.this, pointer_ty, span);
        let outer = self.function.this.replace((pointer, object));
        let mut stmts = Vec::new();
        for (n, value) in values.into_iter().enumerate() {
            match value {
                Some(value) => self.store_field(record, n as u32, value, &mut stmts, span),
                None => self.default_field(record, n as u32, &mut stmts, span),
            }
        }
        self.function.this = outer;
        let place = Expr::place(ExprKind::Local(local), object, span);
        let mut body = Expr::value(ExprKind::Load(Box::new(place.clone())), ty, span);
        for stmt in stmts.into_iter().rev() {
            if let StmtKind::Expr(store) = stmt.kind {
                body = Expr::value(ExprKind::Comma(Box::new(store), Box::new(body)), ty, span);
            }
        }
        let address = Expr::value(ExprKind::AddressOf(Box::new(place)), pointer_ty, span);
        let body = Expr::value(ExprKind::Let(pointer, Some(Box::new(address)), Box::new(body)), ty, span);
        let zero = Expr::value(ExprKind::Zero, ty, span);
        Expr::value(ExprKind::Let(local, Some(Box::new(zero)), Box::new(body)), ty, span)
    }

    fn union_aggregate(&mut self, record: RecordId, cursor: &mut Cursor<'a>, span: Span) -> Expr {
        let ty = self.record_inst(record).ty;
        let Some(clause) = cursor.clauses.get(cursor.at) else { return self.zero(ty, span) };
        let (index, value) = match clause.designators.first() {
            Some(Designator::Field(name, at)) => {
                let Some(path) = self.designated_field(record, *name, *at) else { return self.poison(span) };
                (path[0], self.designated_value(record, &path, clause, cursor))
            }
            _ => {
                let Some(first) = self.types.record(record).fields.first() else {
                    return self.zero(ty, span);
                };
                let first = first.ty.unqualified();
                (0, self.element(first, cursor))
            }
        };
        if value.ty.ty.is_error() {
            return value;
        }
        Expr::value(ExprKind::Union(index, Box::new(value)), ty, span)
    }

    fn designated_field(
        &mut self,
        record: RecordId,
        name: crate::token::Name,
        span: Span,
    ) -> Option<Rc<[u32]>> {
        match self.lookup_in_record(record, name) {
            Some(Found::Field(owner, path)) if owner == record => Some(path),
            _ => {
                let class = self.types.record(record).name.clone();
                self.error("unknown-member", span, format!("no member named `{name}` in `{class}`"));
                None
            }
        }
    }

    fn designated_value(
        &mut self,
        record: RecordId,
        path: &[u32],
        clause: &'a InitClause,
        cursor: &mut Cursor<'a>,
    ) -> Expr {
        let span = clause.value.span;
        if clause.designators.len() > 1 || path.len() > 1 {
            self.error("nested-designator", span, "designators of nested members are not supported");
            cursor.at += 1;
            return self.poison(span);
        }
        let field = self.types.record(record).fields[path[0] as usize].clone();
        let ty = self.declared_field_type(&field).unqualified();
        self.element(ty, cursor)
    }

    /// The value of a member that no clause names.
    fn missing_field(&mut self, record: RecordId, index: u32, span: Span) -> Expr {
        let init = self.record_inst(record).field_inits.get(index as usize).copied().flatten();
        let field = self.types.record(record).fields[index as usize].ty;
        match init {
            Some(init) => {
                let scope = self.record_inst(record).scope;
                self.in_scope(scope, |s| s.initial_value(field, init, span))
            }
            None => self.value_init(field.ty, span),
        }
    }

    /// One element of an aggregate: a whole clause, or by brace elision as many as it takes.
    fn element(&mut self, to: QualTy, cursor: &mut Cursor<'a>) -> Expr {
        let ty = to.ty;
        let Some(clause) = cursor.clauses.get(cursor.at) else {
            return self.value_init(ty, Span::NONE);
        };
        let span = clause.value.span;
        if cursor.pending.is_none()
            && let Ast::InitList(inner) = &clause.value.kind
        {
            cursor.at += 1;
            return self.list_value(inner, to, span);
        }
        let value = match cursor.pending.take() {
            Some(value) => value,
            None => self.expr(&clause.value),
        };
        if value.ty.ty.is_error() {
            cursor.at += 1;
            return value;
        }
        let is_aggregate = match *self.types.kind(ty) {
            TyKind::Array(..) => true,
            TyKind::Record(record) => self.complete_record(record, span) && self.is_aggregate(record),
            _ => false,
        };
        if !is_aggregate || self.conversion_of(&value, to, true).is_some() {
            cursor.at += 1;
            return self.convert(value, to, "in this initialiser");
        }
        cursor.pending = Some(value);
        match *self.types.kind(ty) {
            TyKind::Record(record) => self.aggregate(record, cursor, span),
            TyKind::Array(elem, len) => self.array_elements(ty, elem, len, cursor, span),
            _ => self.poison(span),
        }
    }

    fn list_array(&mut self, ty: Ty, elem: Ty, len: u64, clauses: &'a [InitClause], span: Span) -> Expr {
        let mut cursor = Cursor { clauses, at: 0, pending: None };
        let value = self.array_elements(ty, elem, len, &mut cursor, span);
        self.check_consumed(&cursor);
        value
    }

    fn array_elements(&mut self, ty: Ty, elem: Ty, len: u64, cursor: &mut Cursor<'a>, span: Span) -> Expr {
        let mut values = Vec::new();
        while (values.len() as u64) < len && cursor.at < cursor.clauses.len() {
            if let Some(Designator::Index(_)) = cursor.clauses[cursor.at].designators.first() {
                self.error("array-designator", span, "designators of array elements are not supported");
                return self.poison(span);
            }
            let value = self.element(QualTy::plain(elem), cursor);
            if value.ty.ty.is_error() {
                return value;
            }
            values.push(value);
        }
        if (values.len() as u64) < len && self.default_init(elem, span) != DefaultInit::Trivial {
            while (values.len() as u64) < len.min(MAX_ELEMENTS) {
                values.push(self.value_init(elem, span));
            }
        }
        Expr::value(ExprKind::Array(values), ty, span)
    }

    /// A class without constructors from arguments in parentheses.
    pub(super) fn aggregate_from_args(&mut self, record: RecordId, args: Vec<Arg<'a>>, span: Span) -> Expr {
        let ty = self.record_inst(record).ty;
        let fields = self.types.record(record).fields.clone();
        let fields: Vec<QualTy> =
            fields.iter().map(|field| self.declared_field_type(field).unqualified()).collect();
        let name = self.types.record(record).name.clone();
        if args.len() > fields.len() || self.types.record(record).is_union {
            let types: Vec<String> = args.iter().map(|arg| self.show_call_arg(arg)).collect();
            let message = format!("`{name}` has no constructor that takes ({})", types.join(", "));
            self.error("no-matching-function", span, message);
            return self.poison(span);
        }
        let mut args = args.into_iter();
        let mut values = Vec::with_capacity(fields.len());
        for (n, field) in fields.iter().enumerate() {
            let value = match args.next() {
                Some(arg) => self.convert_arg(arg, field.unqualified()),
                None => self.missing_field(record, n as u32, span),
            };
            if value.ty.ty.is_error() {
                return self.poison(span);
            }
            values.push(value);
        }
        Expr::value(ExprKind::Struct(values), ty, span)
    }

    // --- default and value initialisation

    /// What `T x;` does.
    pub(super) fn default_init(&mut self, ty: Ty, span: Span) -> DefaultInit {
        match *self.types.kind(ty) {
            TyKind::Array(elem, _) => self.default_init(elem, span),
            TyKind::Record(record) => self.default_init_record(record, span),
            _ => DefaultInit::Trivial,
        }
    }

    fn default_init_record(&mut self, record: RecordId, span: Span) -> DefaultInit {
        if !self.complete_record(record, span) {
            return DefaultInit::Trivial;
        }
        let constructors = self.record_inst(record).constructors.clone();
        if !constructors.is_empty() {
            let name = self.types.record(record).name.clone();
            let call = super::overload::Call {
                name: &name,
                decls: &constructors,
                explicit: None,
                object: None,
                args: &[],
                span,
            };
            return match self.default_constructor_among(&call) {
                Some(func) if self.is_defaulted(func) => self.implicit_default_init(record, span),
                Some(func) => DefaultInit::Constructor(func),
                None => DefaultInit::Impossible,
            };
        }
        self.implicit_default_init(record, span)
    }

    /// Constructors overloaded by address space are told apart by where the object lives: thread.
    fn default_constructor_among(&mut self, call: &super::overload::Call<'_, 'a>) -> Option<FuncId> {
        if let Ok(func) = self.find_overload(call) {
            return Some(func);
        }
        let in_thread: Vec<_> = call
            .decls
            .iter()
            .copied()
            .filter(|&decl| {
                let method = self.decl(decl).ast.method;
                method.space.is_none_or(|space| space == ast::AddressSpace::Thread)
            })
            .collect();
        let narrowed = super::overload::Call { decls: &in_thread, ..*call };
        self.find_overload(&narrowed).ok()
    }

    fn implicit_default_init(&mut self, record: RecordId, span: Span) -> DefaultInit {
        if let Some(func) = self.record_inst(record).default_constructor {
            return DefaultInit::Constructor(func);
        }
        let inst = self.record_inst(record);
        let mut needed = inst.field_inits.iter().any(Option::is_some);
        let fields: Vec<Ty> = self.types.record(record).fields.iter().map(|field| field.ty.ty).collect();
        for ty in fields {
            match self.default_init(ty, span) {
                DefaultInit::Trivial => {}
                DefaultInit::Constructor(_) => needed = true,
                DefaultInit::Impossible => return DefaultInit::Impossible,
            }
        }
        if !needed
            || self.types.record(record).is_union
                && self.record_inst(record).field_inits.iter().all(Option::is_none)
        {
            return DefaultInit::Trivial;
        }
        let func = FuncId(self.fn_insts.len() as u32);
        let ty = self.record_inst(record).ty;
        let span = self.record_inst(record).ast.map_or(span, |ast| ast.span);
        self.fn_insts.push(FnInst {
            name: format!("{}::{}", self.types.record(record).name, "(default constructor)"),
            origin: Origin::DefaultConstructor(record),
            args: Rc::from([]),
            scope: self.record_inst(record).scope,
            params: Rc::from([]),
            ret: Some(QualTy::plain(Ty::VOID)),
            this: Some(QualTy::plain(ty)),
            state: BodyState::Unchecked,
            hir: None,
            trace: self.trace.clone(),
            span,
            requested: span,
            definition: None,
        });
        self.records[record.0 as usize].default_constructor = Some(func);
        DefaultInit::Constructor(func)
    }

    /// The value of `T()` and `T{}`.
    pub(super) fn value_init(&mut self, ty: Ty, span: Span) -> Expr {
        match self.default_init(ty, span) {
            DefaultInit::Trivial => self.zero(ty, span),
            DefaultInit::Impossible => {
                let shown = self.types.display(ty);
                self.error("no-default-constructor", span, format!("`{shown}` has no default constructor"));
                self.poison(span)
            }
            DefaultInit::Constructor(func) => self.default_constructed(ty, func, span),
        }
    }

    /// An object (or array of them) made by a default constructor.
    pub(super) fn default_constructed(&mut self, ty: Ty, func: FuncId, span: Span) -> Expr {
        if let Some((elem, len)) = self.types.as_array(ty) {
            if len > MAX_ELEMENTS {
                self.error("array-length", span, "an array of so many class objects is not supported");
                return self.poison(span);
            }
            let one = self.default_constructed(elem, func, span);
            let values = (0..len).map(|_| one.clone()).collect();
            return Expr::value(ExprKind::Array(values), ty, span);
        }
        let mut args = Vec::new();
        self.default_arguments(func, &mut args, span);
        Expr::value(ExprKind::Construct(func, args), ty, span)
    }

    /// The initial value that an initialiser gives for a type (the pointer, for a reference).
    pub(super) fn initial_value(&mut self, ty: QualTy, init: &'a Initialiser, span: Span) -> Expr {
        let to = if self.types.referent(ty.ty).is_some() { ty } else { ty.unqualified() };
        match init {
            Initialiser::Assign(expr) => match &expr.kind {
                Ast::InitList(clauses) => self.list_value(clauses, to, expr.span),
                _ => {
                    let value = self.expr(expr);
                    if self.types.as_array(ty.ty).is_some() && value.ty.ty == ty.ty {
                        return self.whole_value(value);
                    }
                    self.convert(value, to, "in this initialiser")
                }
            },
            Initialiser::Paren(args) => {
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                if self.types.referent(ty.ty).is_some() {
                    return match args.into_iter().next() {
                        Some(arg) => self.convert_arg(arg, to),
                        None => self.poison(span),
                    };
                }
                self.construct(to, ConstructArgs::Paren(args), span)
            }
            Initialiser::Brace(clauses) => {
                if let (Some(_), [only]) = (self.types.referent(ty.ty), clauses.as_slice())
                    && !matches!(only.value.kind, Ast::InitList(_))
                {
                    let value = self.expr(&only.value);
                    return self.convert(value, to, "in this initialiser");
                }
                self.list_value(clauses, to, span)
            }
        }
    }

    // --- constructors

    /// The body of a synthesised default constructor.
    pub(super) fn default_constructor_body(&mut self, id: FuncId, record: RecordId) -> hir::Function {
        let span = self.inst(id).span;
        let this = QualTy::plain(self.record_inst(record).ty);
        let serial = self.function.serial;
        self.function = FnState::new(serial, Returns::Type(QualTy::plain(Ty::VOID)));
        let pointer = self.types.pointer(this);
        let local = self.new_local(self.names.this, pointer, span);
        self.function.this = Some((local, this));
        let mut stmts = Vec::new();
        self.in_block(|s| {
            let count = s.types.record(record).fields.len() as u32;
            for field in 0..count {
                s.default_field(record, field, &mut stmts, span);
            }
        });
        hir::Function {
            name: self.inst(id).name.clone(),
            params: vec![local],
            ret: Ty::VOID,
            locals: std::mem::take(&mut self.function.locals),
            body: hir::Block { stmts },
            math_mode: None,
            span,
        }
    }

    /// Initialises one member as its declaration says.
    fn default_field(&mut self, record: RecordId, index: u32, stmts: &mut Vec<Stmt>, span: Span) {
        let init = self.record_inst(record).field_inits.get(index as usize).copied().flatten();
        let field = self.types.record(record).fields[index as usize].clone();
        let value = match init {
            Some(init) => {
                let ty = self.declared_field_type(&field);
                let scope = self.record_inst(record).scope;
                self.in_scope(scope, |s| s.initial_value(ty, init, span))
            }
            None => match self.default_init(field.ty.ty, span) {
                DefaultInit::Constructor(func) => self.default_constructed(field.ty.ty, func, span),
                DefaultInit::Trivial => return,
                DefaultInit::Impossible => {
                    let message = format!("member `{}` has no default constructor", field.name);
                    self.error("no-default-constructor", span, message);
                    return;
                }
            },
        };
        self.store_field(record, index, value, stmts, span);
    }

    fn declared_field_type(&mut self, field: &hir::FieldInfo) -> QualTy {
        match (field.is_reference, self.types.pointee(field.ty.ty)) {
            (true, Some(to)) => QualTy::plain(self.types.reference(to, false)),
            _ => field.ty,
        }
    }

    fn store_field(&mut self, record: RecordId, index: u32, value: Expr, stmts: &mut Vec<Stmt>, span: Span) {
        let Some(object) = self.this_object(span) else { return };
        if value.ty.ty.is_error() {
            return;
        }
        let place = self.raw_field(object, record, index, span);
        let ty = place.ty;
        let assign = Expr::place(ExprKind::Assign(Box::new(place), Box::new(value)), ty, span);
        stmts.push(Stmt { kind: StmtKind::Expr(assign), span });
    }

    /// What a constructor does before its body: member initialisers and default values, in the order of
    /// the members.
    pub(super) fn constructor_prologue(&mut self, function: &'a ast::Function, stmts: &mut Vec<Stmt>) {
        let Some((_, this)) = self.function.this else { return };
        let Some(record) = self.types.as_record(this.ty) else { return };
        if !self.complete_record(record, function.span) {
            return;
        }
        if let [only] = function.mem_inits.as_slice()
            && self.is_delegation(only, record)
        {
            self.delegate(only, record, stmts);
            return;
        }
        let mut by_field: Vec<Vec<FieldInit<'a>>> = vec![Vec::new(); self.types.record(record).fields.len()];
        for init in &function.mem_inits {
            match self.member_of_init(init, record) {
                Some(path) if !path.is_empty() => by_field[path[0] as usize].push((init, path)),
                _ => {}
            }
        }
        for (index, inits) in by_field.into_iter().enumerate() {
            let index = index as u32;
            if inits.is_empty() {
                let is_union = self.types.record(record).is_union;
                if !is_union {
                    self.default_field(record, index, stmts, function.span);
                }
            }
            for (init, path) in inits {
                self.member_init(record, init, &path, stmts);
            }
        }
    }

    fn is_delegation(&self, init: &ast::MemInit, record: RecordId) -> bool {
        let name = init.name.segments.last().map(|segment| segment.name);
        name.is_some() && name == self.record_inst(record).name
    }

    fn delegate(&mut self, init: &'a ast::MemInit, record: RecordId, stmts: &mut Vec<Stmt>) {
        let Some(args) = self.clause_args(&init.args) else { return };
        let value = self.construct_record(record, args, init.span);
        let Some(object) = self.this_object(init.span) else { return };
        if !value.ty.ty.is_error() {
            let ty = object.ty;
            let assign = Expr::place(ExprKind::Assign(Box::new(object), Box::new(value)), ty, init.span);
            stmts.push(Stmt { kind: StmtKind::Expr(assign), span: init.span });
        }
    }

    /// The path to the member (or base) a member initialiser names; empty for an empty base.
    fn member_of_init(&mut self, init: &'a ast::MemInit, record: RecordId) -> Option<Rc<[u32]>> {
        if let [only] = init.name.segments.as_slice()
            && only.args.is_none()
            && let Some(Found::Field(owner, path)) = self.lookup_in_record(record, only.name)
            && owner == record
        {
            return Some(path);
        }
        let base = self.quietly(|s| s.resolve_type_path(&init.name)).ok().flatten();
        if let Some(base) = base.and_then(|ty| self.types.as_record(ty.ty))
            && let Some(path) = self.base_path(record, base)
        {
            return Some(path.into());
        }
        let class = self.types.record(record).name.clone();
        let name = super::spelling::path(&init.name);
        self.error("unknown-member", init.span, format!("no member named `{name}` in `{class}`"));
        None
    }

    fn member_init(&mut self, record: RecordId, init: &'a ast::MemInit, path: &[u32], stmts: &mut Vec<Stmt>) {
        let span = init.span;
        let Some(mut place) = self.this_object(span) else { return };
        let mut at = record;
        let mut declared = place.ty;
        for &index in path {
            let field = self.types.record(at).fields[index as usize].clone();
            declared = self.declared_field_type(&field);
            place = self.raw_field(place, at, index, span);
            at = self.types.as_record(field.ty.ty).unwrap_or(at);
        }
        let value = self.mem_init_value(init, declared, span);
        if value.ty.ty.is_error() {
            return;
        }
        let ty = place.ty;
        let assign = Expr::place(ExprKind::Assign(Box::new(place), Box::new(value)), ty, span);
        stmts.push(Stmt { kind: StmtKind::Expr(assign), span });
    }

    fn mem_init_value(&mut self, init: &'a ast::MemInit, declared: QualTy, span: Span) -> Expr {
        if init.braced {
            return self.list_value(&init.args, declared, span);
        }
        let Some(args) = self.clause_args(&init.args) else { return self.poison(span) };
        let to = if self.types.referent(declared.ty).is_some() { declared } else { declared.unqualified() };
        if self.types.referent(declared.ty).is_some() {
            return match args.into_iter().next() {
                Some(arg) => self.convert_arg(arg, to),
                None => self.poison(span),
            };
        }
        if let ([Arg::Expr(only)], Some(_)) = (args.as_slice(), self.types.as_array(to.ty))
            && only.ty.ty == to.ty
        {
            let only = only.clone();
            return self.whole_value(only);
        }
        if args.is_empty() {
            return self.value_init(to.ty, span);
        }
        self.construct(to, ConstructArgs::Paren(args), span)
    }

    /// Whether a declared local is a variable of the function at hand.
    pub(super) fn is_own_variable(&self, decl: &LocalDecl) -> bool {
        matches!(decl, LocalDecl::Variable { function, .. } if *function == self.function.serial)
    }
}
