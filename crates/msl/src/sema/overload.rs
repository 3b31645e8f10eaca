//! Overload resolution: candidates, viability, the best one.

use super::call::Arg;
use super::checker::{Checker, FnDeclId, TArg};
use super::convert::{Conversion, Rank};
use super::deduce::Deduced;
use super::template_args::ExplicitArg;
use crate::ast::{FunctionBody, TemplateArg, TypeKind};
use crate::hir::{Expr, ExprKind, FuncId, QualTy, Ty};
use anymetal_diag::{Diagnostic, Span};
use anymetal_ir::Space;
use std::rc::Rc;

/// A function that could be called.
#[derive(Clone, Debug)]
struct Candidate {
    decl: FnDeclId,
    func: FuncId,
    /// Of the object (if both have one) and the arguments.
    conversions: Vec<Conversion>,
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

impl<'a> Checker<'a> {
    /// Resolves a call and reports when that is impossible.
    pub(super) fn resolve_call(&mut self, call: &Call<'_, 'a>) -> Option<FuncId> {
        match self.find_overload(call) {
            Ok(func) => {
                if self.is_deleted(func) {
                    self.error("deleted-function", call.span, format!("`{}` is deleted", call.name));
                    return None;
                }
                Some(func)
            }
            Err(problem) => {
                self.report_no_overload(call, problem);
                None
            }
        }
    }

    /// Whether the chosen function is deleted: a full specialisation may stand in for a deleted template.
    fn is_deleted(&mut self, func: FuncId) -> bool {
        let super::function::Origin::Decl(decl) = self.inst(func).origin else { return false };
        if !matches!(self.decl(decl).ast.body, FunctionBody::Delete) {
            return false;
        }
        let special = self.function_specialisation(func, decl);
        special.is_none_or(|special| matches!(special.ast.body, FunctionBody::Delete))
    }

    fn report_no_overload(&mut self, call: &Call<'_, 'a>, problem: NoOverload) {
        const SHOWN: usize = 6;
        let types: Vec<String> = call.args.iter().map(|arg| self.show_call_arg(arg)).collect();
        let types = types.join(", ");
        let (mut diagnostic, notes) = match problem {
            NoOverload::None(reasons) => (
                Diagnostic::error(
                    "no-matching-function",
                    call.span,
                    format!("no matching function for call to `{}` with arguments ({types})", call.name),
                ),
                reasons,
            ),
            NoOverload::Ambiguous(decls) => (
                Diagnostic::error(
                    "ambiguous-call",
                    call.span,
                    format!("call to `{}` with arguments ({types}) is ambiguous", call.name),
                ),
                decls.into_iter().map(|decl| (decl, String::new())).collect(),
            ),
        };
        let more = notes.len().saturating_sub(SHOWN);
        for (decl, reason) in notes.into_iter().take(SHOWN) {
            let text =
                if reason.is_empty() { "candidate".to_owned() } else { format!("candidate: {reason}") };
            diagnostic = diagnostic.with_note(self.decl(decl).ast.span, text);
        }
        if more > 0 {
            diagnostic = diagnostic.with_note(Span::NONE, format!("… and {more} more candidates"));
        }
        self.report(diagnostic);
    }

    pub(super) fn show_call_arg(&self, arg: &Arg<'a>) -> String {
        match arg {
            Arg::Expr(expr) => self.show(expr.ty),
            Arg::List(..) => "{…}".to_owned(),
            Arg::Functions(..) => "<function>".to_owned(),
        }
    }

    /// Finds the best function for a call.
    pub(super) fn find_overload(&mut self, call: &Call<'_, 'a>) -> Result<FuncId, NoOverload> {
        let mut viable: Vec<Candidate> = Vec::new();
        let mut reasons = Vec::new();
        for &decl in call.decls {
            match self.candidate(decl, call) {
                Ok(candidate) => {
                    if !self.merge_redeclaration(&mut viable, &candidate) {
                        viable.push(candidate);
                    }
                }
                Err(reason) => reasons.push((decl, reason)),
            }
            if self.gave_up {
                return Err(NoOverload::None(Vec::new()));
            }
        }
        if viable.is_empty() {
            return Err(NoOverload::None(reasons));
        }
        let mut best = 0;
        for n in 1..viable.len() {
            if self.is_better(&viable[n], &viable[best]) {
                best = n;
            }
        }
        let chosen = viable[best].clone();
        let rivals: Vec<FnDeclId> = (0..viable.len())
            .filter(|&n| n != best && !self.is_better(&chosen, &viable[n]))
            .map(|n| viable[n].decl)
            .collect();
        if rivals.is_empty() {
            return Ok(chosen.func);
        }
        Err(NoOverload::Ambiguous(std::iter::once(chosen.decl).chain(rivals).collect()))
    }

    /// A function declared several times counts once; the declaration with a body stands for all.
    fn merge_redeclaration(&mut self, viable: &mut [Candidate], new: &Candidate) -> bool {
        for known in viable {
            let (a, b) = (self.decl(known.decl), self.decl(new.decl));
            if a.scope != b.scope || a.owner != b.owner || a.template.is_some() != b.template.is_some() {
                continue;
            }
            let same_template = match (a.template, b.template) {
                (Some(x), Some(y)) => {
                    let has_body = |ast: &crate::ast::Function| !matches!(ast.body, FunctionBody::None);
                    x.params.len() == y.params.len() && !(has_body(a.ast) && has_body(b.ast))
                }
                _ => true,
            };
            let same = same_template
                && a.ast.method == b.ast.method
                && self.inst(known.func).params == self.inst(new.func).params;
            if same {
                if matches!(self.decl(known.decl).ast.body, FunctionBody::None) {
                    *known = new.clone();
                }
                return true;
            }
        }
        false
    }

    fn candidate(&mut self, decl: FnDeclId, call: &Call<'_, 'a>) -> Result<Candidate, String> {
        let func = self.candidate_function(decl, call.explicit, call.args, call.span)?;
        let mut conversions = Vec::with_capacity(call.args.len() + 1);
        if self.needs_object(decl) && !self.is_constructor(decl) {
            let Some(object) = call.object else { return Err("it needs an object".to_owned()) };
            match self.object_conversion(func, object) {
                Some(conversion) => conversions.push(conversion),
                None => return Err(format!("the object is `{}`", self.show(object.ty))),
            }
        } else if call.object.is_some() && !self.is_constructor(decl) {
            conversions.push(Conversion { rank: Rank::Exact, detail: 0 });
        }
        let params = self.inst(func).params.clone();
        for (n, (arg, &param)) in call.args.iter().zip(params.iter()).enumerate() {
            match self.conversion(arg, param) {
                Some(conversion) => conversions.push(conversion),
                None => {
                    let (from, to) = (self.show_call_arg(arg), self.show(param));
                    return Err(format!("no conversion from `{from}` to `{to}` for argument {}", n + 1));
                }
            }
        }
        Ok(Candidate { decl, func, conversions })
    }

    pub(super) fn is_constructor(&self, decl: FnDeclId) -> bool {
        matches!(self.decl(decl).ast.name, crate::ast::FunctionName::Constructor(_))
    }

    /// The instance of a declaration that takes these arguments; the reason if there is none.
    pub(super) fn candidate_function(
        &mut self,
        decl: FnDeclId,
        explicit: Option<&[ExplicitArg<'a>]>,
        args: &[Arg<'a>],
        span: Span,
    ) -> Result<FuncId, String> {
        self.check_arity(decl, args.len())?;
        let data = self.decl(decl);
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
        let ast = self.decl(decl).ast;
        let has_pack = ast.params.iter().any(|param| matches!(param.ty.kind, TypeKind::Pack(_)));
        let most = ast.params.len();
        let least = ast
            .params
            .iter()
            .filter(|param| param.default.is_none() && !matches!(param.ty.kind, TypeKind::Pack(_)))
            .count();
        if given < least || (given > most && !has_pack) {
            let wanted = if least == most { format!("{most}") } else { format!("{least} to {most}") };
            return Err(format!("it takes {wanted} arguments, not {given}"));
        }
        Ok(())
    }

    /// The first template arguments, given explicitly; the others are open.
    pub(super) fn explicit_prefix(
        &mut self,
        decl: FnDeclId,
        explicit: Vec<ExplicitArg<'a>>,
        span: Span,
    ) -> Option<Deduced> {
        let data = self.decl(decl);
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
        let ast = self.decl(decl).ast;
        for (n, (pattern, param)) in patterns.iter().zip(&ast.params).enumerate() {
            if matches!(param.ty.kind, TypeKind::Pack(_)) {
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

    fn deduce_from_arg(
        &mut self,
        pattern: &super::pattern::Pat<'a>,
        arg: &Arg<'a>,
        deduced: &mut Deduced,
    ) -> bool {
        let Arg::Expr(expr) = arg else { return true };
        // Parameters whose template parameters are all known take conversions.
        let mut holes = Vec::new();
        super::deduce::holes_in(pattern, &mut holes);
        if holes.iter().all(|&hole| deduced.get(hole).is_some_and(Option::is_some)) {
            return true;
        }
        self.deduce_call_arg(pattern, expr.ty, expr.is_place, deduced)
    }

    fn deduce_rest(
        &mut self,
        pattern: &super::pattern::Pat<'a>,
        args: &[Arg<'a>],
        deduced: &mut Deduced,
    ) -> Result<(), String> {
        let mut holes = Vec::new();
        super::deduce::holes_in(pattern, &mut holes);
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
    pub(super) fn object_conversion(&mut self, func: FuncId, object: &Expr) -> Option<Conversion> {
        let this = self.inst(func).this?;
        let derived = self.is_derived(object.ty.ty, this.ty);
        if object.ty.ty != this.ty && !derived {
            return None;
        }
        let rank = if derived { Rank::Conversion } else { Rank::Exact };
        if !object.is_place {
            // A temporary; calling anything but a thread method on it makes no sense.
            return (this.space == Space::Thread)
                .then_some(Conversion { rank, detail: u8::from(this.is_const) });
        }
        let cv = (this.is_const || !object.ty.is_const || this.space == Space::Constant)
            && (this.is_volatile || !object.ty.is_volatile);
        if this.space == object.ty.space && cv {
            let adds = u8::from(this.is_const && !object.ty.is_const);
            return Some(Conversion { rank, detail: adds });
        }
        // A method that only reads may work on a copy in thread space.
        let reads_only = this.is_const || object.ty.is_const;
        (this.space == Space::Thread && object.ty.space != Space::Thread && reads_only)
            .then_some(Conversion { rank: Rank::Lenient, detail: 0 })
    }

    fn is_better(&mut self, a: &Candidate, b: &Candidate) -> bool {
        let mut better = false;
        for (x, y) in a.conversions.iter().zip(&b.conversions) {
            if x > y {
                return false;
            }
            better |= x < y;
        }
        if better {
            return true;
        }
        let (is_a, is_b) = (self.decl(a.decl).template.is_some(), self.decl(b.decl).template.is_some());
        match (is_a, is_b) {
            (false, true) => true,
            (true, true) => self.is_more_specialised(a.decl, b.decl, a.conversions.len()),
            _ => false,
        }
    }

    /// Partial ordering of function templates by the parameters the call uses.
    pub(super) fn is_more_specialised(&mut self, a: FnDeclId, b: FnDeclId, used: usize) -> bool {
        let (pa, pb) = (self.patterns_of(a), self.patterns_of(b));
        let pack_a = self.has_pack(a);
        let pack_b = self.has_pack(b);
        if pack_a != pack_b {
            return pack_b;
        }
        let count = used.max(pa.len().min(pb.len())).min(pa.len()).min(pb.len());
        let b_covers_a = self.covers_all(&pb, &pa, count);
        let a_covers_b = self.covers_all(&pa, &pb, count);
        b_covers_a && !a_covers_b
    }

    fn has_pack(&self, id: FnDeclId) -> bool {
        self.decl(id).ast.params.iter().any(|param| matches!(param.ty.kind, TypeKind::Pack(_)))
    }

    fn covers_all(
        &mut self,
        general: &[super::pattern::Pat<'a>],
        special: &[super::pattern::Pat<'a>],
        count: usize,
    ) -> bool {
        use super::pattern::Pat;
        let mut bound = Vec::new();
        (0..count).all(|n| {
            // References are looked through when templates are compared.
            let through = |pat: &Pat<'a>| match pat {
                Pat::Reference { to, .. } => (**to).clone(),
                other => other.clone(),
            };
            let (general, special) = (through(&general[n]), through(&special[n]));
            self.covers(&general, &special, &mut bound)
        })
    }

    // --- functions without a call

    /// The function of an overload set that has exactly this function type (or pointer to it).
    pub(super) fn function_for_type(
        &mut self,
        decls: &[FnDeclId],
        args: Option<&'a [TemplateArg]>,
        ty: Ty,
        span: Span,
    ) -> Option<FuncId> {
        let Some((ret, params)) = super::function::function_type(&self.types, ty) else {
            let shown = self.types.display(ty);
            self.error("not-a-function-type", span, format!("a function cannot become a `{shown}`"));
            return None;
        };
        let explicit = args.map(|args| self.explicit_args(args));
        let mut found: Vec<(FnDeclId, FuncId)> = Vec::new();
        for &decl in decls {
            if let Some(func) = self.function_of_type(decl, explicit.as_deref(), ret, &params, span) {
                let is_known = found.iter().any(|&(known, f)| {
                    f == func
                        || (self.decl(known).template.is_none()
                            && self.inst(f).params == self.inst(func).params)
                });
                if !is_known {
                    found.push((decl, func));
                }
            }
        }
        // Plain functions win over templates, special templates over general ones.
        if found.iter().any(|(decl, _)| self.decl(*decl).template.is_none()) {
            found.retain(|(decl, _)| self.decl(*decl).template.is_none());
        }
        let mut best = *found.first()?;
        for &(decl, func) in &found[1..] {
            if self.is_more_specialised(decl, best.0, usize::MAX) {
                best = (decl, func);
            }
        }
        Some(best.1)
    }

    fn function_of_type(
        &mut self,
        decl: FnDeclId,
        explicit: Option<&[ExplicitArg<'a>]>,
        ret: QualTy,
        params: &[QualTy],
        span: Span,
    ) -> Option<FuncId> {
        if self.needs_object(decl) || self.decl(decl).ast.params.len() != params.len() {
            return None;
        }
        let data = self.decl(decl);
        let (template, scope) = (data.template, data.scope);
        let args = match template {
            None => Rc::from([]),
            Some(template) => {
                let explicit = explicit.map_or_else(Vec::new, <[ExplicitArg<'a>]>::to_vec);
                let mut deduced = self.quietly(|s| s.explicit_prefix(decl, explicit, span)).ok().flatten()?;
                let patterns = self.patterns_of(decl);
                for (pattern, &param) in patterns.iter().zip(params) {
                    if !self.deduce(pattern, param, &mut deduced) {
                        return None;
                    }
                }
                self.finish_deduction(&template.params, deduced, scope, span)?
            }
        };
        let func = self.quietly(|s| s.instantiate_function(decl, args, span)).ok().flatten()?;
        let same = self.inst(func).params.iter().zip(params).all(|(a, b)| a.ty == b.ty);
        (same && self.inst(func).ret.is_none_or(|own| own == ret)).then_some(func)
    }

    /// The only function that a name with template arguments can mean.
    pub(super) fn function_without_call(
        &mut self,
        decls: &[FnDeclId],
        args: Option<&'a [TemplateArg]>,
        span: Span,
    ) -> Option<FuncId> {
        let explicit = args.map(|args| self.explicit_args(args));
        if explicit.iter().flatten().any(|arg| matches!(arg, ExplicitArg::Error)) {
            return None;
        }
        let mut found: Vec<FuncId> = Vec::new();
        let mut reasons = Vec::new();
        for &decl in decls {
            match self.instance_without_call(decl, explicit.as_deref(), span) {
                Ok(func) => {
                    let params = &self.inst(func).params;
                    if !found.iter().any(|&f| self.inst(f).params == *params) {
                        found.push(func);
                    }
                }
                Err(errors) => reasons.extend(errors),
            }
        }
        match found.as_slice() {
            [only] => Some(*only),
            [] => {
                match reasons.into_iter().next() {
                    Some(first) => self.report(first),
                    None => {
                        self.error("no-matching-function", span, "no function template fits these arguments")
                    }
                }
                None
            }
            _ => {
                self.error("ambiguous-function", span, "this name means several functions");
                None
            }
        }
    }

    pub(super) fn instance_without_call(
        &mut self,
        decl: FnDeclId,
        explicit: Option<&[ExplicitArg<'a>]>,
        span: Span,
    ) -> Result<FuncId, Vec<Diagnostic>> {
        let data = self.decl(decl);
        let (template, scope) = (data.template, data.scope);
        let result = self.quietly(|s| {
            let args = match template {
                None => Rc::from([]),
                Some(template) => {
                    let explicit = explicit.map_or_else(Vec::new, <[ExplicitArg<'a>]>::to_vec);
                    s.bind_args(&template.params, &[], explicit, scope, span)?
                }
            };
            s.instantiate_function(decl, args, span)
        })?;
        result.ok_or_else(Vec::new)
    }

    /// A call of a known function with an object and arguments that fit.
    pub(super) fn call_function(
        &mut self,
        func: FuncId,
        object: Option<Expr>,
        args: Vec<Expr>,
        span: Span,
    ) -> Expr {
        let mut values = Vec::with_capacity(args.len() + 1);
        if let Some(this) = self.inst(func).this {
            let Some(object) = object else { return self.poison(span) };
            values.push(self.bind_object(object, this));
        }
        values.extend(args);
        let ret = self.return_type(func, span);
        if ret.ty.is_error() {
            return self.poison(span);
        }
        match self.types.referent(ret.ty) {
            Some(to) => {
                let pointer = self.types.pointer(to);
                let call = Expr::value(ExprKind::Call(func, values), pointer, span);
                Expr::place(ExprKind::Deref(Box::new(call)), to, span)
            }
            None => Expr::value(ExprKind::Call(func, values), ret.ty, span),
        }
    }

    /// The pointer to pass as `this`.
    pub(super) fn bind_object(&mut self, object: Expr, this: QualTy) -> Expr {
        let span = object.span;
        let pointer = self.types.pointer(this);
        let place = if object.is_place && object.ty.space == this.space {
            object
        } else {
            let value = self.rvalue(object);
            self.materialize(value)
        };
        let place = self.upcast_place(place, this.ty);
        Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span)
    }
}
