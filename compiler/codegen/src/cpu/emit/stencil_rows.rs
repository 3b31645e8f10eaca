//! Loads of a stencil row, done together: see `stencil_rows`.
//!
//! One check covers all: no clamp takes effect, no index wraps, and the whole stretch is in bounds. Where
//! it fails every load is checked by itself, so results and fault reports equal those of single loads.

use std::collections::BTreeSet;

use anymetal_abi::AccessKind;
use anymetal_ir::{Inst, Scalar};
use anymetal_opt::RemarkId;

use super::allocation::Place;
use super::lane::Lane;
use super::memory::Address;
use super::{Emitter, Mask};
use crate::llvm::{self, I32, IntPredicate, LANES, MemFlags, Opd, scalar_type};
use anymetal_simd::access::extent_of_segment;
use anymetal_simd::bundles::Part;
use anymetal_simd::stencil_rows::{RowLoads, RowSet};

/// The type of a span's elements.
const ELEMENT: llvm::Type = I32;

/// Elements of a whole vector of a span.
const WHOLE: usize = 16;

/// Elements side by side, in whole vectors of 16 and a shorter one; as integers, which are shifted by one
/// instruction that needs no pattern in a register.
struct Span {
    /// How many, and the vector.
    pieces: Vec<(usize, Opd)>,
}

impl Span {
    fn new(pieces: Vec<(usize, Opd)>) -> Self {
        let whole = pieces.iter().rev().skip(1).all(|&(count, _)| count == WHOLE);
        assert!(
            whole && pieces.iter().all(|&(count, _)| count <= WHOLE),
            "only a span's last vector is shorter"
        );
        Self { pieces }
    }
}

fn varying(parts: Vec<Opd>) -> Vec<Lane> {
    parts.into_iter().map(Lane::Varying).collect()
}

/// What must hold to load a stencil row.
#[derive(Default)]
struct Conditions {
    /// That the members' lanes are contiguous. Rows have these in common.
    forms: Vec<Opd>,
    /// That all is in bounds.
    in_bounds: Vec<Opd>,
}

impl<'a> Emitter<'a, '_> {
    /// Loads the stencil row whose first load this is; `false` if the load itself is still to be done.
    pub(super) fn load_stencil_row(&mut self, inst: Inst) -> bool {
        let plan = self.plan;
        let Some(loads) = plan.stencil_rows.of_first(inst) else {
            // The load begins no stencil row.
            return false;
        };
        self.compute_ahead(&loads.ahead);
        let clamped = self.rows.clamped_rows.get(&inst).cloned();
        let loaded: Vec<Vec<Lane>> = match clamped {
            Some(clamped) => self.load_clamped_row(&clamped, loads).into_iter().map(varying).collect(),
            None if self.rows.versioned_rows.contains(&inst) => {
                self.load_members(loads).into_iter().map(varying).collect()
            }
            None => {
                let conditions = self.row_conditions(loads);
                let ok = self.all_hold(conditions);
                self.load_checked_row(loads, &ok)
            }
        };
        assert_eq!(loaded.len(), loads.parts.len(), "each member of a stencil row is loaded");
        for (part, lanes) in loads.parts.iter().zip(loaded) {
            self.remark_together(part.inst, RemarkId::LoadStencilRow, part.pointer, loads.parts.len());
            self.define(part.result, lanes);
        }
        true
    }

    /// The stencil row whose first load this is.
    pub(super) fn stencil_row(&self, first: Inst) -> &'a RowLoads {
        let row = self.plan.stencil_rows.of_first(first);
        row.unwrap_or_else(|| unreachable!("{first} begins no stencil row"))
    }

    /// Computes what pointers of members are made of, before it is its turn.
    pub(super) fn compute_ahead(&mut self, insts: &[Inst]) {
        for &inst in insts {
            let result = self
                .plan
                .facts
                .function
                .inst(inst)
                .result
                .expect("instructions that compute a pointer have results");
            self.pure(inst, result);
        }
    }

    /// Under which all lanes' places are where the affine forms say, at the distances known, and in bounds.
    ///
    /// The last is asked without checks as well: places of lanes that are off, and the rest of a span, need
    /// not exist.
    fn row_conditions(&mut self, loads: &RowLoads) -> Conditions {
        let (low, high) = (loads.parts[0], loads.parts[loads.parts.len() - 1]);
        let forms = loads.parts.iter().map(|part| self.form_of_widened_index(part.pointer)).collect();
        let address = self.address(low.pointer, 0, AccessKind::Load);
        let Lane::Affine { bases, .. } = &address.offset else {
            unreachable!("members of a stencil row have affine offsets")
        };
        let (less, bytes) = extent_of_segment(&loads.lanes, 0, loads.item.bytes());
        let start = self.t.add(&bases[0], less);
        let bytes = match loads.span(&self.shared.options.features) {
            Some(elements) => elements as i64 * loads.item.bytes(),
            None => bytes + (high.offset - low.offset),
        };
        let limit = self.limit_up_to(&address.place, bytes, loads.max_offset + less);
        let in_bounds = self.t.icmp(IntPredicate::ULt, &start, &limit);
        Conditions { forms, in_bounds: vec![in_bounds] }
    }

    /// Whether all conditions hold, each tested once.
    fn all_hold(&mut self, conditions: Conditions) -> Opd {
        let mut seen: Vec<Opd> = Vec::new();
        let mut all = Opd::bool(true);
        for condition in conditions.forms.into_iter().chain(conditions.in_bounds) {
            if !seen.contains(&condition) {
                all = self.t.and(&all, &condition);
                seen.push(condition);
            }
        }
        all
    }

    /// Under the current mask: whether all lanes are on, and the stencil rows that can be tested here, all
    /// of which hold.
    pub(super) fn check_stencil_rows(&mut self, row_set: &RowSet) -> (Opd, BTreeSet<Inst>) {
        self.compute_ahead(&row_set.ahead);
        let (mut all, mut open) = (Conditions::default(), BTreeSet::new());
        for &first in &row_set.firsts {
            let loads = self.stencil_row(first);
            let conditions = self.row_conditions(loads);
            all.forms.extend(conditions.forms);
            all.in_bounds.extend(conditions.in_bounds);
            open.insert(first);
        }
        if let mask @ Mask::Some(_) = self.position.mask.clone() {
            all.in_bounds.push(self.all(&mask));
        }
        (self.all_hold(all), open)
    }

    fn load_checked_row(&mut self, loads: &RowLoads, ok: &Opd) -> Vec<Vec<Lane>> {
        if self.bail_unless(ok) {
            return self.load_members(loads).into_iter().map(varying).collect();
        }
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(ok, fast, slow);
        self.t.label(fast);
        let fast = self.load_members(loads);
        let from = self.t.current();
        self.t.branch(join);
        self.t.label(slow);
        let element = scalar_type(loads.item.scalar);
        let single = |this: &mut Self, part: &Part| -> Vec<Opd> {
            let lanes = this.aside(|this| this.load_shared(part.inst, part.pointer, 0, loads.item));
            lanes.iter().map(|lane| lane.vector(&mut this.t, element)).collect()
        };
        let slow: Vec<Vec<Opd>> = loads.parts.iter().map(|part| single(self, part)).collect();
        let slow_from = self.t.current();
        self.t.branch(join);
        self.t.label(join);
        let merge = |this: &mut Self, (x, y): (Vec<Opd>, Vec<Opd>)| {
            assert_eq!(x.len(), y.len(), "both ways load the same components");
            let one = |(x, y)| Lane::Varying(this.t.phi(&[(x, from), (y, slow_from)]));
            x.iter().zip(&y).map(one).collect()
        };
        fast.into_iter().zip(slow).map(|both| merge(self, both)).collect()
    }

    /// All loads, at their distances from the lowest.
    fn load_members(&mut self, loads: &RowLoads) -> Vec<Vec<Opd>> {
        let low = loads.parts.first().expect("a stencil row has members");
        let address = self.address(low.pointer, 0, AccessKind::Load);
        let Lane::Affine { bases, .. } = address.offset.clone() else {
            unreachable!("members of a stencil row have affine offsets")
        };
        assert_eq!(bases.len(), 1, "the lanes of a stencil row are contiguous from one base");
        if let Some(span) = loads.span(&self.shared.options.features) {
            let start = self.t.add(&bases[0], loads.lanes.at(0));
            return self.load_slices(&address.place, &start, loads, span);
        }
        let one = |part: &Part| {
            let here = Address { extra: part.offset - low.offset, ..address.clone() };
            self.load_runs(&here, &bases, &loads.lanes, &loads.runs, loads.item, &mut Vec::new())
        };
        loads.parts.iter().map(one).collect()
    }

    /// Loads as many elements and gives each member its own.
    fn load_slices(
        &mut self,
        place: &Place,
        start: &Opd,
        loads: &RowLoads,
        elements: usize,
    ) -> Vec<Vec<Opd>> {
        assert!(elements > LANES, "a span has the lanes of at least two members");
        let size = loads.item.bytes();
        let metadata = self.metadata(place);
        let mut pieces = Vec::new();
        for first in (0..elements).step_by(WHOLE) {
            let count = WHOLE.min(elements - first);
            let at = self.t.add(start, first as i64 * size);
            let at = self.t.offset(&place.base, &at);
            let part = self.t.load(ELEMENT.vector(count), &at, MemFlags::with(1, metadata));
            pieces.push((count, part));
        }
        let span = Span::new(pieces);
        let one = |part: &Part| vec![self.slice(&span, loads.item.scalar, loads.shift(part))];
        loads.parts.iter().map(one).collect()
    }

    /// A member's lanes.
    fn slice(&mut self, span: &Span, scalar: Scalar, shift: usize) -> Opd {
        let piece = |this: &mut Self, at: usize| match &span.pieces[at] {
            (WHOLE, piece) => piece.clone(),
            (count, piece) => {
                let picks: Vec<_> = (0..WHOLE).map(|i| (i < *count).then_some(i)).collect();
                this.t.pick(piece, &picks)
            }
        };
        let elements: usize = span.pieces.iter().map(|&(count, _)| count).sum();
        assert!(shift + LANES <= elements, "lanes from {shift} on are not in a span of {elements}");
        let parts = (0..LANES / WHOLE)
            .map(|part| {
                let (at, shift) = (shift / WHOLE + part, shift % WHOLE);
                let low = piece(self, at);
                if shift == 0 {
                    return low;
                }
                let high = piece(self, at + 1);
                let picks: Vec<_> = (shift..shift + WHOLE).map(Some).collect();
                self.t.shuffle(&low, &high, &picks)
            })
            .collect();
        let all = self.t.concat(parts);
        self.t.reinterpret(&all, scalar_type(scalar))
    }
}
