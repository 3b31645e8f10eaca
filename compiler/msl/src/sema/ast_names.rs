//! Which names a piece of syntax mentions: for packs, dependence and captures.
//!
//! Only unqualified first names count; what they mean is the caller's question. Calls `f` for more
//! names than necessary rather than fewer (a name declared inside a lambda is reported too).

use crate::ast::{
    Block, Expr, ExprKind, ForInit, InitClause, Initialiser, Item, ItemKind, Path, Stmt, StmtKind,
    SwitchLabel, TemplateArg, Type, TypeKind, Variable,
};
use crate::token::Name;

/// What to do with each name, and which names count.
pub(super) struct Visitor<'v> {
    visit: &'v mut dyn FnMut(Name),
    /// Names inside of pack expansions and fold expressions do not count.
    unexpanded_only: bool,
}

type Visit<'r, 'v> = &'r mut Visitor<'v>;

impl<'v> Visitor<'v> {
    /// Calls `visit` for all names.
    pub(super) fn all(visit: &'v mut dyn FnMut(Name)) -> Self {
        Self { visit, unexpanded_only: false }
    }

    /// Calls `visit` for the names that an expansion of the whole expands.
    pub(super) fn unexpanded(visit: &'v mut dyn FnMut(Name)) -> Self {
        Self { visit, unexpanded_only: true }
    }

    fn name(&mut self, name: Name) {
        (self.visit)(name);
    }
}

/// The names in a type.
pub(super) fn in_type(ty: &Type, f: Visit<'_, '_>) {
    match &ty.kind {
        TypeKind::Path(path) => in_path(path, f),
        TypeKind::Decltype(expr) | TypeKind::Typeof(expr) => in_expr(expr, f),
        TypeKind::DecltypePath(expr, path) => {
            in_expr(expr, f);
            in_path_args(path, f);
        }
        TypeKind::Pack(_) if f.unexpanded_only => {}
        TypeKind::Pointer(inner) | TypeKind::Pack(inner) | TypeKind::Reference { referent: inner, .. } => {
            in_type(inner, f);
        }
        TypeKind::Array(elem, len) => {
            in_type(elem, f);
            if let Some(len) = len {
                in_expr(len, f);
            }
        }
        TypeKind::ExtVector(elem, len) => {
            in_type(elem, f);
            in_expr(len, f);
        }
        TypeKind::Function { ret, params } => {
            in_type(ret, f);
            params.iter().for_each(|param| in_type(param, f));
        }
        TypeKind::Builtin(_)
        | TypeKind::Auto
        | TypeKind::DecltypeAuto
        | TypeKind::Record(_)
        | TypeKind::Enum(_)
        | TypeKind::Error => {}
    }
}

pub(super) fn in_path(path: &Path, f: Visit<'_, '_>) {
    if let Some(first) = path.segments.first()
        && !path.global
    {
        f.name(first.name);
    }
    in_path_args(path, f);
}

fn in_path_args(path: &Path, f: Visit<'_, '_>) {
    for arg in path.segments.iter().flat_map(|segment| segment.args.iter().flatten()) {
        in_arg(arg, f);
    }
}

/// The names in a template argument.
pub(super) fn in_arg(arg: &TemplateArg, f: Visit<'_, '_>) {
    match arg {
        TemplateArg::Type(ty) => in_type(ty, f),
        TemplateArg::Expr(expr) => in_expr(expr, f),
    }
}

fn in_clauses(clauses: &[InitClause], f: Visit<'_, '_>) {
    clauses.iter().for_each(|clause| in_expr(&clause.value, f));
}

/// The names in an expression.
pub(super) fn in_expr(expr: &Expr, f: Visit<'_, '_>) {
    match &expr.kind {
        ExprKind::PackExpansion(_) | ExprKind::PackElement(..) | ExprKind::Fold(_) if f.unexpanded_only => {}
        ExprKind::Path(path) => in_path(path, f),
        ExprKind::DecltypePath(inner, path) => {
            in_expr(inner, f);
            in_path_args(path, f);
        }
        ExprKind::Paren(a)
        | ExprKind::Unary(_, a)
        | ExprKind::Postfix(_, a)
        | ExprKind::SizeofExpr(a)
        | ExprKind::Noexcept(a)
        | ExprKind::PackExpansion(a) => in_expr(a, f),
        ExprKind::PackElement(a, _) => in_expr(a, f),
        ExprKind::Binary(_, a, b) | ExprKind::Assign(_, a, b) | ExprKind::Index(a, b) => {
            in_expr(a, f);
            in_expr(b, f);
        }
        ExprKind::Conditional(a, b, c) => {
            in_expr(a, f);
            in_expr(b, f);
            in_expr(c, f);
        }
        ExprKind::Call(callee, args) => {
            in_expr(callee, f);
            args.iter().for_each(|arg| in_expr(arg, f));
        }
        ExprKind::Member { base, member, .. } => {
            in_expr(base, f);
            in_path_args(member, f);
        }
        ExprKind::Fold(fold) => fold.left.iter().chain(&fold.right).for_each(|operand| in_expr(operand, f)),
        ExprKind::Cast(_, ty, inner) | ExprKind::BitCast(ty, inner) => {
            in_type(ty, f);
            in_expr(inner, f);
        }
        ExprKind::Construct { ty, args, .. } => {
            in_type(ty, f);
            in_clauses(args, f);
        }
        ExprKind::InitList(clauses) => in_clauses(clauses, f),
        ExprKind::SizeofType(ty) | ExprKind::AlignofType(ty) => in_type(ty, f),
        ExprKind::SizeofPack(_) if f.unexpanded_only => {}
        ExprKind::SizeofPack(name) => f.name(*name),
        ExprKind::TypeTrait(_, types) => types.iter().for_each(|ty| in_type(ty, f)),
        ExprKind::Lambda(lambda) => {
            lambda.initialised.iter().for_each(|capture| in_expr(&capture.init, f));
            lambda.params.iter().for_each(|param| in_type(&param.ty, f));
            in_block(&lambda.body, f);
        }
        ExprKind::This => f.name(Name::new("this")),
        ExprKind::Int { .. }
        | ExprKind::Float { .. }
        | ExprKind::Bool(_)
        | ExprKind::Char(_)
        | ExprKind::Str(_)
        | ExprKind::Nullptr
        | ExprKind::Error => {}
    }
}

/// The names in a block.
pub(super) fn in_block(block: &Block, f: Visit<'_, '_>) {
    block.stmts.iter().for_each(|stmt| in_stmt(stmt, f));
}

fn in_variable(variable: &Variable, f: Visit<'_, '_>) {
    in_type(&variable.ty, f);
    match &variable.init {
        Some(Initialiser::Assign(expr)) => in_expr(expr, f),
        Some(Initialiser::Paren(args)) => args.iter().for_each(|arg| in_expr(arg, f)),
        Some(Initialiser::Brace(clauses)) => in_clauses(clauses, f),
        None => {}
    }
}

fn in_item(item: &Item, f: Visit<'_, '_>) {
    match &item.kind {
        ItemKind::Alias(alias) => in_type(&alias.ty, f),
        ItemKind::StaticAssert(cond, _) => in_expr(cond, f),
        ItemKind::Variable(variable) => in_variable(variable, f),
        ItemKind::Bindings(bindings) => in_variable(&bindings.variable, f),
        _ => {}
    }
}

fn in_stmt(stmt: &Stmt, f: Visit<'_, '_>) {
    match &stmt.kind {
        StmtKind::Block(block) => in_block(block, f),
        StmtKind::Expr(expr) => in_expr(expr, f),
        StmtKind::Variables(variables) => variables.iter().for_each(|variable| in_variable(variable, f)),
        StmtKind::Item(item) => in_item(item, f),
        StmtKind::Items(items) => items.iter().for_each(|item| in_item(item, f)),
        StmtKind::If { init, cond, declared, then, otherwise, .. } => {
            if let Some(init) = init {
                in_stmt(init, f);
            }
            if let Some(declared) = declared {
                in_variable(declared, f);
            }
            in_expr(cond, f);
            in_stmt(then, f);
            if let Some(otherwise) = otherwise {
                in_stmt(otherwise, f);
            }
        }
        StmtKind::Switch { init, declared, selector, body } => {
            if let Some(init) = init {
                in_stmt(init, f);
            }
            if let Some(declared) = declared {
                in_variable(declared, f);
            }
            in_expr(selector, f);
            in_stmt(body, f);
        }
        StmtKind::Label(SwitchLabel::Case(expr)) => in_expr(expr, f),
        StmtKind::Label(SwitchLabel::Range(first, last)) => {
            in_expr(first, f);
            in_expr(last, f);
        }
        StmtKind::For { init, cond, step, body, .. } => {
            match &**init {
                ForInit::Empty => {}
                ForInit::Declaration(variables) => {
                    variables.iter().for_each(|variable| in_variable(variable, f))
                }
                ForInit::Expr(expr) => in_expr(expr, f),
            }
            cond.iter().chain(step).for_each(|expr| in_expr(expr, f));
            in_stmt(body, f);
        }
        StmtKind::RangeFor { ty, range, body, .. } => {
            in_type(ty, f);
            in_expr(range, f);
            in_stmt(body, f);
        }
        StmtKind::While { cond, body, .. } | StmtKind::DoWhile { cond, body, .. } => {
            in_expr(cond, f);
            in_stmt(body, f);
        }
        StmtKind::Return(Some(expr)) => in_expr(expr, f),
        StmtKind::Empty
        | StmtKind::Label(SwitchLabel::Default)
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(None)
        | StmtKind::Fp(_) => {}
    }
}
