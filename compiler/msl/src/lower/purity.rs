//! What an expression may do: whether it may be evaluated without need, and whom it calls.

use crate::builtins::BuiltinOp;
use crate::hir::{self, BinaryOp, ExprKind, Stmt, StmtKind};
use crate::sema::operands;

/// How many nodes count as cheap.
const CHEAP: u32 = 12;

/// Whether evaluating it has no effect, cannot fault, and costs about as little as a branch: then
/// both sides of `?:` and `&&` may be evaluated.
pub(super) fn is_cheap(expr: &hir::Expr) -> bool {
    let mut left = CHEAP;
    cheap(expr, &mut left)
}

/// Whether it is a constant of the program or of its specialisation: evaluating it is no error.
pub(super) fn is_constant(expr: &hir::Expr) -> bool {
    matches!(
        expr.kind,
        ExprKind::Const(_)
            | ExprKind::Zero
            | ExprKind::FunctionConstant(_)
            | ExprKind::FunctionConstantDefined(_)
    )
}

fn cheap(expr: &hir::Expr, left: &mut u32) -> bool {
    if *left == 0 {
        return false;
    }
    *left -= 1;
    match &expr.kind {
        ExprKind::Const(_)
        | ExprKind::Zero
        | ExprKind::Undef
        | ExprKind::Local(_)
        | ExprKind::FunctionConstant(_)
        | ExprKind::ThreadFact { .. }
        | ExprKind::FunctionConstantDefined(_) => true,
        // Only a variable can be read without the risk of a fault.
        ExprKind::Load(place) => is_variable(place),
        ExprKind::AddressOf(place) | ExprKind::ArrayDecay(place) => is_variable(place),
        ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => cheap(a, left),
        // Division is slow, and slower still when lanes that do not need it take part.
        ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => false,
        ExprKind::Binary(_, a, b)
        | ExprKind::Compare(_, a, b)
        | ExprKind::Logical(_, a, b)
        | ExprKind::PointerAdd(a, b) => cheap(a, left) && cheap(b, left),
        ExprKind::Conditional(c, a, b) | ExprKind::Select(c, a, b) => {
            cheap(c, left) && cheap(a, left) && cheap(b, left)
        }
        ExprKind::Swizzle(base, _) if !expr.is_place => cheap(base, left),
        ExprKind::Vector(parts) => parts.iter().all(|part| cheap(part, left)),
        _ => false,
    }
}

fn is_variable(place: &hir::Expr) -> bool {
    match &place.kind {
        ExprKind::Local(_) | ExprKind::Threadgroup(_) | ExprKind::Global(_) => true,
        ExprKind::Field(base, ..) | ExprKind::Swizzle(base, _) => is_variable(base),
        _ => false,
    }
}

/// The functions that a function calls directly, each as often as it is called.
pub(super) fn calls(function: &hir::Function) -> Vec<hir::FuncId> {
    let mut found = Vec::new();
    block(&function.body, &mut |expr| {
        if let ExprKind::Call(id, _) | ExprKind::Construct(id, _) = &expr.kind {
            found.push(*id);
        }
    });
    found
}

/// By function: whether it calls a builtin of that kind, or a function that does.
pub(super) fn reaches(program: &hir::Program, is_wanted: impl Fn(BuiltinOp) -> bool) -> Vec<bool> {
    let functions = &program.functions;
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); functions.len()];
    let mut found = vec![false; functions.len()];
    let mut left = Vec::new();
    for (caller, function) in functions.iter().enumerate() {
        calls(function).iter().for_each(|callee| callers[callee.0 as usize].push(caller));
        block(&function.body, &mut |expr| {
            let is_it = matches!(&expr.kind, ExprKind::Builtin(id, _) if is_wanted(id.get().op));
            if is_it && !found[caller] {
                found[caller] = true;
                left.push(caller);
            }
        });
    }
    while let Some(callee) = left.pop() {
        for &caller in &callers[callee] {
            if !std::mem::replace(&mut found[caller], true) {
                left.push(caller);
            }
        }
    }
    found
}

/// Calls `visit` for every expression of a block.
pub(super) fn block(block: &hir::Block, visit: &mut dyn FnMut(&hir::Expr)) {
    for stmt in &block.stmts {
        statement(stmt, visit);
    }
}

fn statement(stmt: &Stmt, visit: &mut dyn FnMut(&hir::Expr)) {
    match &stmt.kind {
        StmtKind::Expr(e) => expr(e, visit),
        StmtKind::Declare { init, .. } | StmtKind::Return(init) => {
            if let Some(init) = init {
                expr(init, visit);
            }
        }
        StmtKind::Block(inner) => block(inner, visit),
        StmtKind::If { cond, then, otherwise } => {
            expr(cond, visit);
            block(then, visit);
            block(otherwise, visit);
        }
        StmtKind::Loop { cond, step, body, .. } => {
            for e in cond.iter().chain(step) {
                expr(e, visit);
            }
            block(body, visit);
        }
        StmtKind::Switch { selector, cases } => {
            expr(selector, visit);
            for case in cases {
                block(&case.body, visit);
            }
        }
        StmtKind::Break | StmtKind::Continue | StmtKind::Fp(_) => {}
    }
}

fn expr(e: &hir::Expr, visit: &mut dyn FnMut(&hir::Expr)) {
    visit(e);
    operands(e, &mut |operand| expr(operand, visit));
}
