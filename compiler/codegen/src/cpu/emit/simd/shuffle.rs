//! Shuffles: each lane gets the value of another, zero if that is off.
//!
//! By known lanes they are single vector shuffles; else the lanes are looked up, in registers or in memory.

use anymetal_ir::{SimdOp, Value};

use crate::cpu::emit::lane::Lane;
use crate::cpu::emit::out_of_line::Helper;
use crate::cpu::emit::{Emitter, zero_of};
use crate::llvm::{
    self, Binary, FLOAT, HALF, I1, I8, I16, I32, I64, IntPredicate, LANES, Opd, scalar_type, vector_const,
};
use anymetal_analysis::divergence::Affine;

impl Emitter<'_, '_> {
    pub(super) fn shuffle_lanes(&mut self, op: SimdOp, args: &[Value], k: usize) -> Lane {
        assert!(args.len() >= 2, "{op:?} takes a value and lanes");
        let element = scalar_type(self.scalar(args[0]));
        let vector = self.source(args[0], k);
        if let Some(known) = self.known_lanes(args[1]) {
            let picks: Vec<_> =
                (0..LANES).map(|lane| Some(source_lane(op, lane, known.at(lane) as u32))).collect();
            return Lane::Varying(self.t.pick(&vector, &picks));
        }
        let operand = self.vector(args[1], 0);
        let from = self.source_lanes(op, &operand);
        Lane::Varying(self.permute(element, &vector, &from))
    }

    /// The lanes that a shuffle reads: zero where they are off.
    fn source(&mut self, value: Value, k: usize) -> Opd {
        let (scalar, vector) = (self.scalar(value), self.vector(value, k));
        self.filled(scalar_type(scalar), &vector, &zero_of(scalar))
    }

    fn known_lanes(&self, value: Value) -> Option<Affine> {
        self.shape(value, 0).affine().filter(|lanes| lanes.is_constant).cloned()
    }

    /// The lanes that a shuffle reads, for operands known at run time; each below 32.
    fn source_lanes(&mut self, op: SimdOp, operand: &Opd) -> Opd {
        let t = &mut self.t;
        let lanes = vector_const(I32, 0..32);
        let in_quad = vector_const(I32, (0..32).map(|lane| lane % 4));
        let quads = vector_const(I32, (0..32).map(|lane| lane / 4 * 4));
        let mut low = |bits: i64| t.and(operand, bits);
        match op {
            SimdOp::ShuffleXor => {
                let low = low(31);
                t.xor(&lanes, &low)
            }
            SimdOp::ShuffleUp | SimdOp::QuadShuffleUp => {
                let room = if op == SimdOp::ShuffleUp { &lanes } else { &in_quad };
                let ok = t.icmp(IntPredicate::ULe, operand, room);
                let from = t.sub(&lanes, operand);
                t.select(&ok, &from, &lanes)
            }
            SimdOp::ShuffleDown | SimdOp::QuadShuffleDown => {
                let size = if op == SimdOp::ShuffleDown { 32 } else { 4 };
                let room = vector_const(I32, (0..32).map(|lane| size - lane % size));
                let ok = t.icmp(IntPredicate::ULt, operand, &room);
                let from = t.add(&lanes, operand);
                t.select(&ok, &from, &lanes)
            }
            SimdOp::RotateUp | SimdOp::RotateDown => {
                let name = if op == SimdOp::RotateUp { Binary::Sub } else { Binary::Add };
                let from = t.binary(name, &lanes, operand);
                t.and(&from, 31)
            }
            SimdOp::QuadBroadcast | SimdOp::QuadShuffle => {
                let low = low(3);
                t.or(&quads, &low)
            }
            SimdOp::QuadShuffleXor => {
                let low = low(3);
                let from = t.xor(&in_quad, &low);
                t.or(&quads, &from)
            }
            SimdOp::Shuffle => low(31),
            other => unreachable!("{other:?} is not a shuffle"),
        }
    }

    /// `vector[from[lane]]` in each lane; `from` is below 32.
    fn permute(&mut self, element: llvm::Type, vector: &Opd, from: &Opd) -> Opd {
        self.t.expect(from, I32.lanes());
        let bits = match element {
            I1 | I8 => 8,
            I16 | HALF => 16,
            I64 => 64,
            _ => 32,
        };
        if element == I1 {
            let bytes = self.t.zext(vector, I8.lanes());
            let moved = self.permute(I8, &bytes, from);
            return self.t.icmp(IntPredicate::Ne, &moved, 0);
        }
        if bits == 32 && self.shared.options.features.avx512 {
            return self.permute_in_registers(element, vector, from);
        }
        let ty = element.lanes();
        let buffer = self.t.alloca(ty, 64);
        self.t.store(vector, &buffer, 64);
        let wide = self.t.zext(from, I64.lanes());
        let offsets = self.t.mul(&wide, bits / 8);
        self.need(Helper::Gather(bits as u32));
        let raw = self.t.call(
            llvm::Type::int(bits as u32).lanes(),
            format!("am.gather.{bits}"),
            &[&buffer, &offsets],
        );
        self.t.reinterpret(&raw, element)
    }

    /// Two table look-ups of 16 lanes each in all 32.
    fn permute_in_registers(&mut self, element: llvm::Type, vector: &Opd, from: &Opd) -> Opd {
        debug_assert!(matches!(element, I32 | FLOAT), "a register has 16 elements of 32 bits");
        let ints = self.t.reinterpret(vector, I32);
        let half = |n: usize| (n * 16..n * 16 + 16).map(Some).collect::<Vec<_>>();
        let (low, high) = (self.t.pick(&ints, &half(0)), self.t.pick(&ints, &half(1)));
        let parts = (0..2)
            .map(|n| {
                let index = self.t.pick(from, &half(n));
                self.pick_of_two(I32, (&low, &high), &index)
            })
            .collect();
        let moved = self.t.concat(parts);
        self.t.reinterpret(&moved, element)
    }

    /// Arguments: value, fill, delta, modulo.
    pub(super) fn shuffle_and_fill(&mut self, op: SimdOp, args: &[Value], k: usize) -> Lane {
        assert_eq!(args.len(), 4, "{op:?} takes a value, a fill, a distance and a width");
        let element = scalar_type(self.scalar(args[0]));
        let (value, fill) = (self.source(args[0], k), self.source(args[1], k));
        if let (Some(delta), Some(modulo)) = (self.known_lanes(args[2]), self.known_lanes(args[3])) {
            let picks: Vec<_> = (0..LANES)
                .map(|lane| Some(fill_source(op, lane, delta.at(lane) as u32, modulo.at(lane) as u32)))
                .collect();
            return Lane::Varying(self.t.shuffle(&value, &fill, &picks));
        }
        let (delta, modulo) = (self.vector(args[2], 0), self.vector(args[3], 0));
        let lanes = vector_const(I32, 0..32);
        let t = &mut self.t;
        let zero = t.sub(&modulo, 1);
        let good = t.icmp(IntPredicate::ULt, &zero, 32);
        let modulo = t.select(&good, &modulo, 32);
        let delta = t.intrinsic("umin", "", &[&delta, &modulo]);
        let in_segment = t.urem(&lanes, &modulo);
        let (inside, own, other) = if op == SimdOp::ShuffleAndFillUp {
            let inside = t.icmp(IntPredicate::UGe, &in_segment, &delta);
            let own = t.sub(&lanes, &delta);
            (inside, own.clone(), t.add(&own, &modulo))
        } else {
            let sum = t.add(&in_segment, &delta);
            let inside = t.icmp(IntPredicate::ULt, &sum, &modulo);
            let own = t.add(&lanes, &delta);
            (inside, own.clone(), t.sub(&own, &modulo))
        };
        let own = t.and(&own, 31);
        let other = t.and(&other, 31);
        let from_value = self.permute(element, &value, &own);
        let from_fill = self.permute(element, &fill, &other);
        Lane::Varying(self.t.select(&inside, &from_value, &from_fill))
    }
}

/// The lane that a shuffle reads.
fn source_lane(op: SimdOp, lane: usize, operand: u32) -> usize {
    let wide = operand as usize;
    let (quad, in_quad) = (lane & !3, lane & 3);
    match op {
        SimdOp::ShuffleXor => lane ^ (wide & 31),
        SimdOp::ShuffleUp => lane.checked_sub(wide).unwrap_or(lane),
        SimdOp::ShuffleDown => {
            if wide < LANES - lane {
                lane + wide
            } else {
                lane
            }
        }
        SimdOp::RotateUp => lane.wrapping_sub(wide) & 31,
        SimdOp::RotateDown => lane.wrapping_add(wide) & 31,
        SimdOp::QuadBroadcast | SimdOp::QuadShuffle => quad | (wide & 3),
        SimdOp::QuadShuffleXor => quad | (in_quad ^ (wide & 3)),
        SimdOp::QuadShuffleUp => in_quad.checked_sub(wide).map_or(lane, |from| quad | from),
        SimdOp::QuadShuffleDown => {
            if wide < 4 - in_quad {
                lane + wide
            } else {
                lane
            }
        }
        SimdOp::Shuffle => wide & 31,
        other => unreachable!("{other:?} is not a shuffle"),
    }
}

/// The lane that a filling shuffle reads; from 32 on those of the fill.
fn fill_source(op: SimdOp, lane: usize, delta: u32, modulo: u32) -> usize {
    let modulo = if (1..=32).contains(&modulo) { modulo as usize } else { LANES };
    let delta = (delta as usize).min(modulo);
    let in_segment = lane % modulo;
    if op == SimdOp::ShuffleAndFillUp {
        return if in_segment >= delta { lane - delta } else { LANES + ((lane + modulo - delta) & 31) };
    }
    if in_segment + delta < modulo {
        (lane + delta) & 31
    } else {
        LANES + ((lane + delta).wrapping_sub(modulo) & 31)
    }
}
