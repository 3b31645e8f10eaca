//! Which candidate is better: by conversions, then plain before template, then by specialisation.

use super::{Candidate, NoOverload, candidate};
use crate::hir::{FuncId, QualTy, Types};
use crate::sema::checker::Checker;
use crate::sema::convert::Rank;
use crate::sema::entities::FnDeclId;
use crate::sema::function::Functions;
use crate::sema::pattern::{self, Pat};
use crate::sema::record::Records;
use crate::sema::template_template::Templates;
use crate::sema::{deduce, equivalence, function};
use anymetal_diagnostics::{Diagnostic, Span};
use std::cmp::Ordering;
use std::rc::Rc;

/// The candidate that is better than all others.
pub(super) fn best_of(cx: &mut Checker<'_>, viable: &[Candidate]) -> Result<FuncId, NoOverload> {
    let mut best = 0;
    for n in 1..viable.len() {
        if is_better(cx, &viable[n], &viable[best]) {
            best = n;
        }
    }
    let chosen = &viable[best];
    let rivals: Vec<FnDeclId> = (0..viable.len())
        .filter(|&n| n != best && !is_better(cx, chosen, &viable[n]))
        .map(|n| viable[n].decl)
        .collect();
    if rivals.is_empty() {
        return Ok(chosen.func);
    }
    Err(NoOverload::Ambiguous(std::iter::once(chosen.decl).chain(rivals).collect()))
}

fn is_better(cx: &mut Checker<'_>, a: &Candidate, b: &Candidate) -> bool {
    let both_templates =
        cx.functions.decl(a.decl).template.is_some() && cx.functions.decl(b.decl).template.is_some();
    if both_templates && differ_by_references(&cx.types, &cx.functions, a, b) {
        let order = (is_more_specialised(cx, a.decl, b.decl), is_more_specialised(cx, b.decl, a.decl));
        if order.0 != order.1 {
            return order.0;
        }
    }
    // The object counts only where neither of the two is static.
    let compares_objects = cx.functions.needs_object(a.decl) && cx.functions.needs_object(b.decl);
    let first = |candidate: &Candidate| {
        usize::from(candidate.has_object && !candidate.is_operand && !compares_objects)
    };
    let pairs: Vec<(usize, usize)> =
        (first(a)..a.conversions.len()).zip(first(b)..b.conversions.len()).collect();
    let compared = |&(n, m): &(usize, usize)| a.conversions[n].cmp(&b.conversions[m]);
    let apart = |&(n, m): &(usize, usize)| !are_alike(&cx.types, &cx.functions, (a, n), (b, m));
    let orders: Vec<Ordering> = pairs.iter().filter(|pair| apart(pair)).map(compared).collect();
    if orders.iter().any(|order| order.is_ne()) {
        return orders.iter().all(|order| order.is_le());
    }
    let (is_a, is_b) =
        (cx.functions.decl(a.decl).template.is_some(), cx.functions.decl(b.decl).template.is_some());
    if is_a != is_b {
        return is_b;
    }
    if both_templates {
        let more = is_more_specialised(cx, a.decl, b.decl);
        if more != is_more_specialised(cx, b.decl, a.decl) {
            return more;
        }
    }
    // C++ has no preference: the one with fewer temporaries and qualifiers.
    let is_other_function = |&(n, m): &(usize, usize)| a.conversions[n].through != b.conversions[m].through;
    let comparable = pairs.iter().filter(|pair| !is_other_function(pair));
    let orders: Vec<Ordering> = comparable.map(compared).collect();
    orders.iter().any(|order| order.is_lt()) && orders.iter().all(|order| order.is_le())
}

/// Whether neither of two conversions is better in C++: those of one rank to a reference, as objects of
/// methods have, and to a value; those by different constructors or operators.
fn are_alike(
    types: &Types,
    functions: &Functions<'_>,
    (a, n): (&Candidate, usize),
    (b, m): (&Candidate, usize),
) -> bool {
    let is_reference = |candidate: &Candidate, n: usize| match n.checked_sub(candidate.has_object.into()) {
        None => true,
        Some(n) => {
            let param = functions.inst(candidate.func).params.get(n);
            param.is_some_and(|param| types.referent(param.ty).is_some())
        }
    };
    let (x, y) = (a.conversions[n], b.conversions[m]);
    // Conversions to base classes have the distance among their details.
    let rank_alone = matches!(x.rank, Rank::Exact | Rank::Promotion | Rank::User);
    let is_apart = x.through != y.through || is_reference(a, n) != is_reference(b, m);
    x.rank == y.rank && rank_alone && is_apart
}

/// Whether some parameters are references in one only, and nothing else tells the two apart: `const T&`
/// is no worse than `T` in C++, so that the templates' order decides.
fn differ_by_references(types: &Types, functions: &Functions<'_>, a: &Candidate, b: &Candidate) -> bool {
    if a.has_object != b.has_object {
        return false;
    }
    let (of_a, of_b) = (&functions.inst(a.func).params, &functions.inst(b.func).params);
    let first = usize::from(a.has_object);
    let mut objects = a.conversions.iter().zip(&b.conversions).take(first);
    let given = a.conversions.len() - first;
    if given > of_a.len().min(of_b.len()) || objects.any(|(x, y)| x != y) {
        return false;
    }
    let mut differs = false;
    for (n, (x, y)) in a.conversions.iter().zip(&b.conversions).skip(first).enumerate() {
        let is_reference = |params: &[QualTy]| types.referent(params[n].ty).is_some();
        let apart = is_reference(of_a) != is_reference(of_b);
        if x != y && !(apart && x.rank == Rank::Exact && y.rank == Rank::Exact) {
            return false;
        }
        differs |= apart;
    }
    differs
}

/// Partial ordering of function templates by the parameters the call uses.
pub(in crate::sema) fn is_more_specialised(cx: &mut Checker<'_>, a: FnDeclId, b: FnDeclId) -> bool {
    let (pa, pb) = (Params::of(cx, a, b), Params::of(cx, b, a));
    let (len_a, len_b) = (pa.patterns.len(), pb.patterns.len());
    let count = match (pa.ends_in_pack, pb.ends_in_pack) {
        (true, true) => len_a.max(len_b),
        (true, false) => len_b,
        (false, true) => len_a,
        (false, false) => len_a.min(len_b),
    };
    let b_covers_a = covers_all(&cx.types, &cx.records, &mut cx.templates, &pb, &pa, count);
    let a_covers_b = covers_all(&cx.types, &cx.records, &mut cx.templates, &pa, &pb, count);
    if !(b_covers_a && a_covers_b) {
        return b_covers_a;
    }
    // Each is as special as the other: `T&` before `T&&` (C++14 [temp.deduct.partial.9]), then no pack.
    let binds_better = |x: &Params<'_>, y: &Params<'_>| {
        (0..count).any(|n| x.is_reference(n, false) && y.is_reference(n, true))
    };
    match (binds_better(&pa, &pb), binds_better(&pb, &pa)) {
        (true, true) => false,
        (false, false) => pb.ends_in_pack && !pa.ends_in_pack,
        (a_is_better, _) => a_is_better,
    }
}

/// The template among these that is more specialised than the others, as a declaration of a specialisation
/// means it (C++14 [temp.deduct.decl], [temp.func.order]); reports that there is none. Declarations of one
/// template count once.
pub(in crate::sema) fn most_specialised(
    cx: &mut Checker<'_>,
    fitting: &[(FnDeclId, FuncId)],
    span: Span,
) -> Option<FuncId> {
    let mut best = *fitting.first()?;
    for &other in &fitting[1..] {
        if is_more_specialised(cx, other.0, best.0) {
            best = other;
        }
    }
    let rival = fitting.iter().find(|(decl, _)| {
        *decl != best.0
            && !is_more_specialised(cx, best.0, *decl)
            && equivalence::signature(cx, best.0) != equivalence::signature(cx, *decl)
    });
    let Some(&(rival, _)) = rival else { return Some(best.1) };
    let message = "partial ordering for this declaration of a specialisation is ambiguous";
    let diagnostic = Diagnostic::error("ambiguous-function", span, message);
    let [first, second] = [best.0, rival].map(|decl| cx.functions.decl(decl).ast.span);
    cx.report(diagnostic.with_note(first, "candidate").with_note(second, "candidate"));
    None
}

/// The patterns of a function template's parameters.
#[derive(Debug)]
struct Params<'a> {
    patterns: Rc<[Pat<'a>]>,
    /// The last one stands for any number of parameters.
    ends_in_pack: bool,
}

impl<'a> Params<'a> {
    /// Of a template that is compared with another: the object is a parameter of a method where the other is
    /// no member (C++14 [temp.func.order.3]).
    fn of(cx: &mut Checker<'a>, decl: FnDeclId, other: FnDeclId) -> Self {
        let patterns = function::patterns_of(cx, decl);
        let ends_in_pack = candidate::has_pack(&cx.functions, decl);
        let this = function::this_of(&cx.records, &cx.functions, decl);
        let patterns = match this.filter(|_| cx.functions.decl(other).owner.is_none()) {
            Some(this) => {
                let reference = cx.functions.decl(decl).ast.method.reference;
                let rvalue = reference == Some(crate::ast::RefQualifier::Rvalue);
                let object = Pat::Reference { to: Box::new(Pat::Fixed(this)), rvalue };
                std::iter::once(object).chain(patterns.iter().cloned()).collect()
            }
            None => patterns,
        };
        Self { patterns, ends_in_pack }
    }

    fn is_of_pack(&self, n: usize) -> bool {
        self.ends_in_pack && n + 1 >= self.patterns.len()
    }

    /// The n-th parameter, perhaps an element of the pack.
    fn pattern(&self, n: usize) -> &Pat<'a> {
        &self.patterns[n.min(self.patterns.len() - 1)]
    }

    fn is_reference(&self, n: usize, of_rvalue: bool) -> bool {
        matches!(self.pattern(n), Pat::Reference { rvalue, .. } if *rvalue == of_rvalue)
    }
}

fn covers_all<'a>(
    types: &Types,
    records: &Records<'a>,
    templates: &mut Templates<'a>,
    general: &Params<'a>,
    special: &Params<'a>,
    count: usize,
) -> bool {
    let mut bound = Vec::new();
    (0..count).all(|n| {
        // References are looked through when templates are compared.
        let through = |pat: &Pat<'a>| match pattern::open_pattern(types, records, pat) {
            Pat::Reference { to, .. } => *to,
            _ => pat.clone(),
        };
        let (a, b) = (through(general.pattern(n)), through(special.pattern(n)));
        let mut order = deduce::pattern_order(types, records, templates);
        match (general.is_of_pack(n), special.is_of_pack(n)) {
            // Each element binds the pack's parameters anew.
            (true, _) => order.covers(&a, &b, &mut bound.clone()),
            (false, true) => false,
            (false, false) => order.covers(&a, &b, &mut bound),
        }
    })
}
