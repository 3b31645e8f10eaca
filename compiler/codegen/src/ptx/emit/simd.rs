//! Shuffles and votes between the lanes of a SIMD-group or a quad-group.
//!
//! Every instruction names the active lanes. Where the source of a shuffle is not among them, its result is
//! zero.

use anymetal_ir::{Inst, Scalar, SimdOp, Value};

use super::{Emitter, zero};
use crate::llvm_text::{Opd, scalar_type};

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
            SimdOp::ActiveMask => self.t.value(format_args!("zext i32 {mask} to i64")),
            SimdOp::IsFirst => {
                let (first, lane) = (self.first_lane(mask), self.lane());
                self.t.value(format_args!("icmp eq i32 {first}, {lane}"))
            }
            _ => {
                let condition = self.one(args[0]);
                let votes = self.ballot(mask, &condition);
                match op {
                    SimdOp::Any => self.t.value(format_args!("icmp ne i32 {votes}, 0")),
                    SimdOp::All => self.t.value(format_args!("icmp eq i32 {votes}, {mask}")),
                    SimdOp::Ballot => self.t.value(format_args!("zext i32 {votes} to i64")),
                    other => unreachable!("{other:?} is not a vote"),
                }
            }
        }
    }

    fn first_lane(&mut self, mask: &Opd) -> Opd {
        self.t.declare("declare i32 @llvm.cttz.i32(i32, i1)");
        self.t.value(format_args!("call i32 @llvm.cttz.i32(i32 {mask}, i1 true)"))
    }

    /// Every shuffle is a read of a lane that is computed.
    fn shuffle(&mut self, op: SimdOp, args: &[Value], mask: &Opd) -> Vec<Opd> {
        let by = match args.get(1) {
            Some(&by) => self.lane_operand(by),
            None => {
                assert_eq!(op, SimdOp::BroadcastFirst, "every other shuffle takes a lane or a distance");
                Opd::Int(0)
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
            64 => self.t.value(format_args!("trunc i64 {operand} to i32")),
            _ => self.t.value(format_args!("zext {} {operand} to i32", scalar_type(scalar))),
        }
    }

    /// The lane that a lane's value comes from.
    fn source(&mut self, op: SimdOp, by: &Opd, mask: &Opd) -> Opd {
        let lane = self.lane();
        let modulo =
            |this: &mut Self, value: &Opd, bits: i64| this.t.value(format_args!("and i32 {value}, {bits}"));
        match op {
            SimdOp::BroadcastFirst => self.first_lane(mask),
            SimdOp::ShuffleXor => {
                let other = self.t.value(format_args!("xor i32 {lane}, {by}"));
                modulo(self, &other, 31)
            }
            SimdOp::RotateUp => {
                let other = self.t.value(format_args!("sub i32 {lane}, {by}"));
                modulo(self, &other, 31)
            }
            SimdOp::RotateDown => {
                let other = self.t.value(format_args!("add i32 {lane}, {by}"));
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
                self.t.value(format_args!("or i32 {quad}, {inside}"))
            }
            SimdOp::QuadShuffleXor => {
                let by = modulo(self, by, 3);
                self.t.value(format_args!("xor i32 {lane}, {by}"))
            }
            SimdOp::Broadcast | SimdOp::Shuffle => modulo(self, by, 31),
            other => unreachable!("{other:?} is not a shuffle"),
        }
    }

    /// The lane `by` below or above, in a segment of `size` lanes in which the lane is `inside`; itself where
    /// there is none.
    fn neighbour(&mut self, up: bool, by: &Opd, lane: &Opd, inside: &Opd, size: i64) -> Opd {
        if up {
            let is_there = self.t.value(format_args!("icmp uge i32 {inside}, {by}"));
            let other = self.t.value(format_args!("sub i32 {lane}, {by}"));
            return self.t.select("i1", &is_there, "i32", &other, lane);
        }
        let room = self.t.value(format_args!("sub i32 {}, {inside}", size - 1));
        let is_there = self.t.value(format_args!("icmp uge i32 {room}, {by}"));
        let other = self.t.value(format_args!("add i32 {lane}, {by}"));
        self.t.select("i1", &is_there, "i32", &other, lane)
    }

    /// Value, fill, distance, segment size.
    fn shuffle_and_fill(&mut self, op: SimdOp, args: &[Value], mask: &Opd) -> Vec<Opd> {
        let (by, size) = (self.lane_operand(args[2]), self.lane_operand(args[3]));
        let lane = self.lane();
        let below = self.t.value(format_args!("sub i32 {size}, 1"));
        let is_size = self.t.value(format_args!("icmp ult i32 {below}, 32"));
        let size = self.t.select("i1", &is_size, "i32", &size, &Opd::Int(32));
        let by = self.t.intrinsic("umin", "i32", "", &[&by, &size]);
        let inside = self.t.value(format_args!("urem i32 {lane}, {size}"));
        let (is_value, own, filled) = if op == SimdOp::ShuffleAndFillUp {
            let is_value = self.t.value(format_args!("icmp uge i32 {inside}, {by}"));
            let own = self.t.value(format_args!("sub i32 {lane}, {by}"));
            let filled = self.t.value(format_args!("add i32 {own}, {size}"));
            (is_value, own, filled)
        } else {
            let room = self.t.value(format_args!("sub i32 {size}, {inside}"));
            let is_value = self.t.value(format_args!("icmp ugt i32 {room}, {by}"));
            let own = self.t.value(format_args!("add i32 {lane}, {by}"));
            let filled = self.t.value(format_args!("sub i32 {own}, {size}"));
            (is_value, own, filled)
        };
        let [own, filled] = [own, filled].map(|from| self.t.value(format_args!("and i32 {from}, 31")));
        let values = self.read_lane(args[0], mask, &own);
        let fills = self.read_lane(args[1], mask, &filled);
        let ty = scalar_type(self.scalar(args[0]));
        values.iter().zip(&fills).map(|(a, b)| self.t.select("i1", &is_value, ty, a, b)).collect()
    }

    /// Every part of a value, from a lane below 32; zero if that is not active.
    fn read_lane(&mut self, value: Value, mask: &Opd, source: &Opd) -> Vec<Opd> {
        let parts = self.read_active_lane(value, mask, source);
        if *mask == Opd::Int(-1) {
            return parts;
        }
        let scalar = self.scalar(value);
        let active = self.is_active(mask, source);
        parts
            .iter()
            .map(|part| self.t.select("i1", &active, scalar_type(scalar), part, &zero(scalar)))
            .collect()
    }

    fn read_active_lane(&mut self, value: Value, mask: &Opd, source: &Opd) -> Vec<Opd> {
        let scalar = self.scalar(value);
        let parts = self.parts(value);
        parts.iter().map(|part| self.exchange("idx", scalar, part, mask, source)).collect()
    }

    /// One scalar through `shfl.sync`: `how` is `idx` with a lane or `bfly` with a mask.
    pub(super) fn exchange(&mut self, how: &str, scalar: Scalar, value: &Opd, mask: &Opd, by: &Opd) -> Opd {
        if scalar == Scalar::I64 {
            let low = self.t.value(format_args!("trunc i64 {value} to i32"));
            let high = self.t.value(format_args!("lshr i64 {value}, 32"));
            let high = self.t.value(format_args!("trunc i64 {high} to i32"));
            let [low, high] = [low, high].map(|half| {
                let half = self.exchange_bits(how, &half, mask, by);
                self.t.value(format_args!("zext i32 {half} to i64"))
            });
            let high = self.t.value(format_args!("shl i64 {high}, 32"));
            return self.t.value(format_args!("or i64 {high}, {low}"));
        }
        let bits = self.to_word(scalar, value);
        let bits = self.exchange_bits(how, &bits, mask, by);
        self.from_word(scalar, &bits)
    }

    fn exchange_bits(&mut self, how: &str, bits: &Opd, mask: &Opd, by: &Opd) -> Opd {
        assert!(matches!(how, "idx" | "bfly"), "lanes are not exchanged by {how}");
        let args = [("i32", mask), ("i32", bits), ("i32", by), ("i32", &Opd::Int(31))];
        self.call("i32", &format!("llvm.nvvm.shfl.sync.{how}.i32"), &args)
    }

    /// A scalar of at most 32 bits in a register.
    pub(super) fn to_word(&mut self, scalar: Scalar, value: &Opd) -> Opd {
        assert!(scalar.bits() <= 32, "a {scalar:?} does not fit a word");
        let element = scalar_type(scalar);
        match scalar {
            Scalar::I32 => value.clone(),
            Scalar::F32 => self.same_bits("float", "i32", value),
            Scalar::F16 => {
                let bits = self.same_bits("half", "i16", value);
                self.t.value(format_args!("zext i16 {bits} to i32"))
            }
            _ => self.t.value(format_args!("zext {element} {value} to i32")),
        }
    }

    pub(super) fn from_word(&mut self, scalar: Scalar, bits: &Opd) -> Opd {
        assert!(scalar.bits() <= 32, "a {scalar:?} does not fit a word");
        let element = scalar_type(scalar);
        match scalar {
            Scalar::I32 => bits.clone(),
            Scalar::F32 => self.same_bits("i32", "float", bits),
            Scalar::F16 => {
                let half = self.t.value(format_args!("trunc i32 {bits} to i16"));
                self.same_bits("i16", "half", &half)
            }
            _ => self.t.value(format_args!("trunc i32 {bits} to {element}")),
        }
    }
}
