//! Which candidate is better: by conversions, then plain before template, then by specialisation.

use super::{Candidate, NoOverload, candidate};
use crate::hir::{FuncId, QualTy, Types};
use crate::sema::checker::Checker;
use crate::sema::convert::Rank;
use crate::sema::entities::FnDeclId;
use crate::sema::function::Functions;
use crate::sema::pattern::Pat;
use crate::sema::record::Records;
use crate::sema::template_template::Templates;
use crate::sema::{deduce, function};
use std::cmp::Ordering;

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
        let used = a.conversions.len();
        let order =
            (is_more_specialised(cx, a.decl, b.decl, used), is_more_specialised(cx, b.decl, a.decl, used));
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
    if both_templates && a.has_object == b.has_object {
        let used = a.conversions.len();
        let more = is_more_specialised(cx, a.decl, b.decl, used);
        if more != is_more_specialised(cx, b.decl, a.decl, used) {
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
pub(in crate::sema) fn is_more_specialised(
    cx: &mut Checker<'_>,
    a: FnDeclId,
    b: FnDeclId,
    used: usize,
) -> bool {
    let (pa, pb) = (function::patterns_of(cx, a), function::patterns_of(cx, b));
    let pack_a = candidate::has_pack(&cx.functions, a);
    let pack_b = candidate::has_pack(&cx.functions, b);
    if pack_a != pack_b {
        return pack_b;
    }
    let count = used.max(pa.len().min(pb.len())).min(pa.len()).min(pb.len());
    let b_covers_a = covers_all(&cx.types, &cx.records, &mut cx.templates, &pb, &pa, count);
    let a_covers_b = covers_all(&cx.types, &cx.records, &mut cx.templates, &pa, &pb, count);
    b_covers_a && !a_covers_b
}

fn covers_all<'a>(
    types: &Types,
    records: &Records<'a>,
    templates: &mut Templates<'a>,
    general: &[Pat<'a>],
    special: &[Pat<'a>],
    count: usize,
) -> bool {
    let mut bound = Vec::new();
    (0..count).all(|n| {
        // References are looked through when templates are compared.
        let through = |pat: &Pat<'a>| match pat {
            Pat::Reference { to, .. } => (**to).clone(),
            other => other.clone(),
        };
        let (general, special) = (through(&general[n]), through(&special[n]));
        deduce::pattern_order(types, records, templates).covers(&general, &special, &mut bound)
    })
}
