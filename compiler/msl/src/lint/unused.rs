//! Variables, parameters and functions that nothing uses, and declarations that hide a variable.
//!
//! A name counts as used if it occurs anywhere in the function, even where it refers to another declaration.
//! If two variables have the same name and one of them is used, neither is reported.

use super::Linter;
use crate::ast::{
    Attribute, Block, Expr, ExprKind, ForInit, Function, FunctionBody, Item, ItemKind, PostfixOp, Stmt,
    StmtKind, Type, TypeKind, UnaryOp, Variable,
};
use crate::sema::ast_names::{self, Visitor};
use crate::token::Name;
use anymetal_diagnostics::Span;
use rustc_hash::FxHashMap;

/// A declared name.
type Declared = (Name, Span);

/// The variables that the statements of a function declare and assign to.
#[derive(Default)]
struct Declarations {
    variables: Vec<Declared>,
    types: Vec<Declared>,
    /// How often a name is only assigned to.
    assigned: FxHashMap<Name, u32>,
    /// The names of the blocks around the current statement, with the blocks' beginnings.
    visible: Vec<Name>,
    /// The declarations that hide a visible name.
    hiding: Vec<Span>,
}

pub(super) fn in_function(linter: &mut Linter<'_>, function: &Function, body: &Block) {
    let ids =
        ["unused-variable", "unused-but-set-variable", "unused-parameter", "unused-local-typedef", "shadow"];
    if !ids.iter().any(|id| linter.wants(id)) {
        return;
    }
    let mut uses: FxHashMap<Name, u32> = FxHashMap::default();
    let mut count = |name| *uses.entry(name).or_default() += 1;
    ast_names::in_function(function, &mut Visitor::all(&mut count));
    let mut declared = Declarations::default();
    let named = || function.params.iter().filter_map(|param| Some((param, param.name?)));
    declared.visible.extend(named().map(|(_, name)| name));
    block(body, &mut declared);
    for span in &declared.hiding {
        linter.warn("shadow", *span, "declaration shadows a local variable", None);
    }
    for (name, span) in &declared.variables {
        let used = uses.get(name).copied().unwrap_or(0);
        if used == 0 {
            linter.warn("unused-variable", *span, format!("unused variable '{name}'"), None);
        } else if declared.assigned.get(name) == Some(&used) {
            let message = format!("variable '{name}' set but not used");
            linter.warn("unused-but-set-variable", *span, message, None);
        }
    }
    for (name, span) in declared.types.iter().filter(|(name, _)| !uses.contains_key(name)) {
        unused_type(linter, *name, *span);
    }
    for (param, name) in named().filter(|(param, _)| !may_be_unused(&param.attributes)) {
        if !uses.contains_key(&name) {
            linter.warn("unused-parameter", param.span, format!("unused parameter '{name}'"), None);
        }
    }
}

fn unused_type(linter: &mut Linter<'_>, name: Name, span: Span) {
    let text = linter.text_from(span, span.lo);
    let text = text.get(..span.hi.saturating_sub(span.lo) as usize).unwrap_or_default();
    // The attributes of an alias have no meaning in its type, so that the parser does not keep them.
    if text.contains("unused") {
        return;
    }
    let what = if text.starts_with("using") { "type alias" } else { "typedef" };
    linter.warn("unused-local-typedef", span, format!("unused {what} '{name}'"), None);
}

fn may_be_unused(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| matches!(attribute.name.as_str(), "maybe_unused" | "unused"))
}

fn block(block: &Block, out: &mut Declarations) {
    let visible = out.visible.len();
    block.stmts.iter().for_each(|stmt| statement(stmt, out));
    out.visible.truncate(visible);
}

fn declare(variable: &Variable, out: &mut Declarations) {
    let name = variable.declarator.name;
    if out.visible.contains(&name) {
        out.hiding.push(variable.span);
    }
    out.visible.push(name);
    if is_plain(&variable.ty) && !may_be_unused(&variable.attributes) {
        out.variables.push((name, variable.span));
    }
}

fn statement(stmt: &Stmt, out: &mut Declarations) {
    let visible = out.visible.len();
    // A chain of `else if` is a loop here.
    let mut at = Some(stmt);
    while let Some(stmt) = at.take() {
        match &stmt.kind {
            StmtKind::Block(inner) => block(inner, out),
            StmtKind::Expr(expr) => assigned(expr, out),
            StmtKind::Item(item) => local_type(item, out),
            StmtKind::Items(items) => items.iter().for_each(|item| local_type(item, out)),
            StmtKind::Variables(variables) => {
                variables.iter().for_each(|variable| declare(variable, out));
                // They are visible to the rest of the block.
                return;
            }
            StmtKind::If { then, otherwise, .. } => {
                statement(then, out);
                at = otherwise.as_deref();
            }
            StmtKind::For { init, step, body, .. } => {
                match &**init {
                    ForInit::Declaration(variables) => {
                        variables.iter().for_each(|variable| declare(variable, out));
                    }
                    ForInit::Expr(expr) => assigned(expr, out),
                    ForInit::Empty => {}
                }
                step.iter().for_each(|step| assigned(step, out));
                statement(body, out);
            }
            StmtKind::RangeFor { body, .. }
            | StmtKind::While { body, .. }
            | StmtKind::DoWhile { body, .. }
            | StmtKind::Switch { body, .. } => statement(body, out),
            _ => {}
        }
    }
    out.visible.truncate(visible);
}

fn local_type(item: &Item, out: &mut Declarations) {
    if let ItemKind::Alias(alias) = &item.kind
        && item.template.is_none()
    {
        out.types.push((alias.name, item.span));
    }
}

/// Counts a statement that only changes a variable: `x = e`, `x += e`, `x++`.
fn assigned(expr: &Expr, out: &mut Declarations) {
    let target = match &expr.kind {
        ExprKind::Assign(_, lhs, _) => lhs,
        ExprKind::Postfix(PostfixOp::Increment | PostfixOp::Decrement, inner)
        | ExprKind::Unary(UnaryOp::PreIncrement | UnaryOp::PreDecrement, inner) => inner,
        _ => return,
    };
    if let ExprKind::Path(path) = &target.kind
        && let [only] = &path.segments[..]
    {
        *out.assigned.entry(only.name).or_default() += 1;
    }
}

/// Whether objects of a type are plain data, which nothing is done to by declaring them.
fn is_plain(ty: &Type) -> bool {
    match &ty.kind {
        TypeKind::Builtin(_) | TypeKind::Pointer(_) => true,
        TypeKind::Array(elem, _) => is_plain(elem),
        TypeKind::Path(path) => match &path.segments[..] {
            [only] if only.args.is_none() => is_arithmetic_name(only.name.as_str()),
            _ => false,
        },
        _ => false,
    }
}

/// `uint`, `float4`, `packed_half2`, `half4x4`, `int32_t`, `size_t`.
fn is_arithmetic_name(name: &str) -> bool {
    const SCALARS: &[&str] = &[
        "bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "bfloat", "float",
    ];
    if let Some(width) = name.strip_suffix("_t") {
        let width = width.strip_prefix('u').unwrap_or(width);
        return matches!(width, "int8" | "int16" | "int32" | "int64" | "size" | "ptrdiff");
    }
    let name = name.strip_prefix("packed_").unwrap_or(name);
    let letters = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'x');
    SCALARS.contains(&letters)
}

/// Static functions and functions of anonymous namespaces that nothing names. Headers have inline functions
/// that not every program uses.
pub(super) fn functions(linter: &mut Linter<'_>, items: &[Item]) {
    if !linter.wants("unused-function") {
        return;
    }
    let mut uses: FxHashMap<Name, u32> = FxHashMap::default();
    let mut count = |name| *uses.entry(name).or_default() += 1;
    items.iter().for_each(|item| ast_names::in_item(item, &mut Visitor::every(&mut count)));
    let mut work: Vec<(&Item, bool)> = items.iter().map(|item| (item, false)).collect();
    while let Some((item, is_local)) = work.pop() {
        match &item.kind {
            ItemKind::Namespace(namespace) => {
                let is_local = is_local || namespace.name.is_none();
                work.extend(namespace.items.iter().map(|item| (item, is_local)));
            }
            ItemKind::Function(function) if item.template.is_none() => {
                let is_local = is_local || function.specifiers.is_static;
                let is_defined = matches!(function.body, FunctionBody::Block(_));
                if let Some(name) = function.name.ordinary()
                    && (is_local && is_defined && function.scope.is_none())
                    && !(uses.contains_key(&name) || function.specifiers.is_entry_point())
                    && !(function.specifiers.is_inline && !linter.enabled.is_main_file(function.span))
                    && !may_be_unused(&function.attributes)
                {
                    linter.warn("unused-function", function.span, format!("unused function '{name}'"), None);
                }
            }
            _ => {}
        }
    }
}
