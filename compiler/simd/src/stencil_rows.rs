//! Stencil rows: contiguous loads at constant distances, where no clamp takes effect.
//!
//! Filters and convolutions load what surrounds each thread's position, `source[y * width + clamp(x +
//! dx)]`. In the interior no clamp affects a lane and no index wraps; there one check serves all loads of a
//! row, and their addresses are one base plus constants. A stencil row groups the loads for which that
//! holds.
//!
//! Invariant: where the affine forms of all members' indices hold, their 32-bit indices differ by the
//! distances, modulo 2^32. As in a bundle, all may be hoisted to the first.

use std::cell::Cell;
use std::collections::BTreeMap;

use anymetal_analysis::{Linear, Memory, TermClass, TermPolicy};
use anymetal_ir::{BinOp, CastOp, Function, Inst, Op, Scalar, Type, Value, ValueDef};

use crate::bundles::{Member, first_of, for_each_run, from_first, loads, near_each_other};
use crate::limits::MAX_CLAMPS;
use anymetal_analysis::divergence::{Affine, Divergence};
use anymetal_analysis::patterns::{PointerSum, pointer_sum, widened};

/// Fewer loads are tested one by one.
pub const MIN_LOADS: usize = 3;

/// Loads that belong together.
#[derive(Clone, Debug, Default)]
pub struct StencilRow {
    /// The lowest offset first; offsets from the first in program order.
    pub members: Vec<Member>,
    /// After the first load, in order: what the other members' pointers are computed by.
    pub ahead: Vec<Inst>,
}

/// Several stencil rows of a run, which can all be tested where the first load of the first is.
#[derive(Clone, Debug, Default)]
pub struct RowSet {
    /// The first loads of the stencil rows, in order.
    pub firsts: Vec<Inst>,
    /// After the first load, in order: what all members' pointers are computed by.
    pub ahead: Vec<Inst>,
}

/// The stencil rows of a function.
#[derive(Debug, Default)]
pub struct StencilRows {
    /// By their first loads.
    stencil_rows: BTreeMap<Inst, StencilRow>,
    /// By the first load of the first stencil row.
    row_sets: BTreeMap<Inst, RowSet>,
}

/// What the addresses of a stencil row's members have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Key {
    base: Value,
    scale: u32,
    offset: i64,
    is_signed: bool,
    terms: Vec<(Value, i64)>,
    /// The elements, and how many.
    item: (Scalar, u8),
}

impl StencilRows {
    /// Analyses a function.
    pub fn new(function: &Function, divergence: &Divergence) -> Self {
        let mut found = Self::default();
        for_each_run(function, function.body, Memory::Any, &mut |run| {
            let mut groups: BTreeMap<Key, Vec<Member>> = BTreeMap::new();
            for (at, inst, pointer) in loads(function, run) {
                if let Some((key, offset)) = key_of(function, divergence, inst, pointer) {
                    groups.entry(key).or_default().push(Member { inst, at, offset });
                }
            }
            let groups: Vec<_> = groups.into_values().flat_map(near_each_other).collect();
            if groups.iter().any(|members| members.len() >= MIN_LOADS) {
                let places = run.iter().enumerate().map(|(at, &inst)| (inst, at)).collect();
                let mut firsts: Vec<_> =
                    groups.into_iter().filter_map(|members| found.keep(function, &places, members)).collect();
                firsts.sort_by_key(|first| places[first]);
                found.keep_row_set(function, &places, &firsts);
            }
        });
        found
    }

    /// The stencil row whose first load this is.
    pub fn of_first(&self, inst: Inst) -> Option<&StencilRow> {
        self.stencil_rows.get(&inst)
    }

    /// What is tested together where this is the first load.
    pub fn rows_checked_with(&self, inst: Inst) -> Option<&RowSet> {
        self.row_sets.get(&inst)
    }

    /// The first loads of all stencil rows that are tested together.
    pub fn rows_checked_early(&self) -> Vec<Inst> {
        self.row_sets.values().flat_map(|row_set| row_set.firsts.clone()).collect()
    }

    /// Keeps the members that can be loaded with the first, which it gives, if they are enough.
    fn keep(
        &mut self,
        function: &Function,
        places: &BTreeMap<Inst, usize>,
        mut members: Vec<Member>,
    ) -> Option<Inst> {
        let first = first_of(&members).filter(|_| members.len() >= MIN_LOADS)?;
        let mut ahead = BTreeMap::new();
        members.retain(|member| {
            let needed = needs(function, places, first.at, member.inst);
            needed.is_some_and(|mut needed| {
                ahead.append(&mut needed);
                true
            })
        });
        if members.len() < MIN_LOADS {
            return None;
        }
        let members = from_first(&members, first);
        self.stencil_rows.insert(first.inst, StencilRow { members, ahead: ahead.into_values().collect() });
        Some(first.inst)
    }

    /// Keeps the stencil rows that can be tested where the first is.
    fn keep_row_set(&mut self, function: &Function, places: &BTreeMap<Inst, usize>, firsts: &[Inst]) {
        // No row of the run was kept.
        let Some(&start) = firsts.first() else { return };
        let (mut row_set, mut ahead) = (RowSet::default(), BTreeMap::new());
        for first in firsts {
            let members = &self.stencil_rows[first].members;
            let all: Option<Vec<_>> =
                members.iter().map(|member| needs(function, places, places[&start], member.inst)).collect();
            if let Some(all) = all {
                ahead.extend(all.into_iter().flatten());
                row_set.firsts.push(*first);
            }
        }
        if row_set.firsts.len() > 1 {
            row_set.ahead = ahead.into_values().collect();
            self.row_sets.insert(start, row_set);
        }
    }
}

/// The address as what stencil rows have in common, and the bytes that tell their members apart.
fn key_of(function: &Function, divergence: &Divergence, load: Inst, pointer: Value) -> Option<(Key, i64)> {
    let PointerSum { base, index, scale, offset } = pointer_sum(function, pointer)?;
    let (cast, index) = widened(function, index?)?;
    let is_argument = matches!(function.values[base.index()].def, ValueDef::Param(_));
    if !is_argument || function.ty(index) != Type::Scalar(Scalar::I32) {
        return None;
    }
    let terms = Unlimited { function, divergence, limits_left: Cell::new(MAX_CLAMPS) };
    let index = Linear::of(function, index, &terms)?;
    let ty = function.ty(function.inst(load).result?);
    let key = Key {
        base,
        scale,
        offset,
        is_signed: cast == CastOp::SExt,
        terms: index.terms.into_iter().collect(),
        item: (ty.scalar()?, ty.lanes()),
    };
    // Indices are sums modulo 2^32.
    Some((key, i64::from(index.constant as i32).wrapping_mul(scale.into())))
}

/// Sums in which clamps are what they are where they limit no lane.
struct Unlimited<'a> {
    function: &'a Function,
    divergence: &'a Divergence,
    limits_left: Cell<u32>,
}

impl TermPolicy for Unlimited<'_> {
    type Term = Value;

    fn find(&self, value: Value) -> Option<TermClass<Value>> {
        let lanes = |value: Value| match self.divergence.values[value.index()].as_slice() {
            [shape] => shape.affine(),
            _ => None,
        };
        let Some(&Op::Binary(BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax, a, b)) =
            self.function.def(value)
        else {
            return Some(TermClass::Arithmetic);
        };
        // Only of these the affine form's condition says that nothing is limited.
        if !lanes(value).is_some_and(|lanes| lanes.is_assumed()) {
            return Some(TermClass::Sum(Linear::term(value)));
        }
        self.limits_left.set(self.limits_left.get().checked_sub(1)?);
        let limited = if lanes(b).is_some_and(Affine::is_uniform) { a } else { b };
        Some(TermClass::Sum(Linear::of(self.function, limited, self)?))
    }

    fn opaque(&self, value: Value) -> Option<Linear<Value>> {
        Some(Linear::term(value))
    }
}

/// The instructions after a place that a load's pointer is computed by; `None` if some are no arithmetic.
fn needs(
    function: &Function,
    places: &BTreeMap<Inst, usize>,
    behind: usize,
    load: Inst,
) -> Option<BTreeMap<usize, Inst>> {
    let Op::Load { ptr, .. } = function.inst(load).op else {
        unreachable!("stencil rows consist of loads, and {load} is not a load")
    };
    let (mut found, mut wanted) = (BTreeMap::new(), vec![ptr]);
    while let Some(value) = wanted.pop() {
        let ValueDef::Inst(inst) = function.values[value.index()].def else { continue };
        let Some(&at) = places.get(&inst).filter(|&&at| at > behind) else { continue };
        let op = &function.inst(inst).op;
        if !matches!(op, Op::Const(_) | Op::Binary(..) | Op::Cast(..) | Op::PtrAdd { .. } | Op::Select(..)) {
            return None;
        }
        if found.insert(at, inst).is_none() {
            op.for_each_operand(|operand| wanted.push(operand));
        }
    }
    Some(found)
}
