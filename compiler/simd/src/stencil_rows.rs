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

use crate::access::{Item, Run, extent_of_segment, few_runs};
use crate::bundles::{Member, Part, first_of, for_each_run, from_first, loads, near_each_other};
use crate::limits::MAX_CLAMPS;
use crate::storage::{Root, Storage};
use crate::target::CpuFeatures;
use anymetal_analysis::divergence::{Affine, Divergence, LANES};
use anymetal_analysis::patterns::{PointerSum, pointer_sum, widened};

/// Fewer loads are tested one by one.
const MIN_LOADS: usize = 3;

/// Bytes of a vector that is shifted.
const VECTOR: i64 = 64;

/// Several stencil rows of a run, which can all be tested where the first load of the first is.
#[derive(Clone, Debug, Default)]
pub struct RowSet {
    /// The first loads of the stencil rows, in order.
    pub firsts: Vec<Inst>,
    /// After the first load, in order: what all members' pointers are computed by.
    pub ahead: Vec<Inst>,
}

/// The loads of a stencil row, the lowest first, and what they have in common.
#[derive(Clone, Debug)]
pub struct RowLoads {
    /// The loads.
    pub parts: Vec<Part>,
    /// What each lane loads.
    pub item: Item,
    /// The lanes' offsets.
    pub lanes: Affine,
    /// The runs that they are.
    pub runs: Vec<Run>,
    /// After the first load, in order: what the other loads' pointers are computed by.
    pub ahead: Vec<Inst>,
    /// The largest offset of the lowest load's first lane at which no index wraps.
    pub max_offset: i64,
}

impl RowLoads {
    /// Elements from the lowest load to this one.
    pub fn shift(&self, part: &Part) -> usize {
        debug_assert!(part.offset >= self.parts[0].offset, "the lowest member is the first");
        ((part.offset - self.parts[0].offset) / self.item.bytes()) as usize
    }

    /// How many elements are loaded once, in whole vectors and a rest, to shift the loads out of them.
    ///
    /// Of loads one element apart all but one lie across two cache lines, and take twice the time.
    pub fn span(&self, features: &CpuFeatures) -> Option<usize> {
        let (low, high) = (self.parts.first()?, self.parts.last()?);
        let size = self.item.bytes();
        let in_vector = VECTOR / size;
        let shifts = features.avx512
            && matches!(self.item, Item { scalar: Scalar::F32 | Scalar::I32, count: 1 })
            && self.runs.len() == 1
            && self.parts.iter().all(|part| (part.offset - low.offset) % size == 0);
        let reach = (high.offset - low.offset) / size;
        // One element would be no vector.
        (shifts && reach <= in_vector).then(|| LANES + (reach as usize).next_power_of_two().max(2))
    }

    /// Elements from a load's first lane to its last.
    pub fn reach(&self) -> i64 {
        let (_, bytes) = extent_of_segment(&self.lanes, 0, self.item.bytes());
        bytes / self.item.bytes()
    }
}

/// The stencil rows of a function.
#[derive(Debug, Default)]
pub struct StencilRows {
    /// By their first loads.
    stencil_rows: BTreeMap<Inst, RowLoads>,
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
    /// Analyses a function. `is_apart` says that a load is not done with the first one, and `is_known_at`
    /// that a value is computed where the load is.
    pub(crate) fn new(
        function: &Function,
        divergence: &Divergence,
        storage: &Storage,
        is_apart: &dyn Fn(Inst, &Part) -> bool,
        is_known_at: &dyn Fn(Value, Inst) -> bool,
    ) -> Self {
        let finder = Finder { function, divergence, storage, is_apart, is_known_at };
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
                let mut firsts = Vec::new();
                for members in groups {
                    if let Some((first, row)) = finder.row(&places, members) {
                        found.stencil_rows.insert(first, row);
                        firsts.push(first);
                    }
                }
                firsts.sort_by_key(|first| places[first]);
                found.keep_row_set(function, &places, &firsts);
            }
        });
        found
    }

    /// All rows, by their first loads.
    pub fn rows(&self) -> &BTreeMap<Inst, RowLoads> {
        &self.stencil_rows
    }

    /// The stencil row whose first load this is.
    pub fn of_first(&self, inst: Inst) -> Option<&RowLoads> {
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

    /// Keeps the stencil rows that can be tested where the first is.
    fn keep_row_set(&mut self, function: &Function, places: &BTreeMap<Inst, usize>, firsts: &[Inst]) {
        let Some(&start) = firsts.first() else {
            // No row of the run was kept.
            return;
        };
        let (mut row_set, mut ahead) = (RowSet::default(), BTreeMap::new());
        for first in firsts {
            let parts = &self.stencil_rows[first].parts;
            let all: Option<Vec<_>> =
                parts.iter().map(|part| needs(function, places, places[&start], part.inst)).collect();
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

struct Finder<'a> {
    function: &'a Function,
    divergence: &'a Divergence,
    storage: &'a Storage,
    is_apart: &'a dyn Fn(Inst, &Part) -> bool,
    is_known_at: &'a dyn Fn(Value, Inst) -> bool,
}

impl Finder<'_> {
    /// The members that can be loaded with the first, if they are enough.
    fn row(&self, places: &BTreeMap<Inst, usize>, mut members: Vec<Member>) -> Option<(Inst, RowLoads)> {
        let function = self.function;
        let first = first_of(&members).filter(|_| members.len() >= MIN_LOADS)?;
        let mut ahead = BTreeMap::new();
        members.retain(|member| {
            let needed = needs(function, places, first.at, member.inst);
            needed.is_some_and(|mut needed| {
                ahead.append(&mut needed);
                true
            })
        });
        let mut common: Option<&Affine> = None;
        let mut parts = Vec::new();
        for part in from_first(&members, first).iter().map(|member| Part::of(function, member)) {
            let is_argument = matches!(self.storage.pointer(part.pointer).root, Root::Argument(_));
            // A member whose lanes are anywhere is loaded by itself.
            let Some(lanes) = self.divergence.shape(part.pointer).affine() else { continue };
            let is_alike = lanes.is_assumed()
                && lanes.segments == 1
                && common.is_none_or(|common| common == lanes)
                && !(self.is_apart)(first.inst, &part);
            if is_argument && is_alike {
                common = Some(lanes);
                parts.push(part);
            }
        }
        let (lanes, item) = (common?.clone(), parts[0].item);
        let runs = few_runs(&lanes, item).filter(|runs| runs.iter().all(|run| !run.same))?;
        let is_worth_it = parts.len() >= MIN_LOADS && parts.iter().any(|part| part.inst == first.inst);
        if !is_worth_it {
            return None;
        }
        let low = parts[0].offset;
        let mut max_offset = i64::MAX;
        for part in &parts {
            let index = widened_index(function, self.storage, part.pointer, &lanes, self.divergence)?;
            if !(self.is_known_at)(index.value, part.inst) {
                return None;
            }
            // The lowest load's place, if this one's index is not to wrap.
            max_offset = max_offset.min(index.max_offset.checked_sub(part.offset - low)?);
        }
        let (less, _) = extent_of_segment(&lanes, 0, item.bytes());
        max_offset.checked_add(less).filter(|&cap| cap >= 0)?;
        let ahead = ahead.into_values().collect();
        Some((first.inst, RowLoads { parts, item, lanes, runs, ahead, max_offset }))
    }
}

/// An index of 32 bits that an access's address is made of.
#[derive(Clone, Copy, Debug)]
pub struct WidenedIndex {
    /// The index before it is widened.
    pub value: Value,
    /// The largest offset of the first lane at which widening it wraps in no lane.
    pub max_offset: i64,
}

/// The index of an assumed affine pointer into an argument, if widening it is where lanes may wrap.
pub fn widened_index(
    function: &Function,
    storage: &Storage,
    pointer: Value,
    lanes: &Affine,
    divergence: &Divergence,
) -> Option<WidenedIndex> {
    if !lanes.is_assumed() || lanes.segments != 1 {
        return None;
    }
    let PointerSum { base, index, scale, offset } = pointer_sum(function, pointer)?;
    let (cast, value) = widened(function, index?)?;
    let is_argument = matches!(storage.pointer(pointer).root, Root::Argument(_))
        && matches!(function.values[base.index()].def, ValueDef::Param(_));
    if !is_argument || function.ty(value) != Type::Scalar(Scalar::I32) || scale > u32::from(u16::MAX) {
        return None;
    }
    let indices = divergence.shape(value).affine()?;
    let (low, high) = indices.extent();
    let max = if cast == CastOp::SExt { i64::from(i32::MAX) } else { i64::from(u32::MAX) };
    if indices.segments != 1 || low < 0 || high > max {
        return None;
    }
    let max_offset = ((max - high) * i64::from(scale)).checked_add(offset)?;
    Some(WidenedIndex { value, max_offset })
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
