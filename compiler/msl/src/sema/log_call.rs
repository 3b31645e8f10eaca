//! Messages: calls of a log's methods (MSL specification, 6.19).
//!
//! A log is an object of the Metal library's `os_log`, known by its first member, whose name programs cannot
//! use. Its methods are not called: the format is checked here, the arguments are converted to what the
//! format prints, and the call becomes a builtin ([`BuiltinOp::LogMessage`]).
//!
//! [`BuiltinOp::LogMessage`]: crate::builtins::BuiltinOp::LogMessage

use super::call::Arg;
use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::names::KnownNames;
use super::variable::Globals;
use super::{call, convert, evaluate, expr};
use crate::ast::{self, ExprKind as Ast, Initialiser};
use crate::builtins;
use crate::hir::{CastKind, ConstValue, Expr, ExprKind, QualTy, RecordId, ScalarTy, Ty, Types};
use crate::token::Name;
use anymetal_abi::logging::{Conversion, ConversionKind, LogLevel, LogSite, Piece, parse_format};
use anymetal_diagnostics::{Diagnostic, Span};

/// How a method of a log says how grave its message is.
#[derive(Clone, Copy)]
pub(super) enum LogMethod {
    /// By its name.
    Level(LogLevel),
    /// By its first argument.
    WithType,
}

/// The method of a log that a member is; `None`: the class is no log, or it is another member.
pub(super) fn method(
    types: &Types,
    names: &KnownNames,
    record: RecordId,
    member: &ast::Path,
) -> Option<LogMethod> {
    let first = types.record(record).fields.first()?;
    if first.name != names.log_object {
        return None;
    }
    Some(match member.segments.last()?.name.as_str() {
        "log" => LogMethod::Level(LogLevel::Default),
        "log_debug" => LogMethod::Level(LogLevel::Debug),
        "log_info" => LogMethod::Level(LogLevel::Info),
        "log_error" => LogMethod::Level(LogLevel::Error),
        "log_fault" => LogMethod::Level(LogLevel::Fault),
        "log_with_type" => LogMethod::WithType,
        _ => return None,
    })
}

/// `log.log_error("format", arguments)`.
pub(super) fn check<'a>(
    cx: &mut Checker<'a>,
    object: &Expr,
    method: LogMethod,
    args: &'a [ast::Expr],
    span: Span,
) -> Expr {
    match log_message(cx, object, method, args, span) {
        Some(values) => {
            let id = builtins::find("__am_log_message").expect("the table has it");
            Expr::value(ExprKind::Builtin(id, values), Ty::VOID, span)
        }
        None => cx.poison(span),
    }
}

fn log_message<'a>(
    cx: &mut Checker<'a>,
    object: &Expr,
    method: LogMethod,
    args: &'a [ast::Expr],
    span: Span,
) -> Option<Vec<Expr>> {
    let (level, args) = match method {
        LogMethod::Level(level) => (level, args),
        LogMethod::WithType => {
            let (first, rest) = args.split_first().or_else(|| no_format(&mut cx.diagnostics, span))?;
            (log_level(cx, first)?, rest)
        }
    };
    let (first, _) = args.split_first().or_else(|| no_format(&mut cx.diagnostics, span))?;
    let Some(format) = literal(first) else {
        cx.error("log-format", first.span, "the format of a message must be a string literal");
        return None;
    };
    let (subsystem, category) = log_names(&cx.globals, &mut cx.diagnostics, object)?;
    let pieces = match parse_format(format.as_str()) {
        Ok(pieces) => pieces,
        Err(problem) => {
            cx.error("log-format", first.span, problem.message);
            return None;
        }
    };
    let given = call::check_args(cx, args)?;
    let site = LogSite { level, subsystem, category, format: format.to_string() };
    let site = cx.data.add_log_site(site);
    let number = Expr::value(ExprKind::Const(ConstValue::Scalar(site)), Ty::UINT, span);
    let mut values = vec![number];
    log_values(cx, &pieces, given.into_iter().skip(1), &mut values, span)?;
    Some(values)
}

fn no_format<T>(diagnostics: &mut Diagnostics, span: Span) -> Option<T> {
    diagnostics.error("log-format", span, "a message needs a format");
    None
}

/// The level that the first argument of `log_with_type` is.
fn log_level<'a>(cx: &mut Checker<'a>, arg: &'a ast::Expr) -> Option<LogLevel> {
    let value = expr::check(cx, arg);
    let value = evaluate::constant_integer(cx, value)?;
    let level = usize::try_from(value).ok().and_then(|value| LogLevel::ALL.get(value).copied());
    if level.is_none() {
        cx.error("log-format", arg.span, format!("{value} is no type of message"));
    }
    level
}

/// The subsystem and the category of a log.
fn log_names(
    globals: &Globals<'_>,
    diagnostics: &mut Diagnostics,
    object: &Expr,
) -> Option<(String, String)> {
    let ExprKind::Global(wanted) = object.kind else {
        let message = "messages need a log that is a constant outside of functions";
        diagnostics.error("unsupported-feature", object.span, message);
        return None;
    };
    let global = globals.of_constant(wanted)?;
    let variable = global.decl.variable;
    let names = match &variable.init {
        None => Some((String::new(), String::new())),
        Some(init) => names_of(init),
    };
    if names.is_none() {
        let message = "the subsystem and the category of a log must be string literals";
        diagnostics.error("log-format", variable.span, message);
    }
    names
}

/// The arguments in the order of the record.
fn log_values<'a>(
    cx: &mut Checker<'a>,
    pieces: &[Piece],
    mut given: impl Iterator<Item = Arg<'a>>,
    values: &mut Vec<Expr>,
    span: Span,
) -> Option<()> {
    for piece in pieces {
        let Piece::Value(conversion) = piece else { continue };
        for _ in 0..conversion.counts() {
            let count = log_argument(cx, given.next(), conversion, span)?;
            values.push(number_for(cx, count, conversion, ScalarTy::I32)?);
        }
        let value = log_argument(cx, given.next(), conversion, span)?;
        values.push(log_value(cx, value, conversion)?);
    }
    if let Some(Arg::Expr(surplus)) = given.next() {
        let message = "the format does not print this argument";
        cx.report(Diagnostic::warning("format-extra-args", surplus.span, message));
    }
    Some(())
}

fn log_argument<'a>(
    cx: &mut Checker<'a>,
    arg: Option<Arg<'a>>,
    conversion: &Conversion,
    span: Span,
) -> Option<Expr> {
    let Some(Arg::Expr(value)) = arg else {
        cx.error("log-format", span, format!("`{}` has no argument to print", conversion.text));
        return None;
    };
    let value = convert::builtin_operand(cx, value);
    let value = cx.values().rvalue(value);
    let value = cx.values().unpack(value);
    (!value.ty.ty.is_error()).then_some(value)
}

/// An argument as its conversion prints it.
fn log_value(cx: &mut Checker<'_>, value: Expr, conversion: &Conversion) -> Option<Expr> {
    let ty = value.ty.ty;
    let (elem, lanes) = match cx.types.as_vector(ty) {
        Some((elem, lanes)) => (Some(elem), u32::from(lanes)),
        None => (cx.types.scalar_repr(ty), 1),
    };
    let Some(elem) = elem.filter(|elem| elem.is_float() == conversion.kind.is_float()) else {
        return log_mismatch(&cx.types, &mut cx.diagnostics, &value, conversion, "another kind of value");
    };
    if lanes != conversion.lanes {
        return log_mismatch(
            &cx.types,
            &mut cx.diagnostics,
            &value,
            conversion,
            "another number of elements",
        );
    }
    if elem.size() * 8 > 32 && conversion.bits < 64 {
        return log_mismatch(
            &cx.types,
            &mut cx.diagnostics,
            &value,
            conversion,
            "32 bits: write `l` before the letter",
        );
    }
    let signed = matches!(conversion.kind, ConversionKind::Signed | ConversionKind::Character);
    let target = match (conversion.kind.is_float(), conversion.bits, signed) {
        (true, ..) => ScalarTy::F32,
        (_, 64, true) => ScalarTy::I64,
        (_, 64, false) => ScalarTy::U64,
        (_, _, true) => ScalarTy::I32,
        (_, _, false) => ScalarTy::U32,
    };
    if lanes == 1 {
        return number_for(cx, value, conversion, target);
    }
    let (to, span) = (cx.types.vector(target, lanes as u8), value.span);
    Some(cx.values().cast_value(CastKind::Convert, value, to, span))
}

fn number_for(cx: &mut Checker<'_>, value: Expr, conversion: &Conversion, target: ScalarTy) -> Option<Expr> {
    let what = format!("for `{}`", conversion.text);
    let value = convert::to_type(cx, value, QualTy::plain(Ty::scalar(target)), &what);
    (!value.ty.ty.is_error()).then_some(value)
}

fn log_mismatch(
    types: &Types,
    diagnostics: &mut Diagnostics,
    value: &Expr,
    conversion: &Conversion,
    prints: &str,
) -> Option<Expr> {
    let shown = types.display_qual(value.ty.unqualified());
    let message = format!("`{}` prints {prints}; this argument is a `{shown}`", conversion.text);
    diagnostics.error("log-format", value.span, message);
    None
}

/// The text of a string literal, perhaps in parentheses.
fn literal(expr: &ast::Expr) -> Option<Name> {
    match &expr.kind {
        Ast::Str(text) => Some(*text),
        Ast::Paren(inner) => literal(inner),
        _ => None,
    }
}

/// The two names that a log is made with.
fn names_of(init: &Initialiser) -> Option<(String, String)> {
    let pair = |values: &[&ast::Expr]| match values {
        [] => Some((String::new(), String::new())),
        [subsystem, category] => Some((literal(subsystem)?.to_string(), literal(category)?.to_string())),
        _ => None,
    };
    match init {
        Initialiser::Paren(args) => pair(&args.iter().collect::<Vec<_>>()),
        Initialiser::Brace(clauses) => pair(&clauses.iter().map(|clause| &clause.value).collect::<Vec<_>>()),
        Initialiser::Assign(value) => match &value.kind {
            Ast::Call(_, args) => pair(&args.iter().collect::<Vec<_>>()),
            Ast::InitList(clauses) => pair(&clauses.iter().map(|clause| &clause.value).collect::<Vec<_>>()),
            _ => None,
        },
    }
}
