//! Stencil rows whose clamp affects some lanes, as at the edge of an image.
//!
//! No load of such a row is contiguous, but all its lanes are within a short stretch, with the same pattern
//! in each row: an index is a uniform row term plus a column, and the clamp makes the same column vector
//! for all rows. So for each half of the lanes the stretch that the members need is loaded once, and each
//! member is permuted out of it.
//!
//! Invariant: where the checks hold, no lane's index wraps, each lane is in its half's stretch, and that is
//! in bounds.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_abi::AccessKind;
use anymetal_ir::{BinOp, CastOp, Inst, Op, Value};
use anymetal_opt::Feature;
use anymetal_simd::stencil_rows::RowLoads;

use super::memory::MemoryType;
use super::{Emitter, Mask};
use crate::cpu::emit::allocation::Place;
use crate::llvm::{Cast, I1, I16, I32, I64, IntPredicate, LANES, MemFlags, Opd};
use anymetal_analysis::patterns::{PointerSum, pointer_sum, widened};

/// Lanes of a half, and elements of a register.
const HALF: usize = LANES / 2;

/// What the indices of a stencil row's members are made of.
struct Indices {
    /// What is the same in all lanes of all members.
    row: Value,
    /// What is not, by member.
    columns: Vec<Value>,
    is_signed: bool,
    /// Bytes that are added to the place of the index.
    offset: i64,
}

/// Where a half of the lanes is in a stretch, by what limits leave of columns.
#[derive(Clone, Debug)]
struct Half {
    /// The first column.
    first: Opd,
    /// How far the last one is from that.
    reach: Opd,
    /// By member: the lanes' elements of the stretch.
    picks: Vec<Opd>,
}

/// How a stencil row is loaded.
#[derive(Clone, Debug)]
pub(super) struct ClampedRow {
    place: Place,
    /// By half: the stretch's offset, and what is where in it.
    halves: Vec<(Opd, Half)>,
}

impl Emitter<'_, '_> {
    /// Of stencil rows the rows of which have the same columns: whether all lanes are in short stretches,
    /// and how they are loaded then. `None`: nothing loads such stencil rows that way.
    pub(super) fn check_clamped_rows(
        &mut self,
        rows: &BTreeSet<Inst>,
    ) -> Option<(Opd, BTreeMap<Inst, ClampedRow>)> {
        let options = self.shared.options;
        // Without checks nothing says that the stretch exists.
        let is_on = self.has(Feature::ClampedRows);
        if !is_on || !options.features.avx512 || !options.checks {
            return None;
        }
        let (mut all, mut common) = (Vec::new(), None);
        for &first in rows {
            let loads = self.stencil_row(first);
            let indices = self.row_and_columns(loads)?;
            if *common.get_or_insert_with(|| indices.columns.clone()) != indices.columns {
                return None;
            }
            all.push((first, self.address(loads.parts[0].pointer, 0, AccessKind::Load).place, indices));
        }
        let columns: Vec<Opd> = common?.iter().map(|&column| self.frozen_vector(column)).collect();
        let (mut is_so, mut halves) = (Opd::bool(true), Vec::new());
        for half in 0..LANES / HALF {
            let (is_near, half) = self.near_columns(&columns, half * HALF);
            is_so = self.t.and(&is_so, &is_near);
            halves.push(half);
        }
        let mut row = BTreeMap::new();
        for (first, place, indices) in all {
            let mut stretches = Vec::new();
            for half in &halves {
                let (inside, start) = self.stretch(&place, &indices, half);
                is_so = self.t.and(&is_so, &inside);
                stretches.push((start, half.clone()));
            }
            row.insert(first, ClampedRow { place, halves: stretches });
        }
        Some((is_so, row))
    }

    /// The members' indices, if they are sums of one row and a column each.
    fn row_and_columns(&self, loads: &RowLoads) -> Option<Indices> {
        let function = self.plan.facts.function;
        if loads.item.bytes() != 4 || loads.item.count != 1 {
            return None;
        }
        let mut found: Option<Indices> = None;
        for part in &loads.parts {
            let PointerSum { index, scale, offset, .. } = pointer_sum(function, part.pointer)?;
            let (cast, index) = widened(function, index?)?;
            let &Op::Binary(BinOp::Add, a, b) = function.def(index)? else {
                // No sum of a row and a column.
                return None;
            };
            if scale != 4 {
                return None;
            }
            let (row, column) = if self.shape(a, 0).is_uniform() { (a, b) } else { (b, a) };
            if !self.shape(row, 0).is_uniform() || !self.is_here(row) || !self.is_here(column) {
                return None;
            }
            let is_signed = cast == CastOp::SExt;
            let indices = found.get_or_insert(Indices { row, columns: Vec::new(), is_signed, offset });
            if (indices.row, indices.is_signed, indices.offset) != (row, is_signed, offset) {
                return None;
            }
            indices.columns.push(column);
        }
        found
    }

    /// A vector in which lanes that are off are the same wherever they are looked at.
    fn frozen_vector(&mut self, value: Value) -> Opd {
        let vector = self.vector(value, 0);
        match self.position.mask {
            Mask::All => vector,
            Mask::Some(_) => self.t.freeze(&vector),
        }
    }

    /// Of a half of the lanes: whether all columns lie between the lowest member's first lane and the highest
    /// one's last, in two registers.
    fn near_columns(&mut self, columns: &[Opd], lane: usize) -> (Opd, Half) {
        assert!(!columns.is_empty(), "a stencil row has members");
        assert!(lane.is_multiple_of(HALF), "halves start at lanes 0 and {HALF}, not at {lane}");
        let (lowest, highest) = (&columns[0], &columns[columns.len() - 1]);
        let first = self.t.extract(lowest, lane);
        let last = self.t.extract(highest, lane + HALF - 1);
        let first = self.only_here(&first);
        let reach = self.t.sub(&last, &first);
        let firsts = self.t.splat_to(HALF, &first);
        let lanes: Vec<_> = (lane..lane + HALF).map(Some).collect();
        let mut picks = Vec::new();
        for column in columns {
            let half = self.t.pick(column, &lanes);
            picks.push(self.t.sub(&half, &firsts));
        }
        let mut farthest = picks[0].clone();
        for pick in &picks[1..] {
            farthest = self.t.intrinsic("umax", "", &[&farthest, pick]);
        }
        let reaches = self.t.splat_to(HALF, &reach);
        let beyond = self.t.icmp(IntPredicate::UGt, &farthest, &reaches);
        let bits = self.t.bitcast(&beyond, I16);
        let are_between = self.t.icmp(IntPredicate::Eq, &bits, 0);
        let is_short = self.t.icmp(IntPredicate::ULt, &reach, LANES as i64);
        (self.t.and(&are_between, &is_short), Half { first, reach, picks })
    }

    /// The value, of which LLVM does not know that it is the same each time: what is rarely needed is not to
    /// be computed ahead of loops.
    fn only_here(&mut self, value: &Opd) -> Opd {
        let slot = self.t.alloca(I32, 4);
        self.t.store(value, &slot, MemFlags::from(4).volatile(true));
        self.t.load(I32, &slot, MemFlags::from(4).volatile(true))
    }

    /// Whether a row's stretch, if it is short, is in bounds with no index wrapped; and its offset.
    fn stretch(&mut self, place: &Place, indices: &Indices, half: &Half) -> (Opd, Opd) {
        let row = self.uniform(indices.row, 0);
        let index = self.t.add(&row, &half.first);
        let (cast, max) = match indices.is_signed {
            true => (Cast::SExt, i64::from(i32::MAX)),
            false => (Cast::ZExt, i64::from(u32::MAX)),
        };
        let index = self.t.cast(cast, &index, I64);
        let start = self.t.mul(&index, 4);
        let start = self.t.add(&start, indices.offset);
        let wide = self.t.zext(&half.reach, I64);
        let bytes = self.t.mul(&wide, 4);
        let end = self.t.add(&start, &bytes);
        let limit = self.limit_up_to(place, 4, (4 * max).saturating_add(indices.offset).max(-1));
        let begins = self.t.icmp(IntPredicate::ULt, &start, &limit);
        let ends = self.t.icmp(IntPredicate::ULt, &end, &limit);
        (self.t.and(&begins, &ends), start)
    }

    /// Loads the stretches and gives each member its lanes.
    pub(super) fn load_clamped_row(&mut self, row: &ClampedRow, loads: &RowLoads) -> Vec<Vec<Opd>> {
        assert_eq!(row.halves.len(), LANES / HALF, "each half of the lanes has a stretch");
        let mut halves: Vec<Vec<Opd>> = vec![Vec::new(); loads.parts.len()];
        for (start, half) in &row.halves {
            let at = self.t.offset(&row.place.base, start);
            let shift = self.t.sub(&Opd::int(I32, LANES as i64 - 1), &half.reach);
            let bits = self.t.lshr(&Opd::int(I32, -1), &shift);
            let there = self.t.bitcast(&bits, I1.lanes());
            let all = self.masked_load(I32.lanes(), &at, (LANES, &there));
            let register = |this: &mut Self, first: usize| {
                let lanes: Vec<_> = (first..first + HALF).map(Some).collect();
                this.t.pick(&all, &lanes)
            };
            let (low, high) = (register(self, 0), register(self, HALF));
            assert_eq!(half.picks.len(), loads.parts.len(), "each member has its elements of the stretch");
            for (halves, picks) in halves.iter_mut().zip(&half.picks) {
                halves.push(self.pick_of_two(I32, (&low, &high), picks));
            }
        }
        let lanes = |this: &mut Self, halves: Vec<Opd>| {
            let all = this.t.concat(halves);
            vec![this.t.reinterpret(&all, loads.item.memory_type())]
        };
        halves.into_iter().map(|halves| lanes(self, halves)).collect()
    }
}
