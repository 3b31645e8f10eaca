//! Overload resolution: the best function for a call.
//!
//! Each declaration of the set becomes a candidate (`candidate`: deduction, substitution, conversions) or a
//! reason why it does not fit; then the candidates are compared (`ranking`). `without_call` is for names of
//! functions that are not called.
//!
//! Invariant: trying candidates reports nothing; only [`resolve`] does.

mod candidate;
mod ranking;
mod without_call;

pub(super) use candidate::{
    candidate_function, deduce_from_arg, deduce_rest, explicit_prefix, is_pack, object_conversion,
};
pub(super) use ranking::{is_more_specialised, most_specialised};
pub(super) use without_call::{function_for_type, function_without_call};

use super::call::Arg;
use super::checker::Checker;
use super::convert::Conversion;
use super::entities::FnDeclId;
use super::template_args::ExplicitArg;
use super::{equivalence, function, record};
use crate::ast::{FunctionBody, FunctionName};
use crate::hir::{Expr, FuncId, Types};
use anymetal_diagnostics::{Diagnostic, Span};

/// A function that could be called.
#[derive(Clone, Debug)]
struct Candidate {
    decl: FnDeclId,
    func: FuncId,
    /// Of the object, if the call has one, and the arguments.
    conversions: Vec<Conversion>,
    /// Whether the first is the object's.
    has_object: bool,
    /// Whether the object is an operator's first operand, which functions that are no members take as an
    /// argument.
    is_operand: bool,
}

/// What to call among what with what.
#[derive(Debug)]
pub(super) struct Call<'c, 'a> {
    pub(super) name: &'c str,
    pub(super) decls: &'c [FnDeclId],
    pub(super) explicit: Option<&'c [ExplicitArg<'a>]>,
    /// The object of a method call.
    pub(super) object: Option<&'c Expr>,
    pub(super) args: &'c [Arg<'a>],
    pub(super) span: Span,
}

/// Why a call does not resolve.
#[derive(Debug)]
pub(super) enum NoOverload {
    /// None fits: the candidates with the reasons.
    None(Vec<(FnDeclId, String)>),
    /// Several fit equally.
    Ambiguous(Vec<FnDeclId>),
}

/// Resolves a call and reports when that is impossible.
pub(super) fn resolve<'a>(cx: &mut Checker<'a>, call: &Call<'_, 'a>) -> Option<FuncId> {
    match find(cx, call) {
        Ok(func) if call.object.is_none() && lacks_object(cx, func) => {
            if !is_undecided(cx, call) {
                let message = format!("`{}` is not a static function, and there is no object", call.name);
                let diagnostic = Diagnostic::error("no-object", call.span, message);
                cx.report(diagnostic.with_note(cx.functions.inst(func).span, "declared here"));
            }
            None
        }
        Ok(func) => Some(func),
        Err(_) if is_undecided(cx, call) => None,
        Err(problem) => {
            report_none(cx, call, problem);
            None
        }
    }
}

/// Whether a function can only be called with an object.
fn lacks_object(cx: &Checker<'_>, func: FuncId) -> bool {
    let decl = cx.functions.inst(func).origin.decl();
    decl.is_some_and(|decl| {
        let is_constructor = matches!(cx.functions.decl(decl).ast.name, FunctionName::Constructor(_));
        cx.functions.needs_object(decl) && !is_constructor
    })
}

/// Whether template arguments that are not known may decide which function a call means.
fn is_undecided(cx: &Checker<'_>, call: &Call<'_, '_>) -> bool {
    let in_template = |&decl: &FnDeclId| cx.scopes.is_in_template(cx.functions.decl(decl).scope);
    let is_open = |arg: &Arg<'_>| match arg {
        Arg::Expr(value) => cx.is_dependent(value.ty.ty),
        Arg::List(..) | Arg::Functions(..) => true,
    };
    cx.diagnostics.in_template() && (call.decls.iter().any(in_template) || call.args.iter().any(is_open))
}

fn report_none<'a>(cx: &mut Checker<'a>, call: &Call<'_, 'a>, problem: NoOverload) {
    const SHOWN: usize = 6;
    let types: Vec<String> = call.args.iter().map(|arg| show_call_arg(&cx.types, arg)).collect();
    let types = types.join(", ");
    let (id, message, notes) = match problem {
        NoOverload::None(reasons) => (
            "no-matching-function",
            format!("no matching function for call to `{}` with arguments ({types})", call.name),
            reasons,
        ),
        NoOverload::Ambiguous(decls) => (
            "ambiguous-call",
            format!("call to `{}` with arguments ({types}) is ambiguous", call.name),
            decls.into_iter().map(|decl| (decl, String::new())).collect(),
        ),
    };
    let mut diagnostic = Diagnostic::error(id, call.span, message);
    let more = notes.len().saturating_sub(SHOWN);
    for (decl, reason) in notes.into_iter().take(SHOWN) {
        let text = if reason.is_empty() { "candidate".to_owned() } else { format!("candidate: {reason}") };
        diagnostic = diagnostic.with_note(cx.functions.decl(decl).ast.span, text);
    }
    if more > 0 {
        diagnostic = diagnostic.with_note(Span::NONE, format!("… and {more} more candidates"));
    }
    cx.report(diagnostic);
}

pub(super) fn show_call_arg<'a>(types: &Types, arg: &Arg<'a>) -> String {
    match arg {
        Arg::Expr(expr) => types.display_qual(expr.ty),
        Arg::List(..) => "{…}".to_owned(),
        Arg::Functions(..) => "<function>".to_owned(),
    }
}

/// Finds the best function for a call.
pub(super) fn find<'a>(cx: &mut Checker<'a>, call: &Call<'_, 'a>) -> Result<FuncId, NoOverload> {
    let mut viable = Vec::new();
    let reasons = add_candidates(cx, call, &mut viable);
    if viable.is_empty() {
        return Err(NoOverload::None(reasons));
    }
    ranking::best_of(cx, &viable)
}

/// Finds the best function for an operator among members of its first operand and other functions.
pub(super) fn find_operator<'a>(
    cx: &mut Checker<'a>,
    members: &Call<'_, 'a>,
    others: &Call<'_, 'a>,
) -> Result<FuncId, NoOverload> {
    let mut viable = Vec::new();
    add_candidates(cx, members, &mut viable);
    for candidate in &mut viable {
        candidate.is_operand = true;
    }
    add_candidates(cx, others, &mut viable);
    if viable.is_empty() {
        return Err(NoOverload::None(Vec::new()));
    }
    ranking::best_of(cx, &viable)
}

/// Adds the candidates of a call; returns why the others do not fit.
fn add_candidates<'a>(
    cx: &mut Checker<'a>,
    call: &Call<'_, 'a>,
    viable: &mut Vec<Candidate>,
) -> Vec<(FnDeclId, String)> {
    let mut reasons = Vec::new();
    for &decl in call.decls {
        cx.limits.count_candidate(call.span, &mut cx.diagnostics);
        match candidate::examine(cx, decl, call) {
            Ok(candidate) => {
                if !merge_redeclaration(cx, viable, &candidate) {
                    viable.push(candidate);
                }
            }
            Err(reason) => reasons.push((decl, reason)),
        }
        if cx.diagnostics.gave_up() {
            viable.clear();
            return Vec::new();
        }
    }
    reasons
}

/// A function declared several times counts once; the declaration with a body stands for all.
fn merge_redeclaration(cx: &mut Checker<'_>, viable: &mut [Candidate], new: &Candidate) -> bool {
    let has_body = |ast: &crate::ast::Function| !matches!(ast.body, FunctionBody::None);
    for known in viable {
        let (a, b) = (cx.functions.decl(known.decl), cx.functions.decl(new.decl));
        if a.template.is_some() != b.template.is_some() {
            continue;
        }
        // A member hides those of bases with its parameters that a using-declaration names.
        let hides = match (a.owner, b.owner) {
            (Some(derived), Some(base)) if derived != base => record::base_path(cx, derived, base).is_some(),
            _ => false,
        };
        let (a, b) = (cx.functions.decl(known.decl), cx.functions.decl(new.decl));
        if !hides && (a.scope != b.scope || a.owner != b.owner) {
            continue;
        }
        let (x, y) = (cx.functions.inst(known.func), cx.functions.inst(new.func));
        if a.ast.method != b.ast.method || !function::are_same_params(&x.params, &y.params) {
            continue;
        }
        let same_template = match (a.template, b.template) {
            (Some(x), Some(y)) if hides => x.params.len() == y.params.len(),
            // Two definitions of one template are reported where they are.
            (Some(_), Some(_)) if has_body(a.ast) && has_body(b.ast) => false,
            (Some(_), Some(_)) => {
                let (a, b) = (known.decl, new.decl);
                equivalence::signature(cx, a) == equivalence::signature(cx, b)
            }
            _ => true,
        };
        if same_template {
            if !hides && matches!(cx.functions.decl(known.decl).ast.body, FunctionBody::None) {
                *known = new.clone();
            }
            return true;
        }
    }
    false
}
