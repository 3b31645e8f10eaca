//! Which names a piece of syntax mentions: for packs, dependence and captures.
//!
//! Only unqualified first names count; what they mean is the caller's question. Calls `f` for more
//! names than necessary rather than fewer (a name declared inside a lambda is reported too).

use crate::ast::{
    Block, Designator, Enum, Expr, ExprKind, ForInit, Function, FunctionBody, InitClause, Initialiser, Item,
    ItemKind, LoopHint, Path, Record, Stmt, StmtKind, SwitchLabel, TemplateArg, TemplateParam,
    TemplateParamKind, Type, TypeKind, Unroll, Variable,
};
use crate::token::Name;

/// What to do with each name, and which names count.
pub(crate) struct Visitor<'v> {
    visit: &'v mut dyn FnMut(Name),
    /// Names inside of pack expansions and fold expressions do not count.
    unexpanded_only: bool,
    /// Later names of paths count too.
    every_segment: bool,
}

type Visit<'r, 'v> = &'r mut Visitor<'v>;

impl<'v> Visitor<'v> {
    /// Calls `visit` for all names.
    pub(crate) fn all(visit: &'v mut dyn FnMut(Name)) -> Self {
        Self { visit, unexpanded_only: false, every_segment: false }
    }

    /// Calls `visit` for all names of paths, those of members of namespaces and classes included.
    pub(crate) fn every(visit: &'v mut dyn FnMut(Name)) -> Self {
        Self { visit, unexpanded_only: false, every_segment: true }
    }

    /// Calls `visit` for the names that an expansion of the whole expands.
    pub(super) fn unexpanded(visit: &'v mut dyn FnMut(Name)) -> Self {
        Self { visit, unexpanded_only: true, every_segment: false }
    }

    fn name(&mut self, name: Name) {
        (self.visit)(name);
    }
}

/// The names in a type.
pub(crate) fn in_type(ty: &Type, f: Visit<'_, '_>) {
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
        TypeKind::Underlying(inner) => in_type(inner, f),
        TypeKind::ExtVector(elem, len) => {
            in_type(elem, f);
            in_expr(len, f);
        }
        TypeKind::Function { ret, params, .. } => {
            in_type(ret, f);
            params.iter().for_each(|param| in_type(param, f));
        }
        TypeKind::Builtin(_) | TypeKind::Auto | TypeKind::DecltypeAuto | TypeKind::Error => {}
        TypeKind::Record(record) => in_record(record, f),
        TypeKind::Enum(enumeration) => in_enum(enumeration, f),
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
    if f.every_segment {
        path.segments.iter().for_each(|segment| f.name(segment.name));
    }
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
    for clause in clauses {
        for designator in &clause.designators {
            match designator {
                Designator::Field(..) => {}
                Designator::Index(index) => in_expr(index, f),
                Designator::Range(first, last) => {
                    in_expr(first, f);
                    in_expr(last, f);
                }
            }
        }
        in_expr(&clause.value, f);
    }
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
            lambda.captures.iter().for_each(|(name, ..)| f.name(*name));
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
    variable.attributes.iter().flat_map(|attribute| &attribute.args).for_each(|arg| in_expr(arg, f));
    in_initialiser(variable.init.as_ref(), f);
}

fn in_initialiser(init: Option<&Initialiser>, f: Visit<'_, '_>) {
    match init {
        Some(Initialiser::Assign(expr)) => in_expr(expr, f),
        Some(Initialiser::Paren(args)) => args.iter().for_each(|arg| in_expr(arg, f)),
        Some(Initialiser::Brace(clauses)) => in_clauses(clauses, f),
        None => {}
    }
}

/// The names in a declaration.
pub(crate) fn in_item(item: &Item, f: Visit<'_, '_>) {
    match &item.kind {
        ItemKind::Alias(alias) => in_type(&alias.ty, f),
        ItemKind::StaticAssert(cond, _) => in_expr(cond, f),
        ItemKind::Variable(variable) => in_variable(variable, f),
        ItemKind::Bindings(bindings) => in_variable(&bindings.variable, f),
        ItemKind::Record(record) => in_record(record, f),
        ItemKind::Enum(enumeration) => in_enum(enumeration, f),
        ItemKind::Field(field) => {
            in_type(&field.ty, f);
            field.width.iter().for_each(|width| in_expr(width, f));
            in_initialiser(field.init.as_ref(), f);
        }
        ItemKind::Function(function) | ItemKind::DeductionGuide(function) => in_function(function, f),
        ItemKind::ExplicitInstantiation(instantiation) => {
            in_path(&instantiation.path, f);
            instantiation.ty.iter().for_each(|ty| in_type(ty, f));
            instantiation.params.iter().flatten().for_each(|param| in_type(&param.ty, f));
        }
        ItemKind::Namespace(namespace) => namespace.items.iter().for_each(|item| in_item(item, f)),
        ItemKind::UsingDeclaration(using) if using.is_pack && f.unexpanded_only => {}
        ItemKind::UsingDeclaration(using) => in_path(&using.path, f),
        ItemKind::UsingNamespace(_) | ItemKind::Friend(_) | ItemKind::Empty => {}
    }
    for param in item.template.iter().flat_map(|template| &template.params) {
        in_template_param(param, f);
    }
}

fn in_template_param(param: &TemplateParam, f: Visit<'_, '_>) {
    match &param.kind {
        TemplateParamKind::Type(default) => default.iter().for_each(|ty| in_type(ty, f)),
        TemplateParamKind::Value(ty, default) => {
            in_type(ty, f);
            default.iter().for_each(|value| in_expr(value, f));
        }
        TemplateParamKind::Template(_, default) => default.iter().for_each(|path| in_path(path, f)),
    }
}

fn in_record(record: &Record, f: Visit<'_, '_>) {
    for base in &record.bases {
        if !(base.is_pack && f.unexpanded_only) {
            in_type(&base.ty, f);
        }
    }
    record.specialisation.iter().flatten().for_each(|arg| in_arg(arg, f));
    record.align.iter().for_each(|align| in_expr(&align.value, f));
    record.members.iter().flatten().for_each(|member| in_item(member, f));
}

fn in_enum(enumeration: &Enum, f: Visit<'_, '_>) {
    enumeration.underlying.iter().for_each(|ty| in_type(ty, f));
    let values = enumeration.enumerators.iter().flatten().filter_map(|enumerator| enumerator.value.as_ref());
    values.for_each(|value| in_expr(value, f));
}

/// The names in a function, without its own.
pub(crate) fn in_function(function: &Function, f: Visit<'_, '_>) {
    function.ret.iter().for_each(|ty| in_type(ty, f));
    function.specialisation.iter().flatten().for_each(|arg| in_arg(arg, f));
    for param in &function.params {
        in_type(&param.ty, f);
        param.default.iter().for_each(|value| in_expr(value, f));
        param.attributes.iter().flat_map(|attribute| &attribute.args).for_each(|arg| in_expr(arg, f));
    }
    function.attributes.iter().flat_map(|attribute| &attribute.args).for_each(|arg| in_expr(arg, f));
    for init in &function.mem_inits {
        if init.is_pack && f.unexpanded_only {
            continue;
        }
        in_path_args(&init.name, f);
        in_clauses(&init.args, f);
    }
    if let FunctionBody::Block(block) = &function.body {
        in_block(block, f);
    }
}

fn in_hint(hint: Option<&LoopHint>, f: Visit<'_, '_>) {
    for count in hint.into_iter().flat_map(|hint| &hint.counts) {
        in_expr(count, f);
    }
    if let Some(LoopHint { unroll: Some(Unroll::Count { count, .. }), .. }) = hint {
        in_expr(count, f);
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
        StmtKind::For { init, cond, step, body, hint } => {
            in_hint(hint.as_deref(), f);
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
        StmtKind::RangeFor { ty, range, body, hint, .. } => {
            in_hint(hint.as_deref(), f);
            in_type(ty, f);
            in_expr(range, f);
            in_stmt(body, f);
        }
        StmtKind::While { cond, body, hint } | StmtKind::DoWhile { cond, body, hint } => {
            in_hint(hint.as_deref(), f);
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
        StmtKind::Unused(name) => f.name(*name),
    }
}
