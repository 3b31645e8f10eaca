//! Candidates: whether a declared function can take the arguments of a call, and how well they fit.
//!
//! For a template that is: its explicit arguments, deduction from the call's arguments, and the signature.

use super::{Call, Candidate};
use crate::ast::{Param, TypeKind};
use crate::hir::{Expr, FuncId};
use crate::sema::call::Arg;
use crate::sema::checker::{Checker, FnDeclId, TArg};
use crate::sema::convert::{Conversion, Rank};
use crate::sema::deduce::{self, Deduced};
use crate::sema::pattern::Pat;
use crate::sema::template_args::ExplicitArg;
use anymetal_diagnostics::Span;
use anymetal_ir::Space;
use std::rc::Rc;

impl<'a> Checker<'a> {
    pub(super) fn candidate(&mut self, decl: FnDeclId, call: &Call<'_, 'a>) -> Result<Candidate, String> {
        let func = self.candidate_function(decl, call.explicit, call.args, call.span)?;
        let mut conversions = Vec::with_capacity(call.args.len() + 1);
        if self.functions.needs_object(decl) && !self.is_constructor(decl) {
            let Some(object) = call.object else { return Err("it needs an object".to_owned()) };
            match self.object_conversion(func, object) {
                Some(conversion) => conversions.push(conversion),
                None => return Err(self.refused_object(func, object)),
            }
        } else if call.object.is_some() && !self.is_constructor(decl) {
            conversions.push(Conversion::EXACT);
        }
        let params = self.functions.inst(func).params.clone();
        for (n, (arg, &param)) in call.args.iter().zip(params.iter()).enumerate() {
            match self.conversion(arg, param) {
                Some(conversion) => conversions.push(conversion),
                None => {
                    let (from, to) = (self.show_call_arg(arg), self.show(param));
                    return Err(format!("no conversion from `{from}` to `{to}` for argument {}", n + 1));
                }
            }
        }
        let has_object = conversions.len() > call.args.len();
        Ok(Candidate { decl, func, conversions, has_object, is_operand: false })
    }

    /// Why a method does not take an object.
    fn refused_object(&self, func: FuncId, object: &Expr) -> String {
        let shown = self.show(object.ty);
        match self.functions.inst(func).this {
            Some(this) if self.functions.qualified_object(&self.types, func, object, this).is_none() => {
                let category =
                    if self.functions.is_rvalue(&self.types, object) { "an rvalue" } else { "an lvalue" };
                format!("the object is {category} of type `{shown}`")
            }
            _ => format!("the object is `{shown}`"),
        }
    }

    fn is_constructor(&self, decl: FnDeclId) -> bool {
        matches!(self.functions.decl(decl).ast.name, crate::ast::FunctionName::Constructor(_))
    }

    /// The instance of a declaration that takes these arguments; the reason if there is none.
    pub(in crate::sema) fn candidate_function(
        &mut self,
        decl: FnDeclId,
        explicit: Option<&[ExplicitArg<'a>]>,
        args: &[Arg<'a>],
        span: Span,
    ) -> Result<FuncId, String> {
        self.check_arity(decl, args.len())?;
        let data = self.functions.decl(decl);
        let (template, scope) = (data.template, data.scope);
        let Some(template) = template else {
            if explicit.is_some() {
                return Err("it is not a template".to_owned());
            }
            return self
                .instantiate_function(decl, Rc::from([]), span)
                .ok_or_else(|| "its declaration is in error".to_owned());
        };
        let explicit = explicit.map_or_else(Vec::new, <[ExplicitArg<'a>]>::to_vec);
        let Ok(Some(mut deduced)) = self.quietly(|s| s.explicit_prefix(decl, explicit, span)) else {
            return Err("the explicit template arguments do not fit".to_owned());
        };
        self.deduce_call(decl, args, &mut deduced)?;
        let missing = deduced.iter().position(Option::is_none);
        let Some(bound) = self.finish_deduction(&template.params, deduced, scope, span) else {
            let name = missing.and_then(|n| template.params[n].name);
            return Err(match name {
                Some(name) => format!("template argument `{name}` could not be determined"),
                None => "the template arguments could not be determined".to_owned(),
            });
        };
        match self.quietly(|s| s.instantiate_function(decl, bound, span)) {
            Ok(Some(func)) => Ok(func),
            Ok(None) => Err("substitution failed".to_owned()),
            Err(errors) => {
                let first = errors.first().map_or(String::new(), |error| error.message.clone());
                Err(format!("substitution failed: {first}"))
            }
        }
    }

    fn check_arity(&self, decl: FnDeclId, given: usize) -> Result<(), String> {
        let ast = self.functions.decl(decl).ast;
        let most = ast.params.len();
        let least = ast.params.iter().filter(|param| param.default.is_none() && !is_pack(param)).count();
        if given < least || (given > most && !self.has_pack(decl)) {
            let wanted = if least == most { format!("{most}") } else { format!("{least} to {most}") };
            return Err(format!("it takes {wanted} arguments, not {given}"));
        }
        Ok(())
    }

    /// The first template arguments, given explicitly; the others are open.
    pub(in crate::sema) fn explicit_prefix(
        &mut self,
        decl: FnDeclId,
        explicit: Vec<ExplicitArg<'a>>,
        span: Span,
    ) -> Option<Deduced> {
        let data = self.functions.decl(decl);
        let (template, scope) = (data.template?, data.scope);
        let params = &template.params;
        let mut bound: Vec<TArg> = Vec::new();
        let mut explicit = explicit.into_iter();
        for param in params {
            if param.is_pack {
                let mut elements = Vec::new();
                for arg in explicit.by_ref() {
                    elements.push(self.bind_one(params, &bound, param, arg, scope, span)?);
                }
                if !elements.is_empty() {
                    bound.push(TArg::Pack(elements.into()));
                }
                break;
            }
            let Some(arg) = explicit.next() else { break };
            let arg = self.bind_one(params, &bound, param, arg, scope, span)?;
            bound.push(arg);
        }
        if explicit.next().is_some() {
            return None;
        }
        let mut deduced: Deduced = bound.into_iter().map(Some).collect();
        deduced.resize(params.len(), None);
        Some(deduced)
    }

    fn deduce_call(&mut self, decl: FnDeclId, args: &[Arg<'a>], deduced: &mut Deduced) -> Result<(), String> {
        let patterns = self.patterns_of(decl);
        let ast = self.functions.decl(decl).ast;
        for (n, (pattern, param)) in patterns.iter().zip(&ast.params).enumerate() {
            if is_pack(param) {
                return self.deduce_rest(pattern, args.get(n..).unwrap_or(&[]), deduced);
            }
            let Some(arg) = args.get(n) else { break };
            if !self.deduce_from_arg(pattern, arg, deduced) {
                let from = self.show_call_arg(arg);
                return Err(format!("argument {} of type `{from}` does not match", n + 1));
            }
        }
        Ok(())
    }

    pub(in crate::sema) fn deduce_from_arg(
        &mut self,
        pattern: &Pat<'a>,
        arg: &Arg<'a>,
        deduced: &mut Deduced,
    ) -> bool {
        if let Arg::Functions(decls, args, span) = arg {
            return self.deduce_from_function(pattern, (decls, *args, *span), deduced);
        }
        let Arg::Expr(expr) = arg else { return true };
        // Parameters whose template parameters are all known take conversions.
        let mut holes = Vec::new();
        deduce::holes_in(pattern, &mut holes);
        if holes.iter().all(|&hole| deduced.get(hole).is_some_and(Option::is_some)) {
            return true;
        }
        self.deduce_call_arg(pattern, expr.ty, expr.is_place, deduced)
    }

    pub(in crate::sema) fn deduce_rest(
        &mut self,
        pattern: &Pat<'a>,
        args: &[Arg<'a>],
        deduced: &mut Deduced,
    ) -> Result<(), String> {
        let mut holes = Vec::new();
        deduce::holes_in(pattern, &mut holes);
        let mut collected: Vec<Vec<TArg>> = vec![Vec::new(); deduced.len()];
        for (n, arg) in args.iter().enumerate() {
            let mut one = deduced.clone();
            for &hole in &holes {
                one[hole] = None;
            }
            if !self.deduce_from_arg(pattern, arg, &mut one) {
                return Err(format!("argument {} of the pack does not match", n + 1));
            }
            for &hole in &holes {
                collected[hole].extend(one[hole].take());
            }
        }
        for hole in holes {
            deduced[hole] = Some(TArg::Pack(std::mem::take(&mut collected[hole]).into()));
        }
        Ok(())
    }

    /// How the object of a call binds to `this`.
    pub(in crate::sema) fn object_conversion(&mut self, func: FuncId, object: &Expr) -> Option<Conversion> {
        let this = self.functions.inst(func).this?;
        let derived = self.is_derived(object.ty.ty, this.ty);
        if object.ty.ty != this.ty && !derived {
            return None;
        }
        // What a using-declaration names is a member of the class that has the declaration.
        let is_member = self
            .types
            .as_record(object.ty.ty)
            .zip(self.functions.inst(func).origin.decl())
            .is_some_and(|(record, decl)| self.records.get(record).introduced.contains(&decl));
        let rank = if derived && !is_member { Rank::Conversion } else { Rank::Exact };
        let qualified = self.functions.qualified_object(&self.types, func, object, this)?.detail;
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

    pub(super) fn has_pack(&self, id: FnDeclId) -> bool {
        self.functions.decl(id).ast.params.iter().any(is_pack)
    }
}

pub(in crate::sema) fn is_pack(param: &Param) -> bool {
    matches!(param.ty.kind, TypeKind::Pack(_))
}
