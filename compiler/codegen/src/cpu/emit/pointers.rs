//! Pointers that are computed: sums with indices, and choices between two. Sums of tagged pointers saturate.

use anymetal_ir::{Inst, Op, Value};

use super::Emitter;
use super::lane::{Lane, Width};
use crate::llvm::{I64, Opd};
use crate::tagged::saturation;
use anymetal_analysis::divergence::Shape;
use anymetal_simd::storage::Root;

impl Emitter<'_, '_> {
    pub(super) fn pointer_sum(&mut self, inst: Inst, result: Value) -> Lane {
        let Op::PtrAdd { base, index, scale, offset } = self.plan.facts.function.inst(inst).op.clone() else {
            unreachable!("{inst} is a pointer sum");
        };
        let is_tagged = self.plan.facts.storage.pointer(result).root == Root::Many;
        match self.shape(result, 0) {
            Shape::Affine(shape) if shape.is_constant => Lane::known(shape),
            Shape::Affine(shape) => {
                let step = shape.segment_len();
                let mut bases = Vec::new();
                for lane in (0..shape.segments).map(|s| s * step) {
                    let start = self.at(base, 0, lane);
                    let mut sum = start.clone();
                    if let Some(index) = index {
                        let index = self.at(index, 0, lane);
                        let scaled = self.t.mul(&index, i64::from(scale));
                        sum = self.t.add(&sum, &scaled);
                    }
                    sum = self.t.add(&sum, offset);
                    bases.push(match is_tagged && sum != start {
                        true => saturation(index, offset)(&mut self.t, Width::One, &start, &sum),
                        false => sum,
                    });
                }
                let assumption = self.condition(inst, 0, &shape);
                Lane::Affine { bases, shape, assumption }
            }
            _ => Lane::Varying(self.pointer_sum_vector(base, index, scale, offset)),
        }
    }

    pub(super) fn pointer_sum_vector(
        &mut self,
        base: Value,
        index: Option<Value>,
        scale: u32,
        offset: i64,
    ) -> Opd {
        let start = self.vector(base, 0);
        let mut sum = start.clone();
        if let Some(index) = index {
            let index = self.vector(index, 0);
            let scaled = match scale {
                1 => index,
                _ => self.t.mul(&index, i64::from(scale)),
            };
            sum = match sum.is_zeros() {
                true => scaled,
                false => self.t.add(&sum, &scaled),
            };
        }
        if offset != 0 {
            sum = self.t.add(&sum, offset);
        }
        match self.plan.facts.storage.pointer(base).root {
            Root::Many if sum != start => saturation(index, offset)(&mut self.t, Width::All, &start, &sum),
            _ => sum,
        }
    }

    pub(super) fn select_pointer(&mut self, c: Value, a: Value, b: Value, result: Value) -> Lane {
        let many = self.plan.facts.storage.pointer(result).root == Root::Many;
        let own =
            |this: &mut Self, value: Value| if many { this.encoded(value) } else { this.lane(value, 0) };
        let (x, y) = (own(self, a), own(self, b));
        match self.shape(result, 0) {
            Shape::Affine(shape) if shape.is_constant => Lane::known(shape),
            Shape::Affine(shape) => {
                let c = self.uniform(c, 0);
                let step = shape.segment_len();
                let bases = (0..shape.segments)
                    .map(|s| {
                        let (p, q) = (x.at(&mut self.t, I64, s * step), y.at(&mut self.t, I64, s * step));
                        self.t.select(&c, &p, &q)
                    })
                    .collect();
                Lane::Affine { bases, shape, assumption: None }
            }
            _ => {
                let p = if many { self.encoded_vector(a) } else { self.vector(a, 0) };
                let q = if many { self.encoded_vector(b) } else { self.vector(b, 0) };
                let chosen = if self.shape(c, 0).is_uniform() {
                    let c = self.uniform(c, 0);
                    self.t.select(&c, &p, &q)
                } else {
                    let c = self.vector(c, 0);
                    self.t.select(&c, &p, &q)
                };
                Lane::Varying(chosen)
            }
        }
    }
}
