//! SIMD-group and quad-group operations: masks, votes and broadcasts here, `reduce` (reductions and
//! prefixes), `shuffle`.
//!
//! Invariant: lanes that are off take no part; shuffles and broadcasts read zero from them. What they hold
//! afterwards is arbitrary.

mod reduce;
mod shuffle;

use anymetal_ir::{CombinedLanes, FpMode, SimdOp, Value};

use super::lane::Lane;
use super::{Emitter, Mask, zero_of};
use crate::llvm::{I1, I32, I64, IntPredicate, LANES, Opd, vector_const};

impl Emitter<'_, '_> {
    pub(super) fn simd(&mut self, op: SimdOp, args: &[Value], result: Value, fp: FpMode) {
        if op == SimdOp::ActiveMask {
            self.known.active_masks.insert(result, self.position.mask.clone());
        }
        let count = usize::from(self.plan.facts.function.ty(result).lanes());
        let lanes = (0..count).map(|k| self.simd_component(op, args, k, fp)).collect();
        self.define(result, lanes);
    }

    fn simd_component(&mut self, op: SimdOp, args: &[Value], k: usize, fp: FpMode) -> Lane {
        let mask = self.position.mask.clone();
        match op {
            SimdOp::ActiveMask => {
                let bits = self.mask_bits(&mask);
                return Lane::uniform(self.wide(&bits));
            }
            SimdOp::IsFirst => {
                let first = self.first_lane();
                let first = self.t.splat(&first);
                let lanes = vector_const(I32, 0..32);
                return Lane::Varying(self.t.icmp(IntPredicate::Eq, &lanes, &first));
            }
            _ => {}
        }
        assert!(!args.is_empty(), "{op:?} takes a value");
        let value = args[0];
        let scalar = self.scalar(value);
        if let Some(combination) = op.combination(scalar) {
            let vector = self.vector(value, k);
            return match combination.lanes {
                CombinedLanes::All if combination.width == LANES => {
                    Lane::uniform(self.reduce(combination.combine, scalar, fp, &vector))
                }
                CombinedLanes::All => {
                    Lane::Varying(self.quad_reduce(combination.combine, scalar, fp, &vector))
                }
                _ => Lane::Varying(self.prefix(combination, scalar, fp, &vector)),
            };
        }
        match op {
            SimdOp::Any | SimdOp::All | SimdOp::Ballot => self.vote(op, value),
            SimdOp::BroadcastFirst | SimdOp::Broadcast => self.broadcast(op, args, k),
            SimdOp::ShuffleAndFillUp | SimdOp::ShuffleAndFillDown => self.shuffle_and_fill(op, args, k),
            _ => self.shuffle_lanes(op, args, k),
        }
    }

    fn wide(&mut self, bits: &Opd) -> Opd {
        match bits {
            Opd::Int(_, bits) => Opd::i64(i64::from(*bits as u32)),
            bits => self.t.zext(bits, I64),
        }
    }

    fn vote(&mut self, op: SimdOp, value: Value) -> Lane {
        if op != SimdOp::Ballot && self.shape(value, 0).is_uniform() {
            return Lane::uniform(self.uniform(value, 0));
        }
        if op == SimdOp::All
            && let Some(all) = self.holds_for_all(value)
        {
            return Lane::uniform(all);
        }
        let vector = self.vector(value, 0);
        let mask = self.position.mask.clone();
        match op {
            SimdOp::Any => {
                let votes = self.both(&mask, &vector);
                Lane::uniform(self.any(&Mask::Some(votes)))
            }
            SimdOp::All => {
                let against = self.without(&mask, &vector);
                let any = self.any(&Mask::Some(against));
                Lane::uniform(self.t.not(&any))
            }
            SimdOp::Ballot => {
                let votes = self.both(&mask, &vector);
                let bits = self.mask_bits(&Mask::Some(votes));
                Lane::uniform(self.wide(&bits))
            }
            other => unreachable!("{other:?} is not a vote"),
        }
    }

    fn broadcast(&mut self, op: SimdOp, args: &[Value], k: usize) -> Lane {
        let value = args[0];
        let scalar = self.scalar(value);
        let reads_active_lane = op == SimdOp::BroadcastFirst || self.position.mask == Mask::All;
        if reads_active_lane && self.shape(value, k).is_uniform() {
            return Lane::uniform(self.uniform(value, k));
        }
        let vector = self.vector(value, k);
        let lane = if op == SimdOp::BroadcastFirst {
            self.first_lane()
        } else {
            let lane = if self.shape(args[1], 0).is_uniform() {
                self.uniform(args[1], 0)
            } else {
                let lanes = self.vector(args[1], 0);
                let first = self.first_lane();
                self.t.extract(&lanes, &first)
            };
            match lane {
                Opd::Int(_, lane) => Opd::i32(lane & 31),
                lane => self.t.and(&lane, 31),
            }
        };
        let read = self.t.extract(&vector, &lane);
        if reads_active_lane {
            return Lane::uniform(read);
        }
        let bits = self.mask_bits(&self.position.mask.clone());
        let bit = self.t.lshr(&bits, &lane);
        let is_active = self.t.trunc(&bit, I1);
        Lane::uniform(self.t.select(&is_active, &read, &zero_of(scalar)))
    }
}
