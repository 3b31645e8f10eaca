//! Candidates: whether a declared function can take the arguments of a call, and how well they fit.
//!
//! For a template that is: its explicit arguments, deduction from the call's arguments, and the signature.

use super::{Call, Candidate};
use crate::ast::{Param, TypeKind};
use crate::hir::{Expr, FuncId, Types};
use crate::sema::call::Arg;
use crate::sema::checker::Checker;
use crate::sema::convert::{Conversion, Rank};
use crate::sema::deduce::Deduced;
use crate::sema::entities::{FnDeclId, TArg};
use crate::sema::function::Functions;
use crate::sema::pattern::Pat;
use crate::sema::template_args::ExplicitArg;
use crate::sema::{convert, deduce, function, function_pointer, overload, specialise, template_args};
use anymetal_diagnostics::Span;
use anymetal_ir::Space;
use std::rc::Rc;

pub(super) fn examine<'a>(
    cx: &mut Checker<'a>,
    decl: FnDeclId,
    call: &Call<'_, 'a>,
) -> Result<Candidate, String> {
    let func = candidate_function(cx, decl, call.explicit, call.args, call.span)?;
    let mut conversions = Vec::with_capacity(call.args.len() + 1);
    if cx.functions.needs_object(decl) && !is_constructor(&cx.functions, decl) {
        match call.object {
            // It competes, and the choice of it is an error (C++14 [over.call.func.3]).
            None => conversions.push(Conversion::EXACT),
            Some(object) => match object_conversion(cx, func, object) {
                Some(conversion) => conversions.push(conversion),
                None => return Err(refused_object(&cx.types, &cx.functions, func, object)),
            },
        }
    } else if call.object.is_some() && !is_constructor(&cx.functions, decl) {
        conversions.push(Conversion::EXACT);
    }
    let params = cx.functions.inst(func).params.clone();
    for (n, (arg, &param)) in call.args.iter().zip(params.iter()).enumerate() {
        match convert::conversion(cx, arg, param) {
            Some(conversion) => conversions.push(conversion),
            None => {
                let (from, to) = (overload::show_call_arg(&cx.types, arg), cx.show(param));
                return Err(format!("no conversion from `{from}` to `{to}` for argument {}", n + 1));
            }
        }
    }
    if cx.functions.decl(decl).ast.is_variadic {
        let given = call.args.len().saturating_sub(params.len());
        conversions.extend((0..given).map(|_| Conversion::new(Rank::Ellipsis, 0)));
    }
    let has_object = conversions.len() > call.args.len();
    Ok(Candidate { decl, func, conversions, has_object, is_operand: false })
}

/// Why a method does not take an object.
fn refused_object(types: &Types, functions: &Functions<'_>, func: FuncId, object: &Expr) -> String {
    let shown = types.display_qual(object.ty);
    match functions.inst(func).this {
        Some(this) if functions.qualified_object(types, func, object, this).is_none() => {
            let category = if functions.is_rvalue(types, object) { "an rvalue" } else { "an lvalue" };
            format!("the object is {category} of type `{shown}`")
        }
        _ => format!("the object is `{shown}`"),
    }
}

fn is_constructor(functions: &Functions<'_>, decl: FnDeclId) -> bool {
    matches!(functions.decl(decl).ast.name, crate::ast::FunctionName::Constructor(_))
}

/// The instance of a declaration that takes these arguments; the reason if there is none.
pub(in crate::sema) fn candidate_function<'a>(
    cx: &mut Checker<'a>,
    decl: FnDeclId,
    explicit: Option<&[ExplicitArg<'a>]>,
    args: &[Arg<'a>],
    span: Span,
) -> Result<FuncId, String> {
    check_arity(&cx.functions, decl, args.len())?;
    let data = cx.functions.decl(decl);
    let (template, scope) = (data.template, data.scope);
    let Some(template) = template else {
        if explicit.is_some() {
            return Err("it is not a template".to_owned());
        }
        return function::instantiate(cx, decl, Rc::from([]), span)
            .ok_or_else(|| "its declaration is in error".to_owned());
    };
    let explicit = explicit.map_or_else(Vec::new, <[ExplicitArg<'a>]>::to_vec);
    let Ok(Some(mut deduced)) = cx.quietly(|cx| explicit_prefix(cx, decl, explicit, span)) else {
        return Err("the explicit template arguments do not fit".to_owned());
    };
    deduce_call(cx, decl, args, &mut deduced)?;
    let missing = deduced.missing();
    let Some(bound) = specialise::finish_deduction(cx, &template.params, deduced, scope, span) else {
        let name = missing.and_then(|n| template.params[n].name);
        return Err(match name {
            Some(name) => format!("template argument `{name}` could not be determined"),
            None => "the template arguments could not be determined".to_owned(),
        });
    };
    match cx.quietly(|cx| function::instantiate(cx, decl, bound, span)) {
        Ok(Some(func)) => Ok(func),
        Ok(None) => Err("substitution failed".to_owned()),
        Err(errors) => {
            let first = errors.first().map_or(String::new(), |error| error.message.clone());
            Err(format!("substitution failed: {first}"))
        }
    }
}

fn check_arity(functions: &Functions<'_>, decl: FnDeclId, given: usize) -> Result<(), String> {
    let ast = functions.decl(decl).ast;
    let most = ast.params.len();
    // Default arguments before a parameter without one are an error, and of no use.
    let required = ast.params.iter().rposition(|param| param.default.is_none() && !is_pack(param));
    let least =
        ast.params.iter().take(required.map_or(0, |last| last + 1)).filter(|param| !is_pack(param)).count();
    let is_open = ast.is_variadic || has_pack(functions, decl);
    if given < least || (given > most && !is_open) {
        let wanted = if least == most { format!("{most}") } else { format!("{least} to {most}") };
        return Err(format!("it takes {wanted} arguments, not {given}"));
    }
    Ok(())
}

/// The first template arguments, given explicitly; the others are open.
pub(in crate::sema) fn explicit_prefix<'a>(
    cx: &mut Checker<'a>,
    decl: FnDeclId,
    explicit: Vec<ExplicitArg<'a>>,
    span: Span,
) -> Option<Deduced> {
    let data = cx.functions.decl(decl);
    let (template, scope) = (data.template?, data.scope);
    let params = &template.params;
    let mut bound: Vec<TArg> = Vec::new();
    let mut ends_in_pack = false;
    let mut explicit = explicit.into_iter();
    for param in params {
        if param.is_pack {
            let elements = template_args::bind_pack(cx, params, &bound, param, &mut explicit, scope, span)?;
            if !elements.is_empty() {
                bound.push(TArg::Pack(elements.into()));
                ends_in_pack = true;
            }
            break;
        }
        let Some(arg) = explicit.next() else { break };
        let arg = template_args::bind_one(cx, params, &bound, param, arg, scope, span)?;
        bound.push(arg);
    }
    if explicit.next().is_some() {
        return None;
    }
    Some(Deduced::explicit(bound, params.len(), ends_in_pack))
}

fn deduce_call<'a>(
    cx: &mut Checker<'a>,
    decl: FnDeclId,
    args: &[Arg<'a>],
    deduced: &mut Deduced,
) -> Result<(), String> {
    let patterns = function::patterns_of(cx, decl);
    let ast = cx.functions.decl(decl).ast;
    for (n, (pattern, param)) in patterns.iter().zip(&ast.params).enumerate() {
        if is_pack(param) {
            return deduce_rest(cx, pattern, args.get(n..).unwrap_or(&[]), deduced);
        }
        let Some(arg) = args.get(n) else { break };
        if !deduce_from_arg(cx, pattern, arg, deduced) {
            let from = overload::show_call_arg(&cx.types, arg);
            return Err(format!("argument {} of type `{from}` does not match", n + 1));
        }
    }
    Ok(())
}

pub(in crate::sema) fn deduce_from_arg<'a>(
    cx: &mut Checker<'a>,
    pattern: &Pat<'a>,
    arg: &Arg<'a>,
    deduced: &mut Deduced,
) -> bool {
    if let Arg::Functions(decls, args, span) = arg {
        return function_pointer::deduce_from_function(cx, pattern, (decls, *args, *span), deduced);
    }
    let Arg::Expr(expr) = arg else { return true };
    // Parameters whose template parameters are all given explicitly take conversions (C++14
    // [temp.arg.explicit.6]).
    let mut holes = Vec::new();
    deduce::holes_in(pattern, &mut holes);
    if holes.iter().all(|&hole| deduced.is_explicit(hole)) {
        return true;
    }
    let is_lvalue = expr.is_place && !cx.functions.is_xvalue(&cx.types, expr);
    deduce::from_call_arg(cx, pattern, expr.ty, is_lvalue, deduced)
}

pub(in crate::sema) fn deduce_rest<'a>(
    cx: &mut Checker<'a>,
    pattern: &Pat<'a>,
    args: &[Arg<'a>],
    deduced: &mut Deduced,
) -> Result<(), String> {
    let mut holes = Vec::new();
    deduce::holes_in(pattern, &mut holes);
    deduced.elementwise(&mut holes);
    let mut collected: Vec<Vec<TArg>> = vec![Vec::new(); holes.len()];
    for (n, arg) in args.iter().enumerate() {
        let mut one = deduced.element(&holes, n);
        if !deduce_from_arg(cx, pattern, arg, &mut one) {
            return Err(format!("argument {} of the pack does not match", n + 1));
        }
        for (&hole, collected) in holes.iter().zip(&mut collected) {
            collected.extend(one.take(hole));
        }
    }
    for (hole, elements) in holes.into_iter().zip(collected) {
        let given = elements.len();
        if !deduced.bind_pack(hole, elements) {
            return Err(format!("a pack of another length than {given} is given or deduced before"));
        }
    }
    Ok(())
}

/// How the object of a call binds to `this`.
pub(in crate::sema) fn object_conversion(
    cx: &mut Checker<'_>,
    func: FuncId,
    object: &Expr,
) -> Option<Conversion> {
    let this = cx.functions.inst(func).this?;
    let derived = convert::is_derived(cx, object.ty.ty, this.ty);
    if object.ty.ty != this.ty && !derived {
        return None;
    }
    // What a using-declaration names is a member of the class that has the declaration.
    let is_member = cx
        .types
        .as_record(object.ty.ty)
        .zip(cx.functions.inst(func).origin.decl())
        .is_some_and(|(record, decl)| cx.records.get(record).introduced.contains(&decl));
    let rank = if derived && !is_member { Rank::Conversion } else { Rank::Exact };
    let qualified = cx.functions.qualified_object(&cx.types, func, object, this)?.detail;
    if !object.is_place {
        // A temporary; calling anything but a thread method on it makes no sense.
        return (this.space == Space::Thread)
            .then_some(Conversion::new(rank, u8::from(this.is_const) + qualified));
    }
    let cv = (this.is_const || !object.ty.is_const || this.space == Space::Constant)
        && (this.is_volatile || !object.ty.is_volatile);
    if this.space == object.ty.space && cv {
        let adds = u8::from(this.is_const && !object.ty.is_const);
        return Some(Conversion::new(rank, adds + qualified));
    }
    // A method that only reads may work on a copy in thread space.
    let reads_only = this.is_const || object.ty.is_const;
    (this.space == Space::Thread && object.ty.space != Space::Thread && reads_only)
        .then_some(Conversion::new(Rank::Lenient, 0))
}

pub(super) fn has_pack(functions: &Functions<'_>, id: FnDeclId) -> bool {
    functions.decl(id).ast.params.iter().any(is_pack)
}

pub(in crate::sema) fn is_pack(param: &Param) -> bool {
    matches!(param.ty.kind, TypeKind::Pack(_))
}
