//! Emission of families of values that are equal up to a shift by k lanes: see `lane_shift_reuse`.
//!
//! Invariant: [`Spans`] holds the elements of all families of which a member was emitted, from the first
//! element of the lowest member to the last of the highest, and whatever else was loaded.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_ir::{Inst, Op, Scalar, Value};
use anymetal_opt::Feature;

use super::Emitter;
use super::arith::{self, Arithmetic};
use super::cast;
use super::lane::{Lane, Width};
use crate::cpu::lane_shift_reuse::{Place, Shifted};
use crate::cpu::llvm_text::{LANES, Opd, scalar_type};

/// Elements side by side, in whole vectors of 16 and a shorter one; as integers, which are shifted by one
/// instruction that needs no pattern in a register.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// How many, and the vector.
    pieces: Vec<(usize, Opd)>,
}

impl Span {
    pub(super) fn new(pieces: Vec<(usize, Opd)>) -> Self {
        let whole = pieces.iter().rev().skip(1).all(|&(count, _)| count == WHOLE);
        assert!(
            whole && pieces.iter().all(|&(count, _)| count <= WHOLE),
            "only a span's last vector is shorter"
        );
        Self { pieces }
    }
}

/// What families are known where code is written, and their elements.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    shifted: Shifted,
    of: BTreeMap<Value, Span>,
}

/// The type of a span's elements.
pub(super) const ELEMENT: &str = "i32";
/// Elements of a whole vector.
pub(super) const WHOLE: usize = 16;

impl Emitter<'_, '_> {
    /// Looks for families in a row of instructions, all stencil rows of which are tested and begin the rest.
    pub(super) fn open_families(&mut self, insts: &[Inst], open: &BTreeSet<Inst>) {
        if !self.has(Feature::LaneShiftReuse) {
            // Each member is computed by itself.
            return;
        }
        let mut stencil_rows = BTreeMap::new();
        for &first in open {
            stencil_rows.extend(self.offsets_in_row(first));
        }
        let shifted = Shifted::new(self.facts.function, self.flow, insts, stencil_rows);
        self.spans = Spans { shifted, of: BTreeMap::new() };
    }

    /// Keeps what a stencil row loaded.
    pub(super) fn keep_span(&mut self, lowest: Value, span: &Span) {
        if self.spans.shifted.place(lowest).is_some() {
            self.spans.of.insert(lowest, span.clone());
        }
    }

    /// Computes a member of a family; `false` if the value is none.
    pub(super) fn member(&mut self, inst: Inst, result: Value) -> bool {
        let Some(Place { family, shift }) = self.spans.shifted.place(result) else {
            // The value is in no family.
            return false;
        };
        let span = match self.spans.of.get(&family) {
            Some(span) => span.clone(),
            None => {
                let Some(span) = self.family(inst) else {
                    self.cut_out_operands(inst);
                    return false;
                };
                self.spans.of.insert(family, span.clone());
                span
            }
        };
        let lanes = match self.spans.shifted.is_wanted(result) {
            true => self.slice(&span, Scalar::F32, shift),
            // Other families are made of the span.
            false => Opd::text("poison"),
        };
        self.define(result, vec![Lane::Varying(lanes)]);
        true
    }

    /// Gives members that nothing but a family has a use for their lanes: there is no such family.
    fn cut_out_operands(&mut self, inst: Inst) {
        let mut operands = Vec::new();
        self.facts.function.inst(inst).op.for_each_operand(|operand| operands.push(operand));
        for operand in operands {
            let Some(place) = self.spans.shifted.place(operand) else { continue };
            if let Some(span) = self.spans.of.get(&place.family).cloned() {
                let lanes = self.slice(&span, Scalar::F32, place.shift);
                self.define(operand, vec![Lane::Varying(lanes)]);
            }
        }
    }

    /// What an operation makes of families and of what is the same in all lanes; `None` where a stencil
    /// row's members were loaded in some other way, so that there is no span of them.
    fn family(&mut self, inst: Inst) -> Option<Span> {
        let (mut operands, mut has_spans) = (Vec::new(), true);
        self.facts.function.inst(inst).op.for_each_operand(|operand| {
            let place = self.spans.shifted.place(operand);
            let span = place.and_then(|place| self.spans.of.get(&place.family).cloned());
            has_spans &= span.is_some() == place.is_some();
            operands.push((operand, span));
        });
        if !has_spans {
            return None;
        }
        let spans = || operands.iter().filter_map(|(_, span)| span.as_ref());
        let pieces = spans().map(|span| span.pieces.len()).min();
        let pieces = pieces.expect("an operation on a family has one as an operand");
        let counts: Vec<_> =
            (0..pieces).filter_map(|at| spans().map(|span| span.pieces[at].0).min()).collect();
        let mut pieces = Vec::new();
        for (at, count) in counts.into_iter().enumerate() {
            let width = Width::Few(count);
            let mut values = Vec::new();
            for (operand, span) in &operands {
                values.push(match span {
                    Some(span) => {
                        let bits = self.first_of_piece(&span.pieces[at], count);
                        cast::reinterpret(&mut self.t, width, ELEMENT, "float", &bits)
                    }
                    None => {
                        let one = self.uniform(*operand, 0);
                        self.t.splat_to(count, "float", &one)
                    }
                });
            }
            let value = self.on_vectors(inst, width, &values);
            pieces.push((count, cast::reinterpret(&mut self.t, width, "float", ELEMENT, &value)));
        }
        Some(Span::new(pieces))
    }

    /// So many elements of a piece: stencil rows differ in how far they reach.
    fn first_of_piece(&mut self, (has, piece): &(usize, Opd), count: usize) -> Opd {
        if *has == count {
            return piece.clone();
        }
        assert!(count < *has, "{count} elements exceed a piece of {has}");
        let picks: Vec<_> = (0..count).map(Some).collect();
        self.t.shuffle(ELEMENT, *has, piece, &Opd::text("poison"), &picks)
    }

    fn on_vectors(&mut self, inst: Inst, width: Width, values: &[Opd]) -> Opd {
        let data = self.facts.function.inst(inst);
        let scalar = Scalar::F32;
        match (&data.op, values) {
            (Op::Unary(op, _), [x]) => arith::unary(&mut self.t, width, *op, scalar, x),
            (Op::Binary(op, ..), [x, y]) => {
                let how = Arithmetic { width, fp: data.fp, scalar, constant: None };
                arith::binary(&mut self.t, &mut self.shared.library, how, *op, x, y)
            }
            (Op::Math(function, _), values) => self.math(inst, *function, width, values),
            _ => unreachable!("families are made by arithmetic"),
        }
    }

    /// A member's lanes.
    pub(super) fn slice(&mut self, span: &Span, scalar: Scalar, shift: usize) -> Opd {
        let poison = Opd::text("poison");
        let piece = |this: &mut Self, at: usize| match &span.pieces[at] {
            (WHOLE, piece) => piece.clone(),
            (count, piece) => {
                let picks: Vec<_> = (0..WHOLE).map(|i| (i < *count).then_some(i)).collect();
                this.t.shuffle(ELEMENT, *count, piece, &poison, &picks)
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
                self.t.shuffle(ELEMENT, WHOLE, &low, &high, &picks)
            })
            .collect();
        let all = self.t.concat(ELEMENT, WHOLE, parts);
        cast::reinterpret(&mut self.t, Width::All, ELEMENT, scalar_type(scalar), &all)
    }
}
