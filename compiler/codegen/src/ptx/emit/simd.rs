//! Shuffles and votes between the lanes of a SIMD-group or a quad-group.
//!
//! Every instruction names the active lanes. Where the source of a shuffle is not among them, its result is
//! zero.

use anymetal_ir::{Inst, Scalar, SimdOp, Value};

use super::{Emitter, zero};
use crate::llvm::{FLOAT, HALF, I16, I32, I64, IntPredicate, Opd, scalar_type};

impl Emitter<'_> {
    pub(super) fn simd(&mut self, inst: Inst, op: SimdOp, args: &[Value]) {
        let mask = self.active_lanes();
        let parts = match op {
            SimdOp::Any | SimdOp::All | SimdOp::Ballot | SimdOp::ActiveMask | SimdOp::IsFirst => {
                vec![self.vote(op, args, &mask)]
            }
            _ if Self::is_reduction(op) => self.reduction(inst, op, args[0], &mask),
            SimdOp::ShuffleAndFillUp | SimdOp::ShuffleAndFillDown => self.shuffle_and_fill(op, args, &mask),
            _ => self.shuffle(op, args, &mask),
        };
        self.define(inst, parts);
    }

    fn vote(&mut self, op: SimdOp, args: &[Value], mask: &Opd) -> Opd {
        match op {
            SimdOp::ActiveMask => self.t.zext(mask, I64),
            SimdOp::IsFirst => {
                let (first, lane) = (self.first_lane(mask), self.lane());
                self.t.icmp(IntPredicate::Eq, &first, &lane)
            }
            _ => {
                let condition = self.one(args[0]);
                let votes = self.ballot(mask, &condition);
                match op {
                    SimdOp::Any => self.t.icmp(IntPredicate::Ne, &votes, 0),
                    SimdOp::All => self.t.icmp(IntPredicate::Eq, &votes, mask),
                    SimdOp::Ballot => self.t.zext(&votes, I64),
                    other => unreachable!("{other:?} is not a vote"),
                }
            }
        }
    }

    fn first_lane(&mut self, mask: &Opd) -> Opd {
        self.t.count_zeros("cttz", mask, true)
    }

    /// Every shuffle is a read of a lane that is computed.
    fn shuffle(&mut self, op: SimdOp, args: &[Value], mask: &Opd) -> Vec<Opd> {
        let by = match args.get(1) {
            Some(&by) => self.lane_operand(by),
            None => {
                assert_eq!(op, SimdOp::BroadcastFirst, "every other shuffle takes a lane or a distance");
                Opd::i32(0)
            }
        };
        let source = self.source(op, &by, mask);
        match op {
            SimdOp::BroadcastFirst => self.read_active_lane(args[0], mask, &source),
            _ => self.read_lane(args[0], mask, &source),
        }
    }

    /// A lane number or distance as 32 bits.
    fn lane_operand(&mut self, value: Value) -> Opd {
        let (scalar, operand) = (self.scalar(value), self.one(value));
        match scalar.bits() {
            32 => operand,
            64 => self.t.trunc(&operand, I32),
            _ => self.t.zext(&operand, I32),
        }
    }

    /// The lane that a lane's value comes from.
    fn source(&mut self, op: SimdOp, by: &Opd, mask: &Opd) -> Opd {
        let lane = self.lane();
        let modulo = |this: &mut Self, value: &Opd, bits: i64| this.t.and(value, bits);
        match op {
            SimdOp::BroadcastFirst => self.first_lane(mask),
            SimdOp::ShuffleXor => {
                let other = self.t.xor(&lane, by);
                modulo(self, &other, 31)
            }
            SimdOp::RotateUp => {
                let other = self.t.sub(&lane, by);
                modulo(self, &other, 31)
            }
            SimdOp::RotateDown => {
                let other = self.t.add(&lane, by);
                modulo(self, &other, 31)
            }
            SimdOp::ShuffleUp | SimdOp::ShuffleDown => {
                self.neighbour(op == SimdOp::ShuffleUp, by, &lane, &lane, 32)
            }
            SimdOp::QuadShuffleUp | SimdOp::QuadShuffleDown => {
                let inside = modulo(self, &lane, 3);
                self.neighbour(op == SimdOp::QuadShuffleUp, by, &lane, &inside, 4)
            }
            SimdOp::QuadBroadcast | SimdOp::QuadShuffle => {
                let (quad, inside) = (modulo(self, &lane, 28), modulo(self, by, 3));
                self.t.or(&quad, &inside)
            }
            SimdOp::QuadShuffleXor => {
                let by = modulo(self, by, 3);
                self.t.xor(&lane, &by)
            }
            SimdOp::Broadcast | SimdOp::Shuffle => modulo(self, by, 31),
            other => unreachable!("{other:?} is not a shuffle"),
        }
    }

    /// The lane `by` below or above, in a segment of `size` lanes in which the lane is `inside`; itself where
    /// there is none.
    fn neighbour(&mut self, up: bool, by: &Opd, lane: &Opd, inside: &Opd, size: i64) -> Opd {
        if up {
            let is_there = self.t.icmp(IntPredicate::UGe, inside, by);
            let other = self.t.sub(lane, by);
            return self.t.select(&is_there, &other, lane);
        }
        let room = self.t.sub(&Opd::i32(size - 1), inside);
        let is_there = self.t.icmp(IntPredicate::UGe, &room, by);
        let other = self.t.add(lane, by);
        self.t.select(&is_there, &other, lane)
    }

    /// Value, fill, distance, segment size.
    fn shuffle_and_fill(&mut self, op: SimdOp, args: &[Value], mask: &Opd) -> Vec<Opd> {
        let (by, size) = (self.lane_operand(args[2]), self.lane_operand(args[3]));
        let lane = self.lane();
        let below = self.t.sub(&size, 1);
        let is_size = self.t.icmp(IntPredicate::ULt, &below, 32);
        let size = self.t.select(&is_size, &size, 32);
        let by = self.t.intrinsic("umin", "", &[&by, &size]);
        let inside = self.t.urem(&lane, &size);
        let (is_value, own, filled) = if op == SimdOp::ShuffleAndFillUp {
            let is_value = self.t.icmp(IntPredicate::UGe, &inside, &by);
            let own = self.t.sub(&lane, &by);
            let filled = self.t.add(&own, &size);
            (is_value, own, filled)
        } else {
            let room = self.t.sub(&size, &inside);
            let is_value = self.t.icmp(IntPredicate::UGt, &room, &by);
            let own = self.t.add(&lane, &by);
            let filled = self.t.sub(&own, &size);
            (is_value, own, filled)
        };
        let [own, filled] = [own, filled].map(|from| self.t.and(&from, 31));
        let values = self.read_lane(args[0], mask, &own);
        let fills = self.read_lane(args[1], mask, &filled);
        values.iter().zip(&fills).map(|(a, b)| self.t.select(&is_value, a, b)).collect()
    }

    /// Every part of a value, from a lane below 32; zero if that is not active.
    fn read_lane(&mut self, value: Value, mask: &Opd, source: &Opd) -> Vec<Opd> {
        let parts = self.read_active_lane(value, mask, source);
        if mask.is_int(-1) {
            return parts;
        }
        let scalar = self.scalar(value);
        let active = self.is_active(mask, source);
        parts.iter().map(|part| self.t.select(&active, part, &zero(scalar))).collect()
    }

    fn read_active_lane(&mut self, value: Value, mask: &Opd, source: &Opd) -> Vec<Opd> {
        let scalar = self.scalar(value);
        let parts = self.parts(value);
        parts.iter().map(|part| self.exchange("idx", scalar, part, mask, source)).collect()
    }

    /// One scalar through `shfl.sync`: `how` is `idx` with a lane or `bfly` with a mask.
    pub(super) fn exchange(&mut self, how: &str, scalar: Scalar, value: &Opd, mask: &Opd, by: &Opd) -> Opd {
        if scalar == Scalar::I64 {
            let low = self.t.trunc(value, I32);
            let high = self.t.lshr(value, 32);
            let high = self.t.trunc(&high, I32);
            let [low, high] = [low, high].map(|half| {
                let half = self.exchange_bits(how, &half, mask, by);
                self.t.zext(&half, I64)
            });
            let high = self.t.shl(&high, 32);
            return self.t.or(&high, &low);
        }
        let bits = self.to_word(scalar, value);
        let bits = self.exchange_bits(how, &bits, mask, by);
        self.from_word(scalar, &bits)
    }

    fn exchange_bits(&mut self, how: &str, bits: &Opd, mask: &Opd, by: &Opd) -> Opd {
        assert!(matches!(how, "idx" | "bfly"), "lanes are not exchanged by {how}");
        let args = [mask, bits, by, &Opd::i32(31)];
        self.t.call_declared(I32, &format!("llvm.nvvm.shfl.sync.{how}.i32"), &args)
    }

    /// A scalar of at most 32 bits in a register.
    pub(super) fn to_word(&mut self, scalar: Scalar, value: &Opd) -> Opd {
        assert!(scalar.bits() <= 32, "a {scalar:?} does not fit a word");
        match scalar {
            Scalar::I32 => value.clone(),
            Scalar::F32 => self.t.reinterpret(value, I32),
            Scalar::F16 => {
                let bits = self.t.reinterpret(value, I16);
                self.t.zext(&bits, I32)
            }
            _ => self.t.zext(value, I32),
        }
    }

    pub(super) fn from_word(&mut self, scalar: Scalar, bits: &Opd) -> Opd {
        assert!(scalar.bits() <= 32, "a {scalar:?} does not fit a word");
        let element = scalar_type(scalar);
        match scalar {
            Scalar::I32 => bits.clone(),
            Scalar::F32 => self.t.reinterpret(bits, FLOAT),
            Scalar::F16 => {
                let half = self.t.trunc(bits, I16);
                self.t.reinterpret(&half, HALF)
            }
            _ => self.t.trunc(bits, element),
        }
    }
}
