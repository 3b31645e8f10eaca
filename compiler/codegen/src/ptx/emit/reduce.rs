//! Reductions and prefix operations over the active lanes.
//!
//! A full SIMD-group takes a butterfly of shuffles, or one instruction for 32-bit integers. If only the
//! first lanes are active, as in a last SIMD-group, the first lane's share of the butterfly is all that is
//! needed, and it hands its result to the others. Otherwise a function, written once per module, reads all
//! lanes, gives the neutral element to those that are not active, and combines them in the butterfly's order.
//! The results are the same bits as the interpreter's. Prefix operations go through the lanes in ascending
//! order there, but for integers of a full SIMD-group, whose order does not matter.

use anymetal_ir::{BinOp, Combination, Combine, CombinedLanes, FpMode, Inst, MathFn, Scalar, SimdOp, Value};

use super::{Emitter, zero};
use crate::llvm::{Binary, Builder, Cast, FLOAT, I1, I16, I32, I64, IntPredicate, LANES, Opd, scalar_type};

/// A reduction of one scalar type.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    op: SimdOp,
    combination: Combination,
    scalar: Scalar,
    fp: FpMode,
}

impl Reduction {
    fn of(op: SimdOp, scalar: Scalar, fp: FpMode) -> Option<Self> {
        Some(Self { op, combination: op.combination(scalar)?, scalar, fp })
    }

    fn is_prefix(self) -> bool {
        self.combination.lanes != CombinedLanes::All
    }

    fn is_exclusive(self) -> bool {
        self.combination.lanes == CombinedLanes::BelowThis
    }

    fn is_of_all_lanes(self) -> bool {
        !self.is_prefix() && self.combination.width == LANES
    }

    /// The distances of a butterfly, the largest first.
    fn deltas(self) -> impl DoubleEndedIterator<Item = usize> {
        let width = self.combination.width;
        [16, 8, 4, 2, 1].into_iter().filter(move |&delta| delta < width)
    }

    /// What changes nothing, as an operand.
    fn neutral(self) -> Opd {
        let scalar = self.scalar;
        match self.combination.combine {
            Combine::Binary(BinOp::FAdd) if scalar == Scalar::Bf16 => Opd::int(I16, -0x8000),
            Combine::Binary(BinOp::FAdd) => Opd::constant(scalar_type(scalar), "-0.0"),
            Combine::Binary(BinOp::FMul) if scalar == Scalar::Bf16 => Opd::int(I16, 0x3F80),
            Combine::Binary(BinOp::FMul) => Opd::constant(scalar_type(scalar), "1.0"),
            Combine::Binary(BinOp::Mul) => Opd::int(scalar_type(scalar), 1),
            Combine::Binary(BinOp::UMin | BinOp::And) if scalar == Scalar::Bool => Opd::bool(true),
            Combine::Binary(BinOp::UMin | BinOp::And) => Opd::int(scalar_type(scalar), -1),
            Combine::Binary(BinOp::SMin) => Opd::int(scalar_type(scalar), i64::MAX >> (64 - scalar.bits())),
            Combine::Binary(BinOp::SMax) => Opd::int(scalar_type(scalar), i64::MIN >> (64 - scalar.bits())),
            Combine::Math(_) => match scalar {
                Scalar::F16 => Opd::half(0x7E00),
                Scalar::Bf16 => Opd::int(I16, 0x7FC0),
                _ => Opd::constant(FLOAT, "0x7FF8000000000000"),
            },
            Combine::Binary(_) => zero(scalar),
        }
    }

    /// The instruction that reduces 32-bit integers over any lanes.
    fn single_instruction(self, sm: u32) -> Option<&'static str> {
        if sm < 80 || self.scalar != Scalar::I32 || !self.is_of_all_lanes() {
            return None;
        }
        Some(match self.combination.combine {
            Combine::Binary(BinOp::Add) => "add",
            Combine::Binary(BinOp::UMin) => "umin",
            Combine::Binary(BinOp::UMax) => "umax",
            Combine::Binary(BinOp::SMin) => "min",
            Combine::Binary(BinOp::SMax) => "max",
            Combine::Binary(BinOp::And) => "and",
            Combine::Binary(BinOp::Or) => "or",
            Combine::Binary(BinOp::Xor) => "xor",
            _ => return None,
        })
    }
}

impl Emitter<'_> {
    pub(super) fn is_reduction(op: SimdOp) -> bool {
        Reduction::of(op, Scalar::I32, FpMode::Safe).is_some()
    }

    pub(super) fn reduction(&mut self, inst: Inst, op: SimdOp, value: Value, mask: &Opd) -> Vec<Opd> {
        let fp = self.input.function.inst(inst).fp;
        let parts = self.parts(value);
        let Some(reduction) = Reduction::of(op, self.scalar(value), fp) else {
            unreachable!("{op:?} does not combine values")
        };
        parts.iter().map(|part| self.reduce_any_width(reduction, part, mask)).collect()
    }

    /// Short integers are reduced as 32 bits, of which the low ones are the same: one instruction may do it,
    /// and the assembler fails on functions of bytes.
    fn reduce_any_width(&mut self, reduction: Reduction, value: &Opd, mask: &Opd) -> Opd {
        let Reduction { scalar, combination: Combination { combine, .. }, .. } = reduction;
        if !matches!(scalar, Scalar::I8 | Scalar::I16) {
            return self.reduce_one(reduction, value, mask);
        }
        let is_signed = matches!(combine, Combine::Binary(BinOp::SMin | BinOp::SMax));
        let (short, extend) = (scalar_type(scalar), if is_signed { Cast::SExt } else { Cast::ZExt });
        let wide = self.t.cast(extend, value, I32);
        let result = self.reduce_one(Reduction { scalar: Scalar::I32, ..reduction }, &wide, mask);
        self.t.trunc(&result, short)
    }

    fn reduce_one(&mut self, reduction: Reduction, value: &Opd, mask: &Opd) -> Opd {
        if let Some(name) = reduction.single_instruction(self.input.options.sm) {
            let name = format!("llvm.nvvm.redux.sync.{name}");
            return self.t.call_declared(I32, &name, &[value, mask]);
        }
        // Sums of floats depend on the order.
        if reduction.is_prefix() && reduction.scalar.is_float() {
            return self.reduce_out_of_line(reduction, value, mask);
        }
        if mask.is_int(-1) {
            return self.whole(reduction, value);
        }
        let (fast, slow, join) = (self.t.block(), self.t.block(), self.t.block());
        let is_full = self.t.icmp(IntPredicate::Eq, mask, -1);
        self.t.branch_likely(&is_full, fast, slow);
        self.t.label(fast);
        let whole = self.whole(reduction, value);
        let from_fast = self.t.current();
        self.t.branch(join);
        self.t.label(slow);
        let partial = self.reduce_partial(reduction, value, mask);
        let from_slow = self.t.current();
        self.t.branch(join);
        self.t.label(join);
        self.t.phi(&[(&whole, from_fast), (&partial, from_slow)])
    }

    /// Not all lanes are active: the first ones, or any.
    fn reduce_partial(&mut self, reduction: Reduction, value: &Opd, mask: &Opd) -> Opd {
        if !reduction.is_of_all_lanes() {
            return self.reduce_out_of_line(reduction, value, mask);
        }
        if self.lanes.are_first_lanes() {
            return self.first_lanes(reduction, value, mask);
        }
        let (first, any, join) = (self.t.block(), self.t.block(), self.t.block());
        let next = self.t.add(mask, 1);
        let both = self.t.and(mask, &next);
        let are_first = self.t.icmp(IntPredicate::Eq, &both, 0);
        self.t.branch_if(&are_first, first, any);
        self.t.label(first);
        let of_first = self.first_lanes(reduction, value, mask);
        let from_first = self.t.current();
        self.t.branch(join);
        self.t.label(any);
        let of_any = self.reduce_out_of_line(reduction, value, mask);
        let from_any = self.t.current();
        self.t.branch(join);
        self.t.label(join);
        self.t.phi(&[(&of_first, from_first), (&of_any, from_any)])
    }

    /// The butterfly over active first lanes, of which the first lane's result is right: the lanes that it
    /// needs are active, or all that they would add is.
    fn first_lanes(&mut self, reduction: Reduction, value: &Opd, mask: &Opd) -> Opd {
        self.t.expect(mask, I32);
        assert!(reduction.is_of_all_lanes(), "first_lanes reduces whole SIMD-groups");
        let lane = self.lane();
        let mut value = value.clone();
        for delta in reduction.deltas() {
            let by = Opd::i32(delta as i64);
            let other = self.exchange("bfly", reduction.scalar, &value, mask, &by);
            let from = self.t.xor(&lane, delta as i64);
            let active = self.is_active(mask, &from);
            let other = self.t.select(&active, &other, &reduction.neutral());
            value = self.combine(reduction, &value, &other);
        }
        self.exchange("idx", reduction.scalar, &value, mask, &Opd::i32(0))
    }

    /// All lanes are active.
    fn whole(&mut self, reduction: Reduction, value: &Opd) -> Opd {
        if reduction.is_prefix() { self.scan(reduction, value) } else { self.butterfly(reduction, value) }
    }

    /// Prefixes in a butterfly's steps, of numbers whose order does not matter (Hillis and Steele, 1986).
    fn scan(&mut self, reduction: Reduction, value: &Opd) -> Opd {
        let mut sum = value.clone();
        for delta in reduction.deltas().rev() {
            let (before, exists) = self.from_before(reduction, &sum, delta);
            let more = self.combine(reduction, &before, &sum);
            sum = self.t.select(&exists, &more, &sum);
        }
        if !reduction.is_exclusive() {
            return sum;
        }
        let (before, exists) = self.from_before(reduction, &sum, 1);
        self.t.select(&exists, &before, &reduction.neutral())
    }

    /// The value of the lane `delta` below in the group, and whether there is one.
    fn from_before(&mut self, reduction: Reduction, value: &Opd, delta: usize) -> (Opd, Opd) {
        let lane = self.lane();
        let from = self.t.sub(&lane, delta as i64);
        let before = self.exchange("idx", reduction.scalar, value, &Opd::i32(-1), &from);
        let in_group = self.t.and(&lane, reduction.combination.width as i64 - 1);
        (before, self.t.icmp(IntPredicate::UGe, &in_group, delta as i64))
    }

    fn butterfly(&mut self, reduction: Reduction, value: &Opd) -> Opd {
        let mut value = value.clone();
        for delta in reduction.deltas() {
            let by = Opd::i32(delta as i64);
            let other = self.exchange("bfly", reduction.scalar, &value, &Opd::i32(-1), &by);
            value = self.combine(reduction, &value, &other);
        }
        value
    }

    fn combine(&mut self, reduction: Reduction, a: &Opd, b: &Opd) -> Opd {
        let Reduction { combination, scalar, fp, .. } = reduction;
        match combination.combine {
            Combine::Binary(op) if scalar == Scalar::Bool => self.combine_bools(op, a, b),
            Combine::Binary(op) => self.binary_of(op, scalar, fp, a, b),
            Combine::Math(MathFn::FMin) => self.least(scalar, a, b),
            Combine::Math(MathFn::FMax) => self.greatest(scalar, a, b),
            Combine::Math(other) => unreachable!("{other:?} does not combine two values"),
        }
    }

    fn combine_bools(&mut self, op: BinOp, a: &Opd, b: &Opd) -> Opd {
        let name = match op {
            BinOp::And | BinOp::UMin | BinOp::SMax | BinOp::Mul => Binary::And,
            BinOp::Xor | BinOp::Add => Binary::Xor,
            BinOp::Or | BinOp::UMax | BinOp::SMin => Binary::Or,
            other => unreachable!("{other:?} does not combine true and false"),
        };
        self.t.binary(name, a, b)
    }

    /// Calls the function for any lanes.
    fn reduce_out_of_line(&mut self, reduction: Reduction, value: &Opd, mask: &Opd) -> Opd {
        let Reduction { op, scalar, fp, .. } = reduction;
        let name = format!("am.simd.{}.{}.{}", format!("{op:?}").to_lowercase(), scalar.name(), fp.name());
        if !self.helpers.contains_key(&name) {
            let text = self.reduction_text(&name, reduction);
            self.helpers.insert(name.clone(), text);
        }
        let ty = scalar_type(scalar);
        let lane = self.lane();
        self.t.call_with(ty, &name, &[value, mask, &lane], " #1")
    }

    /// The function's text: value, mask and lane to the result.
    fn reduction_text(&mut self, name: &str, reduction: Reduction) -> String {
        let mut inner = Builder::new(0);
        let ty = scalar_type(reduction.scalar);
        let [value, mask, lane] = [ty, I32, I32].map(|ty| inner.register(ty));
        let outer = std::mem::replace(&mut self.t, inner);
        let first = self.t.block();
        self.t.label(first);
        let result = if reduction.is_prefix() {
            self.ascending(reduction, &value, &mask, &lane)
        } else {
            self.any_lanes(reduction, &value, &mask, &lane)
        };
        self.t.ret(&result);
        let header = format!("define internal {ty} @{name}({ty} {value}, i32 {mask}, i32 {lane}) #1");
        let text = self.t.finish(&header, first);
        let mut inner = std::mem::replace(&mut self.t, outer);
        inner.take_declares().into_iter().for_each(|line| self.t.declare(line));
        text
    }

    /// Whether a lane, given as an operand, is active.
    pub(super) fn is_active(&mut self, mask: &Opd, lane: &Opd) -> Opd {
        let shifted = self.t.lshr(mask, lane);
        self.t.trunc(&shifted, I1)
    }

    /// Each lane reads the whole SIMD-group, or its quad, and combines it.
    fn any_lanes(&mut self, reduction: Reduction, value: &Opd, mask: &Opd, lane: &Opd) -> Opd {
        let count = reduction.combination.width;
        let base = self.group_of(reduction, lane);
        let mut values: Vec<Opd> = (0..count)
            .map(|at| {
                let from = self.t.or(&base, at as i64);
                let other = self.exchange("idx", reduction.scalar, value, mask, &from);
                self.if_active(reduction, &other, mask, &from)
            })
            .collect();
        for delta in reduction.deltas() {
            values = (0..delta).map(|at| self.combine(reduction, &values[at], &values[at + delta])).collect();
        }
        values.swap_remove(0)
    }

    /// The value if the lane is active, else the neutral element. The predicate is one of the assembler's:
    /// LLVM would move the selects behind the operations, and 32 predicates are more than there are.
    fn if_active(&mut self, reduction: Reduction, value: &Opd, mask: &Opd, lane: &Opd) -> Opd {
        let scalar = reduction.scalar;
        let is_wide = scalar.bits() == 64;
        let word = if is_wide { value.clone() } else { self.to_word(scalar, value) };
        let none = if is_wide { reduction.neutral() } else { self.to_word(scalar, &reduction.neutral()) };
        let (register, word_ty, bits) = if is_wide { ("l", I64, 64) } else { ("r", I32, 32) };
        let template = format!(
            "{{ .reg .pred p; .reg .b32 t; shr.u32 t, $3, $4; and.b32 t, t, 1; \
             setp.ne.u32 p, t, 0; selp.b{bits} $0, $1, $2, p; }}"
        );
        let constraints = format!("={register},{register},{register},r,r");
        let chosen = self.t.asm(word_ty, (&template, &constraints), &[&word, &none, mask, lane], "");
        if is_wide { chosen } else { self.from_word(scalar, &chosen) }
    }

    /// The first lane of a lane's group.
    fn group_of(&mut self, reduction: Reduction, lane: &Opd) -> Opd {
        self.t.and(lane, (LANES - reduction.combination.width) as i64)
    }

    /// Through the group's lanes in ascending order; each keeps what it comes to at its own.
    fn ascending(&mut self, reduction: Reduction, value: &Opd, mask: &Opd, lane: &Opd) -> Opd {
        let first = match reduction.combination.starts_at_one() {
            true => reduction.neutral(),
            false => zero(reduction.scalar),
        };
        let base = self.group_of(reduction, lane);
        // The sum so far; of the first active lane it is its own value, not added to anything.
        let (mut sum, mut is_empty) = (first.clone(), Opd::bool(true));
        let mut result = first;
        for at in 0..reduction.combination.width {
            let from = self.t.or(&base, at as i64);
            let other = self.exchange("idx", reduction.scalar, value, mask, &from);
            let active = self.is_active(mask, &from);
            let is_mine = self.t.icmp(IntPredicate::Eq, lane, &from);
            if reduction.is_exclusive() {
                result = self.t.select(&is_mine, &sum, &result);
            }
            let more = self.combine(reduction, &sum, &other);
            let next = self.t.select(&is_empty, &other, &more);
            sum = self.t.select(&active, &next, &sum);
            let inactive = self.t.not(&active);
            is_empty = self.t.and(&is_empty, &inactive);
            if !reduction.is_exclusive() {
                result = self.t.select(&is_mine, &sum, &result);
            }
        }
        result
    }
}
