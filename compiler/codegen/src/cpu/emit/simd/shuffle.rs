//! Shuffles: each lane gets the value of another, zero if that is off.
//!
//! By known lanes they are single vector shuffles; else the lanes are looked up, in registers or in memory.

use anymetal_ir::{SimdOp, Value};

use crate::cpu::emit::lane::{Lane, Width};
use crate::cpu::emit::out_of_line::Helper;
use crate::cpu::emit::{Emitter, cast, zero_of};
use crate::cpu::llvm_text::{LANES, MASK, Opd, lanes_type, scalar_type, vector_const};
use anymetal_analysis::divergence::Affine;

impl Emitter<'_, '_> {
    pub(super) fn shuffle_lanes(&mut self, op: SimdOp, args: &[Value], k: usize) -> Lane {
        assert!(args.len() >= 2, "{op:?} takes a value and lanes");
        let element = scalar_type(self.scalar(args[0]));
        let vector = self.source(args[0], k);
        if let Some(known) = self.known_lanes(args[1]) {
            let picks: Vec<_> =
                (0..LANES).map(|lane| Some(source_lane(op, lane, known.at(lane) as u32))).collect();
            return Lane::Varying(self.t.shuffle(element, LANES, &vector, &Opd::text("poison"), &picks));
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
        let ty = "<32 x i32>";
        let t = &mut self.t;
        let lanes = vector_const("i32", 0..32);
        let in_quad = vector_const("i32", (0..32).map(|lane| lane % 4));
        let quads = vector_const("i32", (0..32).map(|lane| lane / 4 * 4));
        let mut low = |bits: i64| t.value(format_args!("and {ty} {operand}, splat (i32 {bits})"));
        match op {
            SimdOp::ShuffleXor => {
                let low = low(31);
                t.value(format_args!("xor {ty} {lanes}, {low}"))
            }
            SimdOp::ShuffleUp | SimdOp::QuadShuffleUp => {
                let room = if op == SimdOp::ShuffleUp { &lanes } else { &in_quad };
                let ok = t.value(format_args!("icmp ule {ty} {operand}, {room}"));
                let from = t.value(format_args!("sub {ty} {lanes}, {operand}"));
                t.select(MASK, &ok, ty, &from, &lanes)
            }
            SimdOp::ShuffleDown | SimdOp::QuadShuffleDown => {
                let size = if op == SimdOp::ShuffleDown { 32 } else { 4 };
                let room = vector_const("i32", (0..32).map(|lane| size - lane % size));
                let ok = t.value(format_args!("icmp ult {ty} {operand}, {room}"));
                let from = t.value(format_args!("add {ty} {lanes}, {operand}"));
                t.select(MASK, &ok, ty, &from, &lanes)
            }
            SimdOp::RotateUp | SimdOp::RotateDown => {
                let name = if op == SimdOp::RotateUp { "sub" } else { "add" };
                let from = t.value(format_args!("{name} {ty} {lanes}, {operand}"));
                t.value(format_args!("and {ty} {from}, splat (i32 31)"))
            }
            SimdOp::QuadBroadcast | SimdOp::QuadShuffle => {
                let low = low(3);
                t.value(format_args!("or {ty} {quads}, {low}"))
            }
            SimdOp::QuadShuffleXor => {
                let low = low(3);
                let from = t.value(format_args!("xor {ty} {in_quad}, {low}"));
                t.value(format_args!("or {ty} {quads}, {from}"))
            }
            SimdOp::Shuffle => low(31),
            other => unreachable!("{other:?} is not a shuffle"),
        }
    }

    /// `vector[from[lane]]` in each lane; `from` is below 32.
    fn permute(&mut self, element: &str, vector: &Opd, from: &Opd) -> Opd {
        self.t.expect(from, "<32 x i32>");
        let bits = match element {
            "i1" | "i8" => 8,
            "i16" | "half" => 16,
            "i64" => 64,
            _ => 32,
        };
        if element == "i1" {
            let bytes = self.t.value(format_args!("zext {MASK} {vector} to <32 x i8>"));
            let moved = self.permute("i8", &bytes, from);
            return self.t.value(format_args!("icmp ne <32 x i8> {moved}, zeroinitializer"));
        }
        if bits == 32 && self.shared.options.features.avx512 {
            return self.permute_in_registers(element, vector, from);
        }
        let ty = lanes_type(element);
        let buffer = self.t.alloca(&ty, 64);
        self.t.store(&ty, vector, &buffer, 64);
        let wide = self.t.value(format_args!("zext <32 x i32> {from} to <32 x i64>"));
        let offsets = self.t.value(format_args!("mul <32 x i64> {wide}, splat (i64 {})", bits / 8));
        self.need(Helper::Gather(bits));
        let raw = self
            .t
            .value(format_args!("call <32 x i{bits}> @am.gather.{bits}(ptr {buffer}, <32 x i64> {offsets})"));
        cast::reinterpret(&mut self.t, Width::All, &format!("i{bits}"), element, &raw)
    }

    /// Two table look-ups of 16 lanes each in all 32.
    fn permute_in_registers(&mut self, element: &str, vector: &Opd, from: &Opd) -> Opd {
        debug_assert!(matches!(element, "i32" | "float"), "a register has 16 elements of 32 bits");
        let ints = cast::reinterpret(&mut self.t, Width::All, element, "i32", vector);
        let poison = Opd::text("poison");
        let half = |n: usize| (n * 16..n * 16 + 16).map(Some).collect::<Vec<_>>();
        let (low, high) = (
            self.t.shuffle("i32", LANES, &ints, &poison, &half(0)),
            self.t.shuffle("i32", LANES, &ints, &poison, &half(1)),
        );
        let parts = (0..2)
            .map(|n| {
                let index = self.t.shuffle("i32", LANES, from, &poison, &half(n));
                self.pick_of_two("i32", (&low, &high), &index)
            })
            .collect();
        let moved = self.t.concat("i32", 16, parts);
        cast::reinterpret(&mut self.t, Width::All, "i32", element, &moved)
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
            return Lane::Varying(self.t.shuffle(element, LANES, &value, &fill, &picks));
        }
        let (delta, modulo) = (self.vector(args[2], 0), self.vector(args[3], 0));
        let ty = "<32 x i32>";
        let lanes = vector_const("i32", 0..32);
        let t = &mut self.t;
        let zero = t.value(format_args!("sub {ty} {modulo}, splat (i32 1)"));
        let good = t.value(format_args!("icmp ult {ty} {zero}, splat (i32 32)"));
        let modulo = t.select(MASK, &good, ty, &modulo, &Opd::text("splat (i32 32)"));
        let delta = t.intrinsic("umin", ty, "", &[&delta, &modulo]);
        let in_segment = t.value(format_args!("urem {ty} {lanes}, {modulo}"));
        let (inside, own, other) = if op == SimdOp::ShuffleAndFillUp {
            let inside = t.value(format_args!("icmp uge {ty} {in_segment}, {delta}"));
            let own = t.value(format_args!("sub {ty} {lanes}, {delta}"));
            (inside, own.clone(), t.value(format_args!("add {ty} {own}, {modulo}")))
        } else {
            let sum = t.value(format_args!("add {ty} {in_segment}, {delta}"));
            let inside = t.value(format_args!("icmp ult {ty} {sum}, {modulo}"));
            let own = t.value(format_args!("add {ty} {lanes}, {delta}"));
            (inside, own.clone(), t.value(format_args!("sub {ty} {own}, {modulo}")))
        };
        let own = t.value(format_args!("and {ty} {own}, splat (i32 31)"));
        let other = t.value(format_args!("and {ty} {other}, splat (i32 31)"));
        let from_value = self.permute(element, &value, &own);
        let from_fill = self.permute(element, &fill, &other);
        Lane::Varying(self.t.select(MASK, &inside, &lanes_type(element), &from_value, &from_fill))
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
