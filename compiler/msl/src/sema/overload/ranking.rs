//! Which candidate is better: by conversions, then plain before template, then by specialisation.

use super::{Candidate, NoOverload};
use crate::hir::{FuncId, QualTy};
use crate::sema::checker::{Checker, FnDeclId};
use crate::sema::convert::Rank;
use crate::sema::pattern::Pat;
use std::cmp::Ordering;

impl<'a> Checker<'a> {
    /// The candidate that is better than all others.
    pub(super) fn best_of(&mut self, viable: &[Candidate]) -> Result<FuncId, NoOverload> {
        let mut best = 0;
        for n in 1..viable.len() {
            if self.is_better(&viable[n], &viable[best]) {
                best = n;
            }
        }
        let chosen = &viable[best];
        let rivals: Vec<FnDeclId> = (0..viable.len())
            .filter(|&n| n != best && !self.is_better(chosen, &viable[n]))
            .map(|n| viable[n].decl)
            .collect();
        if rivals.is_empty() {
            return Ok(chosen.func);
        }
        Err(NoOverload::Ambiguous(std::iter::once(chosen.decl).chain(rivals).collect()))
    }

    fn is_better(&mut self, a: &Candidate, b: &Candidate) -> bool {
        let both_templates =
            self.functions.decl(a.decl).template.is_some() && self.functions.decl(b.decl).template.is_some();
        if both_templates && self.differ_by_references(a, b) {
            let used = a.conversions.len();
            let order = (
                self.is_more_specialised(a.decl, b.decl, used),
                self.is_more_specialised(b.decl, a.decl, used),
            );
            if order.0 != order.1 {
                return order.0;
            }
        }
        // The object counts only where neither of the two is static.
        let compares_objects = self.functions.needs_object(a.decl) && self.functions.needs_object(b.decl);
        let first = |candidate: &Candidate| {
            usize::from(candidate.has_object && !candidate.is_operand && !compares_objects)
        };
        let pairs: Vec<(usize, usize)> =
            (first(a)..a.conversions.len()).zip(first(b)..b.conversions.len()).collect();
        let compared = |&(n, m): &(usize, usize)| a.conversions[n].cmp(&b.conversions[m]);
        let apart = |&(n, m): &(usize, usize)| !self.are_alike((a, n), (b, m));
        let orders: Vec<Ordering> = pairs.iter().filter(|pair| apart(pair)).map(compared).collect();
        if orders.iter().any(|order| order.is_ne()) {
            return orders.iter().all(|order| order.is_le());
        }
        let (is_a, is_b) =
            (self.functions.decl(a.decl).template.is_some(), self.functions.decl(b.decl).template.is_some());
        if is_a != is_b {
            return is_b;
        }
        if both_templates && a.has_object == b.has_object {
            let used = a.conversions.len();
            let more = self.is_more_specialised(a.decl, b.decl, used);
            if more != self.is_more_specialised(b.decl, a.decl, used) {
                return more;
            }
        }
        // C++ has no preference: the one with fewer temporaries and qualifiers.
        let is_other_function =
            |&(n, m): &(usize, usize)| a.conversions[n].through != b.conversions[m].through;
        let comparable = pairs.iter().filter(|pair| !is_other_function(pair));
        let orders: Vec<Ordering> = comparable.map(compared).collect();
        orders.iter().any(|order| order.is_lt()) && orders.iter().all(|order| order.is_le())
    }

    /// Whether neither of two conversions is better in C++: those of one rank to a reference, as objects of
    /// methods have, and to a value; those by different constructors or operators.
    fn are_alike(&self, (a, n): (&Candidate, usize), (b, m): (&Candidate, usize)) -> bool {
        let is_reference = |candidate: &Candidate, n: usize| match n.checked_sub(candidate.has_object.into())
        {
            None => true,
            Some(n) => {
                let param = self.functions.inst(candidate.func).params.get(n);
                param.is_some_and(|param| self.types.referent(param.ty).is_some())
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
    fn differ_by_references(&self, a: &Candidate, b: &Candidate) -> bool {
        if a.has_object != b.has_object {
            return false;
        }
        let (of_a, of_b) = (&self.functions.inst(a.func).params, &self.functions.inst(b.func).params);
        let first = usize::from(a.has_object);
        let mut objects = a.conversions.iter().zip(&b.conversions).take(first);
        let given = a.conversions.len() - first;
        if given > of_a.len().min(of_b.len()) || objects.any(|(x, y)| x != y) {
            return false;
        }
        let mut differs = false;
        for (n, (x, y)) in a.conversions.iter().zip(&b.conversions).skip(first).enumerate() {
            let is_reference = |params: &[QualTy]| self.types.referent(params[n].ty).is_some();
            let apart = is_reference(of_a) != is_reference(of_b);
            if x != y && !(apart && x.rank == Rank::Exact && y.rank == Rank::Exact) {
                return false;
            }
            differs |= apart;
        }
        differs
    }

    /// Partial ordering of function templates by the parameters the call uses.
    pub(in crate::sema) fn is_more_specialised(&mut self, a: FnDeclId, b: FnDeclId, used: usize) -> bool {
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

    fn covers_all(&mut self, general: &[Pat<'a>], special: &[Pat<'a>], count: usize) -> bool {
        let mut bound = Vec::new();
        (0..count).all(|n| {
            // References are looked through when templates are compared.
            let through = |pat: &Pat<'a>| match pat {
                Pat::Reference { to, .. } => (**to).clone(),
                other => other.clone(),
            };
            let (general, special) = (through(&general[n]), through(&special[n]));
            self.pattern_order().covers(&general, &special, &mut bound)
        })
    }
}
