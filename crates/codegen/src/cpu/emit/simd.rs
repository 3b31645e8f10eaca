//! SIMD-group and quad-group operations.
//!
//! Reductions are butterflies from distance 16 to 1, in which a lane that is off takes part with the
//! operation's neutral element; all lanes get the same result, so it is computed once, with half as
//! many lanes in each step. Shuffles by known lanes are single vector shuffles.

use anymetal_ir::{BinOp, FpMode, MathFn, Scalar, SimdOp, Value};

use super::arith::{self, Arithmetic};
use super::lane::{Lane, Width};
use super::out_of_line::Helper;
use super::{Emitter, Mask, zero_of};
use crate::cpu::llvm_text::{LANES, MASK, Opd, lanes_type, scalar_type, vector_const};
use crate::cpu::shape::Lanes;

/// How two values become one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combine {
    Binary(BinOp),
    Math(MathFn),
}

impl Combine {
    fn of(op: SimdOp, scalar: Scalar) -> Option<Self> {
        let float = scalar.is_float();
        let sum = Self::Binary(if float { BinOp::FAdd } else { BinOp::Add });
        let product = Self::Binary(if float { BinOp::FMul } else { BinOp::Mul });
        Some(match op {
            SimdOp::Sum | SimdOp::QuadSum | SimdOp::PrefixInclusiveSum | SimdOp::PrefixExclusiveSum => sum,
            SimdOp::Product
            | SimdOp::QuadProduct
            | SimdOp::PrefixInclusiveProduct
            | SimdOp::PrefixExclusiveProduct => product,
            SimdOp::FMin | SimdOp::QuadFMin => Self::Math(MathFn::FMin),
            SimdOp::FMax | SimdOp::QuadFMax => Self::Math(MathFn::FMax),
            SimdOp::UMin => Self::Binary(BinOp::UMin),
            SimdOp::UMax => Self::Binary(BinOp::UMax),
            SimdOp::SMin => Self::Binary(BinOp::SMin),
            SimdOp::SMax => Self::Binary(BinOp::SMax),
            SimdOp::And => Self::Binary(BinOp::And),
            SimdOp::Or => Self::Binary(BinOp::Or),
            SimdOp::Xor => Self::Binary(BinOp::Xor),
            _ => return None,
        })
    }

    /// What changes nothing. A float minimum in fast mode compares, so it takes infinity, not NaN.
    fn neutral(self, scalar: Scalar, fp: FpMode) -> Opd {
        let bits = scalar.bits();
        let float = |single: u32, half: u16, brain: u16| match scalar {
            Scalar::F16 => Opd::text(format!("0xH{half:04X}")),
            Scalar::Bf16 => Opd::Int(i64::from(brain as i16)),
            _ => Opd::text(format!("0x{:016X}", f64::from(f32::from_bits(single)).to_bits())),
        };
        let fast = fp == FpMode::Fast;
        match self {
            Self::Binary(BinOp::FAdd) => float(0x8000_0000, 0x8000, 0x8000),
            Self::Binary(BinOp::FMul) => float(0x3F80_0000, 0x3C00, 0x3F80),
            Self::Math(MathFn::FMin) if fast => float(0x7F80_0000, 0x7C00, 0x7F80),
            Self::Math(MathFn::FMax) if fast => float(0xFF80_0000, 0xFC00, 0xFF80),
            Self::Math(_) => float(0x7FC0_0000, 0x7E00, 0x7FC0),
            Self::Binary(op) if scalar == Scalar::Bool => {
                Opd::bool(matches!(op, BinOp::And | BinOp::UMin | BinOp::Mul))
            }
            Self::Binary(BinOp::Mul) => Opd::Int(1),
            Self::Binary(BinOp::UMin | BinOp::And) => Opd::Int(-1),
            Self::Binary(BinOp::SMin) => Opd::Int(i64::MAX >> (64 - bits)),
            Self::Binary(BinOp::SMax) => Opd::Int(i64::MIN >> (64 - bits)),
            Self::Binary(_) => Opd::Int(0),
        }
    }
}

impl Emitter<'_, '_> {
    pub(super) fn simd(&mut self, op: SimdOp, args: &[Value], result: Value, fp: FpMode) {
        if op == SimdOp::ActiveMask {
            self.active_masks.insert(result, self.mask.clone());
        }
        let count = usize::from(self.facts.function.ty(result).lanes());
        let lanes = (0..count).map(|k| self.simd_component(op, args, k, fp)).collect();
        self.define(result, lanes);
    }

    fn simd_component(&mut self, op: SimdOp, args: &[Value], k: usize, fp: FpMode) -> Lane {
        let mask = self.mask.clone();
        match op {
            SimdOp::ActiveMask => {
                let bits = self.mask_bits(&mask);
                return Lane::uniform(self.wide(&bits));
            }
            SimdOp::IsFirst => {
                let first = self.first_lane();
                let first = self.t.splat("i32", &first);
                let lanes = vector_const("i32", 0..32);
                return Lane::Varying(self.t.value(format_args!("icmp eq <32 x i32> {lanes}, {first}")));
            }
            _ => {}
        }
        let value = args[0];
        let scalar = self.scalar(value);
        let is_reduction = matches!(
            op,
            SimdOp::Sum
                | SimdOp::Product
                | SimdOp::FMin
                | SimdOp::FMax
                | SimdOp::UMin
                | SimdOp::UMax
                | SimdOp::SMin
                | SimdOp::SMax
                | SimdOp::And
                | SimdOp::Or
                | SimdOp::Xor
        );
        match (op, Combine::of(op, scalar)) {
            (_, Some(combine)) if is_reduction => {
                let vector = self.vector(value, k);
                Lane::uniform(self.reduce(combine, scalar, fp, &vector))
            }
            (SimdOp::QuadSum | SimdOp::QuadProduct | SimdOp::QuadFMin | SimdOp::QuadFMax, Some(combine)) => {
                let vector = self.vector(value, k);
                Lane::Varying(self.quad_reduce(combine, scalar, fp, &vector))
            }
            (_, Some(combine)) => {
                let exclusive = matches!(op, SimdOp::PrefixExclusiveSum | SimdOp::PrefixExclusiveProduct);
                let vector = self.vector(value, k);
                Lane::Varying(self.prefix(combine, scalar, fp, &vector, exclusive))
            }
            (SimdOp::Any | SimdOp::All | SimdOp::Ballot, None) => self.vote(op, value),
            (SimdOp::BroadcastFirst | SimdOp::Broadcast, None) => self.broadcast(op, args, k),
            (SimdOp::ShuffleAndFillUp | SimdOp::ShuffleAndFillDown, None) => {
                self.shuffle_and_fill(op, args, k)
            }
            _ => self.shuffle_lanes(op, args, k),
        }
    }

    fn wide(&mut self, bits: &Opd) -> Opd {
        match bits {
            Opd::Int(bits) => Opd::Int(i64::from(*bits as u32)),
            bits => self.t.value(format_args!("zext i32 {bits} to i64")),
        }
    }

    /// The value, or the neutral element where lanes are off.
    fn filled(&mut self, element: &str, vector: &Opd, neutral: &Opd) -> Opd {
        match self.mask.clone() {
            Mask::All => vector.clone(),
            Mask::Some(mask) => {
                let fill = Width::All.constant(element, neutral);
                self.t.select(MASK, &mask, &lanes_type(element), vector, &fill)
            }
        }
    }

    fn combined(
        &mut self,
        combine: Combine,
        scalar: Scalar,
        fp: FpMode,
        width: Width,
        a: &Opd,
        b: &Opd,
    ) -> Opd {
        match combine {
            Combine::Binary(op) => {
                // Reassociating inside one step means nothing, but flags would let LLVM reorder steps.
                let how = Arithmetic { width, fp, scalar, constant: None };
                arith::binary(&mut self.t, &mut self.shared.library, how, op, a, b)
            }
            Combine::Math(function) => self.math_call(function, scalar, fp, width, a, b),
        }
    }

    fn math_call(
        &mut self,
        function: MathFn,
        scalar: Scalar,
        fp: FpMode,
        width: Width,
        a: &Opd,
        b: &Opd,
    ) -> Opd {
        let name = self.shared.library.require(function, scalar, fp, width.count() as u32).to_owned();
        let outside = scalar_type(scalar);
        let x = super::cast::reinterpret(&mut self.t, width, scalar_type(scalar), outside, a);
        let y = super::cast::reinterpret(&mut self.t, width, scalar_type(scalar), outside, b);
        let ty = width.of(outside);
        let value = self.t.value(format_args!("call {ty} @{name}({ty} {x}, {ty} {y})"));
        super::cast::reinterpret(&mut self.t, width, outside, scalar_type(scalar), &value)
    }

    /// The reduction of a value's first component.
    pub(super) fn reduce_value(&mut self, op: SimdOp, scalar: Scalar, fp: FpMode, value: Value) -> Opd {
        let vector = self.vector(value, 0);
        match Combine::of(op, scalar) {
            Some(combine) => self.reduce(combine, scalar, fp, &vector),
            None => zero_of(scalar),
        }
    }

    fn reduce(&mut self, combine: Combine, scalar: Scalar, fp: FpMode, vector: &Opd) -> Opd {
        let element = scalar_type(scalar);
        let neutral = combine.neutral(scalar, fp);
        let mut current = self.filled(element, vector, &neutral);
        let mut lanes = LANES;
        while lanes > 1 {
            let half = lanes / 2;
            let low: Vec<_> = (0..half).map(Some).collect();
            let high: Vec<_> = (half..lanes).map(Some).collect();
            let poison = Opd::text("poison");
            if half == 1 {
                let a = self.t.value(format_args!("extractelement <2 x {element}> {current}, i64 0"));
                let b = self.t.value(format_args!("extractelement <2 x {element}> {current}, i64 1"));
                return self.combined(combine, scalar, fp, Width::One, &a, &b);
            }
            let a = self.t.shuffle(element, lanes, &current, &poison, &low);
            let b = self.t.shuffle(element, lanes, &current, &poison, &high);
            current = self.combined(combine, scalar, fp, Width::Few(half), &a, &b);
            lanes = half;
        }
        current
    }

    fn quad_reduce(&mut self, combine: Combine, scalar: Scalar, fp: FpMode, vector: &Opd) -> Opd {
        let element = scalar_type(scalar);
        let neutral = combine.neutral(scalar, fp);
        let mut current = self.filled(element, vector, &neutral);
        for delta in [2, 1] {
            let picks: Vec<_> = (0..LANES).map(|lane| Some(lane ^ delta)).collect();
            let other = self.t.shuffle(element, LANES, &current, &Opd::text("poison"), &picks);
            current = self.combined(combine, scalar, fp, Width::All, &current, &other);
        }
        current
    }

    fn prefix(&mut self, combine: Combine, scalar: Scalar, fp: FpMode, vector: &Opd, exclusive: bool) -> Opd {
        if scalar.is_float() && fp == FpMode::Safe {
            return self.prefix_in_order(combine, scalar, vector, exclusive);
        }
        let element = scalar_type(scalar);
        let neutral = combine.neutral(scalar, fp);
        let none = Width::All.constant(element, &neutral);
        let mut current = self.filled(element, vector, &neutral);
        let shifted = |this: &mut Self, vector: &Opd, by: usize, fill: &Opd| {
            let picks: Vec<_> =
                (0..LANES).map(|lane| Some(if lane >= by { lane - by } else { LANES + lane })).collect();
            this.t.shuffle(element, LANES, vector, fill, &picks)
        };
        for by in [1, 2, 4, 8, 16] {
            let lower = shifted(self, &current, by, &none);
            current = self.combined(combine, scalar, fp, Width::All, &lower, &current);
        }
        if !exclusive {
            return current;
        }
        let is_product = matches!(combine, Combine::Binary(BinOp::FMul | BinOp::Mul));
        let start = if is_product { neutral } else { zero_of(scalar) };
        let start = Width::All.constant(element, &start);
        shifted(self, &current, 1, &start)
    }

    /// Lane after lane, as exact rounding demands.
    fn prefix_in_order(&mut self, combine: Combine, scalar: Scalar, vector: &Opd, exclusive: bool) -> Opd {
        let element = scalar_type(scalar);
        let ty = lanes_type(element);
        let mut before = combine.neutral(scalar, FpMode::Safe);
        let is_product = combine == Combine::Binary(BinOp::FMul);
        let start = if is_product { before.clone() } else { zero_of(scalar) };
        let mask = self.mask.clone().operand();
        let mut seen = Opd::bool(false);
        let mut result = Opd::text("poison");
        for lane in 0..LANES {
            let own = self.t.value(format_args!("extractelement {ty} {vector}, i64 {lane}"));
            let active = self.t.value(format_args!("extractelement {MASK} {mask}, i64 {lane}"));
            let inclusive = self.combined(combine, scalar, FpMode::Safe, Width::One, &before, &own);
            let out = if exclusive {
                self.t.select("i1", &seen, element, &before, &start)
            } else {
                inclusive.clone()
            };
            result = self.t.value(format_args!("insertelement {ty} {result}, {element} {out}, i64 {lane}"));
            before = self.t.select("i1", &active, element, &inclusive, &before);
            seen = self.t.value(format_args!("or i1 {seen}, {active}"));
        }
        result
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
        let mask = self.mask.clone();
        match op {
            SimdOp::Any => {
                let votes = self.both(&mask, &vector);
                Lane::uniform(self.any(&Mask::Some(votes)))
            }
            SimdOp::All => {
                let against = self.without(&mask, &vector);
                let any = self.any(&Mask::Some(against));
                Lane::uniform(self.t.value(format_args!("xor i1 {any}, true")))
            }
            _ => {
                let votes = self.both(&mask, &vector);
                let bits = self.mask_bits(&Mask::Some(votes));
                Lane::uniform(self.wide(&bits))
            }
        }
    }

    fn broadcast(&mut self, op: SimdOp, args: &[Value], k: usize) -> Lane {
        let value = args[0];
        let element = scalar_type(self.scalar(value));
        if self.shape(value, k).is_uniform() {
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
                self.t.value(format_args!("extractelement <32 x i32> {lanes}, i32 {first}"))
            };
            match lane {
                Opd::Int(lane) => Opd::Int(lane & 31),
                lane => self.t.value(format_args!("and i32 {lane}, 31")),
            }
        };
        let ty = lanes_type(element);
        Lane::uniform(self.t.value(format_args!("extractelement {ty} {vector}, i32 {lane}")))
    }

    // --- shuffles

    fn shuffle_lanes(&mut self, op: SimdOp, args: &[Value], k: usize) -> Lane {
        let value = args[0];
        let element = scalar_type(self.scalar(value));
        if self.shape(value, k).is_uniform() {
            return Lane::uniform(self.uniform(value, k));
        }
        let vector = self.vector(value, k);
        if let Some(known) = self.known_lanes(args[1]) {
            let picks: Vec<_> =
                (0..LANES).map(|lane| Some(source_lane(op, lane, known.at(lane) as u32))).collect();
            return Lane::Varying(self.t.shuffle(element, LANES, &vector, &Opd::text("poison"), &picks));
        }
        let operand = self.vector(args[1], 0);
        let from = self.source_lanes(op, &operand);
        Lane::Varying(self.permute(element, &vector, &from))
    }

    fn known_lanes(&self, value: Value) -> Option<Lanes> {
        self.shape(value, 0).lanes().filter(|lanes| lanes.absolute).cloned()
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
            _ => low(31),
        }
    }

    /// `vector[from[lane]]` in each lane; `from` is below 32.
    pub(super) fn permute(&mut self, element: &str, vector: &Opd, from: &Opd) -> Opd {
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
        super::cast::reinterpret(&mut self.t, Width::All, &format!("i{bits}"), element, &raw)
    }

    /// Two table look-ups of 16 lanes each in all 32.
    fn permute_in_registers(&mut self, element: &str, vector: &Opd, from: &Opd) -> Opd {
        let ints = super::cast::reinterpret(&mut self.t, Width::All, element, "i32", vector);
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
        super::cast::reinterpret(&mut self.t, Width::All, "i32", element, &moved)
    }

    /// Arguments: value, fill, delta, modulo.
    fn shuffle_and_fill(&mut self, op: SimdOp, args: &[Value], k: usize) -> Lane {
        let element = scalar_type(self.scalar(args[0]));
        let (value, fill) = (self.vector(args[0], k), self.vector(args[1], k));
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
        _ => wide & 31,
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
